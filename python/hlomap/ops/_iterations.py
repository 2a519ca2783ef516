"""Maps of every number of iterations: those of one step composed with themselves until nothing new comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .._core import IndexingMap, Instruction, _closure
from ._op import NOTHING, Answer, Footprint, Leaf, Part, Unknown

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
    return _closure(instruction.shape, start, body.follow, MAX_MAPS)
