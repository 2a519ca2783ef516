"""bitcast-convert: the bits of each element as another element type.

Between types of equal width, output[d] is the bits of operand[d].  A wider element is a row of narrower ones along an
additional last dimension, the lowest bits first.  Section BitcastConvertType of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._folding import on_integers
from ._indexing.maps import described
from ._numpy.numeric import reinterpret_bits
from ._op import EvalContext, Semantics, Value, Values, register


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The bits in the order of the elements, read as the other type."""
    source, target = instruction.operands[0].shape, instruction.shape
    bits = reinterpret_bits(np.asarray(operands[0]).reshape(-1), source.dtype, target.dtype)
    return bits.reshape(target.dimensions)


register(
    "bitcast-convert",
    described("[a, _] <- [a, _]"),
    Semantics(evaluate, operations="each", builder_methods=("bitcast_convert_type",)),
    values=Values(folds=on_integers(evaluate)),
)
