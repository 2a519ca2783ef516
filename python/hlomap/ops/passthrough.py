"""Operations that forward values: barriers, copies that go on, and the second halves of asynchronous operations.

A row of the table has the leaf of operand 0 that is forwarded, and its leaves in the output; the rules and the
semantics follow from it.  The start of an asynchronous operation returns (operands, result, ...), its done returns the
result.  Sections OptimizationBarrier, Send and Recv of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._core import Instruction
from ._evaluation import Evaluate
from ._folding import by_handing_on
from ._indexing.maps import forwarding, reads_nothing
from ._op import EvalContext, Maps, Memory, Semantics, ShapeIndex, Value, Values, register
from ._rule import InPlace, nothing_in_place
from ._shapes import n_outputs

FORWARDED: dict[str, tuple[ShapeIndex, ...]] = {
    "opt-barrier": ((), ()),
    "domain": ((), ()),
    "add-dependency": ((), ()),
    "all-reduce-done": ((), ()),
    "all-gather-done": ((1,), ()),
    "collective-permute-done": ((1,), ()),
    "copy-start": ((), (0,), (1,)),
    "copy-done": ((0,), ()),
    "recv-done": ((0,), (0,)),
}
"""By opcode the shape index of the forwarded value in operand 0, then its shape indices in the output."""
BUILDER_METHODS: dict[str, tuple[str, ...]] = {
    "opt-barrier": ("optimization_barrier",),
    "recv-done": ("recv", "recv_with_token"),
}


def _copied_operand(instruction: Instruction) -> Mapping[ShapeIndex, InPlace]:
    """The start of a copy passes on the operand together with the copy."""
    return {(1,): InPlace(0, replaces=False)}


def _semantics(source: ShapeIndex, targets: Sequence[ShapeIndex]) -> Evaluate:
    def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
        value = operands[0]
        for i in source:
            value = value[i]
        if targets == [()]:
            return value
        return tuple(value if (i,) in targets else None for i in range(n_outputs(instruction.shape)))

    return evaluate


for _opcode, (_source, *_targets) in FORWARDED.items():
    _is_same = [_source] == _targets == [()]
    register(
        _opcode,
        Maps(*forwarding(_source, *_targets)),
        Semantics(_semantics(_source, _targets), operations="moves", builder_methods=BUILDER_METHODS.get(_opcode, ())),
        values=Values(
            known=(lambda instruction, operands, context: operands[0]) if _is_same else None,
            folds=by_handing_on(_semantics(_source, _targets)) if _is_same else None,
        ),
        memory=Memory(
            moves_nothing=_opcode != "copy-start",
            in_place=_copied_operand if _opcode == "copy-start" else nothing_in_place,
            first_state=2 if _opcode == "copy-start" else None,
        ),
    )
register(
    "send-done",
    Maps(reads_nothing, reads_nothing),
    Semantics(lambda instruction, operands, context: None, operations="moves", builder_methods=("send",)),
    memory=Memory(moves_nothing=True),
)
