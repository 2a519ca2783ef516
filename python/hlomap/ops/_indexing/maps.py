"""Maps that many pages need: of an array to itself, to all of it, to a scalar, and through operations that hand on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..._core import Expr, IndexingMap, Instruction, Shape
from ...types import ShapeIndex, Unknown
from .._rule import NOTHING, Bounds, ExprLike, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import n_outputs, require_sizes, shape_at


def dim_exprs(n: int) -> list[Expr]:
    """The first n dimension variables."""
    return [Expr.dim(i) for i in range(n)]


def full_bounds(sizes: Iterable[int]) -> list[Bounds]:
    """Each index range in full."""
    return [(0, size - 1) for size in sizes]


def single_map(
    dims: Sequence[Bounds],
    results: Sequence[ExprLike],
    *,
    ranges: Sequence[Bounds] = (),
    runtime: Sequence[Any] = (),
    constraints: Sequence[tuple[ExprLike, int, int]] = (),
) -> Footprint:
    """One map to an array; nothing where some range is empty."""
    for lower, upper in (*dims, *ranges, *((c[1], c[2]) for c in constraints)):
        if lower > upper:
            return NOTHING
    made = IndexingMap(dims, results, ranges=ranges, runtime=runtime, constraints=constraints)
    return Footprint((((), made),))


def identity_map(sizes: Sequence[int]) -> Footprint:
    """Output element d belongs to operand element d."""
    return _same_place(tuple(sizes))


@lru_cache(maxsize=1024)
def _same_place(sizes: tuple[int, ...]) -> Footprint:
    return single_map(full_bounds(sizes), dim_exprs(len(sizes)))


def map_to_scalar(sizes: Sequence[int]) -> Footprint:
    """Every element belongs to the one element of a scalar."""
    return single_map(full_bounds(sizes), [])


def map_to_all(sizes: Sequence[int], target: Sequence[int]) -> Footprint:
    """Every element belongs to every element of the target."""
    return single_map(full_bounds(sizes), [Expr.range(i) for i in range(len(target))], ranges=full_bounds(target))


def simplify_maps(footprint: Footprint) -> Footprint:
    """The same footprint with simplified results; dimensions of one element stay variables, ranges do not."""
    return footprint.of((leaf, m.simplify(keep_point_dims=True, drop_unused=True)) for leaf, m in footprint.maps)


def affine_bounds(terms: Iterable[tuple[int, Bounds]], constant: int = 0) -> Bounds:
    """The interval of ``constant + sum of factor * x`` with each x in its bounds."""
    lower = upper = constant
    for factor, (low, high) in terms:
        lower += min(factor * low, factor * high)
        upper += max(factor * low, factor * high)
    return lower, upper


def forward_from_operand(
    instruction: Instruction, output: ShapeIndex, operand: int, leaf: ShapeIndex
) -> Mapping[int, OperandIndexing]:
    """An output leaf is that leaf of one operand, unchanged; the other operands are not read."""
    operands = instruction.operands
    shape = shape_at(operands[operand].shape, leaf)
    require_sizes(shape_at(instruction.shape, output).dimensions, shape.dimensions, "an output")
    return forward_array(shape, operand, leaf)


def forward_array(shape: Shape, number: int, leaf: ShapeIndex) -> Mapping[int, OperandIndexing]:
    """An array of this shape is the one at a leaf of one operand or output, unchanged; of the others nothing."""
    return {number: identity_map(shape.dimensions).at(leaf)} if shape.is_array else {}


def forward_to_outputs(
    instruction: Instruction, operand: int, given: ShapeIndex, *leaves: ShapeIndex
) -> list[OperandIndexing]:
    """A leaf of an operand appears unchanged at those leaves of the output and nowhere else."""
    parts: list[OperandIndexing] = [NOTHING] * n_outputs(instruction.shape)
    sizes = shape_at(instruction.operands[operand].shape, given).dimensions
    for leaf in leaves:
        shape = shape_at(instruction.shape, leaf)
        require_sizes(shape.dimensions, sizes, "an output")
        if shape.is_array:
            which = leaf[0] if leaf else 0
            before = parts[which]
            assert isinstance(before, Footprint), "only footprints are put here"
            parts[which] = before + identity_map(shape.dimensions).at(leaf)
    return parts


def on_all_outputs(instruction: Instruction, footprint: Footprint) -> list[OperandIndexing]:
    """The same footprint on every output of an operation with equally sized results."""
    if not instruction.shape.is_tuple:
        return [footprint]
    return [footprint.at((i,)) for i in range(n_outputs(instruction.shape))]


def reads_nothing(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The rule of what has no operands, or only tokens."""
    return {}


def reaches_nothing(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    return {}


def merge_parts(answer: RuleResult, leaf: ShapeIndex) -> OperandIndexing:
    """All parts of an answer as one, below a leaf of a bigger value; unknown where one is."""
    total = NOTHING
    for part in answer.values() if isinstance(answer, Mapping) else answer:
        if isinstance(part, Unknown):
            return part
        total = total + part.at(leaf)
    return total
