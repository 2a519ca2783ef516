"""ragged-dot: a dot in which one dimension of the left side is split into groups, whose sizes are values.

The groups are consecutive.  Along a free dimension, each group of rows has its own right side, and rows in no group
give 0; along a contracted dimension, each group has its own sum; along a batch dimension, the groups do not matter.  As
``jax.lax.ragged_dot_general``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._core import Expr, Instruction, Variable
from ..dtypes import numpy_dtype
from ..lazy import np
from ._indexing.contraction import map_by_labels
from ._indexing.maps import inverted, single_map
from ._numpy.contraction import sum_of_products
from ._op import Array, EvalContext, OpRule, RuleContext, RuleResult, ShapeIndex, Value, register
from ._rule import NOTHING, Footprint
from ._shapes import INT64_MAX


@dataclass(frozen=True)
class RaggedDotDimensions:
    """A label for each dimension of left side, right side, group sizes and output; paired dimensions share a label.

    ``mode``: whether the ragged dimension is ``free``, ``summed`` (contracted) or ``batch``.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    groups: tuple[str, ...]
    output: tuple[str, ...]
    sizes: dict[str, int]
    ragged: str
    mode: str


def ragged_dot_dimensions(instruction: Instruction) -> RaggedDotDimensions:
    """The labels."""
    attributes = instruction.attributes
    a, b, g = (tuple(x.shape.dimensions) for x in instruction.operands)
    (a_batch, a_summed, (ragged_dim,)), (b_batch, b_summed, group_dims) = (
        [tuple(attributes.get(f"{side}_{kind}_dims", ())) for kind in ("batch", "contracting", own)]
        for side, own in (("lhs", "ragged"), ("rhs", "group"))
    )
    left = [f"l{i}" for i in range(len(a))]
    right = [f"r{i}" for i in range(len(b))]
    for i, j in zip(a_batch + a_summed, b_batch + b_summed, strict=True):
        right[j] = left[i]
    mode = "batch" if ragged_dim in a_batch else "summed" if ragged_dim in a_summed else "free"
    for j in group_dims:
        right[j] = "g"
    free = [i for i in range(len(a)) if i not in a_batch and i not in a_summed]
    outer = {"free": [*a_batch, *free], "summed": [*a_batch, *a_summed], "batch": a_batch}[mode]
    prefix = [left[i] for i in outer[: list(outer).index(ragged_dim)]]
    groups = [*prefix, "g"] if len(g) > 1 else ["g"]
    sizes = {**dict(zip(left, a, strict=True)), **dict(zip(right, b, strict=True)), "g": g[-1]}
    batch = [left[i] for i in a_batch]
    own = [label for j, label in enumerate(right) if j not in b_batch and j not in b_summed and label != "g"]
    output = [*(["g"] if mode == "summed" else []), *batch, *(left[i] for i in free), *own]
    return RaggedDotDimensions(tuple(left), tuple(right), tuple(groups), tuple(output), sizes, left[ragged_dim], mode)


MAX_GROUPS = 16
"""Up to this number of groups each group has its own map; with more groups the maps do not distinguish them."""

_REASON = "ragged-dot: the group of a row is known only at run time"


def _map_side(d: RaggedDotDimensions, side: Sequence[str]) -> Footprint:
    """From the output to one side, a map for each group: the sum of the sizes before it is where it starts."""
    dims, results, ranges = map_by_labels(d.output, side, d.sizes)
    whole = single_map(dims, results, ranges=ranges)
    n_groups, n_rows = d.sizes["g"], d.sizes[d.ragged]
    if d.mode == "batch" or not whole.maps:
        return whole
    if n_groups > MAX_GROUPS or n_groups * n_rows > INT64_MAX // 4:
        return Footprint(whole.maps, False, _REASON)
    at = {**dict(zip(side, results, strict=True)), **{label: Expr.dim(i) for i, label in enumerate(d.output)}}
    row = at[d.ragged]
    index = [at[label] for label in d.groups[:-1]]
    sizes = [Variable(None, 0, n_rows, source=2, element=[*index, k]) for k in range(n_groups)]
    ends = [sum((Expr.runtime(i) for i in range(k)), Expr.constant(0)) for k in range(n_groups + 1)]
    if "g" not in at:  # rows in no group are not read
        within = [(ends[-1] - row, 1, n_groups * n_rows)]
        return single_map(dims, results, ranges=ranges, runtime=sizes, constraints=within).simplified()
    footprint = NOTHING
    for k in range(n_groups):
        own = [(at["g"] - k, 0, 0), (row - ends[k], 0, n_rows - 1), (ends[k + 1] - row, 1, n_rows)]
        footprint = footprint + single_map(dims, results, ranges=ranges, runtime=sizes[: k + 1], constraints=own)
    return footprint.simplified()


def _map_group_sizes(d: RaggedDotDimensions) -> Footprint:
    """From the output to the group sizes: the start of a group depends on the sizes before it."""
    if d.mode == "batch":
        return NOTHING
    if d.mode == "free":
        dims, results, ranges = map_by_labels(d.output, d.groups, d.sizes)
        return single_map(dims, results, ranges=ranges)
    n_groups = d.sizes["g"]
    renamed = ["other" if label == "g" else label for label in d.groups]
    dims, results, ranges = map_by_labels(d.output, renamed, {**d.sizes, "other": n_groups})
    distance = Expr.dim(d.output.index("g")) - results[renamed.index("other")]
    return single_map(dims, results, ranges=ranges, constraints=[(distance, 0, n_groups - 1)])


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As dot, within the groups; the sizes of all groups, or of those up to the group of the element."""
    d = ragged_dot_dimensions(instruction)
    return [_map_side(d, d.left), _map_side(d, d.right), _map_group_sizes(d)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """A dense dot with a dimension for the groups, along which the rows of other groups are 0."""
    d = ragged_dot_dimensions(instruction)
    left, right, groups = (np.asarray(x) for x in operands)
    number = {label: i for i, label in enumerate(d.sizes)}
    a, b, out = ([number[label] for label in labels] for labels in (d.left, d.right, d.output))
    if d.mode != "batch":
        rows = np.arange(d.sizes[d.ragged])
        # No specification covers negative sizes; they count as 0.
        groups = np.clip(groups.astype(np.int64), 0, len(rows))
        ends = np.cumsum(groups, axis=-1)[..., None]
        starts = ends - groups[..., None]
        inside = (starts <= rows) & (rows < ends)
        left, a = _masked_by_group(left, d.left, inside, d, number)
        if d.mode == "summed":
            right, b = _masked_by_group(right, d.right, inside, d, number)
    return sum_of_products(left, a, right, b, out, numpy_dtype(instruction.shape.dtype))


def _masked_by_group(
    array: Array, labels: Sequence[str], inside: Array, d: RaggedDotDimensions, number: dict[str, int]
) -> tuple[Array, list[int]]:
    """The array once for each group, with the rows of other groups set to 0; the group is the last dimension."""
    mask_labels = [*d.groups, d.ragged]
    wanted = [*labels, "g"]
    kept = [label for label in wanted if label in mask_labels]
    mask = inside.transpose([mask_labels.index(label) for label in kept])
    mask = mask.reshape([d.sizes[label] if label in mask_labels else 1 for label in wanted])
    return np.where(mask, array[..., None], np.zeros((), array.dtype)), [number[label] for label in wanted]


register(OpRule("ragged-dot", output_to_input, inverted(output_to_input), evaluate, operations="multiply-adds"))
