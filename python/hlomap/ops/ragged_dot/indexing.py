"""The indexing rule of ragged-dot."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Expr, Instruction, Variable
from ...types import ShapeIndex
from .._indexing.contraction import linked
from .._indexing.maps import in_best_form, reads
from .._rule import NOTHING, Footprint, RuleContext, RuleResult
from .._shapes import INT64_MAX
from .attributes import Plan, plan_of

MAX_GROUPS = 16


"""Groups that have a map each; of more it is not said which rows are in which."""


_REASON = "ragged-dot: which rows are in which group is known only when the program runs"


def _side(plan: Plan, side: Sequence[str], source: Sequence[str], target: Sequence[str]) -> Footprint:
    """Between the output and a side: a row goes with the group whose sizes reach it, a map for each group."""
    dims, results, ranges = linked(source, target, plan.sizes)
    whole = reads(dims, results, ranges=ranges)
    n_groups, n_rows = plan.sizes["g"], plan.sizes[plan.ragged]
    if plan.mode == "batch" or not whole.maps:
        return whole
    if n_groups > MAX_GROUPS or n_groups * n_rows > INT64_MAX // 4:
        return Footprint(whole.maps, False, _REASON)
    at = {**dict(zip(target, results, strict=True)), **{label: Expr.dim(i) for i, label in enumerate(source)}}
    row = at[plan.ragged]
    index = [at[label] for label in plan.groups[:-1]]
    sizes = [Variable(None, 0, n_rows, source=2, index=[*index, k]) for k in range(n_groups)]
    ends = [sum((Expr.runtime(i) for i in range(k)), Expr.constant(0)) for k in range(n_groups + 1)]
    if "g" not in at:  # rows of no group are not read
        within = [(ends[-1] - row, 1, n_groups * n_rows)]
        return in_best_form(reads(dims, results, ranges=ranges, runtime=sizes, constraints=within))
    footprint = NOTHING
    for k in range(n_groups):
        own = [(at["g"] - k, 0, 0), (row - ends[k], 0, n_rows - 1), (ends[k + 1] - row, 1, n_rows)]
        footprint = footprint + reads(dims, results, ranges=ranges, runtime=sizes[: k + 1], constraints=own)
    return in_best_form(footprint)


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


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As dot, within the groups; the sizes of all groups, or of those up to the own one."""
    plan = plan_of(instruction)
    sides = [_side(plan, side, plan.output, side) for side in (plan.left, plan.right)]
    return [*sides, _group_sizes(plan, plan.output, plan.groups)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The same, from the other end."""
    plan = plan_of(instruction)
    if operand == 2:
        return [_group_sizes(plan, plan.groups, plan.output)]
    side = (plan.left, plan.right)[operand]
    return [_side(plan, side, side, plan.output)]
