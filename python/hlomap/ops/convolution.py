"""convolution: the sum over window elements and input features of operand element times kernel element.

With feature groups, output feature f reads the input features of group ``f div (features / groups)``; with batch
groups, it reads the batches of that group.  The range variables are the window elements in the order of the spatial
dimensions, then the input features.  Section Conv of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from .._core import Expr, Instruction, Variable
from ..base.answers import Unknown
from ..base.dtypes import numpy_dtype
from ..base.lazy import np
from ..errors import UnsupportedError
from ._attributes import MatrixDims, MatrixProduct, MatrixRole, SparseSide, WindowedDim, sparse_sides, windowed_dims
from ._indexing.contraction import extra_operand, whole_index
from ._indexing.maps import inverted, single_map
from ._indexing.window import operand_index, output_index, windows_along
from ._numpy.contraction import dense_operands, sum_of_products
from ._numpy.reduction import partial_sums
from ._numpy.window import sliding_windows
from ._op import Array, EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, Values, register
from ._products import known_values, used
from ._rule import ExprLike, OperandIndexing
from ._shapes import require


class Convolution(NamedTuple):
    """Attributes and sizes of a convolution, which splits either features or batches into groups.

    A ``sparse`` kernel holds ``kernel_features`` of the ``features`` input features in one group.
    """

    labels: Any
    dims: list[WindowedDim]
    input_sizes: tuple[int, ...]
    output_sizes: tuple[int, ...]
    feature_groups: int
    batch_groups: int
    batches: int
    features: int
    kernel_features: int
    group_outputs: int
    """The output features of one group, of either kind."""
    sparse: SparseSide | None


def convolution_attributes(instruction: Instruction) -> Convolution | Unknown:
    """The attributes; Unknown for a combination that XLA does not have.

    A kernel of kind ``dgrad`` is stored without the reversal that the convolution applies to it.
    """
    attributes = instruction.attributes
    labels = attributes["dim_labels"]
    image, kernel = (operand.shape.dimensions for operand in instruction.operands[:2])
    output = instruction.shape.dimensions
    groups = attributes.get("feature_group_count", 1), attributes.get("batch_group_count", 1)
    if min(groups) < 1 or max(groups) != groups[0] * groups[1]:
        return Unknown("convolution with both feature groups and batch groups")
    sides = sparse_sides(instruction)
    if isinstance(sides, Unknown):
        return sides
    of_image, sparse = sides
    if of_image is not None or (sparse is not None and sparse.dimension != labels.kernel_input_feature):
        return Unknown("convolution that is sparse along another dimension than the input features of the kernel")
    held, outputs = kernel[labels.kernel_input_feature], kernel[labels.kernel_output_feature]
    require(outputs % max(groups) == 0, f"{outputs} output features cannot be split into {max(groups)} groups")
    lengths = [image[i] for i in labels.input_spatial], [output[i] for i in labels.output_spatial]
    dims = windowed_dims(attributes.get("window"), *lengths)
    if attributes.get("convolution_kind", attributes.get("conv_kind")) == "dgrad":
        dims = [dim._replace(reversal=not dim.reversal) for dim in dims]
    features, batches = held * (sparse.block if sparse else 1), output[labels.output_batch]
    return Convolution(labels, dims, image, output, *groups, batches, features, held, outputs // max(groups), sparse)


def matrix_product(instruction: Instruction) -> MatrixProduct | Unknown | None:
    """Input times kernel where each spatial dimension is one of a product: a window of one element, or of all, or one
    that pairs elements; features are summed, and groups are none."""
    c = convolution_attributes(instruction)
    if isinstance(c, Unknown):
        return c
    roles = [dim.matrix_role for dim in c.dims]
    if max(c.feature_groups, c.batch_groups) > 1 or None in roles:
        return None
    if c.sparse is not None:
        return Unknown(f"{instruction.name}: the kernel is sparse")

    def dims(spatial: Sequence[int], role: MatrixRole, *first: int) -> tuple[int, ...]:
        return (*first, *(dim for dim, of in zip(spatial, roles, strict=True) if of == role))

    labels = c.labels
    image, kernel, output = labels.input_spatial, labels.kernel_spatial, labels.output_spatial
    return MatrixProduct(
        MatrixDims(
            dims(image, "batch"),
            dims(image, "rows", labels.input_batch),
            dims(image, "contracted", labels.input_feature),
        ),
        MatrixDims(
            dims(kernel, "batch"),
            dims(kernel, "contracted", labels.kernel_input_feature),
            dims(kernel, "columns", labels.kernel_output_feature),
        ),
        MatrixDims(
            dims(output, "batch"),
            dims(output, "rows", labels.output_batch),
            dims(output, "columns", labels.output_feature),
        ),
        instruction.attributes.get("algorithm"),
    )


def _kernel_index(c: Convolution, feature: ExprLike, out: ExprLike, elements: Sequence[ExprLike]) -> list[ExprLike]:
    dims = c.labels.kernel_input_feature, c.labels.kernel_output_feature, *c.labels.kernel_spatial
    return _ordered(dims, (feature, out, *elements))


def _ordered(dims: Sequence[int], indices: Sequence[ExprLike]) -> list[ExprLike]:
    return [index for _, index in sorted(zip(dims, indices, strict=True), key=itemgetter(0))]


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The image elements in the window and their kernel elements; padding reads neither."""
    c = convolution_attributes(instruction)
    if isinstance(c, Unknown):
        return [c] * len(instruction.operands)
    labels, batch = c.labels, Expr.dim(c.labels.output_batch)
    windows = windows_along(labels.output_spatial, c.output_sizes, c.dims, operand_index)
    feature, out = Expr.range(len(windows.ranges)), Expr.dim(labels.output_feature)
    kernel = _kernel_index(c, feature, out, windows.elements)
    runtime: list[Variable] = []
    of_image = feature if c.sparse is None else whole_index(c.sparse, kernel, runtime)
    if c.batch_groups > 1:
        batch = batch + out // max(1, c.group_outputs) * c.batches
    if c.feature_groups > 1:
        of_image = out // max(1, c.group_outputs) * c.features + of_image
    at = labels.input_batch, labels.input_feature, *labels.input_spatial
    image = _ordered(at, (batch, of_image, *windows.indices))
    dims, ranges, constraints = windows.dims, [*windows.ranges, (0, c.kernel_features - 1)], windows.constraints
    read = single_map(dims, kernel, ranges=ranges, constraints=constraints)
    data = single_map(dims, image, ranges=ranges, runtime=runtime, constraints=constraints)
    parts: list[OperandIndexing] = [data, read]
    for k in range(2, len(instruction.operands)):
        extra = extra_operand(instruction, (None, c.sparse), k)
        parts.append(read if isinstance(extra, int) else extra)
    return parts


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """From an image element to every window that contains it; from a kernel element to every window."""
    c = convolution_attributes(instruction)
    if operand > 0 or isinstance(c, Unknown):
        return inverted(output_to_input)(instruction, operand, shape_index, context)
    labels = c.labels
    windows = windows_along(labels.input_spatial, c.input_sizes, c.dims, output_index)
    batch, feature, out = Expr.dim(labels.input_batch), Expr.dim(labels.input_feature), Expr.range(len(windows.ranges))
    if c.feature_groups > 1:
        out = feature // max(1, c.features) * c.group_outputs + out
    if c.batch_groups > 1:
        out = batch // max(1, c.batches) * c.group_outputs + out
        batch = batch % max(1, c.batches)
    at = labels.output_batch, labels.output_feature, *labels.output_spatial
    results = _ordered(at, (batch, out, *windows.indices))
    dims, ranges, constraints = windows.dims, [*windows.ranges, (0, c.group_outputs - 1)], windows.constraints
    if c.sparse is None:
        return [single_map(dims, results, ranges=ranges, constraints=constraints)]
    # The held element of the kernel whose index is that of the image's feature in its group.
    kernel = _kernel_index(c, Expr.range(len(ranges)), out, windows.elements)
    runtime: list[Variable] = []
    constraints.append((whole_index(c.sparse, kernel, runtime) - feature % c.features, 0, 0))
    ranges.append((0, c.kernel_features - 1))
    return [single_map(dims, results, ranges=ranges, runtime=runtime, constraints=constraints).simplified()]


