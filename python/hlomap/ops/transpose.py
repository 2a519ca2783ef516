"""transpose: output[d] = operand[e] with e[dimensions[i]] = d[i].

Section Transpose of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._indexing.maps import described
from ._op import EvalContext, Value, register_moving


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.transpose``."""
    return np.transpose(operands[0], instruction.attributes["dimensions"])


register_moving("transpose", described("[a] <- [a=dimensions]"), evaluate)
