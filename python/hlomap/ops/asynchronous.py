"""Asynchronous operations: async-start, -update and -done, and their short forms, as in transpose-start.

The value of a step is ((bound operands...), result, context...).  The start binds the first operands of the wrapped
operation, or of the computation that it calls; updates bind the next ones.  The result, or the first parts of it, may
be there from any step on, and is whole in the done.  The rules derive from that of the wrapped operation: its operand j
is bound by some step, and from the next step on it is the element (0, j) of the step's operand 0.  Section AsyncStart
of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, cast

from .._core import Instruction, Shape
from ..base.answers import Unknown
from ..errors import HlomapError, UnsupportedError
from ..maps.device_groups import GroupTable
from ._evaluation import Evaluate
from ._indexing.maps import by_number, forward_from_operand, forward_to_outputs, inverted_at, merge_parts
from ._op import Calls, EvalContext, Maps, Memory, RuleContext, RuleResult, Semantics, ShapeIndex, Value
from ._operations import Cost, unknown_operations
from ._registry import lookup, register, register_derived
from ._rule import (
    NOTHING,
    CollectiveRule,
    InPlace,
    InputToOutput,
    OperandIndexing,
    OpRule,
    OutputToInput,
)
from ._shapes import array_leaves, n_outputs, require, shape_at


class _Wrapped:
    """The wrapped operation as its own rule expects it: the start, with all operands and the shape of the result."""

    def __init__(self, start: Instruction, operands: Sequence[Instruction], shape: Shape) -> None:
        self._start = start
        self.operands = tuple(operands)
        self.shape = shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self._start, name)


def is_done(instruction: Instruction) -> bool:
    """Whether the step is the last one, whose value is the result itself."""
    return instruction.opcode.endswith("-done")


def begun_by(opcode: str) -> str:
    """The operation that an opcode begins: ``all-gather`` for ``all-gather-start``, and any other opcode itself."""
    return opcode.removesuffix("-start")


def is_later_step(instruction: Instruction) -> bool:
    """Whether the operation began with an instruction before."""
    return instruction.opcode.endswith(("-done", "-update")) and bool(instruction.async_steps)


def is_start(instruction: Instruction) -> bool:
    """Whether the step is the first one, which has no step as an operand."""
    return instruction.opcode.endswith("-start")


def result_shape(instruction: Instruction) -> Shape:
    """The shape of the part of the result that exists at this step."""
    return instruction.shape if is_done(instruction) else shape_at(instruction.shape, (1,))


def bound_operands(instruction: Instruction) -> list[Instruction]:
    """The values that the steps up to this one bind, in the order of the wrapped operation's operands.

    Raises :class:`UnsupportedError` if the start is not known, as in a loop that carries the operation on.
    """
    first, *later = instruction.async_steps
    if not is_start(first):
        raise UnsupportedError(f"the start of {instruction.name} is in another iteration or computation")
    return [*first.operands, *(operand for step in later for operand in step.operands[1:])]


def wrapped_operation(instruction: Instruction) -> Instruction:
    """The operation that runs asynchronously, with the operands that are bound at this step."""
    operands = bound_operands(instruction)
    return cast(Instruction, _Wrapped(instruction.async_steps[0], operands, result_shape(instruction)))


def _operation_of(instruction: Instruction, op: OpRule) -> Instruction:
    """:func:`wrapped_operation`, if the called computation has a parameter for each bound operand."""
    found = wrapped_operation(instruction)
    if op.calls.inlines:
        n = min((len(called.parameters) for called in found.called_computations), default=0)
        require(len(found.operands) <= n, f"{len(found.operands)} operands are bound to {n} parameters")
    return found


def n_bound_before(instruction: Instruction) -> int:
    """The number of operands that the steps before bind."""
    return 0 if is_start(instruction) else n_outputs(shape_at(instruction.operands[0].shape, (0,)))


def new_results(instruction: Instruction, context: object = None) -> frozenset[ShapeIndex]:
    """The leaves of the result that differ from the previous step: all leaves if the step binds operands."""
    own = frozenset(array_leaves(result_shape(instruction)))
    if is_start(instruction) or len(instruction.operands) > 1:
        return own
    return own.difference(array_leaves(shape_at(instruction.operands[0].shape, (1,))))


def is_whole(instruction: Instruction) -> bool:
    """Whether all operands are bound, as far as the next steps tell."""
    while not is_done(instruction):
        following = [user for user in instruction.users if instruction in user.async_steps[:-1]]
        if not following:
            return True
        if len(following[0].operands) > 1:
            return False
        instruction = following[0]
    return True


def bound_value(instruction: Instruction, called: int, parameter: int) -> Instruction | None:
    """The value that any step binds to a parameter of the wrapped computation; None if no step is known to."""
    start = instruction.async_steps[0]
    if not is_start(start):
        return None
    if parameter < len(start.operands):
        return start.operands[parameter]
    for other in start.computation.instructions:
        if other.async_steps[:1] == (start,):
            bound = bound_operands(other)
            if parameter < len(bound):
                return bound[parameter]
    return None


def step_rules(opcode: str, wrapped: Callable[[], OpRule]) -> tuple[OutputToInput, InputToOutput]:
    """Element 0 of the output holds the bound operands, element 1 the result, the rest is the context of the operation.

    The done has only the result.  The leaves of the previous step are forwarded.
    """

    def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
        if not is_done(instruction):
            if shape_index[0] == 0:
                operand, source = _place(instruction, shape_index[1])
                return forward_from_operand(instruction, shape_index, operand, source + shape_index[2:])
            if shape_index[0] > 1:
                if not _keeps(instruction, shape_index):
                    return {}
                return forward_from_operand(instruction, shape_index, 0, shape_index)
        result = shape_index if is_done(instruction) else shape_index[1:]
        if result not in context.fact(instruction, new_results):
            return forward_from_operand(instruction, shape_index, 0, (1, *result))
        found = wrapped().maps.output_to_input(_operation_of(instruction, wrapped()), result, context)
        return _at_operands(instruction, found)

    def input_to_output(
        instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
    ) -> RuleResult:
        if is_start(instruction):
            found = wrapped().maps.input_to_output(_operation_of(instruction, wrapped()), operand, shape_index, context)
            return _start_outputs(instruction, operand, shape_index, found)

        def back(output: ShapeIndex) -> RuleResult:
            try:
                return output_to_input(instruction, output, context)
            except HlomapError as error:  # the forwarded operands are known all the same
                is_bound = operand > 0 or shape_index[0] == 0
                return {operand: Unknown(f"{opcode}: {error}")} if is_bound else {}

        return inverted_at(instruction, operand, shape_index, back)

    return output_to_input, input_to_output


def _start_outputs(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, found: RuleResult
) -> Mapping[int, OperandIndexing]:
    """The outputs that an operand of a start affects: itself among the bound operands, and the current leaves of the
    result."""
    new, parts = new_results(instruction), by_number(found).values()
    kept = [p if isinstance(p, Unknown) else p.of((own, m) for own, m in p.maps if own in new) for p in parts]
    forwarded = forward_to_outputs(instruction, operand, shape_index, (0, operand, *shape_index))
    return {0: forwarded[0], 1: merge_parts(kept, (1,))}


def _place(instruction: Instruction, number: int) -> tuple[int, ShapeIndex]:
    """Where a step has an operand of the wrapped operation: the number of its own operand, and the element of that."""
    n_before = n_bound_before(instruction)
    if is_start(instruction):
        return number, ()
    return (0, (0, number)) if number < n_before else (number - n_before + 1, ())


def _keeps(instruction: Instruction, shape_index: ShapeIndex) -> bool:
    """Whether the step before has an element of the context, of the same sizes."""
    if is_start(instruction) or shape_index not in array_leaves(instruction.operands[0].shape):
        return False
    return instruction.operands[0].shape.at(shape_index).dimensions == instruction.shape.at(shape_index).dimensions


def _at_operands(instruction: Instruction, result: RuleResult) -> RuleResult:
    """The result of the wrapped operation's rule at the operands of the step."""
    parts: dict[int, OperandIndexing] = {}
    for number, part in by_number(result).items():
        operand, source = _place(instruction, number)
        if operand >= len(instruction.operands):
            continue  # a later step binds it
        if not is_start(instruction):
            part = _named_sources(instruction, part)
        parts[operand] = merge_parts([parts.get(operand, NOTHING), merge_parts([part], source)])
    return parts


