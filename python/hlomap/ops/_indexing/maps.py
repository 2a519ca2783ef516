"""Maps that many rules share: identity, whole arrays, scalars, and forwarded values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from ..._core import (
    Expr,
    Instruction,
    Shape,
    _identity_map as identity_map,
    _map_to_all as map_to_all,
    _outside as outside,
    _single_map as single_map,
)
from ...answers import Unknown
from ...types import ShapeIndex
from .._rule import NOTHING, Bounds, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import n_outputs, require_sizes, shape_at

__all__ = [
    "dim_exprs",
    "forward_array",
    "forward_from_operand",
    "forward_to_outputs",
    "full_bounds",
    "identity_map",
    "map_to_all",
    "map_to_scalar",
    "merge_parts",
    "on_all_outputs",
    "outside",
    "range_exprs",
    "reaches_nothing",
    "reads_nothing",
    "simplify_maps",
    "single_map",
]


@lru_cache(maxsize=64)
def dim_exprs(n: int) -> tuple[Expr, ...]:
    """The dimension variables d0, d1, ... of n dimensions."""
    return tuple(Expr.dim(i) for i in range(n))


@lru_cache(maxsize=64)
def range_exprs(n: int) -> tuple[Expr, ...]:
    """The range variables s0, s1, ... of n ranges."""
    return tuple(Expr.range(i) for i in range(n))


def full_bounds(sizes: Iterable[int]) -> list[Bounds]:
    """The bounds of an index along each dimension."""
    return [(0, size - 1) for size in sizes]


def map_to_scalar(sizes: Sequence[int] | Shape) -> Footprint:
    """Every element to the one element of a scalar."""
    return single_map(sizes, ())


def simplify_maps(footprint: Footprint) -> Footprint:
    """Simplify maps; dimensions of size 1 remain variables, unused ranges do not."""
    return footprint.simplified()


def forward_from_operand(
    instruction: Instruction, output: ShapeIndex, operand: int, leaf: ShapeIndex
) -> Mapping[int, OperandIndexing]:
    """An output leaf is a leaf of one operand, unchanged; the other operands are not read."""
    operands = instruction.operands
    shape = shape_at(operands[operand].shape, leaf)
    require_sizes(shape_at(instruction.shape, output).dimensions, shape.dimensions, "the output")
    return forward_array(shape, operand, leaf)


def forward_array(shape: Shape, number: int, leaf: ShapeIndex) -> Mapping[int, OperandIndexing]:
    """An array of this shape is a leaf of operand or output ``number``, unchanged; the others are not related to it."""
    return {number: identity_map(shape.dimensions).at(leaf)} if shape.is_array else {}


def forward_to_outputs(
    instruction: Instruction, operand: int, leaf: ShapeIndex, *output_leaves: ShapeIndex
) -> list[OperandIndexing]:
    """A leaf of an operand appears unchanged at some leaves of the output and nowhere else."""
    parts: list[OperandIndexing] = [NOTHING] * n_outputs(instruction.shape)
    sizes = shape_at(instruction.operands[operand].shape, leaf).dimensions
    for output in output_leaves:
        shape = shape_at(instruction.shape, output)
        require_sizes(shape.dimensions, sizes, "the output")
        if shape.is_array:
            number = output[0] if output else 0
            before = parts[number]
            assert isinstance(before, Footprint), "all parts are footprints"
            parts[number] = before + identity_map(shape.dimensions).at(output)
    return parts


def on_all_outputs(instruction: Instruction, footprint: Footprint) -> list[OperandIndexing]:
    """Repeat a footprint for every output of an operation whose outputs have equal sizes."""
    if not instruction.shape.is_tuple:
        return [footprint]
    return [footprint.at((i,)) for i in range(n_outputs(instruction.shape))]


def reads_nothing(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The rule from output to input of operations that read no array element."""
    return {}


def reaches_nothing(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The rule from input to output of operations that read no array element."""
    return {}


def merge_parts(result: RuleResult, leaf: ShapeIndex = ()) -> OperandIndexing:
    """All parts of a rule's result as one, which is the element ``leaf`` of a tuple; Unknown if a part is."""
    total = NOTHING
    for part in result.values() if isinstance(result, Mapping) else result:
        if isinstance(part, Unknown):
            return part
        total = total + part.at(leaf)
    return total
