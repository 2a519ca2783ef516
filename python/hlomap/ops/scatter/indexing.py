"""Indexing rules of scatter."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.gather_windows import batch_indices, operand_to_windows, window_to_operand
from .._indexing.maps import full_bounds, identity_map, on_all_outputs, single_map
from .._rule import InPlace, RuleContext, RuleResult
from .attributes import scatter_dimensions


def constant_operands(instruction: Instruction) -> tuple[int, ...]:
    """The indices: constants and iotas are folded."""
    return (len(instruction.operands) // 2,)


def updated_operands(instruction: Instruction) -> dict[ShapeIndex, InPlace]:
    """The operand that each output updates."""
    n = len(instruction.operands) // 2 if instruction.shape.is_tuple else 0
    return {(k,): InPlace(k, reads=True) for k in range(n)} or {(): InPlace(0, reads=True)}


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[d], the updates whose windows cover d, and all indices of the same batch."""
    n, d = scatter_dimensions(instruction)
    results, ranges = batch_indices(d.indices_sizes, d.paired_dims, range(len(d.indices_sizes)))
    all_indices = single_map(full_bounds(d.operand_sizes), results, ranges=ranges)
    return [*[identity_map(d.operand_sizes)] * n, all_indices, *[operand_to_windows(instruction, d, context)] * n]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[d] for an operand, output[start + offset] for an update; an index affects all elements of its batch."""
    n, d = scatter_dimensions(instruction)
    if operand < n:
        return on_all_outputs(instruction, identity_map(d.operand_sizes))
    if operand > n:
        return on_all_outputs(instruction, window_to_operand(instruction, d, context))
    results, ranges = batch_indices(
        d.operand_sizes, {p: i for i, p in d.paired_dims.items()}, range(len(d.operand_sizes))
    )
    return on_all_outputs(instruction, single_map(full_bounds(d.indices_sizes), results, ranges=ranges))
