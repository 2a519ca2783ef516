"""broadcast: operand dimension i is output dimension ``dimensions[i]``; the operand is repeated along the others.

Sections Broadcast and BroadcastInDim of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..lazy import np
from ._indexing.maps import dim_exprs, map_keeping, single_map
from ._op import EvalContext, RuleContext, RuleResult, ShapeIndex, Value, moving, register


def _dimensions(instruction: Instruction) -> tuple[int, ...]:
    found: tuple[int, ...] = instruction.attributes.get("dimensions", ())
    return found


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[d[dimensions[0]], d[dimensions[1]], ...]."""
    dims = dim_exprs(instruction.shape.rank)
    return [single_map(instruction.shape, [dims[i] for i in _dimensions(instruction)])]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """A range for each output dimension along which the operand is repeated."""
    own = {o: i for i, o in enumerate(_dimensions(instruction))}
    return [map_keeping(instruction.operands[0].shape.dimensions, instruction.shape.dimensions, own)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Bring the operand's dimensions into the order of the output, insert dimensions of size 1, broadcast."""
    sizes, kept = list(instruction.shape.dimensions), _dimensions(instruction)
    for i, size in zip(kept, operands[0].shape, strict=True):
        sizes[i] = size
    ordered = np.transpose(operands[0], sorted(range(len(kept)), key=lambda i: kept[i]))
    return np.broadcast_to(ordered.reshape([sizes[i] if i in kept else 1 for i in range(len(sizes))]), sizes)


register(
    moving("broadcast", output_to_input, input_to_output, evaluate, builder_methods=("broadcast", "broadcast_in_dim"))
)
