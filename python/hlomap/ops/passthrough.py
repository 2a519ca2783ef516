"""Operations that hand values on: barriers, and the halves of asynchronous operations that only wait.

Each row of the table says where an operand's leaf appears in the output; everything follows from it.
The start of an asynchronous operation gives (operands, result, ...), its done gives the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._core import Instruction
from ._maps import passes_from, passes_to, reaches_nothing, reads_nothing
from ._op import NOTHING, Answer, Context, Leaf, Op, Part, Run, Steps, Unknown, Value, register
from ._shapes import n_outputs

# Opcode -> (where the value starts in operand 0, where it starts in the output).
HANDED_ON: dict[str, tuple[Leaf, Leaf]] = {
    "opt-barrier": ((), ()),
    "domain": ((), ()),
    "add-dependency": ((), ()),
    "all-reduce-done": ((), ()),
    "all-gather-done": ((1,), ()),
    "collective-permute-done": ((1,), ()),
    "copy-done": ((0,), ()),
    "async-update": ((), ()),
    "async-done": ((1,), ()),
    "recv-done": ((0,), (0,)),
}
# Those whose methods are not called as they are.
METHODS = {"opt-barrier": ("optimization_barrier",), "recv-done": ("recv", "recv_with_token")}


def _hand_on(opcode: str, source: Leaf, target: Leaf) -> Op:
    def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
        if leaf[: len(target)] != target:
            return [NOTHING] * len(instruction.operands)
        return passes_from(instruction, leaf, 0, source + leaf[len(target) :])

    def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
        if operand > 0 or leaf[: len(source)] != source:
            return passes_to(instruction, operand, leaf)
        return passes_to(instruction, operand, leaf, target + leaf[len(source) :])

    def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
        value = operands[0]
        for i in source:
            value = value[i]
        return (value, None) if target else value

    return Op(opcode, output_to_input, input_to_output, evaluate, methods=METHODS.get(opcode, ()))


def _copy_start_output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The copy and the operand itself; the third element is the state of the copy."""
    return passes_from(instruction, leaf, 0, leaf[1:]) if leaf[0] < 2 else [NOTHING]


def _copy_start_input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    return passes_to(instruction, operand, leaf, (0, *leaf), (1, *leaf))


def _copy_start(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    return (operands[0], operands[0], *([None] * (n_outputs(instruction.shape) - 2)))


def _async_start_output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    if leaf[0] == 0:
        return passes_from(instruction, leaf, leaf[1], leaf[2:])
    if leaf[0] == 1 and instruction.called:
        return context.output_to_input(instruction, instruction.called[0], leaf[1:])
    return [NOTHING] * len(instruction.operands)


def _async_start_input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    parts: list[Part] = passes_to(instruction, operand, leaf, (0, operand, *leaf))
    through = context.input_to_output(instruction, instruction.called[0], operand, leaf)
    for part in through.values() if isinstance(through, Mapping) else through:
        before = parts[1]
        if isinstance(part, Unknown) or isinstance(before, Unknown):
            parts[1] = part if isinstance(part, Unknown) else before
        else:
            parts[1] = before + part.at((1,))
    return parts


def _async_start(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    given = tuple(operands)
    rest = [None] * (n_outputs(instruction.shape) - 2)
    return (given, (yield run.call(instruction.called[0], operands)), *rest)


for _opcode, (_source, _target) in HANDED_ON.items():
    register(_hand_on(_opcode, _source, _target))
register(Op("send-done", reads_nothing, reaches_nothing, lambda instruction, operands, run: None, methods=("send",)))
register(Op("copy-start", _copy_start_output_to_input, _copy_start_input_to_output, _copy_start))
register(
    Op(
        "async-start",
        _async_start_output_to_input,
        _async_start_input_to_output,
        _async_start,
        per_instruction=True,
        passes_calls=True,
        parameter_is=lambda instruction, called, parameter: parameter,
    )
)
