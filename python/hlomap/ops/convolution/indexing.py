"""Indexing rules of convolution."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Expr, Instruction, Variable
from ...answers import Unknown
from ...types import ShapeIndex
from .._indexing.contraction import extra_operand, whole_index
from .._indexing.maps import full_bounds, inverted, simplify_maps, single_map
from .._indexing.window import WindowIndex, operand_index, output_index, window_variables
from .._rule import Bounds, ExprLike, OperandIndexing, RuleContext, RuleResult
from .attributes import Convolution, convolution_attributes


def _kernel_index(c: Convolution, feature: ExprLike, out: ExprLike, spatial: Sequence[ExprLike]) -> list[ExprLike]:
    labels = c.labels
    dims = labels.kernel_input_feature, labels.kernel_output_feature, *labels.kernel_spatial
    return _ordered(dims, (feature, out, *spatial))


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
    kernel = _kernel_index(c, feature, out, [0 if element is None else element for element in elements])
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
    kernel = _kernel_index(c, block, out, [0 if element is None else element for element in elements])
    runtime: list[Variable] = []
    constraints.append((whole_index(c.sparse, kernel, runtime) - feature % c.features, 0, 0))
    ranges = [*ranges, (0, c.kernel_features - 1)]
    return [simplify_maps(single_map(dims, results, ranges=ranges, runtime=runtime, constraints=constraints))]
