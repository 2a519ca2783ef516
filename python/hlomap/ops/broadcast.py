"""broadcast: operand dimension i is output dimension ``dimensions[i]``; the operand is repeated along the others.

Sections Broadcast and BroadcastInDim of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._indexing.maps import described
from ._op import EvalContext, Value, register_moving


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Bring the operand's dimensions into the order of the output, insert dimensions of size 1, broadcast."""
    sizes, kept = list(instruction.shape.dimensions), instruction.attributes.get("dimensions", ())
    for i, size in zip(kept, operands[0].shape, strict=True):
        sizes[i] = size
    ordered = np.transpose(operands[0], sorted(range(len(kept)), key=lambda i: kept[i]))
    return np.broadcast_to(ordered.reshape([sizes[i] if i in kept else 1 for i in range(len(sizes))]), sizes)


register_moving(
    "broadcast",
    described("[a=dimensions, _] <- [a]"),
    evaluate,
    builder_methods=("broadcast", "broadcast_in_dim"),
)
