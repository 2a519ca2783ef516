"""Finds the operands that matter if a computation combines elements one after the other: reductions and scatters.

The computation has n accumulated elements, then n new ones as parameters, and n results that become the accumulated
elements of the next step.  :func:`combined` says which parameters matter to the result of all steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..._core import Computation
from .._rule import NOTHING, Footprint, RuleContext

_REASON = "in which steps an element matters depends on the computation"


class Combined(NamedTuple):
    """The parameters on which a result may depend in some step, and does depend in every step and in the last one."""

    sometimes: frozenset[int]
    always: frozenset[int]
    last: frozenset[int]

    def of(self, parameter: int, part: Footprint, *, in_one_step: bool = False) -> Footprint:
        """The part of an operand with the elements of all steps; ``in_one_step`` if it has no element of another."""
        if parameter in self.always or (in_one_step and parameter in self.last):
            return part
        return inexact(part, _REASON) if parameter in self.sometimes else NOTHING


def inexact(part: Footprint, reason: str) -> Footprint:
    """The same elements, not all of which may matter."""
    return Footprint(part.maps, False, part.reason or reason, part.crosses_devices)


def combined(
    computation: Computation,
    n: int,
    result: int,
    context: RuleContext,
    *,
    steps: int | None = None,
    may_have_none: bool = False,
) -> Combined:
    """The parameters on which a result depends after this number of steps; None for one or more.

    ``may_have_none``: some elements have no step, and the result is what it was before.
    """
    if steps == 0:
        return Combined(frozenset(), frozenset([result]), frozenset())
    is_tuple = computation.root.shape.is_tuple

    def read(k: int) -> Mapping[int, bool]:
        return context.parameters_read(computation, (k,) if is_tuple else ())

    in_last = read(result)
    certain = frozenset(k for k, is_certain in in_last.items() if is_certain)
    if steps == 1:
        return Combined(frozenset(in_last), certain, certain)
    reached, followed, pending = set(in_last), {result}, {k for k in in_last if k < n}
    while pending:
        k = pending.pop()
        if k not in followed:
            followed.add(k)
            more = read(k)
            pending |= {j for j in more if j < n}
            reached |= more.keys()
    if may_have_none:
        reached.add(result)
    # A result that depends on its previous step has the reads of all steps.
    return Combined(frozenset(reached), certain if result in certain else frozenset(), certain)
