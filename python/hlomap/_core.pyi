"""The compiled core: expressions, indexing maps, shapes and HLO modules.

Everything here is immutable, hashable where equality is structural, safe to share between threads, and pickles
through its text form.  Import the names from :mod:`hlomap`, not from here.
"""

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

from .analysis.propagator import Walker
from .drawing import Picture
from .ops import _rule
from .types import Unknown

__version__: str

_ExprLike: TypeAlias = "Expr | int"
_VariableLike: TypeAlias = "int | tuple[int, int] | list[int] | tuple[str, int, int] | Variable"
_ConstraintLike: TypeAlias = "tuple[_ExprLike, int, int] | Constraint"

@final
class Expr:
    """An integer expression over dimension, range and runtime variables, in normal form.

    Built from :meth:`dim`, :meth:`range`, :meth:`runtime`, :meth:`constant` and the Python operators
    ``+ - * // %`` (floor division, and its remainder, as of Python's integers).  A divisor is at least 1, or a negative
    constant: ``x // -n`` is ``(-x) // n`` and ``x % -n`` is ``-((-x) % n)``.  Equality is structural after
    normalisation.
    """

    @staticmethod
    def dim(index: int, /) -> Expr: ...
    @staticmethod
    def range(index: int, /) -> Expr: ...
    @staticmethod
    def runtime(index: int, /) -> Expr: ...
    @staticmethod
    def constant(value: int, /) -> Expr: ...
    @staticmethod
    def parse(text: str, /) -> Expr: ...
    @staticmethod
    def minimum(a: _ExprLike, b: _ExprLike, /) -> Expr: ...
    @staticmethod
    def maximum(a: _ExprLike, b: _ExprLike, /) -> Expr: ...
    def ceildiv(self, divisor: _ExprLike, /) -> Expr: ...
    @property
    def kind(
        self,
    ) -> Literal["constant", "dim", "range", "runtime", "sum", "product", "floordiv", "mod", "min", "max"]: ...
    @property
    def value(self) -> int | None: ...
    @property
    def operands(self) -> tuple[Expr, ...]: ...
    def substitute(
        self, dims: Sequence[_ExprLike] = ..., ranges: Sequence[_ExprLike] = ..., runtime: Sequence[_ExprLike] = ...
    ) -> Expr: ...
    def __add__(self, other: _ExprLike, /) -> Expr: ...
    def __radd__(self, other: int, /) -> Expr: ...
    def __sub__(self, other: _ExprLike, /) -> Expr: ...
    def __rsub__(self, other: int, /) -> Expr: ...
    def __mul__(self, other: _ExprLike, /) -> Expr: ...
    def __rmul__(self, other: int, /) -> Expr: ...
    def __floordiv__(self, divisor: _ExprLike, /) -> Expr: ...
    def __mod__(self, divisor: _ExprLike, /) -> Expr: ...
    def __rfloordiv__(self, other: int, /) -> Expr: ...
    def __rmod__(self, other: int, /) -> Expr: ...
    def __neg__(self) -> Expr: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Variable:
    """A variable of a map: its name and its inclusive range; for a runtime variable also where its value comes from."""

    def __new__(
        cls, name: str | None, lower: int, upper: int, *, source: int | None = None, index: Sequence[_ExprLike] = ...
    ) -> Variable: ...
    @property
    def name(self) -> str: ...
    @property
    def lower(self) -> int: ...
    @property
    def upper(self) -> int: ...
    @property
    def source(self) -> int | None: ...
    @property
    def index(self) -> tuple[Expr, ...]: ...
    @property
    def supplier(self) -> Instruction | None: ...

@final
class Constraint:
    """``expr in [lower, upper]``, both ends included."""

    def __new__(cls, expr: _ExprLike, lower: int, upper: int) -> Constraint: ...
    @property
    def expr(self) -> Expr: ...
    @property
    def lower(self) -> int: ...
    @property
    def upper(self) -> int: ...

@final
class Count:
    """A number of elements known to lie in ``[lower, upper]``; exact where the two are equal.

    An ``upper`` of ``2**128 - 1`` is none: no smaller bound is known, and the number is not exact.
    """

    @property
    def lower(self) -> int: ...
    @property
    def upper(self) -> int: ...
    @property
    def exact(self) -> bool: ...

@final
class Cost:
    """``divmod``: floordiv and mod nodes; ``nodes``: all nodes; both counted as trees over all results."""

    @property
    def divmod(self) -> int: ...
    @property
    def nodes(self) -> int: ...

