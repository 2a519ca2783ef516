"""ragged-dot: a dot in which one dimension of the left side is split into groups, whose sizes are values.

The groups are consecutive.  Along a free dimension, each group of rows has its own right side, and rows in no group
give 0; along a contracted dimension, each group has its own sum; along a batch dimension, the groups do not matter.  As
``jax.lax.ragged_dot_general``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._core import Expr, Instruction, Variable
from ..base.dtypes import numpy_dtype
from ..base.lazy import np
from ._attributes import product_labels, product_sides
from ._indexing.contraction import map_by_labels
from ._indexing.maps import inverted, single_map
from ._numpy.contraction import sum_of_products
from ._op import Array, EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, register
from ._rule import NOTHING, Footprint
from ._shapes import INT64_MAX


class RaggedDotDimensions(NamedTuple):
    """A label for each dimension of left side, right side, group sizes and output; paired dimensions share a label.

    ``group`` is that of the groups, ``ragged`` that of the ragged dimension.
    ``mode``: whether the ragged dimension is ``free``, ``summed`` (contracted) or ``batch``.
    """

    left: Sequence[int]
    right: Sequence[int]
    groups: Sequence[int]
    output: Sequence[int]
    sizes: dict[int, int]
    group: int
    ragged: int
    mode: str


def ragged_dot_dimensions(instruction: Instruction) -> RaggedDotDimensions:
    """The labels."""
    left, right = product_sides(instruction)
    a, b, output = product_labels(left, right)
    group = len(a) + len(b)
    (ragged,), groups = instruction.attributes["lhs_ragged_dims"], instruction.operands[2].shape.dimensions
    mode = "batch" if ragged in left.batch else "summed" if ragged in left.contracted else "free"
    group_dims = instruction.attributes.get("rhs_group_dims", ())
    output = [*([group] if mode == "summed" else []), *(i for i in output if i not in [b[j] for j in group_dims])]
    for j in group_dims:
        b[j] = group
    outer = {"free": left.batch + left.free, "summed": left.batch + left.contracted, "batch": left.batch}[mode]
    prefix = outer[: outer.index(ragged)] if len(groups) > 1 else ()
    sizes = dict(zip([*a, *b, group], [*left.sizes, *right.sizes, groups[-1]], strict=True))
    return RaggedDotDimensions(a, b, [*prefix, group], output, sizes, group, ragged, mode)


MAX_GROUPS = 16
"""Up to this number of groups each group has its own map; with more groups the maps do not distinguish them."""

_REASON = "ragged-dot: the group of a row is known only at run time"


def _map_side(d: RaggedDotDimensions, side: Sequence[int]) -> Footprint:
    """The maps from the output to one side, one for each group, which starts at the sum of the sizes before it."""
    dims, results, ranges = map_by_labels(d.output, side, d.sizes)
    whole = single_map(dims, results, ranges=ranges)
    n_groups, n_rows = d.sizes[d.group], d.sizes[d.ragged]
    if d.mode == "batch" or not whole.maps:
        return whole
    if n_groups > MAX_GROUPS or n_groups * n_rows > INT64_MAX // 4:
        return Footprint(whole.maps, False, _REASON)
    at = {**dict(zip(side, results, strict=True)), **{label: Expr.dim(i) for i, label in enumerate(d.output)}}
    row = at[d.ragged]
    index = [at[label] for label in d.groups[:-1]]
    sizes = [Variable(None, 0, n_rows, source=2, element=[*index, k]) for k in range(n_groups)]
    ends = [sum((Expr.runtime(i) for i in range(k)), Expr.constant(0)) for k in range(n_groups + 1)]
    if d.group not in at:  # rows in no group are not read
        within = [(ends[-1] - row, 1, n_groups * n_rows)]
        return single_map(dims, results, ranges=ranges, runtime=sizes, constraints=within).simplified()
    footprint = NOTHING
    for k in range(n_groups):
        own = [(at[d.group] - k, 0, 0), (row - ends[k], 0, n_rows - 1), (ends[k + 1] - row, 1, n_rows)]
        footprint = footprint + single_map(dims, results, ranges=ranges, runtime=sizes[: k + 1], constraints=own)
    return footprint.simplified()


def _map_group_sizes(d: RaggedDotDimensions) -> Footprint:
    """From the output to the group sizes: the start of a group depends on the sizes before it."""
    if d.mode == "batch":
        return NOTHING
    if d.mode == "free":
        dims, results, ranges = map_by_labels(d.output, d.groups, d.sizes)
        return single_map(dims, results, ranges=ranges)
    n_groups, other = d.sizes[d.group], d.group + 1
    renamed = [other if label == d.group else label for label in d.groups]
    dims, results, ranges = map_by_labels(d.output, renamed, {**d.sizes, other: n_groups})
    distance = Expr.dim(d.output.index(d.group)) - results[renamed.index(other)]
    return single_map(dims, results, ranges=ranges, constraints=[(distance, 0, n_groups - 1)])


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """As dot, within the groups; the sizes of all groups, or of those up to the group of the element."""
    d = ragged_dot_dimensions(instruction)
    return [_map_side(d, d.left), _map_side(d, d.right), _map_group_sizes(d)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """A dense dot with a dimension for the groups, along which the rows of other groups are 0."""
    d = ragged_dot_dimensions(instruction)
    left, right, groups = (np.asarray(x) for x in operands)
    a, b = d.left, d.right
    if d.mode != "batch":
        rows = np.arange(d.sizes[d.ragged])
        # No specification covers negative sizes; they count as 0.
        groups = np.clip(groups.astype(np.int64), 0, len(rows))
        ends = np.cumsum(groups, axis=-1)[..., None]
        starts = ends - groups[..., None]
        inside = (starts <= rows) & (rows < ends)
        left, a = _masked_by_group(left, a, inside, d)
        if d.mode == "summed":
            right, b = _masked_by_group(right, b, inside, d)
    return sum_of_products(left, a, right, b, d.output, numpy_dtype(instruction.shape.dtype))


def _masked_by_group(
    array: Array, labels: Sequence[int], inside: Array, d: RaggedDotDimensions
) -> tuple[Array, list[int]]:
    """The array once for each group, with the rows of other groups set to 0; the group is the last dimension."""
    mask_labels = [*d.groups, d.ragged]
    wanted = [*labels, d.group]
    kept = [label for label in wanted if label in mask_labels]
    mask = inside.transpose([mask_labels.index(label) for label in kept])
    mask = mask.reshape([d.sizes[label] if label in mask_labels else 1 for label in wanted])
    return np.where(mask, array[..., None], np.zeros((), array.dtype)), wanted


register(
    "ragged-dot", Maps(output_to_input, inverted(output_to_input)), Semantics(evaluate, operations="multiply-adds")
)
