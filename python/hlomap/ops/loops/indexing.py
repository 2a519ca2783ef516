"""Indexing rules of while."""

from __future__ import annotations

from collections.abc import Hashable
from weakref import WeakKeyDictionary

from ..._core import Computation, IndexingMap, Instruction
from ...types import ShapeIndex, Unknown
from .._indexing.loops.closure import LoopBody
from .._indexing.loops.counter import CountedLoop, counted_loop, start_of
from .._indexing.loops.maps import LoopMaps
from .._indexing.loops.scalar_values import is_forwarded
from .._indexing.loops.window import known_branch, written_window
from .._indexing.maps import identity_map, map_to_all, merge_parts
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import array_leaves, n_outputs, require, shape_at
from .attributes import condition_and_body

_REASON = "a loop: the union over all numbers of iterations"


def _condition_leaves(
    instruction: Instruction, condition: Computation, context: RuleContext, steps: LoopBody
) -> set[ShapeIndex] | Unknown:
    """The leaves of the carried value that the condition reads."""
    part = merge_parts(context.output_to_input(instruction, condition, ()))
    if isinstance(part, Unknown):
        return part
    steps.crosses_devices = steps.crosses_devices or part.crosses_devices
    return {leaf for leaf, _ in part.maps}


_counted: WeakKeyDictionary[RuleContext, dict[tuple[int, bool], LoopMaps]] = WeakKeyDictionary()
"""Lives as long as the context: each leaf of a loop is a separate query, and all of them pass through the same body."""


def initial_integers(instruction: Instruction, context: RuleContext) -> Hashable:
    """The integers with which a loop begins, as far as they are known."""
    return tuple(sorted(start_of(instruction, context).numbers.items()))


def loop_facts(instruction: Instruction, context: RuleContext) -> CountedLoop:
    """The number of iterations of a loop, and the leaves that count."""
    require(instruction.opcode == "while", f"{instruction.name} is a {instruction.opcode}, expected a while")
    return counted_loop(instruction, *condition_and_body(instruction), context)


def loop_maps(instruction: Instruction, context: RuleContext, *, backward: bool) -> LoopMaps | None:
    """The maps through all iterations; None where their number is not known."""
    known = _counted.setdefault(context, {})
    if (instruction.number, backward) not in known:
        loop = loop_facts(instruction, context)
        if loop.trip_count is None:
            return None
        body = loop.body

        def step(here: ShapeIndex) -> OperandIndexing:
            if backward and is_forwarded(body, here):
                return _identity(here, instruction, context)
            if backward:
                return merge_parts(context.output_to_input(instruction, body, here))
            return merge_parts(context.input_to_output(instruction, body, 0, here))

        known[instruction.number, backward] = LoopMaps(
            loop, step, lambda leaf: written_window(loop, leaf), known_branch(loop), backward=backward
        )
    return known[instruction.number, backward]


def _identity(leaf: ShapeIndex, instruction: Instruction, context: RuleContext) -> Footprint:
    """The maps from a leaf that the body hands on."""
    return identity_map(shape_at(context.shape_of(instruction), leaf).dimensions).at(leaf)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps through all iterations; where their number is not known, through any number of them."""
    counted = loop_maps(instruction, context, backward=True)
    if counted is None:
        return _any_output_to_input(instruction, leaf, context)
    is_end = is_forwarded(counted.body, leaf)
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
    if isinstance(found, Unknown):
        return [found] * n_outputs(instruction.shape)
    maps: dict[int, list[tuple[ShapeIndex, IndexingMap]]] = {}
    for other, m in found.maps:
        maps.setdefault(other[0] if other else 0, []).append((other, m))
    return {number: found.of(own) for number, own in maps.items()}


def _any_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps through any number of iterations, and everything that the condition depends on."""
    condition, body = condition_and_body(instruction)
    if is_forwarded(body, leaf):
        return [_identity(leaf, instruction, context)]
    sizes = shape_at(context.shape_of(instruction), leaf).dimensions

    def step(here: ShapeIndex) -> OperandIndexing:
        return merge_parts(context.output_to_input(instruction, body, here))

    steps = LoopBody(instruction, "backward", context, step)
    found = steps.closure(leaf)
    if isinstance(found, Unknown):
        return [found]
    deciding = _condition_leaves(instruction, condition, context, steps)
    if isinstance(deciding, Unknown):
        return [deciding]
    for start in deciding:
        reached = steps.reached(start)
        if isinstance(reached, Unknown):
            return [reached]
        for other in reached:
            found[other] = [m for _, m in map_to_all(sizes, shape_at(instruction.shape, other).dimensions).maps]
    maps = tuple((other, m) for other in sorted(found) for m in found[other])
    return [Footprint(maps, False, _REASON, steps.crosses_devices)]


def _any_input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps through any number of iterations; what the condition depends on affects every leaf that changes."""
    condition, body = condition_and_body(instruction)
    shape = instruction.shape
    sizes = shape_at(shape, leaf).dimensions

    def step(here: ShapeIndex) -> OperandIndexing:
        return merge_parts(context.input_to_output(instruction, body, 0, here))

    steps = LoopBody(instruction, "forward", context, step)
    found = steps.closure(leaf)
    if isinstance(found, Unknown):
        return [found] * n_outputs(shape)
    deciding = _condition_leaves(instruction, condition, context, steps)
    if isinstance(deciding, Unknown):
        return [deciding] * n_outputs(shape)
    if deciding & set(found):
        for other in array_leaves(shape):
            if not is_forwarded(body, other):
                found[other] = [m for _, m in map_to_all(sizes, shape_at(shape, other).dimensions).maps]
    parts: list[OperandIndexing] = [NOTHING] * n_outputs(shape)
    for other in sorted(found):
        if found[other] and not (other != leaf and is_forwarded(body, other)):
            number = other[0] if other else 0
            before = parts[number]
            assert isinstance(before, Footprint), "all parts are footprints"
            exact = before.exact and other == leaf and is_forwarded(body, other)
            reason = before.reason if exact else _REASON
            maps = before.maps + tuple((other, m) for m in found[other])
            parts[number] = Footprint(maps, exact, reason, steps.crosses_devices)
    return parts
