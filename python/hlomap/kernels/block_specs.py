"""The arguments of :func:`hlomap.kernel`: grids, arrays, and block specs as JAX writes them, without importing JAX.

:func:`read_grid` and :func:`read_blocks` are the entry points.  Objects of ``jax.experimental.pallas`` are known by
their attributes and by the names of their classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from operator import index
from typing import Any, NamedTuple

from .._core import Expr, IndexingMap, Shape, Variable
from ..base.dtypes import element_type
from ..base.lazy import np
from ..base.text import one_line, plural, printable
from ..base.types import expect_ints, expect_items, is_index, wrong_type
from ..errors import HlomapError, ShapeError, UnsupportedError
from .trace import PrefetchedArray, name_of, trace

_ARRAY = 'a Shape, a text such as "f32[8,8]", a pair (dimensions, dtype), or an array'
_BLOCK = "(array, spec), (array, block shape, index map) or an array"


class Block(NamedTuple):
    """An operand: the part of its array that each step of the grid sees."""

    name: str
    shape: Shape
    #: The sizes of a block, 1 in squeezed dimensions.
    sizes: tuple[int, ...]
    #: The number of elements for which an index counts one: the size of a block, or 1.
    units: tuple[int, ...]
    #: The virtual elements before and after the array; None in dimensions that are indexed by blocks, whose last block
    #: may be cut.
    padding: tuple[tuple[int, int] | None, ...]
    #: From the step to the index of its block.
    index_map: IndexingMap
    #: Why nothing is known of what is moved; None if blocks are.
    reason: str | None

    def start(self, k: int) -> Expr:
        """The first element of a block in dimension k, over the variables of the index map."""
        own = self.padding[k]
        return self.index_map.results[k] * self.units[k] - (0 if own is None else own[0])

    def allowed(self, k: int) -> tuple[int, int]:
        """The indices whose block has an element of the array; with padding those whose block is within it."""
        n, size, own = self.shape.dimensions[k], self.sizes[k], self.padding[k]
        if own is None:
            return 0, -(-n // size) - 1
        return 0, n + sum(own) - size

    def element_map(self) -> IndexingMap:
        """From the step, and the position in the block as ranges, to the element."""
        if self.index_map.is_known_empty:
            return self.index_map
        results = [self.start(k) + Expr.range(k) for k in range(len(self.sizes))]
        inside = [(e, 0, n - 1) for e, n in zip(results, self.shape.dimensions, strict=True)]
        m = self.index_map
        return IndexingMap(m.dims, results, ranges=self.sizes, runtime=m.runtime, constraints=inside)


class Grid(NamedTuple):
    """The sizes of a grid, and the specs that came with it."""

    sizes: tuple[int, ...]
    in_specs: Any = None
    out_specs: Any = None
    n_prefetched: int = 0
    has_specs: bool = False


def read_grid(grid: Any) -> Grid:
    """A number, a sequence of numbers, or a ``pl.GridSpec``."""
    takes = "an int, a sequence of int or a GridSpec as `grid`"
    spec = grid if hasattr(grid, "in_specs") and hasattr(grid, "grid") else None
    given = grid if spec is None else spec.grid
    items = (given,) if is_index(given) else given
    if not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
        raise wrong_type("kernel", takes, grid)
    for item in items:
        if not is_index(item):
            raise wrong_type("kernel", takes, item, "as a size; give the int that it has when the kernel runs")
    sizes = tuple(map(index, items))
    if any(size < 0 for size in sizes):
        raise ShapeError(f"hm.kernel: expected sizes of 0 or more as `grid`, got {list(sizes)}")
    if prod(sizes) >= 1 << 63:
        raise ShapeError(f"hm.kernel: expected fewer than 2**63 steps, got {prod(sizes)}")
    if spec is None:
        return Grid(sizes)
    return Grid(sizes, spec.in_specs, spec.out_specs, getattr(spec, "num_scalar_prefetch", 0), True)


class Prefetched(NamedTuple):
    """An operand that index maps may read."""

    shape: tuple[int, ...]
    lower: int
    upper: int
    #: Its elements, if they are given.
    values: Any


def read_prefetched(given: Any) -> list[Prefetched]:
    """Arrays of integers, or ``(array, lower, upper)`` with the bounds of their elements."""
    takes = "a sequence of arrays or (array, lower, upper) as `prefetch`"
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        raise wrong_type("kernel", takes, given)
    found = []
    for item in given:
        has_bounds = isinstance(item, tuple) and len(item) == 3
        array = item[0] if has_bounds else item
        values = np.asarray(array) if hasattr(array, "__array__") else None
        shape = shape_of(array, "prefetch")
        if values is not None and values.dtype.kind not in "iu":
            raise wrong_type("kernel", "an array of integers", array, "as a prefetched array")
        if has_bounds:
            for bound in item[1:]:
                expect_ints("kernel", prefetch=bound)
            lower, upper = map(index, item[1:])
        elif values is not None and values.size:
            lower, upper = int(values.min()), int(values.max())
        else:
            lower, upper = _INT32
        found.append(Prefetched(shape.dimensions, lower, upper, values))
    return found


def read_blocks(given: Any, kind: str, grid: Grid, specs: Any, prefetched: Sequence[Prefetched]) -> list[Block]:
    """The operands of a kind, ``input`` or ``output``, that the caller describes."""
    parameter = f"{kind}s"
    takes = f"a sequence, or a mapping from names, of {_BLOCK}, as `{parameter}`"
    if isinstance(given, Mapping):
        names, items = list(map(str, given)), list(given.values())
    elif kind == "output" and (_is_array(given) or _is_operand(given)):
        names, items = ["output"], [given]
    elif hasattr(given, "dtype"):
        raise wrong_type("kernel", takes, given)
    else:
        items = expect_items(object, given, "kernel", takes)
        names = [f"{kind} {i}" for i in range(len(items))] if len(items) > 1 else [kind] * len(items)
    if grid.has_specs:
        flat = _flat(specs, len(items))
        if len(flat) != len(items):
            found = plural(len(items), "array")
            raise ShapeError(f"hm.kernel: expected {plural(len(flat), 'array')} as `{parameter}`, got {found}")
        items = list(zip(items, flat, strict=True))
    return [_read_block(name, item, takes, grid, prefetched) for name, item in zip(names, items, strict=True)]


def _flat(specs: Any, n: int) -> list[Any]:
    if isinstance(specs, (tuple, list)):
        return [leaf for spec in specs for leaf in _flat(spec, 1)]
    return [None] * n if type(specs).__name__ == "NoBlockSpec" else [specs]


def _is_array(item: Any) -> bool:
    is_pair = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], (tuple, list))
    if is_pair and all(map(is_index, item[0])) and not _is_spec(item[1]):
        return True
    return isinstance(item, (Shape, str)) or (hasattr(item, "shape") and hasattr(item, "dtype"))


def _is_operand(item: Any) -> bool:
    """Whether a value is an array with its block, not a sequence of operands."""
    if not isinstance(item, tuple) or len(item) not in (2, 3) or not _is_array(item[0]):
        return False
    if len(item) == 2:
        return _is_spec(item[1])
    return item[2] is None or callable(item[2]) or isinstance(item[2], IndexingMap)


def _is_spec(item: Any) -> bool:
    return item is None or (hasattr(item, "block_shape") and hasattr(item, "index_map"))


def shape_of(item: Any, parameter: str) -> Shape:
    """The shape of an array that is described in one of the ways of :data:`_ARRAY`."""
    takes = f"{_ARRAY} in `{parameter}`"
    if isinstance(item, str):
        try:
            item = Shape.parse(item)
        except HlomapError as error:
            raise ShapeError(f"hm.kernel: expected {takes}, got {printable(item)!r} ({one_line(str(error))})") from None
    if isinstance(item, Shape):
        if item.tuple_shapes or item.dtype in ("token", "opaque"):
            raise wrong_type("kernel", takes, item, "a tuple has no blocks")
        return Shape(item.dtype, item.dimensions)
    if not _is_array(item):
        raise wrong_type("kernel", takes, item)
    sizes, dtype = item if isinstance(item, tuple) else (item.shape, item.dtype)
    try:
        return Shape(
            dtype if isinstance(dtype, str) and dtype[:1] in "pfbsuc" and _is_hlo(dtype) else _hlo(dtype), sizes
        )
    except (KeyError, TypeError):
        raise wrong_type("kernel", takes, dtype, "as a dtype") from None


def _is_hlo(name: str) -> bool:
    try:
        Shape(name, [])
    except ValueError:
        return False
    return True


def _hlo(dtype: Any) -> str:
    return element_type(np.dtype(dtype))


def _read_block(name: str, item: Any, takes: str, grid: Grid, prefetched: Sequence[Prefetched]) -> Block:
    spec: Any = None
    if _is_array(item):
        array, block_shape, index_map = item, None, None
    elif isinstance(item, (tuple, list)) and len(item) == 3:
        array, block_shape, index_map = item
    elif isinstance(item, (tuple, list)) and len(item) == 2 and _is_spec(item[1]):
        array, spec = item
        block_shape, index_map = (None, None) if spec is None else (spec.block_shape, spec.index_map)
    else:
        raise wrong_type("kernel", takes, item, "as an item")
    shape = shape_of(array, takes.rpartition("`")[0].rpartition("`")[2])
    n = shape.dimensions
    given = [max(size, 1) for size in n] if block_shape is None else block_shape
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise wrong_type("kernel", f"a sequence of sizes as the block shape of {name}", given)
    if len(given) != len(n):
        raise ShapeError(
            f"hm.kernel: expected a block shape with a size for each dimension of {name}, {shape}, got "
            f"{plural(len(given), 'size')}"
        )
    mode: Any = getattr(spec, "indexing_mode", None)  # of JAX before 0.5
    dims: list[tuple[int, int, tuple[int, int] | None]]
    if type(mode).__name__ == "Unblocked":
        pairs = mode.padding or [(0, 0)] * len(n)
        dims = [(_size(size, name), 1, (low, high)) for size, (low, high) in zip(given, pairs, strict=True)]
    else:
        dims = [_read_dim(size, name) for size in given]
    sizes, units, padding = (tuple(part) for part in zip(*dims, strict=True)) if dims else ((), (), ())
    m = _read_index_map(index_map, name, len(n), grid, prefetched)
    space = getattr(spec, "memory_space", None)
    where = getattr(space, "name", None) or str(space)
    reason = f"the kernel itself moves what it needs of {name} (memory space {where})" if where in _UNMOVED else None
    return Block(name, shape, sizes, units, padding, m, reason)


_UNMOVED = ("ANY", "any", "HBM", "hbm")
"""Memory spaces from which Pallas copies no block."""


def _size(size: Any, name: str) -> int:
    if not is_index(size) or index(size) < 1:
        takes = f"sizes of 1 or more, None or pl.Squeezed, pl.Blocked or pl.Element in the block shape of {name}"
        if is_index(size):
            raise ShapeError(f"hm.kernel: expected {takes}, got {index(size)}")
        raise wrong_type("kernel", takes, size)
    return index(size)


def _read_dim(size: Any, name: str) -> tuple[int, int, tuple[int, int] | None]:
    """The size of a block in a dimension, the unit of its index, and its padding."""
    kind = type(size).__name__
    if size is None or kind == "Squeezed":
        return 1, 1, None
    if kind in ("BoundedSlice", "Indirect"):
        raise UnsupportedError(f"hm.kernel: blocks of pl.{kind} in {name} have sizes or indices of run time")
    if kind == "Element" and hasattr(size, "block_size"):
        return _size(size.block_size, name), 1, tuple(size.padding)
    own = _size(size.block_size if kind == "Blocked" and hasattr(size, "block_size") else size, name)
    return own, own, None


def _as_read(variables: Sequence[Variable], domain: IndexingMap, prefetched: Sequence[Prefetched]) -> list[Variable]:
    """The runtime variables; one that may be read beyond the end of its array has any value, of a source without
    values."""
    found = []
    for v in variables:
        sizes = prefetched[v.source or 0].shape
        bounds = [domain.bounds(e) for e in v.element]
        if all(low >= 0 and high < n for (low, high), n in zip(bounds, sizes, strict=True)):
            found.append(v)
        else:
            source = len(prefetched) + (v.source or 0)
            found.append(Variable(None, *_INT32, source=source, element=v.element))
    return found


_INT32 = (-(1 << 31), (1 << 31) - 1)


def _read_index_map(given: Any, name: str, rank: int, grid: Grid, prefetched: Sequence[Prefetched]) -> IndexingMap:
    sizes = list(grid.sizes)
    if given is None:
        return IndexingMap(sizes, [0] * rank)
    if isinstance(given, IndexingMap):
        if given.ranges or given.constraints or [(v.lower, v.upper + 1) for v in given.dims] != [(0, n) for n in sizes]:
            raise ShapeError(f"hm.kernel: expected the index map of {name} over the grid {sizes}, got {given}")
        m = given
    else:
        variables: list[Variable] = []
        refs = [PrefetchedArray(i, p.shape, p.lower, p.upper, variables) for i, p in enumerate(prefetched)]
        dims = [Expr.dim(i) for i in range(len(sizes))]
        domain = IndexingMap(sizes, [])
        results = trace(given, [*dims, *refs], domain, "kernel", f"the index map of {name}")
        m = IndexingMap(
            sizes, results, runtime=_as_read(variables, IndexingMap(sizes, [], runtime=variables), prefetched)
        )
    if len(m.results) != rank and not m.is_known_empty:
        shown = name_of(given) if callable(given) else str(given)
        raise ShapeError(
            f"hm.kernel: expected {plural(rank, 'result')} of the index map of {name}, one for each dimension, got "
            f"{len(m.results)} from {shown}"
        )
    return m
