"""Maps of every number of iterations: those of one step composed with themselves until nothing new comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .._core import IndexingMap, Instruction
from ._maps import reads_all, reads_same_place
from ._op import NOTHING, Answer, Footprint, Leaf, Part, Unknown
from ._shapes import shape_at

MAX_MAPS = 8
"""Distinct maps from or to one leaf; more become one of the whole array."""


Found = dict[Leaf, list[IndexingMap]]


Follow = Callable[[Leaf], Part]


def together(answer: Answer) -> Part:
    """One part of an answer about a single operand; of outputs, all of them."""
    parts = list(answer.values()) if isinstance(answer, Mapping) else list(answer)
    total = NOTHING
    for part in parts:
        if isinstance(part, Unknown):
            return part
        total = total + part
    return total


class Body:
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


def closure(instruction: Instruction, start: Leaf, body: Body) -> Found | Unknown:
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
