"""ragged-dot: a dot in which one dimension of the left side is cut into groups, whose sizes are known when it runs.

Groups lie one after the other.  A free dimension: each group of rows has a right side of its own, rows of none give 0.
A contracted one: each group is summed on its own.  A batch one: the groups do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction
from ._contract import linked
from ._maps import reads
from ._op import NOTHING, Answer, Context, Footprint, Leaf, Op, register
from .meaning.ragged_dot import evaluate
from .plans.ragged_dot import Plan, plan_of

_REASON = "ragged-dot: which rows are in which group is known only when the program runs"


def _side(plan: Plan, side: Sequence[str], source: Sequence[str], target: Sequence[str]) -> Footprint:
    """Between the output and a side; which rows belong to a group that stands in one of the two is not known."""
    dims, results, ranges = linked(source, target, plan.sizes)
    footprint = reads(dims, results, ranges=ranges)
    known = plan.mode == "batch" or (plan.mode == "free" and "g" not in side)
    return footprint if known else Footprint(footprint.maps, False, _REASON)


def _group_sizes(plan: Plan, source: Sequence[str], target: Sequence[str]) -> Footprint:
    """Between the output and the group sizes: a group of the output begins where those before it end."""
    if plan.mode == "batch":
        return NOTHING
    if plan.mode == "free":
        dims, results, ranges = linked(source, target, plan.sizes)
        return reads(dims, results, ranges=ranges)
    n_groups = plan.sizes["g"]
    renamed = ["other" if label == "g" else label for label in target]
    dims, results, ranges = linked(source, renamed, {**plan.sizes, "other": n_groups})
    own, other = Expr.dim(source.index("g")), results[renamed.index("other")]
    distance = own - other if tuple(target) == plan.groups else other - own
    return reads(dims, results, ranges=ranges, constraints=[(distance, 0, n_groups - 1)])


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """As dot; the right side of any group; the sizes of all groups, or of those up to the own one."""
    plan = plan_of(instruction)
    sides = [_side(plan, side, plan.output, side) for side in (plan.left, plan.right)]
    return [*sides, _group_sizes(plan, plan.output, plan.groups)]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The same, from the other end."""
    plan = plan_of(instruction)
    if operand == 2:
        return [_group_sizes(plan, plan.groups, plan.output)]
    side = (plan.left, plan.right)[operand]
    return [_side(plan, side, side, plan.output)]


register(Op("ragged-dot", output_to_input, input_to_output, evaluate))
