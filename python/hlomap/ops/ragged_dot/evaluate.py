"""ragged-dot in NumPy: a dense dot with a dimension for the groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from ...dtypes import numpy_dtype
from .._evaluation import Array, EvalContext, Value
from .._numpy.contraction import sum_of_products
from .attributes import RaggedDotDimensions, ragged_dot_dimensions


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """A dense dot with a dimension for the groups, in which all but the own rows are 0."""
    d = ragged_dot_dimensions(instruction)
    left, right, groups = (np.asarray(x) for x in operands)
    number = {label: i for i, label in enumerate(d.sizes)}
    a, b, out = ([number[label] for label in labels] for labels in (d.left, d.right, d.output))
    if d.mode != "batch":
        rows = np.arange(d.sizes[d.ragged])
        # A size below 0 is none: what it would be is specified nowhere.
        groups = np.clip(groups.astype(np.int64), 0, len(rows))
        ends = np.cumsum(groups, axis=-1)[..., None]
        starts = ends - groups[..., None]
        inside = (starts <= rows) & (rows < ends)
        left, a = _in_groups(left, d.left, inside, d, number)
        if d.mode == "summed":
            right, b = _in_groups(right, d.right, inside, d, number)
    return sum_of_products(left, a, right, b, out, numpy_dtype(instruction.shape.dtype))


def _in_groups(
    array: Array, labels: Sequence[str], inside: Array, d: RaggedDotDimensions, number: dict[str, int]
) -> tuple[Array, list[int]]:
    """The array once for each group, with its own rows alone; the group is the last dimension."""
    own = [*d.groups, d.ragged]
    wanted = [*labels, "g"]
    kept = [label for label in wanted if label in own]
    mask = inside.transpose([own.index(label) for label in kept])
    mask = mask.reshape([d.sizes[label] if label in own else 1 for label in wanted])
    return np.where(mask, array[..., None], np.zeros((), array.dtype)), [number[label] for label in wanted]
