"""Elementwise operations: output[d] depends on operand[d] of each operand, and on scalar operands.

One indexing rule serves the family; a table maps each opcode to its function.  Sections Element-wise unary
functions, Element-wise binary arithmetic operations, Clamp, Map, Select and others of XLA's operation semantics.
"""

from __future__ import annotations

from ..._core import Instruction
from ...base.answers import Unknown
from ...base.types import ShapeIndex
from .._folding import by_moving, on_integers
from .._indexing.applied import inexact
from .._indexing.maps import described, described_parts, forward_from_operand, forward_to_outputs, inverted
from .._known import moved
from .._op import Maps, Semantics, Values, register
from .._operations import Cost
from .._rule import ElementwiseMethod, RuleContext, RuleResult
from .evaluate import BINARY, COMPARISONS, TRANSCENDENTAL, UNARY, semantics
from .folding import folds
from .known import known_of_map, known_values, possible, used, used_by_map

_REASON = "whether an element matters depends on the computation"
_PLAIN = "[a] <- [a] or [] ..."


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """A copy of a tuple leaf by leaf."""
    if instruction.shape.is_tuple:
        return forward_from_operand(instruction, shape_index, 0, shape_index)
    return [_other_sizes(instruction)] * len(instruction.operands)


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """A copy of a tuple leaf by leaf."""
    if instruction.shape.is_tuple:
        return forward_to_outputs(instruction, operand, shape_index, shape_index)
    return [_other_sizes(instruction)]


def _other_sizes(instruction: Instruction) -> Unknown:
    sizes = ", ".join(str(operand.shape.dimensions) for operand in instruction.operands)
    return Unknown(f"an elementwise operation on sizes {sizes} with sizes {instruction.shape.dimensions}")


def _applied(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The element with the same index of each operand that the computation of a map uses."""
    read = context.parameters_read(instruction.called_computations[0], ())
    parts = described_parts(_PLAIN, instruction)
    return {k: parts[k] if is_certain else inexact(parts[k], _REASON) for k, is_certain in read.items()}


_MAPS = described(_PLAIN, output_to_input, input_to_output, "elementwise")
_COSTS: dict[str, Cost] = {"copy": "moves", "map": "applied", **dict.fromkeys(TRANSCENDENTAL, "transcendental")}

# The builder derives the method of an operation that has none here from its attributes alone; such a method neither
# broadcasts its operands nor checks their element types.
_METHODS: dict[str, tuple[str | ElementwiseMethod, ...]] = {
    **{opcode: (ElementwiseMethod(name, words),) for opcode, (_, name, words) in (UNARY | BINARY).items()},
    "convert": ("convert_element_type",),
}
for _direction, (_compare, _name, _kinds, _words) in COMPARISONS.items():
    _attributes = (("direction", _direction),)
    _summary = f"Whether ``lhs`` is {_words} ``rhs``, as pred"
    _total = f"{_summary}; total order of floats: -nan < -inf < -0 < 0 < inf < nan."
    _METHODS["compare"] = (
        *_METHODS.get("compare", ()),
        ElementwiseMethod(_name, f"{_summary}.", _kinds, _attributes),
        ElementwiseMethod(f"{_name}_total_order", _total, _kinds, _attributes, (("type", "TOTALORDER"),)),
    )

for _name, _evaluate in semantics():
    _is_map = _name == "map"  # whose rules and values are those of a computation
    register(
        _name,
        Maps(_applied, inverted(_applied)) if _is_map else _MAPS,
        Semantics(
            _evaluate, operations=_COSTS.get(_name, "each"), pointwise=True, builder_methods=_METHODS.get(_name, ())
        ),
        values=Values(
            chooses=_name == "select",
            known=moved() if _name == "copy" else known_of_map if _is_map else known_values(_evaluate),
            possible=None if _is_map else possible(_evaluate),
            used=used_by_map if _is_map else used(_evaluate),
            folds=by_moving(_evaluate) if _name == "copy" else on_integers(_evaluate) if _is_map else folds(_evaluate),
        ),
    )
