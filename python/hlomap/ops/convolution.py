"""convolution: sum over window places and input features of operand element times kernel element.

Feature groups: output feature f uses the input features of group ``f div (features / groups)``.  Batch groups: output
feature f uses the batches of group ``f div (features / groups)``.  Range variables are the window places, in the order
of the spatial dimensions, then the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import Expr, Instruction
from ._contract import sum_of_products
from ._maps import full, reads
from ._numeric import numpy_dtype
from ._op import Answer, Array, Bounds, Context, ExprLike, Leaf, Op, Run, Unknown, Value, register
from ._shapes import agree, must
from ._window import Meeting, WindowDim, place_variables, spread, window_dims, windows

PART = 2**21
"""Elements of windows that are laid out at once."""


@dataclass(frozen=True)
class _Convolution:
    """The parts of a convolution by name; ``features`` counts those of the kernel, that is of one group."""

    labels: Any
    dims: list[WindowDim]
    input_sizes: tuple[int, ...]
    kernel_sizes: tuple[int, ...]
    output_sizes: tuple[int, ...]
    feature_groups: int
    batch_groups: int

    @property
    def features(self) -> int:
        return self.kernel_sizes[int(self.labels.kernel_input_feature)]

    @property
    def group_outputs(self) -> int:
        """Output features of one group, of either kind."""
        return self.kernel_sizes[int(self.labels.kernel_output_feature)] // (self.feature_groups * self.batch_groups)

    @property
    def batches(self) -> int:
        return self.output_sizes[int(self.labels.output_batch)]


def _read(instruction: Instruction) -> _Convolution | Unknown:
    labels = instruction.attributes["dim_labels"]
    sizes = [tuple(shape.dimensions) for shape in (*(o.shape for o in instruction.operands), instruction.shape)]
    window = instruction.attributes.get("window")
    lengths = [sizes[0][i] for i in labels.input_spatial]
    outputs = [sizes[2][i] for i in labels.output_spatial]
    groups = (
        int(instruction.attributes.get("feature_group_count", 1)),
        int(instruction.attributes.get("batch_group_count", 1)),
    )
    if min(groups) < 1 or max(groups) != groups[0] * groups[1]:
        return Unknown("convolution with both feature groups and batch groups")
    features, outputs_of = sizes[1][labels.kernel_input_feature], sizes[1][labels.kernel_output_feature]
    must(outputs_of % max(groups) == 0, f"{outputs_of} output features in {max(groups)} groups")
    agree(
        [sizes[0][labels.input_feature], sizes[2][labels.output_feature]],
        [features * groups[0], outputs_of],
        "features",
    )
    agree([sizes[0][labels.input_batch]], [sizes[2][labels.output_batch] * groups[1]], "batches")
    agree(
        [w.size for w in window.dims] if window is not None else [],
        (sizes[1][i] for i in labels.kernel_spatial),
        "a window",
    )
    return _Convolution(labels, window_dims(window, lengths, outputs), sizes[0], sizes[1], sizes[2], *groups)


def _placed(rank: int, indices: Sequence[tuple[int, ExprLike]]) -> list[ExprLike]:
    results: list[ExprLike] = [0] * rank
    for dim, index in indices:
        results[dim] = index
    return results


def _constraints(meetings: Sequence[Meeting]) -> list[tuple[ExprLike, int, int]]:
    return [constraint for meeting in meetings for constraint in meeting.constraints]


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The window over the operand, the kernel under it; a kernel element over padding alone is not read."""
    c = _read(instruction)
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
    c = _read(instruction)
    if isinstance(c, Unknown):
        return [c]
    return [_from_image(c)] if operand == 0 else [_from_kernel(c)]


def _from_image(c: _Convolution) -> Any:
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


def _from_kernel(c: _Convolution) -> Any:
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


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """Bring both sides to a fixed order, see every window, and sum products."""
    c = _read(instruction)
    assert isinstance(c, _Convolution), "XLA has no convolution with both kinds of groups"
    n = len(c.dims)
    axes = range(2, 2 + n)
    image = np.transpose(operands[0], (c.labels.input_batch, c.labels.input_feature, *c.labels.input_spatial))
    kernel = np.transpose(
        operands[1], (c.labels.kernel_output_feature, c.labels.kernel_input_feature, *c.labels.kernel_spatial)
    )
    kernel = np.flip(kernel, tuple(axis for axis, dim in zip(axes, c.dims, strict=True) if dim.reversal))
    seen = windows(spread(image, axes, c.dims, 0), axes, c.dims)
    seen = seen.reshape(c.batch_groups, c.batches, c.feature_groups, c.features, *seen.shape[2:])
    kernel = kernel.reshape(c.batch_groups, c.feature_groups, c.group_outputs, *kernel.shape[1:])
    parts = [_products(part, kernel, n, numpy_dtype(instruction.shape.dtype)) for part in _in_parts(seen, n)]
    done = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    done = done.transpose(1, 0, 2, 3, *range(4, 4 + n))
    done = done.reshape(c.batches, c.output_sizes[c.labels.output_feature], *done.shape[4:])
    order = (c.labels.output_batch, c.labels.output_feature, *c.labels.output_spatial)
    return np.transpose(done, np.argsort(order))


def _in_parts(seen: Array, n: int) -> list[Array]:
    """Some batches at a time: seen window by window, an image is as many times its size as a window has places."""
    batches = seen.shape[1]
    step = max(1, PART * batches // max(1, seen.size))
    return [seen[:, i : i + step] for i in range(0, batches, step)] or [seen]


def _products(seen: Array, kernel: Array, n: int, to: Any) -> Array:
    # Labels: 0 batch group, 1 batch, 2 feature group, 3 input feature, 4 output feature, then outputs, then places.
    outputs, places = list(range(5, 5 + n)), list(range(5 + n, 5 + 2 * n))
    return sum_of_products(
        seen, [0, 1, 2, 3, *outputs, *places], kernel, [0, 2, 4, 3, *places], [0, 1, 2, 4, *outputs], to
    )


METHODS = ("conv", "conv_with_general_padding", "conv_general_dilated")
register(Op("convolution", output_to_input, input_to_output, evaluate, methods=METHODS))
