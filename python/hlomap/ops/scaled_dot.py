"""scaled-dot: a dot of two sides made of blocks with one factor each; operands are the sides, then the factors.

Element i along a dimension has factor ``i floordiv block``; a scalar is one factor for all.
"""

from __future__ import annotations

from .._core import Instruction
from ._contract import linked
from ._maps import reads
from ._op import Answer, Context, Leaf, Op, register
from .meaning.scaled_dot import evaluate
from .plans.scaled_dot import plan_of


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The sides as dot; the factors of their blocks."""
    plan = plan_of(instruction)
    found = []
    for labels, blocks in zip(plan.labels, plan.blocks, strict=True):
        dims, results, ranges = linked(plan.output, labels, plan.sizes, target_blocks=blocks)
        found.append(reads(dims, results, ranges=ranges))
    return found


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """Every output of the side's element, or of the block's elements."""
    plan = plan_of(instruction)
    dims, results, ranges = linked(plan.labels[operand], plan.output, plan.sizes, source_blocks=plan.blocks[operand])
    return [reads(dims, results, ranges=ranges)]


register(Op("scaled-dot", output_to_input, input_to_output, evaluate))
