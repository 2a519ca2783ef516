"""Indexing rules of ragged-dot."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Expr, Instruction, Variable
from ...types import ShapeIndex
from .._indexing.contraction import map_by_labels
from .._indexing.maps import simplify_maps, single_map
from .._rule import NOTHING, Footprint, RuleContext, RuleResult
from .._shapes import INT64_MAX
from .attributes import RaggedDotDimensions, ragged_dot_dimensions

MAX_GROUPS = 16
"""Up to this number of groups each group has its own map; with more groups the maps do not distinguish them."""

_REASON = "ragged-dot: the group of a row is known only at run time"


def _map_side(d: RaggedDotDimensions, side: Sequence[str], source: Sequence[str], target: Sequence[str]) -> Footprint:
    """Between the output and one side, a map for each group: the sum of the sizes before it is where it starts."""
    dims, results, ranges = map_by_labels(source, target, d.sizes)
    whole = single_map(dims, results, ranges=ranges)
    n_groups, n_rows = d.sizes["g"], d.sizes[d.ragged]
    if d.mode == "batch" or not whole.maps:
        return whole
    if n_groups > MAX_GROUPS or n_groups * n_rows > INT64_MAX // 4:
        return Footprint(whole.maps, False, _REASON)
    at = {**dict(zip(target, results, strict=True)), **{label: Expr.dim(i) for i, label in enumerate(source)}}
    row = at[d.ragged]
    index = [at[label] for label in d.groups[:-1]]
    sizes = [Variable(None, 0, n_rows, source=2, element=[*index, k]) for k in range(n_groups)]
    ends = [sum((Expr.runtime(i) for i in range(k)), Expr.constant(0)) for k in range(n_groups + 1)]
    if "g" not in at:  # rows in no group are not read
        within = [(ends[-1] - row, 1, n_groups * n_rows)]
        return simplify_maps(single_map(dims, results, ranges=ranges, runtime=sizes, constraints=within))
    footprint = NOTHING
    for k in range(n_groups):
        own = [(at["g"] - k, 0, 0), (row - ends[k], 0, n_rows - 1), (ends[k + 1] - row, 1, n_rows)]
        footprint = footprint + single_map(dims, results, ranges=ranges, runtime=sizes[: k + 1], constraints=own)
    return simplify_maps(footprint)


def _map_group_sizes(d: RaggedDotDimensions, source: Sequence[str], target: Sequence[str]) -> Footprint:
    """Between the output and the group sizes: the start of a group depends on the sizes before it."""
    if d.mode == "batch":
        return NOTHING
    if d.mode == "free":
        dims, results, ranges = map_by_labels(source, target, d.sizes)
        return single_map(dims, results, ranges=ranges)
    n_groups = d.sizes["g"]
    renamed = ["other" if label == "g" else label for label in target]
    dims, results, ranges = map_by_labels(source, renamed, {**d.sizes, "other": n_groups})
    own, other = Expr.dim(source.index("g")), results[renamed.index("other")]
    distance = own - other if tuple(target) == d.groups else other - own
    return single_map(dims, results, ranges=ranges, constraints=[(distance, 0, n_groups - 1)])


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As dot, within the groups; the sizes of all groups, or of those up to the group of the element."""
    d = ragged_dot_dimensions(instruction)
    sides = [_map_side(d, side, d.output, side) for side in (d.left, d.right)]
    return [*sides, _map_group_sizes(d, d.output, d.groups)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As :func:`output_to_input`, in the other direction."""
    d = ragged_dot_dimensions(instruction)
    if operand == 2:
        return [_map_group_sizes(d, d.groups, d.output)]
    side = (d.left, d.right)[operand]
    return [_map_side(d, side, side, d.output)]
