"""Steps of the simplifier on a map: the rules that fired, in order, each with its input and its result."""

from __future__ import annotations

from dataclasses import dataclass

from .._core import IndexingMap, _simplify_traced
from ..base.types import expect


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


def explain_simplify(
    map: IndexingMap,
    /,
    *,
    keep_point_dims: bool = False,
    drop_unused: bool = False,
    rescale: bool = False,
) -> SimplifyTrace:
    """Simplify a map and report every rule that fired.

    Args:
        map: the map to simplify.
        keep_point_dims: keep dims with a single value, as in :meth:`IndexingMap.simplify`.
        drop_unused: remove range and runtime variables that nothing uses.
        rescale: let range variables count in steps of a modulus that a constraint fixes.

    Returns:
        A :class:`SimplifyTrace`: the map before and after, and the steps in order.  A step rewrites a part of the map
        without changing its value at any point of the domain.  Steps of alternatives that the simplifier tried and
        discarded are included.  Tracing disables the simplifier's shortcuts, which do not affect the result.

    Raises:
        TypeError: ``map`` is not an :class:`IndexingMap`.

    >>> m = hm.IndexingMap.parse("(d0, d1) -> ((d0 * 12 + d1) floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]")
    >>> print(hm.explain_simplify(m))
    before  (d0, d1) -> ((d0 * 12 + d1) floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]
    after   (d0, d1) -> (d0 * 3 + d1 floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]
       1. multiples: (n*k*x + y) floordiv n = k*x + y floordiv n
              (d0 * 12 + d1) floordiv 4
           => d0 * 3 + d1 floordiv 4

    ``SIMPLIFY.md`` of the Rust crate ``quasiaffine`` describes the rules, their order, and why they terminate.
    """
    expect(IndexingMap, map, "explain_simplify", "an IndexingMap")
    simplified, steps = _simplify_traced(map, keep_point_dims, drop_unused, rescale)
    return SimplifyTrace(map, simplified, tuple(SimplifyStep(*texts) for *texts, _ in steps))
