"""Semantics of convolution: sliding windows of the image times the kernel, as products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core import Instruction
from ...answers import Unknown
from ...dtypes import numpy_dtype
from ...errors import UnsupportedError
from ...lazy import np
from .._evaluation import Array, EvalContext, Value
from .._numpy.contraction import dense_operands, sum_of_products
from .._numpy.window import sliding_windows
from .attributes import convolution_attributes

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
    parts = [_products(part, kernel, n, numpy_dtype(instruction.shape.dtype)) for part in _batch_chunks(windows, n)]
    done = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    done = done.transpose(1, 0, 2, 3, *range(4, 4 + n))
    done = done.reshape(c.batches, c.output_sizes[c.labels.output_feature], *done.shape[4:])
    order = (c.labels.output_batch, c.labels.output_feature, *c.labels.output_spatial)
    return np.transpose(done, np.argsort(order))


def _batch_chunks(windows: Array, n: int) -> list[Array]:
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
