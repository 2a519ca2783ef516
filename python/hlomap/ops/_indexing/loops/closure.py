"""Maps through any number of iterations: those of one iteration composed with themselves up to a fixed point."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from ...._core import IndexingMap, Instruction, _closure
from ....types import ShapeIndex, Unknown
from ..._rule import Footprint, OperandIndexing, RuleContext

MAX_MAPS = 8
"""Distinct maps from or to one leaf; if there are more, one map to the whole array replaces them."""


MapsByLeaf = dict[ShapeIndex, list[IndexingMap]]
Step = Callable[[ShapeIndex], OperandIndexing]


class _Results:
    """Cached results about the body of one loop, in one direction."""

    def __init__(self) -> None:
        self.steps: dict[ShapeIndex, OperandIndexing] = {}
        self.reached: dict[ShapeIndex, tuple[ShapeIndex, ...] | Unknown] = {}
        self.crosses: set[ShapeIndex] = set()


_results: WeakKeyDictionary[RuleContext, dict[tuple[int, str], _Results]] = WeakKeyDictionary()
"""Lives as long as the context: each leaf of a loop is a separate query, and all of them pass through the same body."""


class LoopBody:
    """The maps through the body of a loop, one query per leaf; ``crosses_devices`` if any of them does."""

    def __init__(self, instruction: Instruction, direction: str, context: RuleContext, step: Step) -> None:
        self._instruction = instruction
        self._step = step
        self._known = _results.setdefault(context, {}).setdefault((instruction.number, direction), _Results())
        self.crosses_devices = False

    def follow(self, leaf: ShapeIndex) -> OperandIndexing:
        """The maps from a leaf through one iteration."""
        step = self._known.steps.get(leaf)
        if step is None:
            step = self._known.steps[leaf] = self._step(leaf)
        self.crosses_devices = self.crosses_devices or (isinstance(step, Footprint) and step.crosses_devices)
        return step

    def closure(self, start: ShapeIndex) -> MapsByLeaf | Unknown:
        """The maps from one leaf to all leaves, through any number of iterations."""
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
