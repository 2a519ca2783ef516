"""while: the body runs on the carried value for as long as the condition holds.

A leaf that the body hands on unchanged is itself.  Of any other leaf the maps are those of every number of iterations,
found by composing the body's own maps until nothing new comes; what gets too many maps is the whole array.  How often
the loop runs depends on what the condition reads, so that belongs to every leaf that changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._core import Computation, IndexingMap, Instruction
from ._maps import reads_all, reads_same_place
from ._op import NOTHING, Answer, Context, Footprint, Leaf, Op, Part, Run, Steps, Unknown, Value, register
from ._shapes import array_leaves, must, n_outputs, same_arrays, shape_at

MAX_MAPS = 8
"""Distinct maps from or to one leaf; more become one of the whole array."""

_REASON = "a loop: the maps of every number of iterations"

Found = dict[Leaf, list[IndexingMap]]
Follow = Callable[[Leaf], Part]


def _parts(instruction: Instruction) -> tuple[Computation, Computation]:
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    must(len(instruction.operands) == 1, "a loop with several operands")
    shape = instruction.shape
    for computation in (condition, body):
        must(len(computation.parameters) == 1, "a loop whose condition or body takes several values")
        must(same_arrays(computation.parameters[0].shape, shape), "a condition or body of another shape")
    must(same_arrays(body.root.shape, shape), "a body that gives another shape")
    return condition, body


def _together(answer: Answer) -> Part:
    """One part of an answer about a single operand; of outputs, all of them."""
    parts = list(answer.values()) if isinstance(answer, Mapping) else list(answer)
    total = NOTHING
    for part in parts:
        if isinstance(part, Unknown):
            return part
        total = total + part
    return total


class _Body:
    """The steps of a walk from iteration to iteration, each asked once; ``across`` where one goes to other devices."""

    def __init__(self, ask: Follow) -> None:
        self._ask = ask
        self._steps: dict[Leaf, Part] = {}
        self.across = False

    def follow(self, leaf: Leaf) -> Part:
        step = self._steps.get(leaf)
        if step is None:
            step = self._steps[leaf] = self._ask(leaf)
            self.across = self.across or (isinstance(step, Footprint) and step.across)
        return step


def _closure(instruction: Instruction, start: Leaf, body: _Body) -> Found | Unknown:
    """The maps from one leaf to all leaves, after any number of steps."""
    shape = instruction.shape
    sizes = shape_at(shape, start).dimensions
    found: Found = {start: [m for _, m in reads_same_place(sizes).maps]}
    whole: set[Leaf] = set()
    pending = [(start, m) for m in found[start]]
    while pending:
        here, m = pending.pop()
        if here in whole and m not in found[here]:
            continue
        step = body.follow(here)
        if isinstance(step, Unknown):
            return step
        for leaf, then in step.maps:
            known = found.setdefault(leaf, [])
            if leaf in whole:
                continue
            # What an offset was in another iteration is not known.
            composed = None if then.runtime else m.then(then).simplify()
            if composed is not None and composed.is_known_empty:
                continue
            if composed is None or (len(known) >= MAX_MAPS and composed not in known):
                whole.add(leaf)
                everything = reads_all(sizes, shape_at(shape, leaf).dimensions).maps
                known[:] = [m for _, m in everything]
                pending.extend((leaf, m) for m in known)
            elif composed not in known:
                known.append(composed)
                pending.append((leaf, composed))
    return found


def _is_unchanged(body: Computation, leaf: Leaf) -> bool:
    """Whether the body's value at a leaf is its parameter's, followed through tuples alone."""
    here, at = body.root, leaf
    while True:
        if here.opcode == "tuple" and at:
            here, at = here.operands[at[0]], at[1:]
        elif here.opcode == "get-tuple-element":
            here, at = here.operands[0], (int(here.attributes["index"]), *at)
        else:
            return here.opcode == "parameter" and at == leaf


def _condition_reads(
    instruction: Instruction, condition: Computation, context: Context, steps: _Body
) -> set[Leaf] | Unknown:
    part = _together(context.output_to_input(instruction, condition, ()))
    if isinstance(part, Unknown):
        return part
    steps.across = steps.across or part.across
    return {leaf for leaf, _ in part.maps}


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The body's maps composed with themselves, and all that the condition depends on."""
    condition, body = _parts(instruction)
    sizes = shape_at(instruction.shape, leaf).dimensions
    if _is_unchanged(body, leaf):
        return [reads_same_place(sizes).at(leaf)]

    steps = _Body(lambda here: _together(context.output_to_input(instruction, body, here)))
    found = _closure(instruction, leaf, steps)
    if isinstance(found, Unknown):
        return [found]
    deciding = _condition_reads(instruction, condition, context, steps)
    if isinstance(deciding, Unknown):
        return [deciding]
    for decides in deciding:
        reached = _closure(instruction, decides, steps)
        if isinstance(reached, Unknown):
            return [reached]
        for there in reached:
            found[there] = [m for _, m in reads_all(sizes, shape_at(instruction.shape, there).dimensions).maps]
    maps = tuple((there, m) for there in sorted(found) for m in found[there])
    return [Footprint(maps, False, _REASON, steps.across)]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The same forward; what the condition depends on reaches every leaf that changes."""
    condition, body = _parts(instruction)
    shape = instruction.shape
    sizes = shape_at(shape, leaf).dimensions

    steps = _Body(lambda here: _together(context.input_to_output(instruction, body, 0, here)))
    found = _closure(instruction, leaf, steps)
    if isinstance(found, Unknown):
        return [found] * n_outputs(shape)
    deciding = _condition_reads(instruction, condition, context, steps)
    if isinstance(deciding, Unknown):
        return [deciding] * n_outputs(shape)
    if deciding & set(found):
        for there in array_leaves(shape):
            if not _is_unchanged(body, there):
                found[there] = [m for _, m in reads_all(sizes, shape_at(shape, there).dimensions).maps]
    parts: list[Part] = [NOTHING] * n_outputs(shape)
    for there in sorted(found):
        if found[there] and not (there != leaf and _is_unchanged(body, there)):
            which = there[0] if there else 0
            before = parts[which]
            assert isinstance(before, Footprint), "only footprints are put here"
            exact = before.exact and there == leaf and _is_unchanged(body, there)
            reason = before.reason if exact else _REASON
            maps = before.maps + tuple((there, m) for m in found[there])
            parts[which] = Footprint(maps, exact, reason, steps.across)
    return parts


def evaluate(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """Condition, body, condition; where values are whole arrays, places that are done keep theirs."""
    condition, body = _parts(instruction)
    carried = operands
    while True:
        goes_on = yield run.call(condition, list(carried))
        if not np.any(goes_on):
            return carried.pop()
        run.count_iteration(instruction)
        if np.all(goes_on):
            carried.append((yield run.call(body, carried)))
        else:
            before = carried[0]
            after = yield run.call(body, list(carried))
            carried[0] = _chosen(goes_on, after, before)


def _chosen(where: Any, after: Value, before: Value) -> Value:
    if isinstance(after, tuple):
        return tuple(_chosen(where, a, b) for a, b in zip(after, before, strict=True))
    return None if after is None else np.where(where, after, before)


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
