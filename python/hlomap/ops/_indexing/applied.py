"""Which operands matter where a computation combines elements one after the other: reductions and scatters.

The computation has n accumulated elements, then n new ones as parameters, and n results that become the accumulated
elements of the next step.  :func:`combined` says which parameters matter to the result of all steps.
"""

from __future__ import annotations

from typing import NamedTuple

from ..._core import Computation
from .._rule import NOTHING, Footprint, RuleContext

_REASON = "in which steps an element matters depends on the computation"


class Combined(NamedTuple):
    """The parameters on which a result depends in some step, in every step, and in the last one."""

    sometimes: frozenset[int]
    always: frozenset[int]
    last: frozenset[int]

    def of(self, parameter: int, part: Footprint, *, in_any_order: bool = False) -> Footprint:
        """The part of an operand with the elements of all steps; ``in_any_order`` means that each may be the last."""
        if parameter in self.always or (in_any_order and parameter in self.last):
            return part
        return Footprint(part.maps, False, _REASON) if parameter in self.sometimes else NOTHING


def combined(
    computation: Computation, n: int, result: int, context: RuleContext, *, steps: int | None = None
) -> Combined:
    """The parameters on which a result depends after this number of steps; None for one or more."""
    if steps == 0:
        return Combined(frozenset(), frozenset([result]), frozenset())
    is_tuple = computation.root.shape.is_tuple

    def read(k: int) -> frozenset[int]:
        return context.parameters_read(computation, (k,) if is_tuple else ())

    in_last = read(result)
    if steps == 1:
        return Combined(in_last, in_last, in_last)
    reached, followed, pending = set(in_last), {result}, {k for k in in_last if k < n}
    while pending:
        k = pending.pop()
        if k not in followed:
            followed.add(k)
            more = read(k)
            pending |= {j for j in more if j < n}
            reached |= more
    # A result that depends on itself in the step before has what it reads in any step.
    return Combined(frozenset(reached), in_last if result in in_last else frozenset(), in_last)
