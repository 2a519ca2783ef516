"""Indexing rules of custom-call: those of the definition of a library call, or those of whole arrays that it mixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..._core import Computation, Expr, IndexingMap, Instruction, Shape
from ...answers import Unknown
from ...library_calls.attention import Role
from ...types import ShapeIndex
from .._indexing.maps import forward_from_operand, forward_to_outputs, single_map
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import n_outputs, shape_at
from . import shards
from .attributes import OPAQUE, Mixing, band_of, definition_of, is_annotation, mixing_of, target_of


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """An annotation forwards its operand, a library call has a definition or mixes; any other target is unknown."""
    if is_annotation(instruction):
        return forward_from_operand(instruction, leaf, 0, leaf)
    if shards.changes_shards(instruction):
        return shards.output_to_input(instruction, leaf)
    mixing = mixing_of(instruction)
    if isinstance(mixing, Mixing):
        output, number = shape_at(instruction.shape, leaf), leaf[0] if leaf else 0
        if number in mixing.unread:
            return [NOTHING] * len(instruction.operands)
        return [
            _mixed(output, operand.shape, mixing, dict(mixing.between(k, number)))
            for k, operand in enumerate(instruction.operands)
        ]
    definition = definition_of(instruction)
    if not isinstance(definition, Instruction):
        return [_why_unknown(instruction)] * len(instruction.operands)
    found = context.output_to_input(definition, _computation_of(definition), leaf)
    found = _each(found, len(instruction.operands), _for_any_runtime)
    band = band_of(instruction)
    if band is None:
        return found
    result = band.result(leaf[0] if leaf else 0)
    return _each(
        found, len(instruction.operands), lambda k, maps: within_band(maps, result, band.operand(k), band.farthest)
    )


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As :func:`output_to_input`."""
    if is_annotation(instruction):
        return forward_to_outputs(instruction, operand, leaf, leaf)
    if shards.changes_shards(instruction):
        return shards.input_to_output(instruction, operand)
    mixing = mixing_of(instruction)
    if isinstance(mixing, Mixing):
        shape, source = instruction.shape, instruction.operands[operand].shape
        if not shape.is_tuple:
            return [_mixed(source, shape, mixing, {to: d for d, to in mixing.between(operand, 0)})]
        return [
            NOTHING
            if k in mixing.unread
            else _mixed(source, part, mixing, {to: d for d, to in mixing.between(operand, k)}).at((k,))
            for k, part in enumerate(shape.tuple_shapes)
        ]
    definition = definition_of(instruction)
    if not isinstance(definition, Instruction):
        return [_why_unknown(instruction)] * n_outputs(instruction.shape)
    found = context.input_to_output(definition, _computation_of(definition), operand, leaf)
    found = _each(found, n_outputs(instruction.shape), _for_any_runtime)
    band = band_of(instruction)
    if band is None:
        return found
    own = band.operand(operand)
    return _each(
        found, n_outputs(instruction.shape), lambda k, maps: within_band(maps, own, band.result(k), band.farthest)
    )


def _for_any_runtime(_: int, found: Footprint) -> Footprint:
    """Runtime variables are values inside the definition, which its caller cannot name."""
    return found.for_any_runtime("which elements the call reads is a value inside it")


def _computation_of(definition: Instruction) -> Computation:
    return definition.called_computations[0]


def _each(result: RuleResult, n: int, change: Callable[[int, Footprint], Footprint]) -> list[OperandIndexing]:
    """All parts of a result, changed where they are known."""

    def parts() -> Iterator[OperandIndexing]:
        for k in range(n):
            part = result[k] if not isinstance(result, dict) else result.get(k, NOTHING)
            yield change(k, part) if isinstance(part, Footprint) else part

    return list(parts())


def _why_unknown(instruction: Instruction) -> Unknown:
    for found in (mixing_of(instruction), definition_of(instruction)):
        if isinstance(found, Unknown):
            return found
    target = target_of(instruction)
    why = f"no rule for custom-call to {target!r}"
    if target in OPAQUE:
        why += f", which runs code of its own: give its maps with hlomap.register_rule({target!r}, ...)"
    return Unknown(why)


def _mixed(source: Shape, target: Shape, mixing: Mixing, kept: Mapping[int, int]) -> Footprint:
    """Dimensions of the target that are kept are one of the source, and the others take any value.

    Which elements matter is in the numbers.
    """
    free = [d for d in range(target.rank) if d not in kept]
    results = [Expr.dim(kept[d]) if d in kept else Expr.range(free.index(d)) for d in range(target.rank)]
    maps = single_map(source, results, ranges=[target.dimensions[d] for d in free]).maps
    return Footprint(maps, False, mixing.reason)


# Changes to the maps of a definition: what the definition's HLO does not say.


def within_band(
    footprint: Footprint, source: Mapping[Role, int], target: Mapping[Role, int], farthest: int
) -> Footprint:
    """Maps from elements of the source to those of the target, through a query and a key that it sees.

    An element at a query depends on one at a key, or the other way, only through the weight of the two, which is 0
    outside the band (:class:`~hlomap.library_calls.attention.Band`).
    """
    return footprint.of((leaf, _restricted(m, source, target, farthest)) for leaf, m in footprint.maps)


def _restricted(m: IndexingMap, source: Mapping[Role, int], target: Mapping[Role, int], farthest: int) -> IndexingMap:
    distances = []
    if Role.QUERY in source and Role.KEY in target:
        distances.append(Expr.dim(source[Role.QUERY]) - m.results[target[Role.KEY]])
    if Role.KEY in source and Role.QUERY in target:
        distances.append(m.results[target[Role.QUERY]] - Expr.dim(source[Role.KEY]))
    if not distances:
        return m
    seen = [(distance, 0, farthest) for distance in distances]
    found = IndexingMap(m.dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=[*m.constraints, *seen])
    return found.simplify(keep_point_dims=True)