@final
class Equivalence:
    """Whether two maps are the same function: true in a condition only where they are known to be."""

    @property
    def equal(self) -> bool | None: ...
    @property
    def witness(self) -> tuple[int, ...] | None: ...
    @property
    def reason(self) -> str | None: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class IndexingMap:
    """Which elements of one array belong to one element of another.

    ``dims``, ``ranges`` and ``runtime`` list the variables: an int ``n`` stands for ``[0, n - 1]``, a pair for
    inclusive bounds, a triple for a name and bounds; a pair may be a list, as in JSON.
    """

    def __new__(
        cls,
        dims: Sequence[_VariableLike],
        results: Sequence[_ExprLike],
        *,
        ranges: Sequence[_VariableLike] = ...,
        runtime: Sequence[_VariableLike] = ...,
        constraints: Sequence[_ConstraintLike] = ...,
    ) -> IndexingMap: ...
    @staticmethod
    def identity(dims: Sequence[_VariableLike], /) -> IndexingMap: ...
    @staticmethod
    def parse(
        text: str,
        /,
        *,
        dims: Sequence[_VariableLike] | None = None,
        ranges: Sequence[_VariableLike] | None = None,
        runtime: Sequence[_VariableLike] | None = None,
    ) -> IndexingMap: ...
    @staticmethod
    def undefined(dims: Sequence[_VariableLike], /) -> IndexingMap: ...
    @property
    def dims(self) -> tuple[Variable, ...]: ...
    @property
    def ranges(self) -> tuple[Variable, ...]: ...
    @property
    def runtime(self) -> tuple[Variable, ...]: ...
    @property
    def results(self) -> tuple[Expr, ...]: ...
    @property
    def constraints(self) -> tuple[Constraint, ...]: ...
    @property
    def is_known_empty(self) -> bool: ...
    @property
    def is_undefined(self) -> bool: ...
    @property
    def index(self) -> tuple[int, ...]: ...
    @property
    def use(self) -> tuple[Instruction, int] | None: ...
    def _placed(
        self, index: tuple[int, ...], use: tuple[Instruction, int] | None, suppliers: dict[int, Instruction]
    ) -> IndexingMap: ...
    def simplify(
        self, *, keep_point_dims: bool = False, drop_unused: bool = False, rescale: bool = False
    ) -> IndexingMap: ...
    def then(self, second: IndexingMap, /) -> IndexingMap: ...
    def remap_sources(self, sources: Mapping[int, int], /) -> IndexingMap: ...
    def evaluate(
        self,
        dims: npt.ArrayLike,
        ranges: npt.ArrayLike | None = None,
        runtime: npt.ArrayLike | None = None,
        *,
        check: bool = False,
        threads: int = 1,
    ) -> npt.NDArray[np.int64]: ...
    def in_domain(
        self, dims: npt.ArrayLike, ranges: npt.ArrayLike | None = None, runtime: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.bool_]: ...
    def bounds(self, result: int | Expr, /) -> tuple[int, int]: ...
    def count(self, distinct: bool = False) -> Count: ...
    def inverse(self) -> IndexingMap | None: ...
    def equivalent(self, other: IndexingMap, /) -> Equivalence: ...
    def is_empty(self) -> bool | None: ...
    def cost(self) -> Cost: ...
    def __format__(self, spec: str, /) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def simplify_many(
    maps: Sequence[IndexingMap],
    *,
    keep_point_dims: bool = False,
    drop_unused: bool = False,
    rescale: bool = False,
    threads: int = 1,
) -> list[IndexingMap]: ...
def compose_many(
    pairs: Sequence[tuple[IndexingMap, IndexingMap]],
    *,
    simplify: bool = False,
    drop_unused: bool = False,
    threads: int = 1,
) -> list[IndexingMap]: ...

# ---------------------------------------------------------------------------------------------------- shapes and HLO

