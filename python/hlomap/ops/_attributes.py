"""Attributes that several op rules share, read and checked: device groups, windows, gather dimensions.

Only integers are here, no index expressions and no arrays, so that an indexing rule and the semantics of the same
operation may both rely on it and still check each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any, Literal, NamedTuple, TypeAlias

from .._core import Instruction
from ..base.answers import Unknown
from ..base.types import ShapeIndex
from ._shapes import require, require_sizes, same_arrays, shape_at

# ----------------------------------------------------------------------------------------------------- device groups

GroupMode: TypeAlias = Literal["cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id"]
"""The devices that an id in a group of a collective names, as in XLA's ``CollectiveOpGroupMode``: a replica (on the
same partition), a partition (of the same replica), a replica with all its partitions, or a device number."""


def group_mode(instruction: Instruction) -> GroupMode:
    """The devices that an id in a group of a collective operation names."""
    has_channel = instruction.attributes.get("channel_id") is not None
    if instruction._has("replica_groups"):
        if instruction.attributes.get("use_global_device_ids"):
            return "flattened_id"
        return "cross_replica_and_partition" if has_channel else "cross_replica"
    return "cross_partition" if has_channel else "cross_replica"


def returns_operands(instruction: Instruction) -> bool:
    """Whether the value of a collective operation is (operands, results, states).  That of all-reduce-start is not."""
    return instruction.opcode in ("all-gather-start", "collective-permute-start")


def listed_groups(instruction: Instruction) -> list[tuple[int, ...]]:
    """The groups in ``replica_groups``; none if all devices are one group."""
    groups = instruction.attributes.get("replica_groups")
    require(not isinstance(groups, str), "its replica_groups cannot be read")
    return [] if groups is None else [tuple(group) for group in groups if len(group)]


def source_target_pairs(instruction: Instruction) -> list[tuple[int, int]]:
    """The pairs of a collective-permute."""
    pairs = instruction.attributes["source_target_pairs"]
    is_read = not isinstance(pairs, str) and all(len(pair) == 2 for pair in pairs)
    require(is_read, "its source_target_pairs are not pairs")
    return [(int(a), int(b)) for a, b in pairs]


def root_operand(instruction: Instruction) -> int | None:
    """The last operand, which holds the root position of each other operand; None if all roots are at position 0."""
    return len(instruction.operands) - 1 if instruction.attributes.get("has_dynamic_root") else None


class PermutedSlice(NamedTuple):
    """A slice that a collective-permute moves in place.

    ``buffer``: the shape index of the array it belongs to, in the input and in the output.  ``offsets``: the shape
    index of the tuple of its offsets, in operand 2 those in the input and in operand 3 those in the output.
    """

    buffer: ShapeIndex
    extents: tuple[int, ...]
    offsets: ShapeIndex


def permuted_slices(instruction: Instruction) -> list[PermutedSlice]:
    """The slices that a collective-permute moves in place, in order; none for one that moves whole arrays."""
    rows = instruction.attributes.get("slice_sizes") or ()
    if not rows:
        return []
    require(len(instruction.operands) == 4, "a permutation in place has an input, an output and their offsets")
    source, target, starts, ends = (operand.shape for operand in instruction.operands)
    require(same_arrays(starts, ends), "the offsets of input and output differ in number")
    buffers: list[ShapeIndex] = [(b,) for b in range(len(source.tuple_shapes))] if source.is_tuple else [()]
    found: list[tuple[ShapeIndex, ShapeIndex]] = []
    for buffer in buffers:
        inner = shape_at(starts, buffer).tuple_shapes
        several = bool(inner) and inner[0].is_tuple
        found += [(buffer, (*buffer, s)) for s in range(len(inner))] if several else [(buffer, buffer)]
    require(len(found) == len(rows), f"{len(rows)} rows of slice sizes for {len(found)} slices")
    slices = [PermutedSlice(b, tuple(row), offsets) for (b, offsets), row in zip(found, rows, strict=True)]
    for s in slices:
        for shape in (source, target):
            sizes = shape_at(shape, s.buffer).dimensions
            fits = len(sizes) == len(s.extents) and all(n <= m for n, m in zip(s.extents, sizes, strict=True))
            require(fits, f"a slice of sizes {list(s.extents)} in an array of sizes {list(sizes)}")
    return slices


def split_dimension(instruction: Instruction, rank: int) -> int:
    """The one dimension along which a collective operation splits or concatenates arrays."""
    (along,) = instruction.attributes["dimensions"]
    require(0 <= along < rank, f"dimension {along} is out of range for rank {rank}")
    return int(along)


# ----------------------------------------------------------------------------------------------------------- windows


class WindowedDim(NamedTuple):
    """One dimension of a ``window`` attribute, with the sizes of operand and output along it."""

    size: int
    stride: int
    pad_low: int
    pad_high: int
    base_dilation: int
    window_dilation: int
    reversal: bool
    operand_size: int
    output_size: int

    @property
    def padding(self) -> tuple[int, int, int]:
        """Low, high and interior."""
        return self.pad_low, self.pad_high, self.base_dilation - 1

    @property
    def matrix_role(self) -> MatrixRole | None:
        """The role of this dimension of a convolution in a product of matrices; None if it has none.

        Output o sums over operand elements i and window elements w, below ``size``, where ``base_dilation * i =
        stride * o + window_dilation * w - pad_low``; the kernel element is w, or ``size - 1 - w`` where it is reversed.
        Along ``rows`` that is i = o; along ``columns`` the kernel element is o, along ``contracted`` it is i, and along
        ``batch`` both are o, for one w alone.
        """
        n, low, stride = self.size, self.pad_low, self.stride
        base, step = self.base_dilation, self.window_dilation
        sizes = self.operand_size, n, self.output_size
        # The kernel element is first + sign * w, so that kernel element e is read at w = sign * (e - first).
        sign, first = (-1, n - 1) if self.reversal and n > 1 else (1, 0)
        if n == 1 and sizes[0] == sizes[2] and low == 0 and (base == stride or sizes[0] == 1):
            return "rows"
        if sizes[2] == 1 and sizes[0] == n and sign == 1 and low == 0 and base == step:
            return "contracted"
        if sizes[0] == 1 and sizes[2] == n and low == step * first and stride == -sign * step:
            return "columns"
        if sizes == (n, n, n) and low == step * first and base == stride + sign * step:
            # Another term is ``step / gcd`` operand elements and ``base / gcd`` window elements away, which is in range
            # for some output element unless it is too far.
            farthest = max(base, step) if sign == 1 else base + step
            return "batch" if farthest // gcd(base, step) >= n else None
        return None


def windowed_dims(window: Any, operand_sizes: Sequence[int], output_sizes: Sequence[int]) -> list[WindowedDim]:
    """The dimensions of a ``window`` attribute over an operand and an output of those sizes."""
    dims = window.dims if window is not None else ()
    return [
        WindowedDim(w.size, w.stride, w.pad_low, w.pad_high, w.base_dilation, w.window_dilation, w.reversal, n, m)
        for w, n, m in zip(dims, operand_sizes, output_sizes, strict=True)
    ]


# --------------------------------------------------------------------------------------------------------- products


MatrixRole: TypeAlias = Literal["batch", "rows", "columns", "contracted"]
"""Whether a dimension of a product numbers matrices, rows of the left factor, columns of the right one, or terms."""


class MatrixDims(NamedTuple):
    """The dimensions of an array that number its matrices, their rows and their columns."""

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]


class MatrixProduct(NamedTuple):
    """A product of matrices: operand 0 times operand 1 is the first array of the output.

    Batch dimensions are paired in order in all three arrays, rows in operand 0 and output, columns in operand 1 and
    output; the columns of operand 0 are paired with the rows of operand 1.  The other fields are as the operation has
    them; None if it says nothing.
    """

    lhs: MatrixDims
    rhs: MatrixDims
    output: MatrixDims
    algorithm: str | None = None
    epilogue: str | None = None
    alpha: complex | None = None
    beta: float | None = None


def matrix_product(instruction: Instruction) -> MatrixProduct | Unknown:
    """The product that a dot is; not known of one with sparse operands, which hold only some of the terms."""
    left, right = product_sides(instruction)
    if sparse_sides(instruction) != (None, None):
        return Unknown(f"{instruction.name}: an operand is sparse")
    n_batch, n_rows, rank = len(left.batch), len(left.free), instruction.shape.rank
    require(rank == n_batch + n_rows + len(right.free), f"the output of rank {rank} does not fit the product")
    dims = tuple(range(rank))
    return MatrixProduct(
        MatrixDims(left.batch, left.free, left.contracted),
        MatrixDims(right.batch, right.contracted, right.free),
        MatrixDims(dims[:n_batch], dims[n_batch : n_batch + n_rows], dims[n_batch + n_rows :]),
        instruction.attributes.get("algorithm"),
    )


class ProductSide(NamedTuple):
    """One operand of a product: its sizes, its batch, contracted and other dimensions.

    A ``sparse`` operand holds some of the elements along a contracted dimension; the sizes are those of what it holds.
    """

    sizes: tuple[int, ...]
    batch: tuple[int, ...]
    contracted: tuple[int, ...]
    free: tuple[int, ...]
    sparse: SparseSide | None = None

    def holds_some(self, dimension: int) -> bool:
        """Whether it is sparse along a dimension."""
        return self.sparse is not None and self.sparse.dimension == dimension


def product_sides(instruction: Instruction) -> tuple[ProductSide, ProductSide]:
    """Both operands of a product, as if they were dense."""
    attributes, sides = instruction.attributes, []
    for side, operand in zip(("lhs", "rhs"), instruction.operands, strict=False):
        sizes = operand.shape.dimensions
        batch = attributes.get(f"{side}_batch_dims", ())
        contracted = attributes.get(f"{side}_contracting_dims", ())
        free = tuple([i for i in range(len(sizes)) if i not in batch and i not in contracted])
        sides.append(ProductSide(sizes, batch, contracted, free))
    return sides[0], sides[1]


def product_labels(left: ProductSide, right: ProductSide) -> tuple[list[int], list[int], list[int]]:
    """A number for each dimension of both sides and of the output, where dimensions that are paired share one."""
    a = [*range(len(left.sizes))]
    b = [len(a) + j for j in range(len(right.sizes))]
    for i, j in zip(left.batch + left.contracted, right.batch + right.contracted, strict=True):
        b[j] = a[i]
    return a, b, [*(a[i] for i in left.batch + left.free), *(b[j] for j in right.free)]


class SparseSide(NamedTuple):
    """An operand of a product that holds one of every ``block`` elements along ``dimension``.

    Element b along the dimension is element ``block * b + index`` of the whole operand, where ``index`` is the element
    with the same indices in operand ``index_operand``.
    """

    block: int
    dimension: int
    index_operand: int


def sparse_sides(instruction: Instruction) -> tuple[SparseSide | None, SparseSide | None] | Unknown:
    """The sparse operands of a product, None for a dense one; Unknown for a sparsity that XLA does not define."""
    config = instruction.attributes.get("sparsity_config")
    if not config:
        return None, None
    sides: list[SparseSide | None] = []
    for operand, side in zip(instruction.operands, ("lhs", "rhs"), strict=False):
        of = config.get(side)
        if of is None:
            sides.append(None)
            continue
        (held, block), sizes = of["sparsity"], operand.shape.dimensions
        if held != 1 or block < 1 or of["stride"] != 1:
            return Unknown(f"sparsity of {held} in {block} elements with stride {of['stride']}, only 1 in n is defined")
        require_sizes(instruction.operands[of["idx"]].shape.dimensions, sizes, "the indices")
        sides.append(SparseSide(block, of["dimension"], of["idx"]))
    return sides[0], sides[1]


def scale_operands(instruction: Instruction) -> set[int]:
    """The operands of a product with scales and zeros of blocks of the others."""
    sides = (instruction.attributes.get("block_scaling_config") or {}).values()
    named = {side[name] for side in sides for name in ("scale_idx", "zero_idx") if name in side}
    return {k for k in named if 2 <= k < len(instruction.operands)}


# ------------------------------------------------------------------------------------------------ gather and scatter


class GatherDimensions(NamedTuple):
    """How the dimensions of gather's operand, indices and output correspond; for scatter, its updates are the output.

    Sizes are those of the operand, of one window in it, of the output that holds all windows, and of the indices.
    ``window_dims``: operand dimension -> output dimension of the index in the window.
    ``batch_dims``: indices dimension -> output dimension that numbers the index vectors.
    ``paired_dims``: indices dimension -> operand dimension with the same index (``operand_batching_dims``).
    ``start_components``: operand dimension -> component of the index vector where the window starts.
    ``indices_operand``: the operand number of the indices.
    ``clamps``: windows are moved to fit into the operand; otherwise windows that do not fit are left out.
    """

    operand_sizes: tuple[int, ...]
    window_sizes: tuple[int, ...]
    output_sizes: tuple[int, ...]
    indices_sizes: tuple[int, ...]
    window_dims: dict[int, int]
    batch_dims: dict[int, int]
    paired_dims: dict[int, int]
    start_components: dict[int, int]
    index_vector_dim: int
    indices_operand: int
    clamps: bool

    def last_start(self, p: int) -> int:
        """The last index along operand dimension ``p`` at which a window fits."""
        return self.operand_sizes[p] - self.window_sizes[p]


def gather_dimensions(instruction: Instruction) -> GatherDimensions:
    """How the dimensions of operand, indices and output correspond."""
    attributes = instruction.attributes
    operand, indices = (x.shape.dimensions for x in instruction.operands)
    slices, offset_dims = attributes["slice_sizes"], attributes["offset_dims"]
    batching = dict(
        zip(attributes.get("operand_batching_dims", ()), attributes.get("start_indices_batching_dims", ()), strict=True)
    )
    removed = {*attributes["collapsed_slice_dims"], *batching}
    vector_dim, sizes = attributes["index_vector_dim"], instruction.shape.dimensions
    vectors = _indices_batch_dims(indices, vector_dim)
    kept = [i for i in range(len(operand)) if i not in removed]
    batch = [i for i in range(len(sizes)) if i not in offset_dims]
    window_dims, batch_dims = dict(zip(kept, offset_dims, strict=True)), dict(zip(vectors, batch, strict=True))
    starts = {p: k for k, p in enumerate(attributes["start_index_map"]) if p not in batching}
    paired = {i: p for p, i in batching.items()}
    return GatherDimensions(
        operand, slices, sizes, indices, window_dims, batch_dims, paired, starts, vector_dim, 1, clamps=True
    )


def scatter_dimensions(instruction: Instruction) -> tuple[int, GatherDimensions]:
    """The number n of operands, and how the dimensions of operands, indices and updates correspond."""
    attributes, operands = instruction.attributes, instruction.operands
    n = len(operands) // 2
    sizes, indices, updates = (operands[k].shape.dimensions for k in (0, n, n + 1))
    paired = dict(
        zip(attributes.get("scatter_indices_batching_dims", ()), attributes.get("input_batching_dims", ()), strict=True)
    )
    removed = {*attributes["inserted_window_dims"], *paired.values()}
    window_dims, vector_dim = attributes["update_window_dims"], attributes["index_vector_dim"]
    rest = [u for u in range(len(updates)) if u not in window_dims]
    vector = dict(zip(_indices_batch_dims(indices, vector_dim), rest, strict=True))
    window = dict(zip((p for p in range(len(sizes)) if p not in removed), window_dims, strict=True))
    extents = tuple(updates[window[p]] if p in window else 1 for p in range(len(sizes)))
    starts = {p: k for k, p in enumerate(attributes["scatter_dims_to_operand_dims"])}
    return n, GatherDimensions(
        sizes, extents, updates, indices, window, vector, paired, starts, vector_dim, n, clamps=False
    )


def _indices_batch_dims(indices_sizes: Sequence[int], index_vector_dim: int) -> list[int]:
    """The dimensions of the indices that number the index vectors."""
    return [i for i in range(len(indices_sizes)) if i != index_vector_dim]
