"""The compiled core: expressions, indexing maps, shapes and HLO modules.

Everything here is immutable, hashable where equality is structural, safe to share between threads, and pickles
through its text form.  Import the names from :mod:`hlomap`, not from here.
"""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from .analysis.questions import Region
from .analysis.table import Table
from .base.answers import Answer, Unknown
from .interop.sympy import SympyMap
from .maps.image import Box, Interval
from .maps.map_set import MapSet
from .maps.set_questions import CommonElement, MissingElement
from .maps.simplification import SimplifyTrace
from .ops import _rule
from .pictures.picture import Picture

__version__: str

#: Name and law of every rule of the simplifier.
LAWS: list[tuple[str, str]]
_MAX_ITEMS: int

_ExprLike: TypeAlias = "Expr | int"
_VariableLike: TypeAlias = "int | tuple[int, int] | list[int] | tuple[str, int, int] | Variable"
_ConstraintLike: TypeAlias = "tuple[_ExprLike, int, int] | Constraint"
_PointValues: TypeAlias = tuple[list[int], list[int], list[int]]
_SetAnswer: TypeAlias = tuple[bool | None, tuple[int, int, list[int], _PointValues, _PointValues] | None, str | None]

@final
class Expr:
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
    kind: Literal["constant", "dim", "range", "runtime", "sum", "product", "floordiv", "mod", "min", "max"]
    value: int | None
    operands: tuple[Expr, ...]
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
    def __array_ufunc__(self, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any: ...
    def __copy__(self) -> Expr: ...
    def __deepcopy__(self, _memo: Any, /) -> Expr: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Variable:
    def __new__(
        cls, name: str | None, lower: int, upper: int, *, source: int | None = None, element: Sequence[_ExprLike] = ...
    ) -> Variable: ...
    name: str
    lower: int
    upper: int
    source: int | None
    element: tuple[Expr, ...]
    supplier: Instruction | None

@final
class Constraint:
    def __new__(cls, expr: _ExprLike, lower: int, upper: int) -> Constraint: ...
    expr: Expr
    lower: int
    upper: int

@final
class Count:
    def __new__(cls, lower: int, upper: int) -> Count: ...
    lower: int
    upper: int
    exact: bool
    def __add__(self, other: Count, /) -> Count: ...
    def __radd__(self, other: Count, /) -> Count: ...

@final
class Cost:
    def __new__(cls, divmod: int, nodes: int) -> Cost: ...
    divmod: int
    nodes: int

@final
class IndexingMap:
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
    def from_function(
        f: Callable[..., Any], dims: int | Sequence[_VariableLike], /, *, ranges: Sequence[_VariableLike] = ()
    ) -> IndexingMap: ...
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
    dims: tuple[Variable, ...]
    ranges: tuple[Variable, ...]
    runtime: tuple[Variable, ...]
    results: tuple[Expr, ...]
    constraints: tuple[Constraint, ...]
    is_known_empty: bool
    is_undefined: bool
    shape_index: tuple[int, ...]
    use: tuple[Instruction, int] | None
    def _placed(
        self, index: tuple[int, ...], use: tuple[Instruction, int] | None, suppliers: dict[int, Instruction]
    ) -> IndexingMap: ...
    def _simplify(
        self, keep_point_dims: bool, drop_unused: bool, rescale: bool, trace: bool, /
    ) -> IndexingMap | None: ...
    def _then(self, second: IndexingMap, /) -> IndexingMap: ...
    def _equivalent(self, other: IndexingMap, /) -> Answer[tuple[int, ...]] | None: ...
    @overload
    def simplify(
        self,
        *,
        keep_point_dims: bool = False,
        drop_unused: bool = False,
        rescale: bool = False,
        trace: Literal[False] = False,
    ) -> IndexingMap: ...
    @overload
    def simplify(
        self,
        *,
        keep_point_dims: bool = False,
        drop_unused: bool = False,
        rescale: bool = False,
        trace: Literal[True],
    ) -> SimplifyTrace: ...
    @overload
    def then(self, second: IndexingMap, /) -> IndexingMap: ...
    @overload
    def then(self, second: MapSet, /) -> MapSet: ...
    def restrict(self, dims: Mapping[int, Interval], /) -> IndexingMap: ...
    def __or__(self, other: MapSet | IndexingMap, /) -> MapSet: ...
    def __and__(self, other: MapSet | IndexingMap, /) -> MapSet: ...
    def __sub__(self, other: MapSet | IndexingMap, /) -> MapSet: ...
    def covers(self, other: MapSet | IndexingMap, /) -> Answer[MissingElement]: ...
    def overlap(self, other: MapSet | IndexingMap, /) -> Answer[CommonElement]: ...
    def remap_sources(self, sources: Mapping[int, int], /) -> IndexingMap: ...
    def evaluate(
        self,
        dims: npt.ArrayLike,
        ranges: npt.ArrayLike | None = None,
        runtime: npt.ArrayLike | None = None,
        *,
        check: bool = True,
        threads: int = 1,
    ) -> npt.NDArray[np.int64]: ...
    def in_domain(
        self, dims: npt.ArrayLike, ranges: npt.ArrayLike | None = None, runtime: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.bool_]: ...
    def bounds(self, result: int | Expr, /) -> tuple[int, int]: ...
    def count(self, distinct: bool = False) -> Count: ...
    def image(self, box: Box | None = None) -> MapSet: ...
    def is_injective(self) -> Answer[CommonElement]: ...
    def inverse(self) -> IndexingMap | Unknown: ...
    def equivalent(self, other: MapSet | IndexingMap, /) -> Answer[tuple[int, ...]]: ...
    def is_empty(self) -> Answer[tuple[int, ...]]: ...
    def cost(self) -> Cost: ...
    def to_isl(self) -> str: ...
    def to_sympy(self) -> SympyMap: ...
    def to_mlir(self, part: Literal["map", "domain"] = "map") -> str: ...
    def to_smtlib(self) -> str: ...
    def _repr_svg_(self) -> str | None: ...
    def __format__(self, spec: str, /) -> str: ...
    def __copy__(self) -> IndexingMap: ...
    def __deepcopy__(self, _memo: Any, /) -> IndexingMap: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def simplify_many(
    maps: Sequence[IndexingMap],
    /,
    *,
    keep_point_dims: bool = False,
    drop_unused: bool = False,
    rescale: bool = False,
    threads: int = 1,
) -> list[IndexingMap]: ...
def compose_many(
    pairs: Sequence[tuple[IndexingMap, IndexingMap]],
    /,
    *,
    simplify: bool = False,
    drop_unused: bool = False,
    threads: int = 1,
) -> list[IndexingMap]: ...
def count_many(maps: Sequence[IndexingMap], /, *, distinct: bool = False, threads: int = 1) -> list[Count]: ...
def bounds_many(maps: Sequence[IndexingMap], /, *, threads: int = 1) -> list[tuple[tuple[int, int], ...]]: ...

# ---------------------------------------------------------------------------------------------------- shapes and HLO

@final
class Layout:
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
    def replace(self, **changes: Any) -> Layout: ...
    minor_to_major: tuple[int, ...]
    tiles: tuple[tuple[int | None, ...], ...]
    element_size_in_bits: int
    memory_space: int
    tail_padding_alignment: int
    split_configs: tuple[tuple[int, tuple[int, ...]], ...]
    padded_dimensions: tuple[int, ...]
    dim_level_types: str | None
    index_type: str | None
    pointer_type: str | None
    physical_shape: Shape | None
    dynamic_shape_metadata_prefix_bytes: int
    problem: str | None
    @staticmethod
    def _sizes(dimensions: Sequence[int], /) -> list[int]: ...
    def draw(self, dimensions: Sequence[int] | None = None) -> Picture: ...
    def _repr_svg_(self) -> str | None: ...
    @staticmethod
    def _restored(text: str, padded: Sequence[int], /) -> Layout: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Shape:
    def __new__(cls, dtype: str, dimensions: Sequence[int], layout: Layout | None = None) -> Shape: ...
    @staticmethod
    def parse(text: str, /) -> Shape: ...
    @staticmethod
    def tuple(shapes: Sequence[Shape], /) -> Shape: ...
    dtype: str
    numpy_dtype: np.dtype[Any]
    dimensions: builtins.tuple[int, ...]
    dynamic: builtins.tuple[bool, ...]
    rank: int
    def size(self, dimension: int, /) -> int: ...
    layout: Layout | None
    def with_layout(self, layout: Layout | None, /) -> Shape: ...
    def without_layout(self) -> Shape: ...
    def equals(self, other: Shape, /, *, layout: Literal["written", "meant", "ignored"] = "written") -> bool: ...
    tuple_shapes: builtins.tuple[Shape, ...]
    def at(self, index: Sequence[int], /) -> Shape: ...
    def leaves(self) -> builtins.tuple[builtins.tuple[builtins.tuple[int, ...], Shape], ...]: ...
    is_tuple: bool
    is_array: bool
    n_elements: int
    element_bits: int
    value_bits: int
    buffer_elements: int
    buffer_bytes: int
    padding_percent: float
    physical: Shape
    tiled: Shape
    def logical(self, minor_to_major: Sequence[int], /) -> Shape: ...
    parts: builtins.tuple[builtins.tuple[builtins.tuple[int, ...], Shape], ...]
    def draw(self) -> Picture: ...
    def _repr_svg_(self) -> str | None: ...
    @staticmethod
    def _restored(text: str, padded: Sequence[Sequence[int]], /) -> Shape: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def grid_maps(
    threads: int,
    blocks: tuple[int, int, int],
    indices: Sequence[tuple[Sequence[_ExprLike], Sequence[int], Shape | None]],
    ranges: Sequence[int] = ...,
    constraints: Sequence[tuple[_ExprLike, int, int]] = ...,
    /,
) -> list[IndexingMap]: ...
def count_requests(
    threads: IndexingMap,
    rest: IndexingMap | None,
    shape: Shape,
    warp: int,
    vector: int,
    base_alignment: int,
    sector_bytes: int,
    effort: tuple[int, int, int] | None = None,
    /,
) -> tuple[IndexingMap | None, tuple[int, int, int, int, int] | None, str | None]: ...
def flat_thread_map(
    shape: Shape,
    /,
    *,
    threads: int | Sequence[int] = 128,
    blocks: int | Sequence[int] | None = None,
    per_thread: int = 1,
) -> IndexingMap: ...
def linear_index(
    shape: Shape,
    /,
    *,
    shape_index: Sequence[int] | None = None,
    part: int | None = None,
    unit: Literal["element", "byte", "bit"] | None = None,
) -> IndexingMap: ...
def logical_index(
    shape: Shape, /, *, shape_index: Sequence[int] | None = None, part: int | None = None
) -> IndexingMap: ...
def reshape_is_bitcast(operand: Shape, output: Shape, /) -> Answer[tuple[int, ...]]: ...
def transpose_is_bitcast(operand: Shape, output: Shape, dimensions: Sequence[int], /) -> Answer[tuple[int, ...]]: ...
def is_valid_bitcast(operand: Shape, output: Shape, /) -> Answer[tuple[int, ...]]: ...

_Array: TypeAlias = npt.NDArray[Any]

def pack_into(shape: Shape, array: _Array, buffer: _Array, fill: _Array, threads: int, /) -> None: ...
def unpack_into(shape: Shape, buffer: _Array, array: _Array, threads: int, /) -> None: ...
def squeeze_bits(wide: _Array, n_bytes: int, width: int, narrow: _Array, /) -> None: ...
def spread_bits(narrow: _Array, width: int, value: int, is_signed: bool, n_bytes: int, wide: _Array, /) -> None: ...

@final
class Module:
    name: str
    program: int | None
    _title: str
    entry: Computation
    computations: tuple[Computation, ...]
    instructions: tuple[Instruction, ...]
    attributes: Attributes
    diagnostics: tuple[Diagnostic, ...]
    unread: tuple[Instruction, ...]
    has_skipped_text: bool
    _elided: tuple[Instruction, ...]
    n_instructions: int
    _backend: str | None
    _why_not_propagated: str | None
    def instruction(self, number: int, /) -> Instruction: ...
    def to_proto(self) -> bytes: ...
    def same_as(self, other: Module, /, *, names: bool = True) -> bool: ...
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
    ) -> str: ...
    def __getitem__(self, name: str, /) -> Instruction: ...
    def _repr_html_(self) -> str | None: ...
    def __iter__(self) -> NoReturn: ...
    def computation(self, name: str, /) -> Computation: ...
    def __copy__(self) -> Module: ...
    def __deepcopy__(self, _memo: Any, /) -> Module: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Computation:
    name: str
    root: Instruction
    parameters: tuple[Instruction, ...]
    instructions: tuple[Instruction, ...]
    module: Module
    attributes: Attributes
    callers: tuple[Instruction, ...]
    times: int | Unknown
    is_fusion: bool
    number: int
    fingerprint: bytes
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
    ) -> str: ...
    def _forwards(self, index: Sequence[int]) -> bool: ...
    _calling: tuple[Instruction, ...]
    def _by_opcode(self) -> dict[str, list[int]]: ...
    def _operand_numbers(self) -> list[list[int]]: ...
    _bare: Computation
    def __getitem__(self, name: str, /) -> Instruction: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Instruction]: ...
    def __copy__(self) -> Computation: ...
    def __deepcopy__(self, _memo: Any, /) -> Computation: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Instruction:
    name: str
    opcode: str
    shape: Shape
    operands: tuple[Instruction, ...]
    has_unnamed_operands: bool
    def _has(
        self,
        name: Literal[
            "acts",
            "elementwise",
            "linear",
            "literal",
            "modular",
            "moves",
            "no_kernel",
            "replica_groups",
            "same",
            "selects",
            "varies",
        ],
    ) -> bool: ...
    inconsistency: str | None
    inferred_shape: Shape | None
    def _integer(self, element: int) -> int | None: ...
    async_steps: tuple[Instruction, ...]
    users: tuple[Instruction, ...]
    called_computations: tuple[Computation, ...]
    attributes: Attributes
    literal: Any
    metadata: Metadata
    computation: Computation
    module: Module
    number: int
    position: int
    is_root: bool
    parameter_number: int | None
    def signature(self, constant_operands: Sequence[int] = ..., /) -> bytes: ...
    def _is_semantic(self, name: str, /) -> bool: ...
    def _operand(self, k: int, /) -> Instruction | None: ...
    _bare: Instruction
    _reads: int
    def _reads_shape(self) -> None: ...
    def _reads_repetition(self) -> None: ...
    def _reads_answer(self, question: str, /) -> None: ...
    def _known_literal(self) -> Any: ...
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
    ) -> str: ...
    def _repr_html_(self) -> str | None: ...
    def __copy__(self) -> Instruction: ...
    def __deepcopy__(self, _memo: Any, /) -> Instruction: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Attributes(Mapping[str, Any]):
    def __getitem__(self, name: str, /) -> Any: ...
    def get(self, name: str, default: Any = None, /) -> Any: ...
    def text(self, name: str, /) -> str | None: ...
    def keys(self) -> list[str]: ...  # type: ignore[override]
    def values(self) -> list[Any]: ...  # type: ignore[override]
    def items(self) -> list[tuple[str, Any]]: ...  # type: ignore[override]
    def __len__(self) -> int: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Window:
    @staticmethod
    def parse(text: str) -> Window: ...
    dims: tuple[WindowDim, ...]
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class WindowDim:
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
    size: int
    stride: int
    pad_low: int
    pad_high: int
    base_dilation: int
    window_dilation: int
    reversal: bool
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ConvolutionDimensionNumbers:
    @staticmethod
    def parse(text: str) -> ConvolutionDimensionNumbers: ...
    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Sharding:
    @staticmethod
    def parse(text: str, mesh: Mapping[str, int] | Mesh | None = None, *, rank: int | None = None) -> Sharding: ...
    @staticmethod
    def _read(text: str) -> Sharding: ...
    kind: str
    parts: tuple[Sharding, ...]
    device: int | None
    tile_dimensions: tuple[int, ...] | None
    devices: tuple[int, ...] | None
    iota: tuple[tuple[int, ...], tuple[int, ...]] | None
    replicates_last_dimension: bool
    last_dimensions: tuple[str, ...]
    group: tuple[str, int] | None
    metadata: tuple[str, ...]
    mesh: Mesh | None
    dimension_axes: tuple[tuple[str, ...], ...]
    replicated_axes: tuple[str, ...]
    unreduced_axes: tuple[str, ...]
    reduction: str | None
    manual_axes: tuple[str, ...]
    def _axis_numbers(
        self,
    ) -> tuple[
        tuple[tuple[tuple[int, int, int], ...], ...],
        tuple[tuple[int, int, int], ...],
        tuple[tuple[int, int, int], ...],
        tuple[tuple[int, int, int], ...],
    ]: ...
    @staticmethod
    def from_spec(spec: Any, mesh: Mapping[str, int] | Mesh | None = None, *, rank: int | None = None) -> Sharding: ...
    def partition_spec(self, mesh: Mapping[str, int] | Mesh | None = None) -> str: ...
    def to_jax(self, mesh: Any) -> Any: ...
    def device_map(self, shape: Shape, n_devices: int | None = None) -> MapSet: ...
    def owner_map(self, shape: Shape, n_devices: int | None = None) -> MapSet: ...
    def local_shape(self, shape: Shape, device: int | None = None) -> Shape | None: ...
    def is_even(self, shape: Shape) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Mesh:
    @staticmethod
    def parse(text: str) -> Mesh: ...
    axes: dict[str, int]
    devices: tuple[int, ...]
    iota: tuple[tuple[int, ...], tuple[int, ...]] | None
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ReplicaGroups:
    @staticmethod
    def parse(text: str) -> ReplicaGroups: ...
    group_size: int | None
    iota: tuple[tuple[int, ...], tuple[int, ...]] | None
    mesh: Mesh | None
    axes: tuple[str, ...]
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
    def __new__(
        cls,
        output_index: Sequence[int],
        parameter_number: int,
        parameter_index: Sequence[int],
        kind: str = "may-alias",
    ) -> InputOutputAlias: ...
    output_index: tuple[int, ...]
    parameter_number: int
    parameter_index: tuple[int, ...]
    kind: str
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class BufferDonor:
    def __new__(cls, parameter_number: int, parameter_index: Sequence[int]) -> BufferDonor: ...
    parameter_number: int
    parameter_index: tuple[int, ...]
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class OperandAlias:
    def __new__(cls, output_index: Sequence[int], operand: int, operand_index: Sequence[int]) -> OperandAlias: ...
    output_index: tuple[int, ...]
    operand: int
    operand_index: tuple[int, ...]
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ResultAccuracy:
    def __new__(cls, mode: str, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> ResultAccuracy: ...
    mode: str
    atol: float
    rtol: float
    ulps: int
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class EntryLayout:
    @staticmethod
    def parse(text: str) -> EntryLayout: ...
    parameters: tuple[Shape, ...]
    result: Shape
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Metadata:
    def __new__(
        cls,
        op_name: str | None = None,
        op_type: str | None = None,
        source_file: str | None = None,
        source_line: int | None = None,
        source_column: int | None = None,
        function: str | None = None,
        stack_frame_id: int | None = None,
        scheduling_name: str | None = None,
        frames: Sequence[Frame] = ...,
    ) -> Metadata: ...
    op_name: str | None
    op_type: str | None
    source_file: str | None
    source_line: int | None
    source_column: int | None
    function: str | None
    stack_frame_id: int | None
    scheduling_name: str | None
    frames: tuple[Frame, ...]
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Frame:
    def __new__(
        cls,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        end_line: int | None = None,
        end_column: int | None = None,
        function: str | None = None,
    ) -> Frame: ...
    file: str | None
    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None
    function: str | None
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Diagnostic:
    message: str
    filename: str | None
    line: int
    column: int
    found: str | None
    expected: str | None
    snippet: str
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def parse_text(
    source: str | bytes, name: str | None = None, strict: bool = False, programs: Sequence[int] | None = None
) -> list[Module]: ...
def unpack_head(head: bytes, n: int, /) -> tuple[str | None, bytes]: ...
def trace_programs(source: bytes, name: str | None = None, /) -> list[tuple[str, int | None]] | None: ...
def form_of_head(head: bytes, /) -> Literal["proto", "trace"] | None: ...
def known_attributes(owner: str, /) -> list[tuple[str, str, bool, list[str]]]: ...
def known_opcodes() -> list[str]: ...
def _operands_of(opcode: str, /) -> tuple[int | None, list[str]]: ...

@final
class Footprint:
    def __new__(
        cls,
        maps: Iterable[tuple[_ShapeIndex, IndexingMap]] | None = None,
        exact: bool = True,
        reason: str | None = None,
        crosses_devices: bool = False,
    ) -> Footprint: ...
    maps: tuple[tuple[_ShapeIndex, IndexingMap], ...]
    exact: bool
    reason: str | None
    crosses_devices: bool
    def __add__(self, other: Footprint, /) -> Footprint: ...
    def of(self, maps: Iterable[tuple[_ShapeIndex, IndexingMap]], /) -> Footprint: ...
    def at(self, leaf: _ShapeIndex, /) -> Footprint: ...
    leaves: list[_ShapeIndex]
    def for_any_runtime(self, reason: str, /) -> Footprint: ...
    def __radd__(self, other: Footprint, /) -> Footprint: ...
    def simplified(self) -> Footprint: ...
    def inverse(self, sizes: Sequence[int], /) -> Footprint: ...

_Variables: TypeAlias = Iterable[int | tuple[int, int]]

def _single_map(
    dims: _Variables | Shape,
    results: Iterable[_ExprLike],
    *,
    ranges: _Variables | Shape | None = None,
    runtime: Iterable[Variable | tuple[int, int, int, Sequence[_ExprLike]]] | None = None,
    constraints: Iterable[tuple[_ExprLike, int, int]] | None = None,
) -> Footprint: ...
def _outside(
    dims: _Variables | Shape,
    results: Iterable[_ExprLike],
    conditions: Sequence[tuple[_ExprLike, int, int, int, int]],
    *,
    ranges: _Variables | Shape | None = None,
    runtime: Iterable[Variable | tuple[int, int, int, Sequence[_ExprLike]]] | None = None,
) -> Footprint: ...
def _identity_map(sizes: _Variables | Shape, /) -> Footprint: ...
def _map_to_all(sizes: _Variables | Shape, target: _Variables | Shape, /) -> Footprint: ...
def _reshape_map(sizes: Sequence[int] | Shape, target: Sequence[int] | Shape, /) -> Footprint: ...
def _delinearize(variables: Sequence[_ExprLike], source: Sequence[int], target: Sequence[int], /) -> list[Expr]: ...

@final
class InstructionIndexing:
    def __new__(
        cls,
        instruction: Instruction,
        index: _ShapeIndex,
        direction: int,
        result: _rule.RuleResult,
        /,
        *,
        on_devices: bool = False,
    ) -> InstructionIndexing: ...
    parts: dict[int, _rule.OperandIndexing]
    has_runtime: bool
    def __len__(self) -> int: ...

def checked_rule(
    instruction: Instruction,
    index: _ShapeIndex,
    direction: int,
    rule: Callable[..., _rule.RuleResult],
    *arguments: object,
    on_devices: bool = False,
) -> InstructionIndexing: ...

@final
class PlainRule:
    text: str
    def __new__(cls, text: str, /) -> PlainRule: ...
    def parts(
        self, instruction: Any, index: _ShapeIndex, direction: int, /, *, always: bool = False
    ) -> list[Footprint] | None: ...

@final
class RuleCache:
    def __new__(cls) -> RuleCache: ...
    def find(self, key: bytes, index: _ShapeIndex, direction: int, /) -> InstructionIndexing | None: ...
    def keep(self, key: bytes, index: _ShapeIndex, direction: int, indexing: InstructionIndexing, /) -> None: ...
    def clear(self) -> None: ...

_Asks = TypeVar("_Asks", bound=Propagation)

@disjoint_base
class Propagation:
    def __new__(
        cls: type[_Asks],
        module: Module,
        /,
        *,
        of_all: bool = False,
        plain: Propagation | None = None,
        runs: Sequence[tuple[tuple[int, int], int]] = ...,
        each_once: bool = False,
    ) -> _Asks: ...
    def calls_to(self, source: int, /) -> list[int | None]: ...
    def query(
        self,
        subject: Instruction | Computation,
        direction: int,
        indices: Sequence[_ShapeIndex],
        n_maps: int | None = None,
        /,
    ) -> list[list[_Record]]: ...
    def needed(self, computation: int, indices: Sequence[_ShapeIndex], as_one: bool, /) -> list[_Needed]: ...
    def operations(self, instruction: int, /) -> _Operations | str: ...
    def once(self, computation: int, /) -> _Operations | str: ...
    def key(self, instruction: int, /) -> bytes: ...
    def alike(self, computation: int, /) -> list[list[int]]: ...
    def told_apart(self, instructions: Sequence[int], /) -> list[list[int]]: ...
    def fused(self, computation: int, /) -> _Fused: ...
    def backward(
        self,
        start: int,
        indices: Sequence[_ShapeIndex],
        region: Region,
        elements_alone: bool = False,
        ends_alone: bool = False,
        /,
    ) -> list[_Record]: ...
    def tiles(self, start: int, indices: Sequence[_ShapeIndex], tiled: int, region: Region, /) -> _Tiles: ...
    def forward(self, start: int, indices: Sequence[_ShapeIndex], elements_alone: bool = False, /) -> list[_Record]: ...
    def unplaced(self, instruction: int, index: _ShapeIndex, direction: int, /) -> InstructionIndexing: ...
    def count_iterations(self, instruction: int, /) -> int | None: ...
    def all_iterations(
        self, instruction: Instruction, index: _ShapeIndex, direction: int, anywhere: bool, /
    ) -> InstructionIndexing: ...
    def carried(self, instruction: int, index: _ShapeIndex, /) -> _Carried | str: ...
    def call(self, caller: int, computation: int, index: _ShapeIndex, direction: int, /) -> InstructionIndexing: ...
    def rows(self) -> Rows: ...

@final
class _Record:
    number: int
    unknown: str | None
    exact: bool
    reason: str | None
    crosses_devices: bool
    has_runtime: bool
    maps: list[IndexingMap]
    uses: list[list[_Use]] | None

@final
class _Needed:
    starts: list[int]
    record: _Record

@final
class _Operations:
    flops: int
    transcendentals: int
    exact: bool

@final
class _Evaluated:
    number: int
    needed: _Operations | str
    evaluated: int | None

@final
class _Fused:
    starts: list[int]
    written: list[int]
    evaluated: list[_Evaluated]

@final
class _Tiles:
    sizes: list[int]
    sequential: list[tuple[int, int]]
    nests: list[list[int]]
    outputs: list[IndexingMap | None]
    records: list[_Record]

@final
class _Numbers:
    def __new__(cls, meanings: object, /) -> _Numbers: ...
    def values(self, module: Module, /) -> _Numbered: ...
    def array(self, number: int, index: Sequence[int], /) -> tuple[int, list[int]] | None: ...
    def match_(
        self, before: _Numbered, after: _Numbered, attributes: Sequence[str], /
    ) -> tuple[list[tuple[int, int, str]], list[tuple[int, int, str]], list[int], list[int], list[int], list[int]]: ...

@final
class _Numbered:
    def number_of(self, instruction: Instruction, /) -> int | None: ...
    def rows(self) -> list[tuple[int, int | None, int, bool]]: ...
    def __len__(self) -> int: ...

@final
class TilePlan:
    def __new__(
        cls,
        sizes: Sequence[int],
        n_parallel: int,
        nests: Sequence[Sequence[int]],
        arrays: Sequence[tuple[IndexingMap | None, Shape, bool, int]],
        n_reads: int,
        tiled: int,
        /,
        few_points: int = ...,
    ) -> TilePlan: ...
    def evaluate(
        self,
        candidates: npt.NDArray[np.int64],
        limits: tuple[int, bool, int, int, int, Sequence[int], int, bool],
        device: tuple[int, int, int, int, int],
        stages: int,
        columns: Sequence[str] | None,
        threads: int,
        /,
    ) -> dict[str, npt.NDArray[Any]]: ...
    def tile(
        self, number: int, candidate: Sequence[int], tile: Sequence[int], runtime: Sequence[int], /
    ) -> list[tuple[int, int, int, int, int]] | None: ...
    def largest_tile(
        self, number: int, candidate: Sequence[int], runtime: Sequence[int], /
    ) -> tuple[list[int], list[tuple[int, int, int, int, int]]] | None: ...
    def symbolic(
        self, number: int, /
    ) -> tuple[
        list[tuple[tuple[Expr, Expr, Expr, Expr, Expr], bool, bool]],
        list[tuple[str, tuple[tuple[Expr, int, int], ...]]],
    ]: ...

def _tile_reasons() -> list[str]: ...
def _over_all_parameters(map: IndexingMap, sizes: Sequence[int], /) -> IndexingMap: ...

@final
class Rows:
    def __len__(self) -> int: ...
    def column(self, name: str, /) -> list[Any]: ...
    def most_bytes(self) -> int: ...
    def sharded(self) -> list[tuple[int, Instruction, Instruction | None]]: ...
    def sharding_columns(self, table: Table, /) -> dict[str, list[Any]] | None: ...
    def problems(self) -> tuple[int, dict[tuple[str, str], int]]: ...

_ShapeIndex: TypeAlias = tuple[int, ...]
_Use: TypeAlias = tuple[Instruction, int]

# Kind, reason, window, moves, edges.
_Carried: TypeAlias = tuple[
    str,
    str | None,
    tuple[int, int, int, int] | None,
    tuple[int | None, ...],
    list[tuple[_ShapeIndex, bool, str | None]],
]
_Scalar: TypeAlias = tuple[Expr, int, int]

@final
class _CountedLoop:
    condition: Computation
    body: Computation
    trip_count: int | None
    reason: str | None
    counter: _ShapeIndex | None
    inductions: dict[_ShapeIndex, tuple[int, int]]
    numbers: dict[_ShapeIndex, int]
    is_stated: bool
    def __new__(cls, instruction: Instruction, /) -> _CountedLoop: ...
    @staticmethod
    def around(instruction: Instruction, /) -> _CountedLoop | None: ...
    def nest(self) -> _Nest: ...
    def accesses(
        self,
    ) -> tuple[
        list[tuple[Instruction, _ShapeIndex | None, tuple[Expr, ...], tuple[int, ...], bool | None]],
        tuple[Instruction, ...],
    ]: ...

@final
class _Nest:
    loops: tuple[Instruction, ...]
    def scalar(self, instruction: Instruction, /) -> _Scalar | None: ...

def _condition_and_body(instruction: Instruction, /) -> tuple[Computation, Computation]: ...
def _arithmetic(
    instruction: Instruction, operands: Sequence[_Scalar], /
) -> _Scalar | tuple[str, _Scalar, _Scalar] | None: ...
def _n_steps() -> int: ...
def _set_traced(is_traced: bool, /) -> bool: ...
def _reads(
    maps: Sequence[IndexingMap], exact: bool, shape: Shape, /
) -> tuple[list[str], int, int, int | None, int, int | None, int | None]: ...
def _read_profile(
    data: bytes, name: str | None, /
) -> tuple[
    list[
        tuple[
            str,
            list[tuple[str, int | None, str, int, int, int, int | None]],
            tuple[int, int],
            tuple[int, int],
        ]
    ],
    list[tuple[str, int | None, bytes]],
]: ...

_Field: TypeAlias = str | int | tuple[int, ...] | list[int]
_Written: TypeAlias = tuple[str, Shape, str, str, list[int], list[tuple[str, _Field]], int | None]

def _all_names(module: Module, /) -> list[str]: ...
def _rows(computation: Computation, /) -> list[tuple[str, Shape, str, str, tuple[int, ...], tuple[int, ...]]]: ...
def _merge(
    members: Sequence[tuple[int, _Written]],
    outside: Sequence[tuple[int, _Written]],
    inside: Sequence[tuple[Sequence[_Written], int]],
    outputs: Sequence[int],
    kind: str | None,
    part: int,
    /,
) -> tuple[list[int], list[_Written], int, _Written]: ...
def _assemble(
    module: Module,
    computations: Sequence[tuple[int | None, str, Sequence[int | _Written] | None, int]],
    entry: int,
    header: Sequence[tuple[str, str]],
    keeps_layout: bool,
    /,
) -> Module: ...
def _extract(instructions: Sequence[Instruction], stop: Sequence[Instruction], depth: int | None, /) -> Module: ...
def _fuse(instructions: Sequence[Instruction], outputs: Sequence[Instruction], kind: str | None, /) -> Module: ...
def _extent(parts: Sequence[Shape], /) -> tuple[int | None, int | None]: ...
def _variable(
    name: str | None,
    default_name: str,
    range: tuple[int, int],
    source: int | None,
    index: Sequence[_ExprLike],
    supplier: Instruction | None,
    /,
) -> Variable: ...
def _row_columns() -> list[tuple[str, str, str]]: ...
def _rows_message(tables: Sequence[Rows], /) -> npt.NDArray[np.uint8]: ...
def _simplify_traced(
    map: IndexingMap, keep_point_dims: bool, drop_unused: bool, rescale: bool, /
) -> tuple[
    IndexingMap,
    list[tuple[str, str, str, str, tuple[IndexingMap, int, list[tuple[int, int] | None]] | None]],
]: ...
def _count_windows(maps: Sequence[IndexingMap], /) -> tuple[Count, Count] | None: ...
def _image_many(maps: Sequence[tuple[IndexingMap, Sequence[tuple[int, int]]]], /) -> list[IndexingMap]: ...
def _overlap(first: Sequence[IndexingMap], second: Sequence[IndexingMap], /) -> _SetAnswer: ...
def _is_injective(arrays: Sequence[Sequence[IndexingMap]], /) -> _SetAnswer: ...
def _eliminate_ranges(maps: Sequence[IndexingMap], /) -> list[IndexingMap]: ...
def _covers(
    groups: Sequence[tuple[Sequence[IndexingMap], Sequence[IndexingMap]]], /
) -> tuple[tuple[int, int, list[int] | None] | None, list[list[tuple[int, list[int]]]], str | None]: ...
def _coalesce(maps: Sequence[IndexingMap], /) -> list[tuple[IndexingMap, list[int]]]: ...
def _map(
    text: str, index: tuple[int, ...], usage: tuple[Instruction, int] | None, suppliers: dict[int, Instruction], /
) -> IndexingMap: ...
def _module(
    text: str,
    filename: str | None,
    position: tuple[int, int],
    ids: tuple[Sequence[int], Sequence[int], bytes, int | None] | None,
    /,
) -> Module: ...
def _diagnostic(fields: dict[str, Any], /) -> Diagnostic: ...

@final
class _Sharder:
    def __new__(
        cls,
        part_sizes: Sequence[int],
        is_least: bool,
        rules: Sequence[
            tuple[
                Sequence[Sequence[IndexingMap] | None] | None,
                Sequence[tuple[Sequence[int], int]],
                Sequence[tuple[Sequence[int], int]],
                bool | None,
            ]
        ],
        applications: Sequence[tuple[int, Sequence[int], int]],
        regions: Sequence[tuple[int | None, int | None, int]],
        values: Sequence[tuple[Sequence[int], int]],
        invariant: Sequence[tuple[int, int]],
        closed: Sequence[int],
        /,
    ) -> _Sharder: ...
    def plan(
        self, given: Sequence[Sequence[tuple[int, Sequence[Sequence[int]]]]], /
    ) -> tuple[list[int], list[list[bytes]], list[tuple[int, int, str, str, bytes, int, int, int, int]]]: ...
    def evaluate(
        self, candidates: Sequence[Sequence[Sequence[tuple[int, Sequence[Sequence[int]]]]]], threads: int, /
    ) -> list[int]: ...
