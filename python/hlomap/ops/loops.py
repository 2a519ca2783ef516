"""while: the body is applied to the carried value as long as the condition holds.

A leaf that the body forwards unchanged has the identity map.  The maps of other leaves cover every number of
iterations, found by composing the body's maps with themselves up to a fixed point; where there are too many of them,
the whole array replaces them.  The number of iterations depends on the elements that the condition reads, so every leaf
that changes depends on those.  Section While of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from .._core import Computation, IndexingMap, Instruction, _closure, _Reach
from ..answers import Unknown
from ..lazy import np
from ._evaluation import on_arrays
from ._indexing.loops.counter import CountedLoop, Start, analyze_counts, find_start
from ._indexing.loops.maps import LoopMaps, Step
from ._indexing.loops.window import known_branch, written_window
from ._indexing.maps import identity_map, merge_parts
from ._known import UNKNOWN, Known, KnownContext, Parts, converted
from ._op import EvalContext, OpRule, RuleContext, RuleResult, ShapeIndex, Steps, Value, register
from ._rule import NOTHING, Footprint, OperandIndexing
from ._shapes import array_leaves, n_outputs, require, same_arrays, shape_at


def condition_and_body(instruction: Instruction) -> tuple[Computation, Computation]:
    """The condition and the body, checked against the carried value."""
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    require(len(instruction.operands) == 1, "expected one operand")
    shape = instruction.shape
    for computation in (condition, body):
        require(len(computation.parameters) == 1, "condition and body take one parameter")
        require(
            same_arrays(computation.parameters[0].shape, shape),
            "the parameter of condition or body differs in shape from the carried value",
        )
    require(same_arrays(body.root.shape, shape), "the result of the body differs in shape from the carried value")
    return condition, body


def _start(instruction: Instruction, context: RuleContext) -> Start:
    return find_start(instruction, context.shape_of(instruction))


def initial_integers(instruction: Instruction, context: RuleContext) -> Hashable:
    """The integers with which a loop begins, as far as they are known."""
    return tuple(sorted(context.fact(instruction, _start).numbers.items()))


def _counts(instruction: Instruction, context: RuleContext) -> CountedLoop:
    require(instruction.opcode == "while", f"{instruction.name} is a {instruction.opcode}, expected a while")
    return analyze_counts(instruction, *condition_and_body(instruction), context.fact(instruction, _start))


def loop_facts(instruction: Instruction, context: RuleContext) -> CountedLoop:
    """The number of iterations of a loop, and the leaves that count."""
    return context.fact(instruction, _counts)


def _backward(instruction: Instruction, context: RuleContext) -> LoopMaps | None:
    loop = loop_facts(instruction, context)

    def step(here: ShapeIndex) -> OperandIndexing:
        if loop.body._forwards(here):
            return _identity(here, instruction, context)
        return merge_parts(context.output_to_input(instruction, loop.body, here))

    return _loop_maps(loop, step, backward=True)


def _forward(instruction: Instruction, context: RuleContext) -> LoopMaps | None:
    loop = loop_facts(instruction, context)

    def step(here: ShapeIndex) -> OperandIndexing:
        return merge_parts(context.input_to_output(instruction, loop.body, 0, here))

    return _loop_maps(loop, step, backward=False)


def _loop_maps(loop: CountedLoop, step: Step, *, backward: bool) -> LoopMaps | None:
    if loop.trip_count is None:
        return None
    return LoopMaps(loop, step, partial(written_window, loop), known_branch(loop), backward=backward)


def loop_maps(instruction: Instruction, context: RuleContext, *, backward: bool) -> LoopMaps | None:
    """The maps through all iterations; None where their number is not known."""
    return context.fact(instruction, _backward if backward else _forward)


def _identity(leaf: ShapeIndex, instruction: Instruction, context: RuleContext) -> Footprint:
    """The maps from a leaf that the body hands on."""
    return identity_map(shape_at(context.shape_of(instruction), leaf).dimensions).at(leaf)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps through all iterations; where their number is not known, through any number of them."""
    counted = loop_maps(instruction, context, backward=True)
    if counted is None:
        return _any_output_to_input(instruction, leaf, context)
    is_end = counted.body._forwards(leaf)
    return [_identity(leaf, instruction, context) if is_end else counted.maps(leaf)]


def carried_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps from the carried value before any iteration, or in the last test of the condition."""
    counted = loop_maps(instruction, context, backward=True)
    return _any_output_to_input(instruction, leaf, context) if counted is None else [counted.maps(leaf, anywhere=True)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps through all iterations; where their number is not known, through any number of them."""
    counted = loop_maps(instruction, context, backward=False)
    if counted is None:
        return _any_input_to_output(instruction, operand, leaf, context)
    found = counted.maps(leaf)
    return [found] * n_outputs(instruction.shape) if isinstance(found, Unknown) else _by_output(found)


def _by_output(found: Footprint) -> dict[int, OperandIndexing]:
    """A part for each output that maps lead to."""
    maps: dict[int, list[tuple[ShapeIndex, IndexingMap]]] = {}
    for other, m in found.maps:
        maps.setdefault(other[0] if other else 0, []).append((other, m))
    return {number: found.of(own) for number, own in maps.items()}