@final
class Layout:
    """How the elements of an array lie in memory: ``{1,0:T(8,128)}``; see ``minor_to_major`` and ``tiles``.

    A negative dimension number counts from the end.  The constructor raises ShapeError for values that no array can
    have; the text of such a layout is read, and ``problem`` says what is wrong.
    """

    def __new__(
        cls,
        minor_to_major: Sequence[int],
        *,
        tiles: Sequence[Sequence[int | None]] = ...,
        tail_padding_alignment: int = 1,
        element_size_in_bits: int = 0,
        memory_space: int = 0,
        split_configs: Sequence[tuple[int, Sequence[int]]] = ...,
        padded_dimensions: Sequence[int] = ...,
        dim_level_types: str | None = None,
        index_type: str | None = None,
        pointer_type: str | None = None,
        physical_shape: Shape | None = None,
        dynamic_shape_metadata_prefix_bytes: int = 0,
    ) -> Layout: ...
    @staticmethod
    def parse(text: str, /) -> Layout: ...
    def replace(self, **changes: Any) -> Layout:
        """The layout with other values in some fields, named as in the constructor."""
    @property
    def minor_to_major(self) -> tuple[int, ...]:
        """Dimension numbers, first = the one that changes fastest in memory."""
    @property
    def tiles(self) -> tuple[tuple[int | None, ...], ...]:
        """Tiles, applied left to right; ``None`` stands for ``*``: combined with the next more minor dimension."""
    @property
    def element_size_in_bits(self) -> int:
        """``E(n)``: bits that one element takes; 0 = whole bytes."""
    @property
    def memory_space(self) -> int:
        """``S(n)``; 0 is the default memory."""
    @property
    def tail_padding_alignment(self) -> int:
        """``L(n)``: the buffer's size rounds up to a multiple of this number of elements."""
    @property
    def split_configs(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """``SC(d:i,j)``: a physical dimension, 0 = most major, and the indices at which a new part starts."""
    @property
    def padded_dimensions(self) -> tuple[int, ...]:
        """The size that each dimension is padded to before it is laid out, or ``()``.  It has no text form."""
    @property
    def dim_level_types(self) -> str | None:
        """``D(…)`` as it is written."""
    @property
    def index_type(self) -> str | None:
        """``#(u32)``"""
    @property
    def pointer_type(self) -> str | None:
        """``*(u32)``"""
    @property
    def physical_shape(self) -> Shape | None:
        """``P(shape)``"""
    @property
    def dynamic_shape_metadata_prefix_bytes(self) -> int:
        """``M(n)``: bytes of metadata that a dynamic shape puts before the data."""
    @property
    def problem(self) -> str | None:
        """What makes this layout invalid for its own rank: the field and its value."""
    def draw(self, dimensions: Sequence[int] | None = None) -> Picture:
        """A picture of an array with this layout; without sizes, of one that shows a few tiles."""
    def _repr_svg_(self) -> str | None: ...
    @staticmethod
    def _restored(text: str, padded: Sequence[int], /) -> Layout: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Shape:
    """An element type with dimensions, or a tuple of shapes, or token / opaque / a buffer."""

    def __new__(cls, dtype: str, dimensions: Sequence[int], layout: Layout | None = None) -> Shape: ...
    @staticmethod
    def parse(text: str, /) -> Shape: ...
    @staticmethod
    def tuple(shapes: Sequence[Shape], /) -> Shape: ...
    @property
    def dtype(self) -> str:
        """The element type of an array, as HLO text names it; else tuple, token, opaque or buffer."""
    @property
    def dimensions(self) -> builtins.tuple[int, ...]:
        """Sizes by dimension number, the bound of a dynamic one, -1 for one without bound."""
    @property
    def dynamic(self) -> builtins.tuple[bool, ...]:
        """By dimension: whether its size is known only when the program runs."""
    @property
    def rank(self) -> int: ...
    def size(self, dimension: int, /) -> int:
        """The size of a dimension; a negative number counts from the end.  -1 where it has no bound."""
    @property
    def layout(self) -> Layout | None:
        """The layout that is written, or None: then it is row-major."""
    def with_layout(self, layout: Layout | None, /) -> Shape:
        """The array with another layout, or with none."""
    def without_layout(self) -> Shape:
        """The shape without layouts, all the way down."""
    def equals(self, other: Shape, /, *, layout: Literal["written", "meant", "ignored"] = "written") -> bool:
        """Whether two shapes are the same: with layouts as written, row-major where none is, or without layouts."""
    @property
    def tuple_shapes(self) -> builtins.tuple[Shape, ...]:
        """The parts of a tuple; ``()`` for everything else."""
    def at(self, index: Sequence[int], /) -> Shape:
        """The shape that a shape index leads to, the shape itself for ``()``."""
    @property
    def is_tuple(self) -> bool: ...
    @property
    def is_array(self) -> bool: ...
    @property
    def n_elements(self) -> int:
        """The number of elements of an array, dynamic dimensions at their bounds."""
    @property
    def element_bits(self) -> int:
        """The number of bits that one element takes in memory: whole bytes, or what ``E(n)`` says."""
    @property
    def value_bits(self) -> int:
        """The number of bits that carry the value of an element: 1 for pred, 4 for s4."""
    @property
    def buffer_elements(self) -> int:
        """The number of places in the buffer, padding included."""
    @property
    def buffer_bytes(self) -> int:
        """The number of bytes of the buffer, without the metadata that ``M(n)`` puts before it."""
    @property
    def padding_percent(self) -> float:
        """How much larger than its elements the buffer is, in per cent; infinite where only padding is."""
    @property
    def physical(self) -> Shape:
        """The array as it lies in memory before tiling: dimensions major to minor, the tiles kept."""
    @property
    def tiled(self) -> Shape:
        """The buffer as a row-major array: counts of tiles and places in tiles, padding of the tiles included."""
    def logical(self, minor_to_major: Sequence[int], /) -> Shape:
        """The array whose ``physical`` this is, with dimensions in this order, minor to major."""
    @property
    def parts(self) -> builtins.tuple[builtins.tuple[builtins.tuple[int, ...], Shape], ...]:
        """The parts that split configs make, row-major: for each its first index and its shape."""
    def draw(self) -> Picture:
        """A picture of where the elements lie; ``str()`` of it is a form for the terminal, ``.svg`` the image."""
    def _repr_svg_(self) -> str | None: ...
    @staticmethod
    def _restored(text: str, padded: Sequence[Sequence[int]], /) -> Shape: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def bitcast_factors(
    operand: Shape, output: Shape, /
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """A bitcast as transpose, reshape, transpose.

    Gives operand_perm, operand_physical_dims, output_physical_dims, output_perm.  Logical dimension
    ``operand_perm[k]`` is the operand's k-th most major one and has size ``operand_physical_dims[k]``; likewise for
    the output.  None where there are tiles or the widths differ.
    """

def linear_index(
    shape: Shape,
    /,
    *,
    index: Sequence[int] | None = None,
    part: int | None = None,
    unit: Literal["element", "byte", "bit"] | None = None,
) -> IndexingMap:
    """The map from the logical index of an element to its position in the buffer, counted in elements.

    ``unit``: counted in bytes or bits.  ``index``: the array at this shape index of a tuple.  ``part``: in the buffer
    of one part, where split configs cut the array.
    """

def logical_index(shape: Shape, /, *, index: Sequence[int] | None = None, part: int | None = None) -> IndexingMap:
    """The map from a position in the buffer to the logical index there; padding lies outside its domain."""

def buffer_elements(shape: Shape, /) -> int:
    """The number of places in the buffer of an array, padding included."""

def strides(shape: Shape, /) -> list[list[tuple[int, int, int]]] | str:
    """For each dimension its digits, minor first: size, weight in the index, stride in the buffer; or why not."""

def reshape_is_bitcast(operand: Shape, output: Shape, /) -> Equivalence:
    """Whether a reshape moves no bytes; the witness is an index of the output that would have to move."""

def transpose_is_bitcast(operand: Shape, output: Shape, dimensions: Sequence[int], /) -> Equivalence:
    """Whether a transpose moves no bytes; dimension i of the output is the operand's ``dimensions[i]``."""

def is_valid_bitcast(operand: Shape, output: Shape, /) -> Equivalence:
    """Whether every element of the output lies where the operand has an element, in buffers of one size."""

_Array: TypeAlias = npt.NDArray[Any]

def pack_into(shape: Shape, array: _Array, buffer: _Array, fill: _Array, threads: int, /) -> None:
    """Lays out flat arrays of unsigned integers or complex numbers; ``fill`` has one element for the padding."""

def unpack_into(shape: Shape, buffer: _Array, array: _Array, threads: int, /) -> None:
    """Reads a flat buffer back into a flat array in row-major order."""

def squeeze_bits(wide: _Array, n_bytes: int, width: int, narrow: _Array, /) -> None:
    """The low ``width`` bits of each element of ``n_bytes`` bytes, one after the other."""

def spread_bits(narrow: _Array, width: int, value: int, is_signed: bool, n_bytes: int, wide: _Array, /) -> None:
    """Elements of ``width`` bits, of which ``value`` count, to elements of ``n_bytes`` bytes."""

@final
class Module:
    """An HLO module: computations of instructions, as they were read."""

    @property
    def name(self) -> str:
        """The module's name; empty where the text has none."""
    @property
    def entry(self) -> Computation:
        """The computation that runs: the one marked ENTRY, else the last one."""
    @property
    def computations(self) -> tuple[Computation, ...]:
        """All computations in text order."""
    @property
    def attributes(self) -> Attributes:
        """The attributes of the header, by name."""
    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What did not fit but could be kept, in the order of the text."""
    @property
    def n_instructions(self) -> int:
        """The number of instructions of all computations."""
    def instruction(self, number: int, /) -> Instruction:
        """The instruction with this number."""
    def to_proto(self) -> bytes:
        """The module as a serialized ``HloModuleProto``, which XLA reads."""
    def same_as(self, other: Module, /, *, names: bool = True) -> bool:
        """Whether another module holds the same, whatever the spelling; ``names=False``: whatever the names."""
    def to_string(
        self,
        *,
        operand_shapes: bool = False,
        metadata: bool = True,
        layouts: bool = True,
        backend_config: bool = True,
        control_predecessors: bool = True,
        large_constants: bool = True,
        signatures: bool = True,
        canonical_names: bool = False,
    ) -> str:
        """The text of the module, which XLA reads; with no arguments that of ``str``.

        ``operand_shapes``: the shape before each operand.  ``metadata``: where instructions came from, with the tables
        of stack frames.  ``layouts``: the layouts of shapes.  ``backend_config``, ``control_predecessors``: these
        attributes.  ``large_constants=False``: ``{...}`` in the place of more than ten elements.  ``signatures``:
        parameters and result before the brace of a computation.  ``canonical_names``: instructions are ``tmp_0``,
        ``tmp_1``, …, computations ``computation_0``, ….
        """
    def __getitem__(self, name: str, /) -> Computation | Instruction: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Computation:
    """A computation of a module: instructions with a root."""

    @property
    def name(self) -> str:
        """The name without ``%``; empty where it is written inside an instruction."""
    @property
    def root(self) -> Instruction: ...
    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters in the order of their numbers."""
    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions in text order."""
    @property
    def module(self) -> Module: ...
    @property
    def attributes(self) -> Attributes: ...
    @property
    def callers(self) -> tuple[Instruction, ...]:
        """The instructions that call it."""
    @property
    def is_fusion(self) -> bool:
        """Whether a fusion calls it."""
    @property
    def number(self) -> int:
        """Its place in the module's computations."""
    @property
    def fingerprint(self) -> bytes:
        """16 bytes, equal for computations that do the same, whatever the names in them."""
    def to_string(
        self,
        *,
        operand_shapes: bool = False,
        metadata: bool = True,
        layouts: bool = True,
        backend_config: bool = True,
        control_predecessors: bool = True,
        large_constants: bool = True,
        signatures: bool = True,
        canonical_names: bool = False,
    ) -> str:
        """The text of this computation alone; the arguments are those of :meth:`Module.to_string`."""
    def __getitem__(self, name: str, /) -> Instruction: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Instruction]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Instruction:
    """One instruction of a module."""

    @property
    def name(self) -> str:
        """The name without ``%``."""
    @property
    def opcode(self) -> str:
        """The operation, as HLO text names it."""
    @property
    def shape(self) -> Shape: ...
    @property
    def operands(self) -> tuple[Instruction, ...]: ...
    @property
    def has_unnamed_operands(self) -> bool:
        """Whether the text leaves the names of the operands out, so that they are not known."""
    @property
    def inconsistency(self) -> str | None:
        """Why its shape, operands and attributes do not fit together, None where they do."""
    @property
    def inferred_shape(self) -> Shape | None:
        """The shape that its operands and attributes decide, None where they leave it open or do not fit together."""
    @property
    def users(self) -> tuple[Instruction, ...]:
        """The instructions that have this one as an operand, in text order."""
    @property
    def called_computations(self) -> tuple[Computation, ...]:
        """The computations it calls, in the order of the text."""
    @property
    def attributes(self) -> Attributes: ...
    @property
    def literal(self) -> Any:
        """The value of a constant as a read-only array (a tuple of such for a tuple), None for other instructions."""
    @property
    def metadata(self) -> Metadata: ...
    @property
    def computation(self) -> Computation: ...
    @property
    def module(self) -> Module: ...
    @property
    def number(self) -> int:
        """Its number, unique in the module and dense from 0."""
    @property
    def position(self) -> int:
        """Its place in its computation."""
    @property
    def is_root(self) -> bool: ...
    @property
    def parameter_number(self) -> int | None: ...
    def signature(self, constant_operands: Sequence[int] = ..., /) -> bytes:
        """16 bytes, equal for instructions whose rules must answer equally.

        Constants and iotas among the operands with the numbers ``constant_operands`` count with their content.
        """
    def to_string(
        self,
        *,
        operand_shapes: bool = False,
        metadata: bool = True,
        layouts: bool = True,
        backend_config: bool = True,
        control_predecessors: bool = True,
        large_constants: bool = True,
        signatures: bool = True,
        canonical_names: bool = False,
    ) -> str:
        """The text of this instruction in a line, without ``ROOT``; arguments as in :meth:`Module.to_string`."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Attributes(Mapping[str, Any]):
    """The attributes of a module, a computation or an instruction, by the names in the text."""

    def __getitem__(self, name: str, /) -> Any: ...
    def get(self, name: str, default: Any = None, /) -> Any: ...
    def text(self, name: str, /) -> str | None:
        """The value as it is written."""
    def keys(self) -> list[str]: ...  # type: ignore[override]
    def values(self) -> list[Any]: ...  # type: ignore[override]
    def items(self) -> list[tuple[str, Any]]: ...  # type: ignore[override]
    def __len__(self) -> int: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Window:
    """A window of a convolution, a reduce-window or a select-and-scatter; pickles through its text."""

    @staticmethod
    def parse(text: str) -> Window:
        """The window that a text says, braces included; :class:`~hlomap.HloSyntaxError` where it says none."""
    @property
    def dims(self) -> tuple[WindowDim, ...]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class WindowDim:
    """One dimension of a window; what the text leaves out has its default."""

    def __new__(
        cls,
        size: int,
        *,
        stride: int = 1,
        pad_low: int = 0,
        pad_high: int = 0,
        base_dilation: int = 1,
        window_dilation: int = 1,
        reversal: bool = False,
    ) -> WindowDim: ...
    def __getnewargs_ex__(self) -> tuple[tuple[int], dict[str, Any]]: ...
    @property
    def size(self) -> int: ...
    @property
    def stride(self) -> int: ...
    @property
    def pad_low(self) -> int: ...
    @property
    def pad_high(self) -> int: ...
    @property
    def base_dilation(self) -> int: ...
    @property
    def window_dilation(self) -> int: ...
    @property
    def reversal(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ConvolutionDimensionNumbers:
    """Which dimension of the arrays of a convolution is which: ``bf01_oi01->bf01``; pickles through its text."""

    @staticmethod
    def parse(text: str) -> ConvolutionDimensionNumbers:
        """The dimension numbers that a text says; :class:`~hlomap.HloSyntaxError` where it says none."""
    @property
    def input_batch(self) -> int: ...
    @property
    def input_feature(self) -> int: ...
    @property
    def input_spatial(self) -> tuple[int, ...]: ...
    @property
    def kernel_input_feature(self) -> int: ...
    @property
    def kernel_output_feature(self) -> int: ...
    @property
    def kernel_spatial(self) -> tuple[int, ...]: ...
    @property
    def output_batch(self) -> int: ...
    @property
    def output_feature(self) -> int: ...
    @property
    def output_spatial(self) -> tuple[int, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Sharding:
    """How a value is laid over devices.

    ``{replicated}``, ``{devices=[2,2]<=[4]}``, ``{mesh['x'=2], [{'x'}]}``, tuples of such.  Equal where all parts
    are; pickles through its text.
    """

    @staticmethod
    def parse(text: str) -> Sharding:
        """The sharding that a text says, braces included; :class:`~hlomap.HloSyntaxError` where it says none."""
    @property
    def kind(self) -> str:
        """replicated, maximal, manual, unknown, unreduced, tiled, named (by the axes of a mesh) or tuple."""
    @property
    def parts(self) -> tuple[Sharding, ...]:
        """Of a tuple, the sharding of each leaf; else ``()``."""
    @property
    def device(self) -> int | None:
        """The device of a maximal sharding."""
    @property
    def tile_dimensions(self) -> tuple[int, ...] | None:
        """The number of tiles along each dimension, followed by the dimensions that only devices have."""
    @property
    def devices(self) -> tuple[int, ...] | None:
        """The device of each tile in row-major order of ``tile_dimensions``, an iota written out."""
    @property
    def iota(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """``(reshape, transpose)`` where the devices of the tiles are an iota."""
    @property
    def replicates_last_dimension(self) -> bool:
        """Whether devices along the last of ``tile_dimensions`` have the same tile."""
    @property
    def last_dimensions(self) -> tuple[str, ...]:
        """What the last of ``tile_dimensions`` are, which only devices have."""
    @property
    def group(self) -> tuple[str, int] | None:
        """``("as", n)`` or ``("like", n)``: sharded as, or like, all others of group n."""
    @property
    def metadata(self) -> tuple[str, ...]:
        """Where it came from, each as text in braces."""
    @property
    def mesh(self) -> Mesh | None:
        """The mesh of a named sharding."""
    @property
    def dimension_axes(self) -> tuple[tuple[str, ...], ...]:
        """Of a named sharding, by dimension the axes that cut it, ``"?"`` last where more may be added."""
    @property
    def replicated_axes(self) -> tuple[str, ...]: ...
    @property
    def unreduced_axes(self) -> tuple[str, ...]: ...
    @property
    def manual_axes(self) -> tuple[str, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Mesh:
    """Devices in an array whose dimensions have names."""

    @property
    def axes(self) -> dict[str, int]:
        """Name and size of each axis, the most major first."""
    @property
    def devices(self) -> tuple[int, ...]:
        """The devices in row-major order."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ReplicaGroups:
    """Groups of devices that work together, each a tuple of ints; listed when that is asked for.

    Equal to other groups, and to a tuple of tuples, that list the same; pickles through its text.
    :class:`~hlomap.UnsupportedError` where more than 2^24 devices, or sizes that differ, are to be listed.
    """

    @staticmethod
    def parse(text: str) -> ReplicaGroups:
        """The groups that a text says; :class:`~hlomap.HloSyntaxError` where it says none."""
    @property
    def group_size(self) -> int | None:
        """How many devices are in each group; None where groups differ, or there are none."""
    @property
    def iota(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """``(reshape, transpose)`` of ``[…]<=[…]T(…)``."""
    @property
    def mesh(self) -> Mesh | None:
        """The mesh of ``mesh[…] {…}``."""
    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the mesh that run within a group, the slowest first."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int, /) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, at: slice, /) -> tuple[tuple[int, ...], ...]: ...
    def __iter__(self) -> Iterator[tuple[int, ...]]: ...
    def __contains__(self, group: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class InputOutputAlias:
    """A part of the output of a module that lies where a part of a parameter is."""

    def __new__(
        cls,
        output_index: Sequence[int],
        parameter_number: int,
        parameter_index: Sequence[int],
        kind: str = "may-alias",
    ) -> InputOutputAlias: ...
    @property
    def output_index(self) -> tuple[int, ...]: ...
    @property
    def parameter_number(self) -> int: ...
    @property
    def parameter_index(self) -> tuple[int, ...]: ...
    @property
    def kind(self) -> str:
        """``"may-alias"`` or ``"must-alias"``."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class BufferDonor:
    """A part of a parameter that an output may lie on."""

    def __new__(cls, parameter_number: int, parameter_index: Sequence[int]) -> BufferDonor: ...
    @property
    def parameter_number(self) -> int: ...
    @property
    def parameter_index(self) -> tuple[int, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class OperandAlias:
    """A part of an instruction's output that lies where a part of an operand is."""

    def __new__(cls, output_index: Sequence[int], operand: int, operand_index: Sequence[int]) -> OperandAlias: ...
    @property
    def output_index(self) -> tuple[int, ...]: ...
    @property
    def operand(self) -> int: ...
    @property
    def operand_index(self) -> tuple[int, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ResultAccuracy:
    """How exact a result is to be: a mode (default, highest), or tolerances."""

    def __new__(cls, mode: str, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> ResultAccuracy: ...
    @property
    def mode(self) -> str: ...
    @property
    def atol(self) -> float: ...
    @property
    def rtol(self) -> float: ...
    @property
    def ulps(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class EntryLayout:
    """The shapes of the parameters and of the value of a module, with the layouts that a caller sees."""

    @property
    def parameters(self) -> tuple[Shape, ...]: ...
    @property
    def result(self) -> Shape: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Metadata:
    """Where an instruction came from; a field that the text does not have is None."""

    def __new__(
        cls,
        op_name: str | None = None,
        op_type: str | None = None,
        source_file: str | None = None,
        source_line: int | None = None,
        source_column: int | None = None,
        function: str | None = None,
        stack_frame_id: int | None = None,
    ) -> Metadata: ...
    def __getnewargs__(
        self,
    ) -> tuple[str | None, str | None, str | None, int | None, int | None, str | None, int | None]: ...
    @property
    def op_name(self) -> str | None: ...
    @property
    def op_type(self) -> str | None: ...
    @property
    def source_file(self) -> str | None: ...
    @property
    def source_line(self) -> int | None: ...
    @property
    def source_column(self) -> int | None: ...
    @property
    def function(self) -> str | None: ...
    @property
    def stack_frame_id(self) -> int | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Diagnostic:
    """Something in a text that is wrong or does not fit, and where; lines and columns count from 1."""

    @property
    def message(self) -> str: ...
    @property
    def filename(self) -> str | None: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def found(self) -> str | None: ...
    @property
    def expected(self) -> str | None: ...
    @property
    def snippet(self) -> str:
        """The line of the text with a caret below the place."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def parse_text(source: str | bytes, name: str | None = None, strict: bool = False) -> list[Module]:
    """All modules of a text, without the interpreter lock."""

def unpack_head(head: bytes, n: int, /) -> tuple[str | None, bytes]:
    """How the beginning of a file is compressed, and the first ``n`` bytes that it holds."""

def is_module_head(head: bytes, /) -> bool:
    """Whether the beginning of a file is the beginning of a proto that holds a module."""

def known_attributes(place: str, /) -> list[tuple[str, str, bool, list[str]]]:
    """The attributes that an operation, or the header of a ``module``, can have, sorted by name.

    Each with the form of its value, whether it must be there, and the words that the value can be where they are few.
    """

def known_opcodes() -> list[str]:
    """The operations that are known by name."""

@final
class InstructionIndexing:
    """What a rule said of an instruction: a part for each operand, or for each output.

    ``operand`` is -1 where the question was about ``leaf`` of the output.  ``said`` are the parts in order, or a
    mapping from their numbers; parts that say that nothing is read, and those of values without elements, are left
    out.  Raises :class:`~hlomap.ShapeError` for a map that does not fit the shapes.
    """

    def __new__(
        cls, instruction: Instruction, leaf: _Leaf, operand: int, said: _rule.RuleResult, /
    ) -> InstructionIndexing: ...
    @staticmethod
    def unknown(instruction: Instruction, leaf: _Leaf, operand: int, reason: str, /) -> InstructionIndexing:
        """Every part is unknown for this reason."""
    @property
    def parts(self) -> dict[int, _rule.OperandIndexing]:
        """The parts that say something, by number, as rules give them."""
    @property
    def has_runtime(self) -> bool:
        """Whether a map has a runtime variable."""
    def __len__(self) -> int: ...

@final
class Walks:
    """The walks of one module, for one question.  ``rules`` is the walker that answers what they ask."""

    def __new__(cls, module: Module, /) -> Walks: ...
    def ask(self, rules: Walker, number: int, leaf: _Leaf, operand: int, /) -> InstructionIndexing:
        """The rule of the instruction with this number for a leaf of its output, or of an operand; sources are numbers
        of instructions."""
    def through(self, rules: Walker, computation: int, leaf: _Leaf, parameter: int, /) -> InstructionIndexing:
        """Through a computation, from a leaf of its root, or of a parameter; sources are numbers of instructions."""
    def outside(
        self, rules: Walker, number: int, computation: int, leaf: _Leaf, parameter: int, /
    ) -> InstructionIndexing:
        """The same as the instruction with this number sees it, which calls the computation."""
    def walk(
        self,
        rules: Walker,
        start: int,
        leaves: Sequence[_Leaf],
        inside: Sequence[int],
        root: int | None,
        /,
    ) -> tuple[str | None, list[_Found]]:
        """What is found on all ways from leaves of an instruction's value, users first, through the instructions with
        the numbers ``inside``; a call ``root`` is entered in any case.

        Why any value may be read, if so; and for each value its number, why it is unknown, whether the maps are exact,
        why not, whether they lead to other devices, and the maps: each with its leaf and the numbers of users and of
        their operands."""
    def supplier(self, source: int, /) -> Instruction | None:
        """The instruction whose value a runtime source of these walks is."""
    def rows(self, rules: Walker, /) -> Rows:
        """The rows of the module."""

@final
class Rows:
    """The rows of a module, held by what instructions have in common; columns are made when they are asked for."""

    def __len__(self) -> int: ...
    def column(self, name: str, /) -> list[Any]:
        """The values of a column; ``KeyError`` for a name that is none."""
    def buffers(self, name: str, /) -> list[bytes | None]:
        """A column as Arrow holds it: its buffers, those of a list before those of its items.

        Raises :class:`~hlomap.UnsupportedError` where a column of 32-bit offsets does not hold the texts."""

_Leaf: TypeAlias = tuple[int, ...]
_Found: TypeAlias = tuple[
    int, str | None, bool, str | None, bool, list[tuple[_Leaf, IndexingMap, list[tuple[int, int]]]]
]

def _closure(
    shape: Shape, start: _Leaf, step: Callable[[_Leaf], _rule.OperandIndexing], max_maps: int, /
) -> dict[_Leaf, list[IndexingMap]] | Unknown:
    """The maps from one leaf of a value to all its leaves after any number of steps; ``step`` has the part that belongs
    to a leaf.  A part that is unknown is the answer."""

def _reads(
    maps: Sequence[IndexingMap], exact: bool, shape: Shape, /
) -> tuple[list[str], int, int, int | None, int, int | None, int | None]:
    """What is read of an array by a union of maps, ``exact`` or with more than that: texts, ``divmod``, the bounds of
    touched and of distinct elements, and bytes."""

def _extent(parts: Sequence[Shape], /) -> tuple[int | None, int | None]:
    """How many elements values have at most, and how many bytes these are."""

def _parse_module(source: str | bytes) -> Module: ...
def _computation(module: Module, number: int, /) -> Computation: ...
def _instruction(module: Module, number: int, /) -> Instruction: ...
def _diagnostic(
    message: str,
    filename: str | None,
    line: int,
    column: int,
    found: str | None,
    expected: str | None,
    snippet: str,
    /,
) -> Diagnostic: ...
