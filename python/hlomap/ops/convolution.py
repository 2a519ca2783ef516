"""convolution: sum over window places and input features of operand element times kernel element.

Feature groups: output feature f uses the input features of group ``f div (features / groups)``.  Batch groups: output
feature f uses the batches of group ``f div (features / groups)``.  Range variables are the window places, in the order
of the spatial dimensions, then the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Expr, Instruction
from ._maps import full, reads
from ._op import Answer, Bounds, Context, ExprLike, Leaf, Op, Unknown, register
from ._window import Meeting, place_variables
from .meaning.convolution import evaluate
from .plans.convolution import Convolution, plan_of


def _placed(rank: int, indices: Sequence[tuple[int, ExprLike]]) -> list[ExprLike]:
    results: list[ExprLike] = [0] * rank
    for dim, index in indices:
        results[dim] = index
    return results


def _constraints(meetings: Sequence[Meeting]) -> list[tuple[ExprLike, int, int]]:
    return [constraint for meeting in meetings for constraint in meeting.constraints]


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The window over the operand, the kernel under it; a kernel element over padding alone is not read."""
    c = plan_of(instruction)
    if isinstance(c, Unknown):
        return [c] * len(instruction.operands)
    places, ranges = place_variables(c.dims)
    feature = Expr.range(len(ranges))
    ranges = [*ranges, (0, c.features - 1)]
    batch, out = Expr.dim(c.labels.output_batch), Expr.dim(c.labels.output_feature)
    meetings = [
        dim.element(Expr.dim(o), place) for dim, o, place in zip(c.dims, c.labels.output_spatial, places, strict=True)
    ]
    dims = full(c.output_sizes)
    for o, meeting in zip(c.labels.output_spatial, meetings, strict=True):
        dims[o] = meeting.bounds
    group = out // max(1, c.group_outputs)
    image = _placed(
        len(c.input_sizes),
        [
            (c.labels.input_batch, batch + group * c.batches if c.batch_groups > 1 else batch),
            (c.labels.input_feature, group * c.features + feature if c.feature_groups > 1 else feature),
            *((i, m.index) for i, m in zip(c.labels.input_spatial, meetings, strict=True)),
        ],
    )
    kernel = _placed(
        len(c.kernel_sizes),
        [
            (c.labels.kernel_input_feature, feature),
            (c.labels.kernel_output_feature, out),
            *((k, 0 if p is None else p) for k, p in zip(c.labels.kernel_spatial, places, strict=True)),
        ],
    )
    constraints = _constraints(meetings)
    return [reads(dims, results, ranges=ranges, constraints=constraints) for results in (image, kernel)]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """Of an image element: every place it can have in a window. Of a kernel element: every window."""
    c = plan_of(instruction)
    if isinstance(c, Unknown):
        return [c]
    return [_from_image(c)] if operand == 0 else [_from_kernel(c)]


def _from_image(c: Convolution) -> Any:
    places, ranges = place_variables(c.dims)
    out: ExprLike = Expr.range(len(ranges))
    ranges = [*ranges, (0, c.group_outputs - 1)]
    batch: ExprLike = Expr.dim(c.labels.input_batch)
    if c.feature_groups > 1:
        out = Expr.dim(c.labels.input_feature) // max(1, c.features) * c.group_outputs + out
    if c.batch_groups > 1:
        out = Expr.dim(c.labels.input_batch) // max(1, c.batches) * c.group_outputs + out
        batch = Expr.dim(c.labels.input_batch) % max(1, c.batches)
    meetings = [
        dim.output(Expr.dim(i), place) for dim, i, place in zip(c.dims, c.labels.input_spatial, places, strict=True)
    ]
    dims = full(c.input_sizes)
    for i, meeting in zip(c.labels.input_spatial, meetings, strict=True):
        dims[i] = meeting.bounds
    indices = [
        (c.labels.output_batch, batch),
        (c.labels.output_feature, out),
        *((o, m.index) for o, m in zip(c.labels.output_spatial, meetings, strict=True)),
    ]
    return reads(dims, _placed(len(c.output_sizes), indices), ranges=ranges, constraints=_constraints(meetings))


def _from_kernel(c: Convolution) -> Any:
    ranges: list[Bounds] = []
    outputs: list[Expr] = []
    constraints: list[tuple[ExprLike, int, int]] = []
    for dim, k in zip(c.dims, c.labels.kernel_spatial, strict=True):
        output = Expr.range(len(ranges))
        meeting = dim.element(output, Expr.dim(k) if dim.size > 1 else None)
        ranges.append(meeting.bounds)
        outputs.append(output)
        constraints.extend(meeting.constraints)
    batch = Expr.range(len(ranges))
    indices = [
        (c.labels.output_batch, batch),
        (c.labels.output_feature, Expr.dim(c.labels.kernel_output_feature)),
        *zip(c.labels.output_spatial, outputs, strict=True),
    ]
    ranges.append((0, c.batches - 1))
    return reads(full(c.kernel_sizes), _placed(len(c.output_sizes), indices), ranges=ranges, constraints=constraints)


METHODS = ("conv", "conv_with_general_padding", "conv_general_dilated")


register(Op("convolution", output_to_input, input_to_output, evaluate, methods=METHODS))
