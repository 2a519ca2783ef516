"""The indexing rule of scatter."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.gather_windows import batch_indices, operand_to_windows, window_to_operand
from .._indexing.maps import full, on_outputs, reads, reads_same_place
from .._rule import RuleContext, RuleResult
from .attributes import plan_of


def constant_operands(instruction: Instruction) -> tuple[int, ...]:
    """The indices: what is a constant or an iota is folded."""
    return (len(instruction.operands) // 2,)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The operands at the same place, the updates that hit it; any index of its batch might."""
    n, w = plan_of(instruction)
    results, ranges = batch_indices(w.indices_sizes, w.paired_dims, range(len(w.indices_sizes)))
    might = reads(full(w.operand_sizes), results, ranges=ranges)
    return [*[reads_same_place(w.operand_sizes)] * n, might, *[operand_to_windows(instruction, w)] * n]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """An operand at its place, an update where it hits; an index may reach all of its batch."""
    n, w = plan_of(instruction)
    if operand < n:
        return on_outputs(instruction, reads_same_place(w.operand_sizes))
    if operand > n:
        return on_outputs(instruction, window_to_operand(instruction, w))
    results, ranges = batch_indices(
        w.operand_sizes, {p: i for i, p in w.paired_dims.items()}, range(len(w.operand_sizes))
    )
    return on_outputs(instruction, reads(full(w.indices_sizes), results, ranges=ranges))
