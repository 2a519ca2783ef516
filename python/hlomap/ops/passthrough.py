"""Operations that forward values: barriers, and the second halves of asynchronous operations.

A row of the table has the leaf of operand 0 that is forwarded, and its leaf in the output; the rules and the
semantics follow from it.  The start of an asynchronous operation returns (operands, result, ...), its done returns the
result.  Sections OptimizationBarrier, Send and Recv of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import forward_from_operand, forward_to_outputs, reaches_nothing, reads_nothing
from ._known import Known, KnownContext
from ._operations import moves_elements
from ._registry import register
from ._rule import NOTHING, OpRule, RuleContext, RuleResult

FORWARDED: dict[str, tuple[ShapeIndex, ShapeIndex]] = {
    "opt-barrier": ((), ()),
    "domain": ((), ()),
    "add-dependency": ((), ()),
    "all-reduce-done": ((), ()),
    "all-gather-done": ((1,), ()),
    "collective-permute-done": ((1,), ()),
    "copy-done": ((0,), ()),
    "recv-done": ((0,), (0,)),
}
"""By opcode the shape index of the forwarded value in operand 0, and its shape index in the output."""
BUILDER_METHODS: dict[str, tuple[str, ...]] = {
    "opt-barrier": ("optimization_barrier",),
    "recv-done": ("recv", "recv_with_token"),
}


def _known_operand(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    return operands[0]


def _forwarding_rule(opcode: str, source: ShapeIndex, target: ShapeIndex) -> OpRule:
    def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        if leaf[: len(target)] != target:
            return [NOTHING] * len(instruction.operands)
        return forward_from_operand(instruction, leaf, 0, source + leaf[len(target) :])

    def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        if operand > 0 or leaf[: len(source)] != source:
            return forward_to_outputs(instruction, operand, leaf)
        return forward_to_outputs(instruction, operand, leaf, target + leaf[len(source) :])

    def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
        value = operands[0]
        for i in source:
            value = value[i]
        return (value, None) if target else value

    methods = BUILDER_METHODS.get(opcode, ())
    return OpRule(
        opcode,
        output_to_input,
        input_to_output,
        evaluate,
        moves_nothing=True,
        known_values=_known_operand if source == target == () else None,
        builder_methods=methods,
        operations=moves_elements,
    )


for _opcode, (_source, _target) in FORWARDED.items():
    register(_forwarding_rule(_opcode, _source, _target))
register(
    OpRule(
        "send-done",
        reads_nothing,
        reaches_nothing,
        lambda instruction, operands, context: None,
        builder_methods=("send",),
        operations=moves_elements,
        moves_nothing=True,
    )
)
