"""The indexing rule of loops."""

from __future__ import annotations

from ..._core import Computation, Instruction
from ...types import ShapeIndex, Unknown
from .._indexing.loop_closure import Body, merge_parts
from .._indexing.maps import identity_map, map_to_all
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import array_leaves, n_outputs, shape_at
from .attributes import condition_and_body, is_loop_invariant

_REASON = "a loop: the maps of every number of iterations"


def _condition_reads(
    instruction: Instruction, condition: Computation, context: RuleContext, steps: Body
) -> set[ShapeIndex] | Unknown:
    part = merge_parts(context.output_to_input(instruction, condition, ()))
    if isinstance(part, Unknown):
        return part
    steps.crosses_devices = steps.crosses_devices or part.crosses_devices
    return {leaf for leaf, _ in part.maps}


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The body's maps composed with themselves, and all that the condition depends on."""
    condition, body = condition_and_body(instruction)
    sizes = shape_at(instruction.shape, leaf).dimensions
    if is_loop_invariant(body, leaf):
        return [identity_map(sizes).at(leaf)]

    def ask(here: ShapeIndex) -> OperandIndexing:
        return merge_parts(context.output_to_input(instruction, body, here))

    steps = Body(instruction, "backward", context, ask)
    found = steps.closure(leaf)
    if isinstance(found, Unknown):
        return [found]
    deciding = _condition_reads(instruction, condition, context, steps)
    if isinstance(deciding, Unknown):
        return [deciding]
    for decides in deciding:
        reached = steps.reached(decides)
        if isinstance(reached, Unknown):
            return [reached]
        for there in reached:
            found[there] = [m for _, m in map_to_all(sizes, shape_at(instruction.shape, there).dimensions).maps]
    maps = tuple((there, m) for there in sorted(found) for m in found[there])
    return [Footprint(maps, False, _REASON, steps.crosses_devices)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The same forward; what the condition depends on reaches every leaf that changes."""
    condition, body = condition_and_body(instruction)
    shape = instruction.shape
    sizes = shape_at(shape, leaf).dimensions

    def ask(here: ShapeIndex) -> OperandIndexing:
        return merge_parts(context.input_to_output(instruction, body, 0, here))

    steps = Body(instruction, "forward", context, ask)
    found = steps.closure(leaf)
    if isinstance(found, Unknown):
        return [found] * n_outputs(shape)
    deciding = _condition_reads(instruction, condition, context, steps)
    if isinstance(deciding, Unknown):
        return [deciding] * n_outputs(shape)
    if deciding & set(found):
        for there in array_leaves(shape):
            if not is_loop_invariant(body, there):
                found[there] = [m for _, m in map_to_all(sizes, shape_at(shape, there).dimensions).maps]
    parts: list[OperandIndexing] = [NOTHING] * n_outputs(shape)
    for there in sorted(found):
        if found[there] and not (there != leaf and is_loop_invariant(body, there)):
            which = there[0] if there else 0
            before = parts[which]
            assert isinstance(before, Footprint), "only footprints are put here"
            exact = before.exact and there == leaf and is_loop_invariant(body, there)
            reason = before.reason if exact else _REASON
            maps = before.maps + tuple((there, m) for m in found[there])
            parts[which] = Footprint(maps, exact, reason, steps.crosses_devices)
    return parts
