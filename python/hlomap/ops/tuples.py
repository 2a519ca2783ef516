"""tuple and get-tuple-element: values are combined into a tuple and taken out of it; no element moves.

Sections Tuple and GetTupleElement of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ._folding import by_handing_on
from ._indexing.maps import forward_array
from ._known import UNKNOWN, Known, KnownContext, Parts, is_plain, nothing_known
from ._op import EvalContext, Maps, Memory, RuleContext, RuleResult, Semantics, ShapeIndex, Value, Values, register
from ._shapes import require, shape_at

# Only consistent instructions reach the rules: a tuple has the shapes of its operands, an element its shape in the
# tuple.  So the rules read only the instruction's own shape, and a leaf of a wide tuple costs no more than one of a
# pair.


def _tuple_output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    return forward_array(shape_at(context.shape_of(instruction), shape_index), shape_index[0], shape_index[1:])


def _tuple_input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    output = (operand, *shape_index)
    return forward_array(shape_at(context.shape_of(instruction), output), operand, output)


def _element_output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    index = int(instruction.attributes["index"])
    require(index >= 0, f"tuple index {index} is negative")
    return forward_array(shape_at(context.shape_of(instruction), shape_index), 0, (index, *shape_index))


def _element_input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    if shape_index[0] != int(instruction.attributes["index"]):
        return {}
    shape = context.shape_of(instruction)
    return forward_array(shape_at(shape, shape_index[1:]), shape_index[1] if shape.is_tuple else 0, shape_index[1:])


def _tuple(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    return tuple(operands)


def _element(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    return operands[0][int(instruction.attributes["index"])]


def _known_tuple(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    return UNKNOWN if all(map(is_plain, operands)) else Parts(operands)


def _known_element(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    (value,) = operands
    if isinstance(value, Parts):
        return value[int(instruction.attributes["index"])]
    return value if is_plain(value) else nothing_known(instruction)


register(
    "tuple",
    Maps(_tuple_output_to_input, _tuple_input_to_output, structural=True),
    Semantics(_tuple, operations="moves", pointwise=True),
    values=Values(known=_known_tuple, folds=by_handing_on(_tuple)),
    memory=Memory(moves_nothing=True),
)
register(
    "get-tuple-element",
    Maps(_element_output_to_input, _element_input_to_output, structural=True),
    Semantics(_element, operations="moves", pointwise=True),
    values=Values(known=_known_element, folds=by_handing_on(_element)),
    memory=Memory(moves_nothing=True),
)
