"""Tiles of an output: the reads of each tile, the sizes for which they are boxes, and their costs.

The maps come from one propagation whose dimensions are the tiling parameters; compiled code computes everything that
depends on sizes.  No code depends on an opcode.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from .._core import Computation, Expr, IndexingMap, Instruction, Module, Shape, TilePlan, _over_all_parameters
from ..analysis.known_indices import known_maps
from ..analysis.queries import shape_indices
from ..analysis.questions import Questions, Region
from ..base.answers import ReadOnly
from ..base.attached import Page
from ..base.devices import Device, Limits
from ..base.lazy import np, npt
from ..base.types import ShapeIndex, expect, expect_index, expect_ints, expect_items, subject_of, wrong_type
from ..errors import ShapeError
from ..ops._shapes import array_leaves, shape_at
from .candidates import candidates
from .table import COLUMNS, COST_COLUMNS, Refusal, TileTable, reason_texts

if TYPE_CHECKING:
    from .._core import _Record, _Tiles
    from .frontier import TileFrontier

Sizes: TypeAlias = "Sequence[int] | npt.NDArray[np.int64]"


@dataclass(frozen=True)
class TileParameter:
    """A dimension that is cut into tiles."""

    name: str
    """``"t0"``, ``"t1"``, …: expressions call its tile number ``tid_t0`` and its tile size ``ts_t0``."""
    size: int
    """The number of its values."""
    kind: Literal["parallel", "sequential"]
    """``"parallel"``: a dimension of the output; ``"sequential"``: a contracted, reduced or window dimension."""
    origin: tuple[Instruction, int]
    """The instruction and the dimension of its output; for a sequential parameter the number of the range in its
    rule."""


class TileBox(NamedTuple):
    """The elements that one tile reads: in every dimension ``offset + stride * i`` for ``0 <= i < size``, within
    ``[lower, upper)``."""

    offset: tuple[int, ...]
    size: tuple[int, ...]
    stride: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]


@dataclass(frozen=True)
class TileClause:
    """A condition on sizes: one of the expressions lies between its least and its greatest value.

    Without alternatives no formula is known; use :meth:`Tiling.evaluate`.
    """

    read: TileRead
    reason: Refusal
    """The refusal if no alternative holds."""
    any_of: tuple[tuple[Expr, int, int], ...]

    def __str__(self) -> str:
        upper = 2**63 - 1
        parts = [
            f"{e} = {lo}" if lo == hi else f"{e} >= {lo}" if hi == upper else f"{lo} <= {e} <= {hi}"
            for e, lo, hi in self.any_of
        ]
        return f"{self.reason}: {' or '.join(parts) or 'no formula is known'}"


@dataclass(frozen=True)
class TileRead:
    """An operand, or an output, and one of the maps to it from all parameters."""

    instruction: Instruction
    """The value to read or write."""
    operand: int
    """The number of the operand, or of the output to write."""
    shape_index: ShapeIndex
    """The shape index of the array in the value."""
    unknown: str | None
    """Why the elements are not known; None if they are."""
    is_exact_map: bool
    """Whether the map reaches only elements that are read."""
    _own_map: IndexingMap | None = field(compare=False, repr=False)  # from the parameters that it uses
    _tiling: Tiling = field(repr=False)
    _number: int = field(repr=False)  # among the reads and writes of the tiling

    @property
    def params(self) -> tuple[TileParameter, ...]:
        """The parameters of the tiling."""
        return self._tiling.params

    @cached_property
    def map(self) -> IndexingMap | None:
        """The map from all parameters to the elements, with a dimension for each parameter; None if unknown."""
        return self._own_map and _over_all_parameters(self._own_map, [p.size for p in self.params])

    @cached_property
    def _symbolic(self) -> tuple[list[Any], list[Any]]:
        return self._tiling._plan.symbolic(self._number)

    def _column(self, k: int) -> tuple[Expr, ...]:
        return tuple(exprs[k] for exprs, _, _ in self._symbolic[0])

    @property
    def offsets(self) -> tuple[Expr, ...]:
        """The least element in every dimension, over ``tid_NAME``, ``ts_NAME`` and runtime values."""
        return self._column(0)

    @property
    def sizes(self) -> tuple[Expr, ...]:
        """The number of elements in every dimension."""
        return self._column(1)

    @property
    def strides(self) -> tuple[Expr, ...]:
        """The distance between neighbours in every dimension, at least 1."""
        return self._column(2)

    @property
    def lower(self) -> tuple[Expr, ...]:
        """The least index that may be read in every dimension."""
        return self._column(3)

    @property
    def upper(self) -> tuple[Expr, ...]:
        """The end of the indices that may be read in every dimension, exclusive."""
        return self._column(4)

    @property
    def reversed(self) -> tuple[bool, ...]:
        """Whether the elements of a dimension are read from the last to the first."""
        return tuple(is_reversed for _, is_reversed, _ in self._symbolic[0])

    @property
    def exact(self) -> bool:
        """Whether the expressions describe exactly the elements that are read, if the clauses hold.

        A tile that is cut off at the end of a parameter may read fewer elements, as with a window of a larger stride.
        """
        return self._own_map is not None and self.is_exact_map and all(exact for _, _, exact in self._symbolic[0])

    @property
    def clauses(self) -> tuple[TileClause, ...]:
        """The conditions under which the read is a box; all must hold."""
        if self._own_map is None:
            return (TileClause(self, Refusal.UNKNOWN_MAP, ()),)
        return tuple(TileClause(self, Refusal(reason), any_of) for reason, any_of in self._symbolic[1])

    def __str__(self) -> str:
        where = f"{self.instruction.name}{''.join(f'.{i}' for i in self.shape_index)}"
        if self._own_map is None:
            return f"{where}: unknown, {self.unknown}"
        whole = self._tiling._shape(self).dimensions
        columns = zip(self.offsets, self.sizes, self.strides, self.reversed, whole, strict=True)
        return f"{where}[{', '.join(_range_text(*column) for column in columns)}]"


def tile(subject: Instruction | Computation | Module, /, output: int | ShapeIndex = 0) -> Tiling:
    """The tiling of an instruction, a fusion, a computation or a module's entry by tiles of one of its outputs.

    The work that does not depend on tile sizes is done once, by this call.  If there are several outputs, all are
    written: another output is tiled by the part of it that tiles of ``output`` need, or like ``output`` if they need
    none.

    ``output`` is the number of an output or a shape index; the first array at or below it is tiled.

    Raises :class:`ShapeError` if the output does not exist or has no array.

    >>> module = hm.parse('''ENTRY e {
    ...   a = f32[64,32] parameter(0)
    ...   b = f32[32,48] parameter(1)
    ...   ROOT d = f32[64,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ... }''')
    >>> t = hm.tile(module.entry)
    >>> print(t)
    t0 64 parallel, d dimension 0
    t1 48 parallel, d dimension 1
    t2 32 sequential, d range 0
    a[tid_t0*ts_t0 : +ts_t0, tid_t2*ts_t2 : +ts_t2]
    b[tid_t2*ts_t2 : +ts_t2, tid_t1*ts_t1 : +ts_t1]
    >>> table = t.evaluate([[16, 16, 32], [32, 48, 8]])
    >>> table["legal"].tolist(), table["grid"].tolist(), table["read_bytes"].tolist()
    ([True, True], [12, 2], [[24576, 24576], [8192, 12288]])
    """
    subject = subject_of(subject, "tile")
    expect_index(output, "tile", "output")
    start, ends = (
        (subject.root, subject.parameters) if isinstance(subject, Computation) else (subject, subject.operands)
    )
    chosen = shape_indices(start.shape, output, "output")
    if not chosen:
        raise ShapeError(f"output {output} of {start.name} has no array")
    indices = array_leaves(start.shape)
    tiled = indices.index(chosen[0])
    questions = Questions(start.module)
    found = questions.tiles(start.number, indices, tiled, _region(subject, ends))
    maps = [known_maps(record.maps, questions) for record in found.records]
    return Tiling((subject, chosen[0]), start, ends, indices, found, maps)


def _region(subject: Instruction | Computation, ends: Iterable[Instruction]) -> Region:
    inside, entered = (subject, None) if isinstance(subject, Computation) else ([subject], subject)
    return Region.of(inside, entered, ends)


class Tiling(Page, ReadOnly):
    """The tiles of an output: parameters, the reads of tiles, and the costs of candidate sizes.

    :func:`tile` returns one.  A candidate is a size for each of :attr:`params`; a larger size than the parameter's
    counts as the whole.  A tile has a number for each parameter, and its points start at ``number * size``.
    """

    def __init__(
        self,
        question: tuple[Instruction | Computation, ShapeIndex],
        start: Instruction,
        ends: Sequence[Instruction],
        indices: Sequence[ShapeIndex],
        found: _Tiles,
        maps: Sequence[Sequence[IndexingMap]],
    ) -> None:
        sizes, sequential = found.sizes, found.sequential
        self.root = start
        """The instruction whose output is tiled; for a computation its root."""
        n_parallel = len(sizes) - len(sequential)
        module = start.module
        params = [TileParameter(f"t{k}", sizes[k], "parallel", (start, k)) for k in range(n_parallel)]
        for k, (number, position) in enumerate(sequential, n_parallel):
            params.append(TileParameter(f"t{k}", sizes[k], "sequential", (module.instruction(number), position)))
        self.params: tuple[TileParameter, ...] = tuple(params)
        """Parallel parameters first, in the order of the output's dimensions; then sequential ones, users first."""
        number_of: dict[int, int] = {}
        for k, end in enumerate(ends):
            number_of.setdefault(end.number, k)
        reads: list[TileRead] = []
        pairs = zip(found.records, maps, strict=True)
        for record, own in sorted(pairs, key=lambda pair: number_of[pair[0].number]):
            operand = number_of[record.number]
            end, exact = ends[operand], record.exact and not record.crosses_devices
            if record.unknown is not None:
                for index in array_leaves(end.shape):
                    reads.append(TileRead(end, operand, index, record.unknown, False, None, self, len(reads)))
                continue
            for m in own:
                reads.append(TileRead(end, operand, m.shape_index, None, exact, m, self, len(reads)))
        self.reads: tuple[TileRead, ...] = tuple(reads)
        """One for each operand and map."""
        disagree = "cannot derive its tile from that of the tiled output"
        self.writes: tuple[TileRead, ...] = tuple(
            TileRead(start, k, index, None if m is not None else disagree, True, m, self, len(reads) + k)
            for k, (index, m) in enumerate(zip(indices, found.outputs, strict=True))
        )
        """One for each array of the output."""
        self._nests = found.nests
        self._question = question
        self._tiled = list(indices).index(question[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return tile, self._question

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tiling):
            return NotImplemented
        return self._question == other._question

    def __hash__(self) -> int:
        return hash(self._question)

    @cached_property
    def _plan(self) -> TilePlan:
        every = [*self.reads, *self.writes]
        places = [(k < len(self.reads), r.operand, r.shape_index) for k, r in enumerate(every)]
        numbers = {place: k for k, place in enumerate(places)}
        arrays = [
            (r._own_map, self._shape(r), r.is_exact_map, numbers[at]) for r, at in zip(every, places, strict=True)
        ]
        return self._plan_of(arrays, len(self.reads))

    def _plan_of(self, arrays: Sequence[tuple[IndexingMap | None, Shape, bool, int]], n_reads: int) -> TilePlan:
        """The plan of arrays, of which those from number ``n_reads`` on are written."""
        n_parallel = sum(p.kind == "parallel" for p in self.params)
        sizes = [p.size for p in self.params]
        return TilePlan(sizes, n_parallel, self._nests, arrays, n_reads, n_reads + self._tiled)

    def _bytes_read(
        self, arrays: Sequence[tuple[IndexingMap, Shape]], rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """The columns ``read_bytes`` and ``read_bytes_exact`` of arrays with maps from the parameters."""
        plan = self._plan_of([(m, shape, True, k) for k, (m, shape) in enumerate(arrays)], len(arrays))
        names = ["read_bytes", "read_bytes_exact"]
        found = plan.evaluate(rows, *_numbers(_named(None, Device), _named(None, Limits)), 1, names, 1)
        return found[names[0]], found[names[1]]

    def _maps_to(self, questions: Questions, values: Iterable[Instruction]) -> list[_Record]:
        """The maps from the parameters to values inside."""
        indices = array_leaves(self.root.shape)
        found = questions.tiles(self.root.number, indices, self._tiled, _region(self._question[0], values))
        return found.records

    @staticmethod
    def _shape(read: TileRead) -> Shape:
        return shape_at(read.instruction.shape, read.shape_index)

    @property
    def legal(self) -> tuple[TileClause, ...]:
        """The conditions under which every read is a box; all must hold.  They explain; :meth:`evaluate` decides."""
        return tuple(clause for read in self.reads for clause in read.clauses)

    def candidates(
        self, kind: Literal["pow2", "divisors", "dense"] = "pow2", at_most: int | None = None, seed: int = 0
    ) -> npt.NDArray[np.int64]:
        """Candidates of tile sizes: int64 ``[n, len(params)]``.

        ``"pow2"``: every size is a power of two or the whole parameter; ``"divisors"``: every size divides the
        parameter; ``"dense"``: any size.  If there are more than ``at_most``, the result is a sample without
        repetition, drawn by ``seed``.

        Raises ``ValueError`` for another kind, and for more than 2**26 candidates without ``at_most``.

        >>> module = hm.parse("ENTRY e { p = f32[6] parameter(0)  ROOT n = f32[6] negate(p) }")
        >>> hm.tile(module.entry).candidates("pow2").tolist()
        [[1], [2], [4], [6]]
        """
        expect_ints("results.Tiling.candidates", at_most=0 if at_most is None else at_most, seed=seed)
        return candidates([p.size for p in self.params], kind, at_most, seed)

    def evaluate(
        self,
        candidates: npt.ArrayLike,
        *,
        device: Device | str | None = None,
        limits: Limits | str | None = None,
        stages: int = 2,
        columns: Sequence[str] | None = None,
        threads: int = 1,
    ) -> TileTable:
        """The costs of candidates: a column for each number, a row for each candidate.

        ``device`` determines ``waves``, ``tail``, ``occupancy`` and the bytes of a sector, by default 32; a candidate
        that does not fit its shared memory and its registers is not legal.  ``limits`` are further rules.  Both are
        records or names (:meth:`Device.named`, :meth:`Limits.named`).  ``stages`` is the number of buffers of a
        pipeline.  ``columns`` are the names of the columns to compute; leaving out ``run_bytes``, ``sectors``,
        ``efficiency`` and ``dram_bytes_upper`` is quicker.  ``threads`` is the number of threads; 0 means one for each
        core.  :class:`TileTable` explains the columns.

        Raises :class:`ShapeError` for candidates of another width, ``ValueError`` for sizes below 1, unknown names and
        unknown columns.
        """
        rows, on, limited = self._rows(candidates), _named(device, Device), _named(limits, Limits)
        wanted: list[str] | None = None
        if columns is not None:
            wanted = expect_items(str, columns, "results.Tiling.evaluate", "names of columns as `columns`")
            known = (*COLUMNS, *COST_COLUMNS)
            if unknown := [name for name in wanted if name not in known]:
                raise ValueError(f"no column {unknown[0]!r}; the columns are {', '.join(known)}")
        expect_ints("results.Tiling.evaluate", stages=stages, threads=threads)
        if not 0 < stages < 1 << 31:
            raise ValueError(f"hm.results.Tiling.evaluate: expected 1 to 2**31 - 1 as `stages`, got {stages}")
        if threads < 0:
            raise ValueError(f"hm.results.Tiling.evaluate: expected 0 (all cores) or more as `threads`, got {threads}")
        n_threads = min(threads or os.cpu_count() or 1, 1 << 16)  # more threads than any machine has
        # The numbers of reasons stand behind `legal` as well.
        asked = [*wanted, "reason"] if wanted is not None and "legal" in wanted else wanted
        found = self._plan.evaluate(rows, *_numbers(on, limited), stages, asked, n_threads)
        numbers = found.get("reason")
        if wanted is not None:
            from .costs import cost_columns

            found |= cost_columns(self, rows, on, [name for name in wanted if name in COST_COLUMNS])
            found = {name: found[name] for name in wanted}
        return TileTable(found, len(rows), self._reason_texts, numbers)

    @cached_property
    def _reason_texts(self) -> Mapping[int, str]:
        return reason_texts([str(r.instruction.name) for r in self.reads], [f"output {w.operand}" for w in self.writes])

    def _rows(self, given: npt.ArrayLike | list[Sizes]) -> npt.NDArray[np.int64]:
        rows = np.asarray(given)
        if rows.dtype.kind not in "iu" and rows.size:
            raise wrong_type("results.Tiling.evaluate", "integers as `candidates`", given, f"of dtype {rows.dtype}")
        if rows.ndim != 2 or rows.shape[1] != len(self.params):
            n = len(self.params)
            raise ShapeError(f"expected candidates [n, {n}], one size for each parameter, found shape {rows.shape}")
        if rows.size and rows.min() < 1:
            raise ValueError(f"expected sizes of at least 1, found {rows.min()}")
        if rows.dtype.kind == "u" and rows.size and rows.max() >= 2**63:
            raise ValueError(f"expected sizes below 2**63, found {rows.max()}")
        return np.ascontiguousarray(rows, np.int64)

    def box(
        self, read: TileRead | int, candidate: Sizes, tile_id: Sizes, runtime: Mapping[str | int, int] | None = None
    ) -> TileBox:
        """A box around the elements that one tile reads; exactly these elements if the candidate is legal.

        ``read`` is one of :attr:`reads` or :attr:`writes`, or the number of a read.  ``runtime`` has the values of the
        map's runtime variables by name or number; missing ones take their least value.  A tile that reads nothing has
        sizes of 0.

        Raises :class:`ShapeError` for numbers that do not fit the parameters, and if the read is unknown.

        >>> module = hm.parse("ENTRY e { p = f32[179] parameter(0)  ROOT r = f32[179] reverse(p), dimensions={0} }")
        >>> t = hm.tile(module.entry)
        >>> t.box(0, [32], [1])
        TileBox(offset=(115,), size=(32,), stride=(1,), lower=(0,), upper=(179,))
        """
        expect((TileRead, int), read, "results.Tiling.box", "a read or its number as `read`")
        chosen = self.reads[read] if isinstance(read, int) else read
        if chosen._tiling is not self:
            raise ShapeError("read: expected one of the reads or writes of this tiling")
        if chosen._own_map is None:
            raise ShapeError(f"the reads of {chosen.instruction.name} are unknown: {chosen.unknown}")
        if len(candidate) != len(self.params) or len(tile_id) != len(self.params):
            raise ShapeError(f"expected {len(self.params)} sizes and tile numbers, one for each parameter")
        sizes = [min(n, p.size) for n, p in zip(self._rows([candidate])[0].tolist(), self.params, strict=True)]
        given = {} if runtime is None else dict(runtime)
        values = [index(given.get(v.name, given.get(k, v.lower))) for k, v in enumerate(chosen._own_map.runtime)]
        tile = [index(t) for t in tile_id]
        if any(not -(2**63) <= number < 2**63 for number in (*tile, *values)):
            raise ShapeError("expected tile numbers and runtime values of 64 bits")
        runs = self._plan.tile(chosen._number, sizes, tile, values)
        if runs is None:
            zeros = (0,) * len(self._shape(chosen).dimensions)
            return TileBox(zeros, zeros, tuple(1 for _ in zeros), zeros, zeros)
        return self._with_bounds(chosen, _box_of(runs), sizes, tile, values)

    def _largest_tile(self, read: TileRead, sizes: Sequence[int]) -> tuple[list[int], TileBox] | None:
        """The first tile that reads the most elements of an array, and its box; None if no tile is known to read
        any."""
        assert read._own_map is not None
        found = self._plan.largest_tile(read._number, list(sizes), [v.lower for v in read._own_map.runtime])
        if found is None:
            return None
        tile, runs = found
        return tile, _box_of(runs)

    @staticmethod
    def _with_bounds(
        read: TileRead, box: TileBox, sizes: Sequence[int], tile: list[int], runtime: list[int]
    ) -> TileBox:
        """The box with the bounds of the expressions, unless the tile's own bounds are tighter."""
        if not read.exact:
            return box
        at: list[Expr | int] = [*tile, *sizes]
        values: list[Expr | int] = [*runtime]

        def number(e: Expr) -> int | None:
            return e.substitute(dims=at, runtime=values).value

        lower, upper = list(box.lower), list(box.upper)
        for k, (lo, hi) in enumerate(zip(read.lower, read.upper, strict=True)):
            last = box.offset[k] + box.stride[k] * (box.size[k] - 1)
            below, beyond = number(lo), number(hi)
            if below is not None and _first(box, k, below) == _first(box, k, lower[k]):
                lower[k] = below
            if beyond is not None and _end(box, k, beyond, last) == _end(box, k, upper[k], last):
                upper[k] = beyond
        return TileBox(box.offset, box.size, box.stride, tuple(lower), tuple(upper))

    def explain(
        self, candidate: Sizes, *, device: Device | str | None = None, limits: Limits | str | None = None
    ) -> str:
        """An explanation of one candidate: the reads of a tile, why it is not legal, and the nearest legal sizes.

        Raises as :meth:`evaluate`.
        """
        from .explanation import explain

        given = {"device": _named(device, Device), "limits": _named(limits, Limits)}
        return explain(self, self._rows([candidate])[0].tolist(), given)

    def frontier(self, device: Device | str | None = None) -> TileFrontier:
        """The least bytes that legal tiles move for each size of on-chip memory, which holds one tile of each array.

        All candidates are tried if they are at most 300,000; else the least size for each number of tiles of a
        parallel parameter and powers of two for a sequential one, or a part of these.  With a ``device``, the listing
        includes the sizes of the shared memory of a block and of the cache.  ``hm.draw`` draws the frontier.

        >>> module = hm.parse('''ENTRY e {
        ...   a = f32[64,64] parameter(0)
        ...   b = f32[64,64] parameter(1)
        ...   ROOT d = f32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        ... }''')
        >>> f = hm.tile(module.entry).frontier()
        >>> int(f.moved_bytes[f.at(1024)]), f.candidates[f.at(1024)].tolist()
        (163840, [13, 16, 1])
        """
        from .frontier import frontier

        return frontier(self, None if device is None else _named(device, Device))

    def features(self) -> dict[str, int | float | bool | str]:
        """Features for cost models, as a flat record: sizes and kinds of parameters; the type, rank, distinct bytes,
        longest contiguous run and reuse of each read; bytes; and ``flops`` as counted by :func:`hlomap.cost`.

        >>> module = hm.parse("ENTRY e { p = f32[6,4] parameter(0)  ROOT t = f32[4,6] transpose(p), dimensions={1,0} }")
        >>> record = hm.tile(module.entry).features()
        >>> record["n_params"], record["t0_size"], record["read0_bytes"], record["read0_reuse"]
        (2, 4, 96, 1.0)
        """
        from .costs import features

        return features(self)

    def time_at_least(
        self, candidates: npt.ArrayLike, device: Device | str, *, flops: float | None = None
    ) -> npt.NDArray[np.float64]:
        """A lower bound of the seconds that each candidate takes; not an estimate.

        The bound is the greater of two times: distinct bytes over the bandwidth of the device, and operations over its
        peak for their element type, if every tile computes its full size and every multiprocessor whole tiles (tile
        and wave quantization).  Operations are counted by :func:`hlomap.cost`, or given as ``flops``, all of
        contractions; only multiply-adds of contractions are quantized.

        Raises as :meth:`evaluate`, and :class:`UnsupportedError` for a device without bandwidth or multiprocessors.

        >>> module = hm.parse('''ENTRY e {
        ...   a = bf16[4096,4096] parameter(0)
        ...   b = bf16[4096,4096] parameter(1)
        ...   ROOT d = bf16[4096,4096] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        ... }''')
        >>> seconds = hm.tile(module.entry).time_at_least([[128, 128, 64], [1024, 1024, 64]], "h100")
        >>> (seconds * 1e6).round().tolist()
        [143.0, 1146.0]
        """
        from .costs import time_at_least

        return time_at_least(self, self._rows(candidates), _named(device, Device), flops)

    def __str__(self) -> str:
        lines = []
        for p in self.params:
            what = "dimension" if p.kind == "parallel" else "range"
            lines.append(f"{p.name} {p.size} {p.kind}, {p.origin[0].name} {what} {p.origin[1]}")
        return "\n".join([*lines, *map(str, self.reads)])

    def __repr__(self) -> str:
        n = prod(max(1, p.size) for p in self.params)
        return f"<Tiling of {self.root.name}: {len(self.params)} parameters, {len(self.reads)} reads, {n} points>"


def _box_of(runs: Sequence[tuple[int, ...]]) -> TileBox:
    return TileBox(*(tuple(column) for column in zip(*runs, strict=True))) if runs else TileBox((), (), (), (), ())


def _range_text(offset: Expr, size: Expr, stride: Expr, is_reversed: bool, whole: int) -> str:
    """``offset : +size by stride``; a dimension read whole is ``:``, one element is its offset."""
    start, n, step = (str(e).replace(" * ", "*") for e in (offset, size, stride))
    step = f"-{step}" if is_reversed else step
    if n == "1":
        return start
    if (start, n, step) == ("0", str(whole), "1"):
        return ":"
    return f"{start} : +{n}{'' if step == '1' else f' by {step}'}"


def _first(box: TileBox, k: int, lower: int) -> int:
    """The number of the first element at or above a bound."""
    return max(0, -((box.offset[k] - lower) // box.stride[k]))


def _end(box: TileBox, k: int, upper: int, last: int) -> int:
    """The number of elements that lie below a bound."""
    return (min(upper - 1, last) - box.offset[k]) // box.stride[k] + 1


def _numbers(device: Device, limits: Limits) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The limits and the sizes of a device for compiled code, with the lesser of two limits; 0 means no limit."""
    grid = (limits.max_grid, device.max_blocks_x if device.n_multiprocessors else 0)
    shared = (limits.max_shared_bytes, device.shared_bytes_per_block)
    least = (min(filter(None, pair), default=0) for pair in (grid, shared))
    over = -1 if limits.max_overshoot is None else int(limits.max_overshoot * 100)
    ruled = (limits.max_live_bytes, list(limits.multiple_of), over, limits.buffers == "all")
    registers = min(4 * device.registers, 2**63 - 1)
    sizes = (device.n_multiprocessors, device.shared_bytes, registers, device.max_blocks, device.sector_bytes)
    return (limits.max_tile_elements, limits.power_of_two, *least, *ruled), sizes


_UNSTATED = {kind: kind() for kind in (Device, Limits)}
"""The defaults, which None stands for."""


def _named(given: Any, kind: Any) -> Any:
    if given is None:
        return _UNSTATED[kind]
    if isinstance(given, str):
        return kind.named(given)
    name = kind.__name__
    expect(kind, given, "results.Tiling.evaluate", f"a {name}, the name of one or None as `{name.lower()}`")
    return given
