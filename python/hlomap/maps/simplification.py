"""Steps of the simplifier on a map: the rules that fired, in order, each with its input and its result."""

from __future__ import annotations

from dataclasses import dataclass

from .._core import IndexingMap, _simplify_traced


@dataclass(frozen=True, slots=True)
class SimplifyStep:
    """One application of a rule."""

    #: The name of the rule.
    rule: str
    #: The law of the rule, with its side condition.
    law: str
    #: The expression, or the constraints, that the rule was applied to.
    before: str
    #: The result of the rule; ``true`` for a constraint that always holds, ``false`` for one that never does.
    after: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.before} => {self.after}"


@dataclass(frozen=True, slots=True)
class SimplifyTrace:
    """A map before and after simplification, and the steps between; ``str()`` lists them."""

    #: The map as it was given.
    original: IndexingMap
    #: The map as :meth:`IndexingMap.simplify` returns it.
    map: IndexingMap
    #: The steps, in order.
    steps: tuple[SimplifyStep, ...]

    def __str__(self) -> str:
        lines = [f"before  {self.original}", f"after   {self.map}"]
        for number, step in enumerate(self.steps, start=1):
            lines.append(f"{number:4}. {step.rule}: {step.law}")
            lines.append(f"          {step.before}")
            lines.append(f"       => {step.after}")
        return "\n".join(lines)


def trace(map: IndexingMap, keep_point_dims: bool, drop_unused: bool, rescale: bool) -> SimplifyTrace:
    """The result of :meth:`IndexingMap.simplify` with ``trace=True``."""
    simplified, steps = _simplify_traced(map, keep_point_dims, drop_unused, rescale)
    return SimplifyTrace(map, simplified, tuple(SimplifyStep(*texts) for *texts, _ in steps))
