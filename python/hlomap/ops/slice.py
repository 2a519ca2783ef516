"""slice: output[d] = operand[start + stride * d].

Section Slice of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._indexing.maps import described
from ._op import EvalContext, Value, register_moving
from ._shapes import require


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Basic slicing, which would cut limits that are too large."""
    require(instruction.inconsistency is None, instruction.inconsistency or "")
    limits = instruction.attributes["slice"]
    return np.asarray(operands[0])[tuple(slice(start, limit, stride) for start, limit, stride in limits)]


register_moving("slice", described("[a] <- [slice.0 + slice.2 * a]"), evaluate)
