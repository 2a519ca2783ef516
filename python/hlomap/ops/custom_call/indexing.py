"""Indexing rules of custom-call: those of the definition of a library call."""

from __future__ import annotations

from dataclasses import replace

from ..._core import Expr, Instruction, Shape
from ...types import ShapeIndex, Unknown
from .._indexing.maps import dim_exprs, forward_from_operand, forward_to_outputs, full_bounds, single_map
from .._rule import Footprint, RuleContext, RuleResult
from .._shapes import n_outputs, shape_at
from . import shards
from .attributes import batch_rank_of_factorization, definition_of, is_annotation, target_of


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """An annotation forwards its operand, a library call has a definition; any other target is unknown."""
    if is_annotation(instruction):
        return forward_from_operand(instruction, leaf, 0, leaf)
    if shards.changes_shards(instruction):
        return shards.output_to_input(instruction, leaf)
    definition = definition_of(instruction)
    if isinstance(definition, Instruction):
        return context.output_to_input(definition, definition.called_computations[0], leaf)
    n_batch = batch_rank_of_factorization(instruction)
    if isinstance(n_batch, int):
        output = shape_at(instruction.shape, leaf)
        return [_mixed(output, operand.shape, n_batch) for operand in instruction.operands]
    return [_why_unknown(instruction)] * len(instruction.operands)


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As :func:`output_to_input`."""
    if is_annotation(instruction):
        return forward_to_outputs(instruction, operand, leaf, leaf)
    if shards.changes_shards(instruction):
        return shards.input_to_output(instruction, operand)
    definition = definition_of(instruction)
    if isinstance(definition, Instruction):
        return context.input_to_output(definition, definition.called_computations[0], operand, leaf)
    n_batch = batch_rank_of_factorization(instruction)
    if isinstance(n_batch, int):
        shape, source = instruction.shape, instruction.operands[operand].shape
        if not shape.is_tuple:
            return [_mixed(source, shape, n_batch)]
        return [_mixed(source, part, n_batch).at((k,)) for k, part in enumerate(shape.tuple_shapes)]
    return [_why_unknown(instruction)] * n_outputs(instruction.shape)


def _why_unknown(instruction: Instruction) -> Unknown:
    for found in (definition_of(instruction), batch_rank_of_factorization(instruction)):
        if isinstance(found, Unknown):
            return found
    return Unknown(f"no rule for custom-call to {target_of(instruction)!r}")


def _mixed(source: Shape, target: Shape, n_batch: int) -> Footprint:
    """Every element of the same batch; which ones matter is in the numbers."""
    n_free = target.rank - n_batch
    results = [*dim_exprs(n_batch), *(Expr.range(k) for k in range(n_free))]
    whole = single_map(full_bounds(source.dimensions), results, ranges=full_bounds(target.dimensions[n_batch:]))
    return replace(whole, exact=False, reason="a factorization mixes whole matrices")
