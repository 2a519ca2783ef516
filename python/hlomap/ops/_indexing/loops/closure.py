"""Maps through any number of iterations: those of one iteration composed with themselves up to a fixed point."""

from __future__ import annotations

from collections.abc import Sequence

from ...._core import Computation, Instruction, _closure
from ....types import ShapeIndex
from ..._rule import NOTHING, OperandIndexing, RuleContext

_REASON = "a loop: the union over all possible trip counts"


class AnyIterations:
    """The maps through a loop that runs any number of times, in one direction (-1 is backward)."""

    def __init__(self, instruction: Instruction, body: Computation, context: RuleContext, direction: int) -> None:
        self._shape = context.shape_of(instruction)
        self._body = body
        self._context = context
        self._direction = direction
        self._steps: dict[ShapeIndex, OperandIndexing] = {}

    def maps(
        self, start: ShapeIndex, whole: Sequence[ShapeIndex] = (), crosses_devices: bool = False
    ) -> OperandIndexing:
        """The maps from one leaf to all leaves, in their order, and to every element of the leaves ``whole``."""
        return _closure(self._shape, start, self._step, whole, crosses_devices, _REASON)

    def _step(self, leaf: ShapeIndex) -> OperandIndexing:
        if self._direction < 0 and self._body._forwards(leaf):
            return NOTHING  # it comes from itself alone
        step = self._steps.get(leaf)
        if step is None:
            step = self._steps[leaf] = self._context.iteration(self._body, leaf, self._direction)
        return step