def _any_backward(instruction: Instruction, context: RuleContext) -> AnyIterations:
    return AnyIterations(instruction, loop_facts(instruction, context).body, context, -1)


def _any_forward(instruction: Instruction, context: RuleContext) -> AnyIterations:
    return AnyIterations(instruction, loop_facts(instruction, context).body, context, 0)


def _read_by_condition(instruction: Instruction, context: RuleContext) -> OperandIndexing:
    """The elements of the carried value that the condition reads."""
    return merge_parts(context.output_to_input(instruction, loop_facts(instruction, context).condition, ()))


def _decisive(instruction: Instruction, context: RuleContext) -> tuple[list[ShapeIndex], bool] | Unknown:
    """The leaves on which the number of iterations depends, and whether elements on other devices do."""
    read = context.fact(instruction, _read_by_condition)
    if isinstance(read, Unknown):
        return read
    total = read
    for leaf in read.leaves:
        found = context.fact(instruction, _any_backward).maps(leaf, None)
        if isinstance(found, Unknown):
            return found
        total = total + found
    return total.leaves, total.crosses_devices


def _any_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps through any number of iterations, and everything that the condition depends on."""
    if loop_facts(instruction, context).body._forwards(leaf):
        return [_identity(leaf, instruction, context)]
    decisive = context.fact(instruction, _decisive)
    if isinstance(decisive, Unknown):
        return [decisive]
    return [context.fact(instruction, _any_backward).maps(leaf, *decisive)]


def _any_input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps through any number of iterations; what the condition depends on affects every leaf that changes."""
    body, shape = loop_facts(instruction, context).body, context.shape_of(instruction)
    loop = context.fact(instruction, _any_forward)
    deciding = context.fact(instruction, _read_by_condition)
    found = loop.maps(leaf)
    if isinstance(found, Unknown) or isinstance(deciding, Unknown):
        return [found if isinstance(found, Unknown) else deciding] * n_outputs(shape)
    if not set(deciding.leaves).isdisjoint(found.leaves):
        changed = [other for other in array_leaves(shape) if not body._forwards(other)]
        found = loop.maps(leaf, changed, deciding.crosses_devices)
    if isinstance(found, Unknown):
        return [found] * n_outputs(shape)
    parts = _by_output(found)
    if body._forwards(leaf) and sum(other[:1] == leaf[:1] for other in found.leaves) == 1:
        parts[leaf[0] if leaf else 0] = _identity(leaf, instruction, context)
    return parts


# Maps through any number of iterations: those of one iteration composed with themselves up to a fixed point.


_REASON = "a loop: the union over all possible trip counts"


class AnyIterations:
    """The maps through a loop that runs any number of times, in one direction (-1 is backward)."""

    def __init__(self, instruction: Instruction, body: Computation, context: RuleContext, direction: int) -> None:
        self._shape = context.shape_of(instruction)
        self._body = body
        self._context = context
        self._direction = direction
        self._reach = context.reach(body) if direction < 0 else _Reach()
        self._steps: dict[ShapeIndex, OperandIndexing] = {}

    def maps(
        self, start: ShapeIndex, whole: Sequence[ShapeIndex] | None = (), crosses_devices: bool = False
    ) -> OperandIndexing:
        """The maps from one leaf to all leaves, in their order, and to every element of the leaves ``whole``.  Where
        that is None, to each of the right leaves only some.
        """
        return _closure(self._shape, start, self._reach, self._step, whole, crosses_devices, _REASON)

    def _step(self, leaf: ShapeIndex) -> OperandIndexing:
        if self._direction < 0 and self._body._forwards(leaf):
            return NOTHING  # it comes from itself alone
        step = self._steps.get(leaf)
        if step is None:
            step = self._steps[leaf] = self._context.iteration(self._body, leaf, self._direction)
        return step


def known_values(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    """The carried arrays after the loop."""
    return _carried(instruction, operands[0], converted(instruction, operands))


def known_parameter(caller: Instruction, operands: Sequence[Known]) -> Known:
    """The carried arrays at the beginning of any iteration; those that change are finite by assumption."""
    return _carried(caller, operands[0], UNKNOWN)


def _carried(loop: Instruction, before: Known, changed: Known) -> Known:
    _, body = condition_and_body(loop)
    if not isinstance(before, Parts):
        return changed
    return Parts([own if body._forwards((i,)) else changed for i, own in enumerate(before)])


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Iterate until the condition is false; for arrays of conditions, elements that are done keep their values."""
    condition, body = condition_and_body(instruction)
    carried = operands
    while True:
        continues = yield context.call(condition, list(carried))
        if not np.any(continues):
            return carried.pop()
        context.count_steps()
        if np.all(continues):
            carried.append((yield context.call(body, carried)))
        else:
            before = carried[0]
            after = yield context.call(body, list(carried))
            carried[0] = on_arrays(partial(np.where, continues), after, before)


register(
    OpRule(
        "while",
        output_to_input,
        input_to_output,
        evaluate,
        depends_on_called_values=True,
        surroundings=initial_integers,
        pointwise=True,
        runs="loop",
        hands_on=True,
        moves_nothing=True,
        parameter_to_operands=carried_to_input,
        known_values=known_values,
        known_parameter=known_parameter,
    )
)
