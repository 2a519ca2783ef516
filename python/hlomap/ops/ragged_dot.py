"""ragged-dot: a dot in which one dimension of the left side is cut into groups, whose sizes are known when it runs.

Groups lie one after the other.  A free dimension: each group of rows has a right side of its own, rows of none give 0.
A contracted one: each group is summed on its own.  A batch one: the groups do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Expr, Instruction
from ._contract import linked, sum_of_products
from ._maps import reads
from ._numeric import numpy_dtype
from ._op import NOTHING, Answer, Array, Context, Footprint, Leaf, Op, Run, Value, register
from ._shapes import agree, must

_REASON = "ragged-dot: which rows are in which group is known only when the program runs"


@dataclass(frozen=True)
class _Plan:
    """A label for each dimension: of the left, the right, the group sizes, the output; equal labels go together."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    groups: tuple[str, ...]
    output: tuple[str, ...]
    sizes: dict[str, int]
    ragged: str
    mode: str


def _plan(instruction: Instruction) -> _Plan:
    attributes = instruction.attributes
    a, b, g = (tuple(x.shape.dimensions) for x in instruction.operands)
    a_batch, b_batch, a_summed, b_summed, ragged_dims, group_dims = (
        tuple(attributes.get(name, ()))
        for name in (
            "lhs_batch_dims",
            "rhs_batch_dims",
            "lhs_contracting_dims",
            "rhs_contracting_dims",
            "lhs_ragged_dims",
            "rhs_group_dims",
        )
    )
    (ragged_dim,) = ragged_dims
    left = [f"l{i}" for i in range(len(a))]
    right = [f"r{i}" for i in range(len(b))]
    for i, j in zip(a_batch + a_summed, b_batch + b_summed, strict=True):
        agree([a[i]], [b[j]], "paired dimensions")
        right[j] = left[i]
    mode = "batch" if ragged_dim in a_batch else "summed" if ragged_dim in a_summed else "free"
    for j in group_dims:
        right[j] = "g"
    free = [i for i in range(len(a)) if i not in a_batch and i not in a_summed]
    outer = {"free": [*a_batch, *free], "summed": [*a_batch, *a_summed], "batch": a_batch}[mode]
    prefix = [left[i] for i in outer[: list(outer).index(ragged_dim)]]
    groups = [*prefix, "g"] if len(g) > 1 else ["g"]
    sizes = {**dict(zip(right, b, strict=True)), **dict(zip(left, a, strict=True)), "g": g[-1]}
    agree(g, (sizes[label] for label in groups), "group sizes")
    batch = [left[i] for i in a_batch]
    own = [label for j, label in enumerate(right) if j not in b_batch and j not in b_summed and label != "g"]
    output = [*(["g"] if mode == "summed" else []), *batch, *(left[i] for i in free), *own]
    agree(instruction.shape.dimensions, (sizes[label] for label in output), "an output")
    must(("g" in right) == (mode == "free"), "a group dimension of the right side where rows choose one")
    return _Plan(tuple(left), tuple(right), tuple(groups), tuple(output), sizes, left[ragged_dim], mode)


def _side(plan: _Plan, side: Sequence[str], source: Sequence[str], target: Sequence[str]) -> Footprint:
    """Between the output and a side; which rows belong to a group that stands in one of the two is not known."""
    dims, results, ranges = linked(source, target, plan.sizes)
    footprint = reads(dims, results, ranges=ranges)
    known = plan.mode == "batch" or (plan.mode == "free" and "g" not in side)
    return footprint if known else Footprint(footprint.maps, False, _REASON)


def _group_sizes(plan: _Plan, source: Sequence[str], target: Sequence[str]) -> Footprint:
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
    plan = _plan(instruction)
    sides = [_side(plan, side, plan.output, side) for side in (plan.left, plan.right)]
    return [*sides, _group_sizes(plan, plan.output, plan.groups)]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The same, from the other end."""
    plan = _plan(instruction)
    if operand == 2:
        return [_group_sizes(plan, plan.groups, plan.output)]
    side = (plan.left, plan.right)[operand]
    return [_side(plan, side, side, plan.output)]


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """A dense dot with a dimension for the groups, in which all but the own rows are 0."""
    plan = _plan(instruction)
    left, right, groups = (np.asarray(x) for x in operands)
    number = {label: i for i, label in enumerate(plan.sizes)}
    a, b, out = ([number[label] for label in labels] for labels in (plan.left, plan.right, plan.output))
    if plan.mode != "batch":
        ends = np.cumsum(groups.astype(np.int64), axis=-1)[..., None]
        starts = ends - groups[..., None]
        rows = np.arange(plan.sizes[plan.ragged])
        inside = (starts <= rows) & (rows < ends)
        left, a = _in_groups(left, plan.left, inside, plan, number)
        if plan.mode == "summed":
            right, b = _in_groups(right, plan.right, inside, plan, number)
    return sum_of_products(left, a, right, b, out, numpy_dtype(instruction.shape.dtype))


def _in_groups(
    array: Array, labels: Sequence[str], inside: Array, plan: _Plan, number: dict[str, int]
) -> tuple[Array, list[int]]:
    """The array once for each group, with its own rows alone; the group is the last dimension."""
    own = [*plan.groups, plan.ragged]
    wanted = [*labels, "g"]
    kept = [label for label in wanted if label in own]
    mask = inside.transpose([own.index(label) for label in kept])
    mask = mask.reshape([plan.sizes[label] if label in own else 1 for label in wanted])
    return np.where(mask, array[..., None], np.zeros((), array.dtype)), [number[label] for label in wanted]


register(Op("ragged-dot", output_to_input, input_to_output, evaluate))
