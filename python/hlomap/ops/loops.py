"""while: the body runs on the carried value for as long as the condition holds.

A leaf that the body hands on unchanged is itself.  Of any other leaf the maps are those of every number of iterations,
found by composing the body's own maps until nothing new comes; what gets too many maps is the whole array.  How often
the loop runs depends on what the condition reads, so that belongs to every leaf that changes.
"""

from __future__ import annotations

from .._core import Computation, Instruction
from ._iterations import Body, together
from ._maps import reads_all, reads_same_place
from ._op import NOTHING, Answer, Context, Footprint, Leaf, Op, Part, Unknown, register
from ._shapes import array_leaves, n_outputs, shape_at
from .meaning.loops import evaluate
from .plans.loops import is_unchanged, parts_of

_REASON = "a loop: the maps of every number of iterations"


def _condition_reads(
    instruction: Instruction, condition: Computation, context: Context, steps: Body
) -> set[Leaf] | Unknown:
    part = together(context.output_to_input(instruction, condition, ()))
    if isinstance(part, Unknown):
        return part
    steps.across = steps.across or part.across
    return {leaf for leaf, _ in part.maps}


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The body's maps composed with themselves, and all that the condition depends on."""
    condition, body = parts_of(instruction)
    sizes = shape_at(instruction.shape, leaf).dimensions
    if is_unchanged(body, leaf):
        return [reads_same_place(sizes).at(leaf)]

    def ask(here: Leaf) -> Part:
        return together(context.output_to_input(instruction, body, here))

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
            found[there] = [m for _, m in reads_all(sizes, shape_at(instruction.shape, there).dimensions).maps]
    maps = tuple((there, m) for there in sorted(found) for m in found[there])
    return [Footprint(maps, False, _REASON, steps.across)]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The same forward; what the condition depends on reaches every leaf that changes."""
    condition, body = parts_of(instruction)
    shape = instruction.shape
    sizes = shape_at(shape, leaf).dimensions

    def ask(here: Leaf) -> Part:
        return together(context.input_to_output(instruction, body, 0, here))

    steps = Body(instruction, "forward", context, ask)
    found = steps.closure(leaf)
    if isinstance(found, Unknown):
        return [found] * n_outputs(shape)
    deciding = _condition_reads(instruction, condition, context, steps)
    if isinstance(deciding, Unknown):
        return [deciding] * n_outputs(shape)
    if deciding & set(found):
        for there in array_leaves(shape):
            if not is_unchanged(body, there):
                found[there] = [m for _, m in reads_all(sizes, shape_at(shape, there).dimensions).maps]
    parts: list[Part] = [NOTHING] * n_outputs(shape)
    for there in sorted(found):
        if found[there] and not (there != leaf and is_unchanged(body, there)):
            which = there[0] if there else 0
            before = parts[which]
            assert isinstance(before, Footprint), "only footprints are put here"
            exact = before.exact and there == leaf and is_unchanged(body, there)
            reason = before.reason if exact else _REASON
            maps = before.maps + tuple((there, m) for m in found[there])
            parts[which] = Footprint(maps, exact, reason, steps.across)
    return parts


register(
    Op(
        "while",
        output_to_input,
        input_to_output,
        evaluate,
        per_instruction=True,
        pointwise=True,
        # The carried value of some iteration is what the loop gives where it ends there.
        parameter_is=lambda instruction, called, parameter: None,
    )
)