def _named_sources(instruction: Instruction, part: OperandIndexing) -> OperandIndexing:
    """Runtime sources that stand for values: the operands of the wrapped operation belong to several steps."""
    if isinstance(part, Unknown) or not any(m.runtime for _, m in part.maps):
        return part
    numbers = {k: -1 - value.number for k, value in enumerate(bound_operands(instruction))}
    return part.of((shape_index, m.remap_sources(numbers)) for shape_index, m in part.maps)


def start_collective(rule: CollectiveRule) -> CollectiveRule:
    """The rule of a collective's start: the same groups; the bound operands stay on their device."""

    def output_to_input(
        instruction: Instruction, shape_index: ShapeIndex, table: GroupTable | None
    ) -> Mapping[int, OperandIndexing]:
        if shape_index[0] == 1:
            return rule.output_to_input(wrapped_operation(instruction), shape_index[1:], table)
        if shape_index[0] > 1:
            return {}
        return forward_from_operand(instruction, shape_index, shape_index[1], shape_index[2:])

    def input_to_output(
        instruction: Instruction, operand: int, shape_index: ShapeIndex, table: GroupTable | None
    ) -> Mapping[int, OperandIndexing]:
        crossing = rule.input_to_output(wrapped_operation(instruction), operand, shape_index, table)
        return _start_outputs(instruction, operand, shape_index, crossing)

    return CollectiveRule(
        lambda instruction: rule.groups(wrapped_operation(instruction)),
        output_to_input,
        input_to_output,
        lambda instruction: rule.combiner(wrapped_operation(instruction)),
    )


