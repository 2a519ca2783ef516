"""Indexing rules of custom-call: those of the definition of a library call, or those of whole arrays that it mixes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..._core import Expr, IndexingMap, Instruction
from ...answers import Unknown
from ...library_calls.attention import Band, Role
from ...library_calls.definitions import definition_of
from ...library_calls.mixing import Mixing, mixing_of
from ...types import ShapeIndex
from .._indexing.maps import by_number, forward_from_operand, forward_to_outputs, inverted, map_keeping
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import n_outputs, shape_at
from . import shards
from .attributes import OPAQUE, band_of, is_annotation, target_of


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """An annotation forwards its operand, a library call has a definition or mixes; any other target is unknown."""
    if is_annotation(instruction):
        return forward_from_operand(instruction, leaf, 0, leaf)
    if shards.changes_shards(instruction):
        return shards.output_to_input(instruction, leaf)
    mixing, number = mixing_of(instruction), leaf[0] if leaf else 0
    if isinstance(mixing, Mixing):
        return {} if number in mixing.unread else _mixed(instruction, leaf, number, mixing)
    definition = definition_of(instruction)
    if not isinstance(definition, Instruction):
        return [_why_unknown(instruction)] * len(instruction.operands)
    found = context.output_to_input(definition, definition.called_computations[0], leaf)
    n = len(instruction.operands)
    return _adapted(instruction, found, n, lambda band, k: (band.result(number), band.operand(k)))


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As :func:`output_to_input`."""
    if is_annotation(instruction):
        return forward_to_outputs(instruction, operand, leaf, leaf)
    if shards.changes_shards(instruction):
        return shards.input_to_output(instruction, operand)
    if isinstance(mixing_of(instruction), Mixing):
        return inverted(output_to_input)(instruction, operand, leaf, context)
    n, definition = n_outputs(instruction.shape), definition_of(instruction)
    if not isinstance(definition, Instruction):
        return [_why_unknown(instruction)] * n
    found = context.input_to_output(definition, definition.called_computations[0], operand, leaf)
    return _adapted(instruction, found, n, lambda band, k: (band.operand(operand), band.result(k)))


def _mixed(instruction: Instruction, leaf: ShapeIndex, number: int, mixing: Mixing) -> list[Footprint]:
    """Dimensions that the call keeps have the index of the output, the others any: what matters is in the numbers."""
    sizes = shape_at(instruction.shape, leaf).dimensions
    shapes = [operand.shape.dimensions for operand in instruction.operands]
    every = (map_keeping(sizes, of, dict(mixing.between(k, number))) for k, of in enumerate(shapes))
    return [Footprint(part.maps, False, mixing.reason) for part in every]


def _adapted(
    instruction: Instruction,
    result: RuleResult,
    n: int,
    sides: Callable[[Band, int], tuple[Mapping[Role, int], Mapping[Role, int]]],
) -> list[OperandIndexing]:
    """The parts of the maps of a definition, for any values inside it, and within the band of an attention."""
    parts = [by_number(result).get(k, NOTHING) for k in range(n)]
    band = band_of(instruction)
    for k, part in enumerate(parts):
        if isinstance(part, Footprint):
            # Runtime variables are values inside the definition, which its caller cannot name.
            found = part.for_any_runtime("which elements the call reads is a value inside it")
            parts[k] = found if band is None else within_band(found, *sides(band, k), band.farthest)
    return parts


def _why_unknown(instruction: Instruction) -> Unknown:
    for found in (mixing_of(instruction), definition_of(instruction)):
        if isinstance(found, Unknown):
            return found
    target = target_of(instruction)
    why = f"no rule for custom-call to {target!r}"
    if target in OPAQUE:
        why += f", which runs code of its own: give its maps with hlomap.register_rule({target!r}, ...)"
    return Unknown(why)


# Changes to the maps of a definition: what the definition's HLO does not say.


def within_band(
    footprint: Footprint, source: Mapping[Role, int], target: Mapping[Role, int], farthest: int
) -> Footprint:
    """Maps from elements of the source to those of the target, through a query and a key that it sees.

    An element at a query depends on one at a key, or the other way, only through the weight of the two, which is 0
    outside the band (:class:`~hlomap.library_calls.attention.Band`).
    """

    def restricted(m: IndexingMap) -> IndexingMap:
        seen = [(c.expr, c.lower, c.upper) for c in m.constraints]
        if Role.QUERY in source and Role.KEY in target:
            seen.append((Expr.dim(source[Role.QUERY]) - m.results[target[Role.KEY]], 0, farthest))
        if Role.KEY in source and Role.QUERY in target:
            seen.append((m.results[target[Role.QUERY]] - Expr.dim(source[Role.KEY]), 0, farthest))
        if len(seen) == len(m.constraints):
            return m
        found = IndexingMap(m.dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=seen)
        return found.simplify(keep_point_dims=True)

    return footprint.of((leaf, restricted(m)) for leaf, m in footprint.maps)
