"""Indexing rules of set-dimension-size and dynamic-reshape."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction, _delinearize as delinearize
from ...types import ShapeIndex
from .._indexing.maps import (
    dim_exprs,
    identity_map,
    map_to_all,
    map_to_scalar,
    single_map,
)
from .._rule import Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import n_elements, require_sizes


def set_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The element with the same index, and the size."""
    sizes = instruction.shape.dimensions
    require_sizes(instruction.operands[0].shape.dimensions, sizes, "an operand")
    return [identity_map(sizes), map_to_scalar(sizes)]


def set_input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The element with the same index; the size affects every element."""
    sizes = instruction.shape.dimensions
    return [map_to_all((), sizes) if operand == 1 else identity_map(sizes)]


def _map_between(source: Sequence[int], target: Sequence[int]) -> OperandIndexing:
    """From source to target, over-approximate: positions depend on the sizes in use.

    In row-major order of the elements in use, a later row starts earlier than the bounds suggest, so an element may be
    any; only arrays with one dimension longer than 1 keep their order.
    """
    rows = (sum(size != 1 for size in sizes) > 1 for sizes in (source, target))
    if n_elements(source) == n_elements(target) and not any(rows):
        part = single_map(source, delinearize(dim_exprs(len(source)), source, target))
        return Footprint(part.maps, False, "the sizes are values")
    return Footprint(map_to_all(source, target).maps, False, "the sizes are values")


def reshape_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The data as :func:`_map_between`; every element depends on the sizes."""
    sizes = instruction.shape.dimensions
    data = _map_between(sizes, instruction.operands[0].shape.dimensions)
    return [data, *([map_to_scalar(sizes)] * (len(instruction.operands) - 1))]


def reshape_input_to_output(
    instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext
) -> RuleResult:
    """The data as :func:`_map_between`; a size affects every element."""
    sizes = instruction.shape.dimensions
    if operand > 0:
        return [map_to_all((), sizes)]
    return [_map_between(instruction.operands[0].shape.dimensions, sizes)]
