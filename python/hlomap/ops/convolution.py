"""convolution: the sum over window elements and input features of operand element times kernel element.

With feature groups, output feature f reads the input features of group ``f div (features / groups)``; with batch
groups, it reads the batches of that group.  The range variables are the window elements in the order of the spatial
dimensions, then the input features.  Section Conv of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._core import Expr, Instruction, Variable
from ..answers import Unknown
from ..dtypes import numpy_dtype
from ..errors import UnsupportedError
from ..lazy import np
from ._attributes import SparseSide, WindowedDim, sparse_sides, windowed_dims
from ._indexing.contraction import extra_operand, whole_index
from ._indexing.maps import full_bounds, inverted, single_map
from ._indexing.window import WindowIndex, operand_index, output_index, window_variables
from ._numpy.contraction import dense_operands, sum_of_products
from ._numpy.window import sliding_windows
from ._op import Array, EvalContext, RuleContext, RuleResult, ShapeIndex, Value, register
from ._rule import Bounds, ExprLike, OperandIndexing
from ._shapes import require


class Convolution(NamedTuple):
    """Attributes and sizes of a convolution; ``features`` is the number of input features in one group.

    A ``sparse`` kernel holds some of its input features; ``kernel_sizes`` are those of the values it holds.
    """

    labels: Any
    dims: list[WindowedDim]
    input_sizes: tuple[int, ...]
    kernel_sizes: tuple[int, ...]
    output_sizes: tuple[int, ...]
    feature_groups: int
    batch_groups: int
    sparse: SparseSide | None

    @property
    def features(self) -> int:
        return self.kernel_features * (self.sparse.block if self.sparse else 1)

    @property
    def kernel_features(self) -> int:
        """The input features in one group that the kernel holds."""
        return self.kernel_sizes[int(self.labels.kernel_input_feature)]

    @property
    def group_outputs(self) -> int:
        """The output features of one group, of either kind."""
        return self.kernel_sizes[int(self.labels.kernel_output_feature)] // (self.feature_groups * self.batch_groups)

    @property
    def batches(self) -> int:
        return self.output_sizes[int(self.labels.output_batch)]


def convolution_attributes(instruction: Instruction) -> Convolution | Unknown:
    """The attributes; Unknown for a combination that XLA does not have.

    A kernel of kind ``dgrad`` is stored without the reversal that the convolution applies to it.
    """
    labels = instruction.attributes["dim_labels"]
    sizes = [tuple(shape.dimensions) for shape in (*(o.shape for o in instruction.operands[:2]), instruction.shape)]
    window = instruction.attributes.get("window")
    lengths = [sizes[0][i] for i in labels.input_spatial]
    outputs = [sizes[2][i] for i in labels.output_spatial]
    groups = (
        int(instruction.attributes.get("feature_group_count", 1)),
        int(instruction.attributes.get("batch_group_count", 1)),
    )
    if min(groups) < 1 or max(groups) != groups[0] * groups[1]:
        return Unknown("convolution with both feature groups and batch groups")
    sides = sparse_sides(instruction)
    if isinstance(sides, Unknown):
        return sides
    image, sparse = sides
    if image is not None or (sparse is not None and sparse.dimension != labels.kernel_input_feature):
        return Unknown("convolution that is sparse along another dimension than the input features of the kernel")
    outputs_of = sizes[1][labels.kernel_output_feature]
    require(outputs_of % max(groups) == 0, f"{outputs_of} output features cannot be split into {max(groups)} groups")
    dims = windowed_dims(window, lengths, outputs)
    if instruction.attributes.get("convolution_kind", instruction.attributes.get("conv_kind")) == "dgrad":
        dims = [dim._replace(reversal=not dim.reversal) for dim in dims]
    return Convolution(labels, dims, sizes[0], sizes[1], sizes[2], *groups, sparse)


def _kernel_index(c: Convolution, feature: ExprLike, out: ExprLike, elements: Sequence[Expr | None]) -> list[ExprLike]:
    dims = c.labels.kernel_input_feature, c.labels.kernel_output_feature, *c.labels.kernel_spatial
    return _ordered(dims, (feature, out, *(0 if element is None else element for element in elements)))


def _ordered(dims: Sequence[int], indices: Sequence[ExprLike]) -> list[ExprLike]:
    by_dim = dict(zip(dims, indices, strict=True))
    return [by_dim[i] for i in range(len(dims))]


def _dims(sizes: Sequence[int], spatial: Sequence[int], windows: Sequence[WindowIndex]) -> list[Bounds]:
    dims = full_bounds(sizes)
    for i, window in zip(spatial, windows, strict=True):
        dims[i] = window.bounds
    return dims


def _constraints(windows: Sequence[WindowIndex]) -> list[tuple[ExprLike, int, int]]:
    return [constraint for window in windows for constraint in window.constraints]


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The image elements in the window and their kernel elements; padding reads neither."""
    c = convolution_attributes(instruction)
    if isinstance(c, Unknown):
        return [c] * len(instruction.operands)
    elements, ranges = window_variables(c.dims)
    feature, batch, out = (Expr.range(len(ranges)), Expr.dim(c.labels.output_batch), Expr.dim(c.labels.output_feature))
    ranges = [*ranges, (0, c.kernel_features - 1)]
    spatial = c.labels.output_spatial
    windows = [
        operand_index(dim, Expr.dim(o), element) for dim, o, element in zip(c.dims, spatial, elements, strict=True)
    ]
    group = out // max(1, c.group_outputs)
    kernel = _kernel_index(c, feature, out, elements)
    runtime: list[Variable] = []
    of_image = feature if c.sparse is None else whole_index(c.sparse, kernel, runtime)
    batch = batch + group * c.batches if c.batch_groups > 1 else batch
    of_image = group * c.features + of_image if c.feature_groups > 1 else of_image
    at = c.labels.input_batch, c.labels.input_feature, *c.labels.input_spatial
    image = _ordered(at, (batch, of_image, *(window.expr for window in windows)))
    dims, constraints = _dims(c.output_sizes, spatial, windows), _constraints(windows)
    parts: list[OperandIndexing] = [single_map(dims, image, ranges=ranges, runtime=runtime, constraints=constraints)]
    for k in range(1, len(instruction.operands)):
        extra = extra_operand(instruction, (None, c.sparse), k) if k > 1 else 1
        read = single_map(dims, kernel, ranges=ranges, constraints=constraints)
        parts.append(read if isinstance(extra, int) else extra)
    return parts


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From an image element to every window that contains it; from a kernel element to every window."""
    c = convolution_attributes(instruction)
    if operand > 0 or isinstance(c, Unknown):
        return inverted(output_to_input)(instruction, operand, leaf, context)
    elements, ranges = window_variables(c.dims)
    own, feature = Expr.dim(c.labels.input_batch), Expr.dim(c.labels.input_feature)
    out: ExprLike = Expr.range(len(ranges))
    if c.feature_groups > 1:
        out = feature // max(1, c.features) * c.group_outputs + out
    if c.batch_groups > 1:
        out = own // max(1, c.batches) * c.group_outputs + out
    batch = own % max(1, c.batches) if c.batch_groups > 1 else own
    spatial = c.labels.input_spatial
    windows = [
        output_index(dim, Expr.dim(i), element) for dim, i, element in zip(c.dims, spatial, elements, strict=True)
    ]
    at = c.labels.output_batch, c.labels.output_feature, *c.labels.output_spatial
    results = _ordered(at, (batch, out, *(window.expr for window in windows)))
    ranges = [*ranges, (0, c.group_outputs - 1)]
    dims, constraints = _dims(c.input_sizes, spatial, windows), _constraints(windows)
    if c.sparse is None:
        return [single_map(dims, results, ranges=ranges, constraints=constraints)]
    # The held element of the kernel whose index is that of the image's feature in its group.
    block = Expr.range(len(ranges))
    kernel = _kernel_index(c, block, out, elements)
    runtime: list[Variable] = []
    constraints.append((whole_index(c.sparse, kernel, runtime) - feature % c.features, 0, 0))
    ranges = [*ranges, (0, c.kernel_features - 1)]
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
    output_to_input,
    input_to_output,
    evaluate,
    builder_methods=("conv",),
    operations="multiply-adds",
)