MAX_WINDOW_ELEMENTS = 2**21
"""The number of window elements that are materialized at once."""


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Bring both operands into a fixed dimension order, take all windows, and sum the products."""
    c = convolution_attributes(instruction)
    if isinstance(c, Unknown):
        raise UnsupportedError(c.reason)
    operands = dense_operands(instruction, operands)
    n = len(c.dims)
    axes = range(2, 2 + n)
    image = np.transpose(operands[0], (c.labels.input_batch, c.labels.input_feature, *c.labels.input_spatial))
    kernel = np.transpose(
        operands[1], (c.labels.kernel_output_feature, c.labels.kernel_input_feature, *c.labels.kernel_spatial)
    )
    kernel = np.flip(kernel, tuple(axis for axis, dim in zip(axes, c.dims, strict=True) if dim.reversal))
    windows = sliding_windows(image, axes, c.dims, 0)
    windows = windows.reshape(c.batch_groups, c.batches, c.feature_groups, c.features, *windows.shape[2:])
    kernel = kernel.reshape(c.batch_groups, c.feature_groups, c.group_outputs, *kernel.shape[1:])
    parts = [_products(part, kernel, n, numpy_dtype(instruction.shape.dtype)) for part in _batch_chunks(windows)]
    done = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    done = done.transpose(1, 0, 2, 3, *range(4, 4 + n))
    done = done.reshape(c.batches, c.output_sizes[c.labels.output_feature], *done.shape[4:])
    order = (c.labels.output_batch, c.labels.output_feature, *c.labels.output_spatial)
    return np.transpose(done, np.argsort(order))


def _batch_chunks(windows: Array) -> list[Array]:
    """The windows of some batches at a time: they take as much memory as the image times the size of a window."""
    batches = windows.shape[1]
    step = max(1, MAX_WINDOW_ELEMENTS * batches // max(1, windows.size))
    return [windows[:, i : i + step] for i in range(0, batches, step)] or [windows]


def _products(windows: Array, kernel: Array, n: int, to: Any) -> Array:
    # Axes: 0 batch group, 1 batch, 2 feature group, 3 input feature, 4 output feature, outputs, window elements.
    outputs, elements = list(range(5, 5 + n)), list(range(5 + n, 5 + 2 * n))
    return sum_of_products(
        windows, [0, 1, 2, 3, *outputs, *elements], kernel, [0, 2, 4, 3, *elements], [0, 1, 2, 4, *outputs], to
    )


register(
    "convolution",
    Maps(output_to_input, input_to_output),
    Semantics(
        evaluate,
        operations="multiply-adds",
        builder_methods=("conv",),
        matrix_product=matrix_product,
        partial_results=partial_sums,
    ),
    values=Values(known=known_values, used=used),
)
