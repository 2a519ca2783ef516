"""Maps of every number of iterations: those of one step composed with themselves until nothing new comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from weakref import WeakKeyDictionary

from ..._core import IndexingMap, Instruction, _closure
from ...types import ShapeIndex, Unknown
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult

MAX_MAPS = 8
"""Distinct maps from or to one leaf; more become one of the whole array."""


Found = dict[ShapeIndex, list[IndexingMap]]


Follow = Callable[[ShapeIndex], OperandIndexing]


def merge_parts(answer: RuleResult) -> OperandIndexing:
    """One part of an answer about a single operand; of outputs, all of them."""
    parts = list(answer.values() if isinstance(answer, Mapping) else answer)
    if len(parts) == 1:
        return parts[0]
    total = NOTHING
    for part in parts:
        if isinstance(part, Unknown):
            return part
        total = total + part
    return total


class _Kept:
    """What was found out about the body of one loop, one way."""

    def __init__(self) -> None:
        self.steps: dict[ShapeIndex, OperandIndexing] = {}
        self.reached: dict[ShapeIndex, tuple[ShapeIndex, ...] | Unknown] = {}
        self.crosses: set[ShapeIndex] = set()


_kept: WeakKeyDictionary[RuleContext, dict[tuple[int, str], _Kept]] = WeakKeyDictionary()
"""As long as whom the rules ask: each leaf of a loop is asked alone, and all of them go through the same body."""


class Body:
    """The steps of a walk from iteration to iteration, each asked once; ``across`` where one goes to other devices."""

    def __init__(self, instruction: Instruction, way: str, context: RuleContext, ask: Follow) -> None:
        self._instruction = instruction
        self._ask = ask
        self._known = _kept.setdefault(context, {}).setdefault((instruction.number, way), _Kept())
        self.crosses_devices = False

    def follow(self, leaf: ShapeIndex) -> OperandIndexing:
        step = self._known.steps.get(leaf)
        if step is None:
            step = self._known.steps[leaf] = self._ask(leaf)
        self.crosses_devices = self.crosses_devices or (isinstance(step, Footprint) and step.crosses_devices)
        return step

    def closure(self, start: ShapeIndex) -> Found | Unknown:
        """The maps from one leaf to all leaves, after any number of steps."""
        return _closure(self._instruction.shape, start, self.follow, MAX_MAPS)

    def reached(self, start: ShapeIndex) -> tuple[ShapeIndex, ...] | Unknown:
        """The leaves of :meth:`closure`."""
        known = self._known
        if start not in known.reached:
            before, self.crosses_devices = self.crosses_devices, False
            found = self.closure(start)
            known.reached[start] = found if isinstance(found, Unknown) else tuple(found)
            if self.crosses_devices:
                known.crosses.add(start)
            self.crosses_devices = before
        self.crosses_devices = self.crosses_devices or start in known.crosses
        return known.reached[start]
