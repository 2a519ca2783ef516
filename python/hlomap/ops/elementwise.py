"""All operations whose output element d is made of the operands' elements d; a scalar operand belongs to every d.

One rule for the family; the table gives each name its meaning on arrays.  Which function it is does not matter to
the maps, and the maps do not matter to the functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ._maps import passes_from, passes_to, reads_all, reads_same_place, reads_scalar
from ._op import Answer, Context, Leaf, Op, Part, Unknown, register
from ._pointwise import METHODS
from ._shapes import must
from .meaning.elementwise import meanings


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """Each operand at the place of the output, a scalar always; a copy of a tuple leaf by leaf."""
    if instruction.shape.is_tuple:
        must(len(instruction.operands) == 1, "an elementwise operation on tuples")
        return passes_from(instruction, leaf, 0, leaf)
    sizes = instruction.shape.dimensions
    return [_read(sizes, operand.shape.dimensions) for operand in instruction.operands]


def _read(sizes: Sequence[int], operand: Sequence[int]) -> Part:
    if tuple(operand) == tuple(sizes):
        return reads_same_place(sizes)
    if not operand:
        return reads_scalar(sizes)
    return Unknown(f"an elementwise operand of sizes {tuple(operand)} for an output of sizes {tuple(sizes)}")


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The output at the same place; all of it for a scalar."""
    if instruction.shape.is_tuple:
        must(len(instruction.operands) == 1, "an elementwise operation on tuples")
        return passes_to(instruction, operand, leaf, leaf)
    sizes = instruction.shape.dimensions
    source = instruction.operands[operand].shape.dimensions
    if tuple(source) == tuple(sizes):
        return [reads_same_place(sizes)]
    if not source:
        return [reads_all((), sizes)]
    return [Unknown(f"an elementwise operand of sizes {tuple(source)} for an output of sizes {tuple(sizes)}")]


for _name, _evaluate in meanings():
    register(
        Op(
            _name,
            output_to_input,
            input_to_output,
            _evaluate,
            pointwise=True,
            by_sizes="elementwise",
            methods=METHODS.get(_name, ()),
        )
    )
