"""Steps of the simplifier on a map: the rules that fired, in order, each with what it rewrote and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._core import IndexingMap
from ..types import expect


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
    #: An SMT-LIB script that is unsatisfiable if, and only if, both say the same at every point of the domain; ``None``
    #: unless the trace was asked to certify, and for a step that cannot be written: a number that does not fit into 64
    #: bits, or a map whose range variable counts in other steps (``rescale``).
    certificate: str | None = field(default=None, repr=False)

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
    certify: bool = False,
) -> SimplifyTrace:
    """Simplifies a map and reports every rule that fired.

    Args:
        map: the map to simplify.
        keep_point_dims: keep dims with a single value, as in :meth:`IndexingMap.simplify`.
        drop_unused: remove range and runtime variables that nothing uses.
        rescale: let range variables count in steps of a modulus that a constraint fixes.
        certify: give each step an SMT-LIB script, ``step.certificate``, with which a solver such as z3 or cvc5 proves
            it: the answer is ``unsat``.

    Returns:
        A :class:`SimplifyTrace`: the map before and after, and the steps in order. A step rewrites a part of the map,
        which has the same value before and after at every point of the domain. Alternatives that the simplifier tried
        and did not take have their steps too. The simplifier takes its shortcuts only when nobody traces; the result
        is the same.

    Raises:
        TypeError: ``map`` is not an :class:`IndexingMap`.

    >>> m = hm.IndexingMap.parse("(d0, d1) -> ((d0 * 12 + d1) floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]")
    >>> print(hm.explain_simplify(m))
    before  (d0, d1) -> ((d0 * 12 + d1) floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]
    after   (d0, d1) -> (d0 * 3 + d1 floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]
       1. multiples: (n*k*x + y) floordiv n = k*x + y floordiv n
              (d0 * 12 + d1) floordiv 4
           => d0 * 3 + d1 floordiv 4

    The rules, their order and why they end are described in ``SIMPLIFY.md`` of the Rust crate ``quasiaffine``.
    """
    expect(IndexingMap, map, "explain_simplify", "an IndexingMap")
    simplified, steps = map._simplify_traced(keep_point_dims, drop_unused, rescale)
    made = []
    for rule, law, before, after, statements in steps:
        certificate = _certificate(*statements) if certify and statements else None
        made.append(SimplifyStep(rule, law, before, after, certificate))
    return SimplifyTrace(map, simplified, tuple(made))


def _certificate(parts: IndexingMap, n_before: int, intervals: list[tuple[int, int] | None]) -> str:
    """The script that asks for a point at which what was there before and what came of it differ."""
    script = parts.to_smtlib()
    results = [line.split()[1] for line in script.splitlines() if line.startswith("(declare-const")][-len(intervals) :]
    if None in intervals:
        claim = f"(= {' '.join(results)})"
    else:
        bounded = [
            f"(<= {_number(bounds[0])} {result} {_number(bounds[1])})"
            for result, bounds in zip(results, intervals, strict=True)
            if bounds is not None
        ]
        before, after = (" ".join(["and", "true", *part]) for part in (bounded[:n_before], bounded[n_before:]))
        claim = f"(= ({before}) ({after}))"
    return f"{script}\n(assert (not {claim}))\n(check-sat)"


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"
