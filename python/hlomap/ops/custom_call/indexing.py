"""Indexing rules of custom-call: those of the definition of a library call."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex, Unknown
from .._indexing.maps import forward_from_operand, forward_to_outputs
from .._rule import RuleContext, RuleResult
from .._shapes import n_outputs
from .attributes import definition_of, is_annotation, target_of


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """An annotation forwards its operand, a library call has a definition; any other target is unknown."""
    if is_annotation(instruction):
        return forward_from_operand(instruction, leaf, 0, leaf)
    definition = definition_of(instruction)
    if isinstance(definition, Instruction):
        return context.output_to_input(definition, definition.called_computations[0], leaf)
    return [_no_rule(instruction) if definition is None else definition] * len(instruction.operands)


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As :func:`output_to_input`."""
    if is_annotation(instruction):
        return forward_to_outputs(instruction, operand, leaf, leaf)
    definition = definition_of(instruction)
    if isinstance(definition, Instruction):
        return context.input_to_output(definition, definition.called_computations[0], operand, leaf)
    return [_no_rule(instruction) if definition is None else definition] * n_outputs(instruction.shape)


def _no_rule(instruction: Instruction) -> Unknown:
    return Unknown(f"no rule for custom-call to {target_of(instruction)!r}")