def evaluate_step(wrapped: Callable[[], Evaluate]) -> Evaluate:
    """The bound operands, the result and the context of the step before; the done has the result alone."""

    def evaluate_step(instruction: Instruction, operands: list[Value], context: EvalContext) -> Any:
        before, new = (((), ()), operands) if is_start(instruction) else (operands[0], operands[1:])
        bound, value = (*before[0], *new), before[1]
        if new_results(instruction) and is_whole(instruction):
            operation = wrapped_operation(instruction)
            whole = wrapped()(operation, list(bound), context)
            if isinstance(whole, Generator):
                whole = yield from whole
            value = _extended(value, whole, result_shape(instruction))
        if is_done(instruction):
            return value
        context_values = [*before[2:], *[None] * n_outputs(instruction.shape)][: n_outputs(instruction.shape) - 2]
        return (bound, value, *context_values)

    return evaluate_step


def _extended(value: Value, whole: Value, shape: Shape) -> Value:
    """A result up to ``shape``, a prefix of the whole result, given the shorter prefix of the previous step."""
    if not shape.is_tuple:
        return whole if isinstance(value, tuple) else value
    parts = [*value, *[()] * (n_outputs(shape) - len(value))]
    return tuple(_extended(part, whole[k], shape.at((k,))) for k, part in enumerate(parts))


_STEPS = ("start", "update", "done")


def short_form(opcode: str, registered: Mapping[str, OpRule]) -> OpRule | None:
    """The rule of a step whose opcode names a registered operation; None for any other opcode."""
    base, _, step = opcode.rpartition("-")
    op = registered.get(base)
    return None if op is None or step not in _STEPS else _rule(opcode, lambda: op)


def _rule(opcode: str, wrapped: Callable[[], OpRule]) -> OpRule:
    rules, evaluate = step_rules(opcode, wrapped), evaluate_step(lambda: wrapped().semantics.evaluate)
    if not opcode.endswith("-start"):
        maps, semantics = Maps(*rules, follows_tokens=True), Semantics(evaluate, "moves")
        return OpRule(opcode, maps, semantics, memory=Memory(moves_nothing=True))
    started = Memory(moves_nothing=True, in_place=_bound_operands, first_state=2)
    if opcode == "async-start":
        calls = Calls("once", forwards=True, value_of_parameter=bound_value)
        return OpRule(opcode, Maps(*rules, follows_tokens=True), Semantics(evaluate), memory=started, calls=calls)
    op = wrapped()
    collective = op.maps.collective and start_collective(op.maps.collective)
    product = _unknown_product if op.semantics.matrix_product is not None else None
    binds = op.calls.inlines or op.calls.value_of_parameter is not None
    return OpRule(
        opcode,
        Maps(*rules, collective, op.maps.follows_tokens),
        Semantics(evaluate, _operations_of(op), matrix_product=product),
        memory=started._replace(
            moves_nothing=op.memory.moves_nothing,
            scratch=lambda i: [(1, *index) for index in op.memory.scratch(wrapped_operation(i))],
            exchange=lambda i: op.memory.exchange(wrapped_operation(i)),
        ),
        calls=Calls(op.calls.runs, value_of_parameter=bound_value if binds else None),
    )


def _bound_operands(instruction: Instruction) -> dict[ShapeIndex, InPlace]:
    return {(0, k): InPlace(k, replaces=False) for k in range(len(instruction.operands))}


def _unknown_product(instruction: Instruction) -> Unknown:
    return Unknown(f"{instruction.name}: the product of a short asynchronous form is not described")


def _operations_of(op: OpRule) -> Cost | None:
    """The cost of the start of an operation; costs by opcode need the shapes of the operation itself."""
    count = op.semantics.operations
    if op.calls.runs is not None:
        return None
    if callable(count):
        return lambda instruction: count(wrapped_operation(instruction))
    return "moves" if count == "moves" else unknown_operations("the wrapped operation has no computation")


for _step in _STEPS:
    register(_rule(f"async-{_step}", lambda: lookup("call")))
register_derived(short_form)
