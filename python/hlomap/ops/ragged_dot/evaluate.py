"""Semantics of ragged-dot: a dense dot with an additional dimension for the groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from ...dtypes import numpy_dtype
from .._evaluation import Array, EvalContext, Value
from .._numpy.contraction import sum_of_products
from .attributes import RaggedDotDimensions, ragged_dot_dimensions


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """A dense dot with a dimension for the groups, along which the rows of other groups are 0."""
    d = ragged_dot_dimensions(instruction)
    left, right, groups = (np.asarray(x) for x in operands)
    number = {label: i for i, label in enumerate(d.sizes)}
    a, b, out = ([number[label] for label in labels] for labels in (d.left, d.right, d.output))
    if d.mode != "batch":
        rows = np.arange(d.sizes[d.ragged])
        # No specification covers negative sizes; they count as 0.
        groups = np.clip(groups.astype(np.int64), 0, len(rows))
        ends = np.cumsum(groups, axis=-1)[..., None]
        starts = ends - groups[..., None]
        inside = (starts <= rows) & (rows < ends)
        left, a = _masked_by_group(left, d.left, inside, d, number)
        if d.mode == "summed":
            right, b = _masked_by_group(right, d.right, inside, d, number)
    return sum_of_products(left, a, right, b, out, numpy_dtype(instruction.shape.dtype))


def _masked_by_group(
    array: Array, labels: Sequence[str], inside: Array, d: RaggedDotDimensions, number: dict[str, int]
) -> tuple[Array, list[int]]:
    """The array once for each group, with the rows of other groups set to 0; the group is the last dimension."""
    mask_labels = [*d.groups, d.ragged]
    wanted = [*labels, "g"]
    kept = [label for label in wanted if label in mask_labels]
    mask = inside.transpose([mask_labels.index(label) for label in kept])
    mask = mask.reshape([d.sizes[label] if label in mask_labels else 1 for label in wanted])
    return np.where(mask, array[..., None], np.zeros((), array.dtype)), [number[label] for label in wanted]
