"""while: the body is applied to the carried value as long as the condition holds.

A leaf that the body forwards unchanged has the identity map.  The maps of other leaves cover every number of
iterations, found by composing the body's maps with themselves up to a fixed point; where there are too many of them,
the whole array replaces them.  The number of iterations depends on the elements that the condition reads, so every leaf
that changes depends on those.  Section While of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from .._core import Computation, IndexingMap, Instruction, _closure, _Reach
from ..base.answers import Unknown
from ..base.lazy import np
from ..errors import ShapeError
from ._evaluation import on_arrays
from ._indexing.loops.counter import CountedLoop, Start, analyze_counts, find_start
from ._indexing.loops.maps import LoopMaps, Step
from ._indexing.loops.window import known_branch, written_window
from ._indexing.maps import identity_map, merge_parts
from ._known import UNKNOWN, Known, KnownContext, Parts, converted
from ._op import (
    Calls,
    EvalContext,
    Maps,
    Memory,
    RuleContext,
    RuleResult,
    Semantics,
    ShapeIndex,
    Steps,
    Value,
    Values,
    register,
)
from ._rule import NOTHING, Footprint, OperandIndexing, Question
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


class While:
    """A loop in a propagation: each of its facts is found when a rule first needs it."""

    def __init__(self, instruction: Instruction, context: RuleContext) -> None:
        self._instruction, self._context = instruction, context
        self._steps: dict[tuple[ShapeIndex, int], OperandIndexing] = {}

    @cached_property
    def start(self) -> Start:
        """The integers with which the loop begins, as far as they are known."""
        found: Start = self._context.ask(self._instruction, LOOP_START)
        return found

    @cached_property
    def counts(self) -> CountedLoop:
        """The number of iterations, and the leaves that count."""
        at = self._instruction
        if at.opcode != "while":
            raise ShapeError(f"{at.name} is a {at.opcode}, expected a while")
        return analyze_counts(at, *condition_and_body(at), self.start)

    @cached_property
    def backward(self) -> LoopMaps | None:
        """The maps through all iterations; None where their number is not known."""
        body = self.counts.body
        return self._counted(
            lambda leaf: (
                self.identity(leaf)
                if body._forwards(leaf)
                else merge_parts(self._context.output_to_input(self._instruction, body, leaf))
            ),
            backward=True,
        )

    @cached_property
    def forward(self) -> LoopMaps | None:
        """As :attr:`backward`, in the other direction."""
        body = self.counts.body
        return self._counted(
            lambda leaf: merge_parts(self._context.input_to_output(self._instruction, body, 0, leaf)), backward=False
        )

    def _counted(self, step: Step, *, backward: bool) -> LoopMaps | None:
        loop = self.counts
        if loop.trip_count is None:
            return None
        return LoopMaps(loop, step, partial(written_window, loop), known_branch(loop), backward=backward)

    def identity(self, leaf: ShapeIndex) -> Footprint:
        """The maps from a leaf that the body hands on."""
        return identity_map(shape_at(self.start.shape, leaf).dimensions).at(leaf)

    # Maps through any number of iterations: those of one iteration composed with themselves up to a fixed point.

    def any_number(
        self, direction: int, start: ShapeIndex, whole: Sequence[ShapeIndex] | None = (), crosses_devices: bool = False
    ) -> OperandIndexing:
        """The maps from one leaf to all leaves, in their order, and to every element of the leaves ``whole``.  Where
        that is None, to each of the right leaves only some.  Direction -1 is backward.
        """
        body = self.counts.body

        def step(leaf: ShapeIndex) -> OperandIndexing:
            if direction < 0 and body._forwards(leaf):
                return NOTHING  # it comes from itself alone
            key = leaf, direction
            if key not in self._steps:
                self._steps[key] = self._context.iteration(body, leaf, direction)
            return self._steps[key]

        reach = self._reach if direction < 0 else None
        return _closure(self.start.shape, start, reach, step, whole, crosses_devices, _REASON)

    @cached_property
    def _reach(self) -> _Reach:
        return self._context.reach(self.counts.body)

    @cached_property
    def read_by_condition(self) -> OperandIndexing:
        """The elements of the carried value that the condition reads."""
        return merge_parts(self._context.output_to_input(self._instruction, self.counts.condition, ()))

    @cached_property
    def decisive(self) -> Footprint | Unknown:
        """Some elements of each leaf on which the number of iterations depends."""
        total = self.read_by_condition
        if isinstance(total, Unknown):
            return total
        for leaf in total.leaves:
            found = self.any_number(-1, leaf, None)
            if isinstance(found, Unknown):
                return found
            total = total + found
        return total


_REASON = "a loop: the union over all possible trip counts"


LOOP_START = Question(
    "loop start",
    lambda instruction, context: find_start(instruction, context.shape_of(instruction)),
    lambda start: start.text(),
)
"""What is known of a loop before its first iteration."""


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps through all iterations; where their number is not known, through any number of them."""
    loop = context.fact(instruction, While)
    if loop.counts.body._forwards(leaf):
        return [loop.identity(leaf)]
    return [_from_any_number(loop, leaf) if loop.backward is None else loop.backward.maps(leaf)]


def carried_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps from the carried value before any iteration, or in the last test of the condition."""
    maps = context.fact(instruction, While).backward
    return output_to_input(instruction, leaf, context) if maps is None else [maps.maps(leaf, anywhere=True)]


def _from_any_number(loop: While, leaf: ShapeIndex) -> OperandIndexing:
    """The maps through any number of iterations, and everything that the condition depends on."""
    decisive = loop.decisive
    if isinstance(decisive, Unknown):
        return decisive
    return loop.any_number(-1, leaf, decisive.leaves, decisive.crosses_devices)


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As :func:`output_to_input`, in the other direction."""
    loop = context.fact(instruction, While)
    body, shape = loop.counts.body, loop.start.shape
    found = _to_any_number(loop, leaf) if loop.forward is None else loop.forward.maps(leaf)
    if isinstance(found, Unknown):
        return [found] * n_outputs(shape)
    maps: dict[int, list[tuple[ShapeIndex, IndexingMap]]] = {}
    for other, m in found.maps:
        maps.setdefault(other[0] if other else 0, []).append((other, m))
    parts: dict[int, OperandIndexing] = {number: found.of(own) for number, own in maps.items()}
    if loop.forward is None and body._forwards(leaf) and sum(other[:1] == leaf[:1] for other in found.leaves) == 1:
        parts[leaf[0] if leaf else 0] = loop.identity(leaf)
    return parts


def _to_any_number(loop: While, leaf: ShapeIndex) -> OperandIndexing:
    """The maps through any number of iterations; what the condition depends on affects every leaf that changes."""
    deciding, found = loop.read_by_condition, loop.any_number(0, leaf)
    if isinstance(found, Unknown) or isinstance(deciding, Unknown):
        return found if isinstance(found, Unknown) else deciding
    if set(deciding.leaves).isdisjoint(found.leaves):
        return found
    changed = [other for other in array_leaves(loop.start.shape) if not loop.counts.body._forwards(other)]
    return loop.any_number(0, leaf, changed, deciding.crosses_devices)


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
    "while",
    Maps(output_to_input, input_to_output, follows_tokens=True),
    Semantics(evaluate, pointwise=True),
    values=Values(known=known_values),
    memory=Memory(moves_nothing=True),
    calls=Calls(runs="loop", parameter_to_operands=carried_to_input, known_parameter=known_parameter),
)
