"""custom-call: a function outside XLA.

Calls of well-known libraries are defined by HLO (:mod:`hlomap.library_calls`).  Calls that only annotate a value with
its sharding or memory space return their operand.  Nothing is known of others, unless the user registers a rule or a
function.  Section CustomCall of XLA's operation semantics.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping

from .._core import Computation, Expr, IndexingMap, Instruction
from ..base.answers import Unknown
from ..errors import UnsupportedError
from ..library_calls import attention
from ..library_calls.attention import Band, Role
from ..library_calls.definitions import definition_of, workspaces_of
from ..library_calls.kernels import KERNELS, Estimate, estimate_of
from ..library_calls.mixing import Mixing, mixing_of
from ..library_calls.products import ProductCall, product_call_of
from ._attributes import MatrixDims, MatrixProduct
from ._indexing.maps import by_number, forward_from_operand, forward_to_outputs, inverted, map_keeping, single_map
from ._numpy.input_checks import call_user_function, check_value, owned
from ._op import EvalContext, Maps, Memory, RuleContext, RuleResult, Semantics, ShapeIndex, Steps, Value, register
from ._operations import Operations, estimated
from ._registry import has_custom_maps
from ._rule import NOTHING, Footprint, OperandIndexing, has_several_devices
from ._shapes import n_outputs, require, same_arrays, shape_at

ANNOTATIONS = {
    "AssumeGatherIndicesInBound", "AwsNeuronTransferWithStaticRing", "LayoutConstraint", "MoveToDevice", "MoveToHost",
    "Pin", "ShapeBarrier", "ShardBarrierFrom", "ShardBarrierTo", "Sharding", "Unpin",
    "__xla_internal_call_marker_after", "__xla_internal_call_marker_before", "annotate_device_placement",
    "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier",
}  # fmt: skip
"""Targets that return their operand."""

SINKS = {"control_dep", "dce_sink", "xla.sdy.ShardingGroup"}
"""Targets that only order or keep their operands: their result is an empty tuple."""


def target_of(instruction: Instruction) -> str:
    """The custom call target, or an empty string."""
    return str(instruction.attributes.get("custom_call_target", ""))


def is_annotation(instruction: Instruction) -> bool:
    """Whether the call annotates its operand and returns it."""
    operands = instruction.operands
    return (
        target_of(instruction) in ANNOTATIONS
        and len(operands) == 1
        and same_arrays(operands[0].shape, instruction.shape)
    )


def constrains_sharding(instruction: Instruction) -> bool:
    """Whether the call gives its operand the sharding of its attribute."""
    return target_of(instruction) == "Sharding" and is_annotation(instruction)


def has_parts_of_devices(instruction: Instruction) -> bool:
    """Whether the call takes arrays apart into those of devices, or puts them together."""
    return target_of(instruction) in SHARDS


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """The function for the target, applied to the operands; without one the definition of a library call."""
    target = target_of(instruction)
    function = context.grid.custom_calls.get(target)
    if function is not None:
        offered = {"instruction": instruction, "count_steps": context.count_steps}
        keywords = {name: value for name, value in offered.items() if name in _parameters(function)}
        value = call_user_function(function, *map(owned, operands), **keywords)
        return owned(check_value(value, instruction.shape, f"the value of custom call target {target!r}"))
    definition = definition_of(instruction)
    if isinstance(definition, Instruction):
        return (yield context.call(definition.called_computations[0], operands))
    if isinstance(definition, Unknown):
        raise UnsupportedError(f"{definition.reason}; pass custom_calls={{{target!r}: …}}")
    if is_annotation(instruction):
        return operands[0]
    if target in SINKS and instruction.shape.is_tuple and not instruction.shape.tuple_shapes:
        return ()
    raise UnsupportedError(f"no function for custom call target {target!r}: pass custom_calls={{{target!r}: …}}")


def _parameters(function: Callable[..., Value]) -> Container[str]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()  # some compiled functions have no signature


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """An annotation forwards its operand, a library call has a definition or mixes; any other target is unknown."""
    if is_annotation(instruction):
        return forward_from_operand(instruction, shape_index, 0, shape_index)
    number = shape_index[0] if shape_index else 0
    if target_of(instruction) in SHARDS:
        return {number: _shard_map(instruction, number, to_output=False)}
    mixing = mixing_of(instruction)
    if isinstance(mixing, Mixing):
        return {} if number in mixing.unread else _mixed(instruction, shape_index, number, mixing)
    definition = definition_of(instruction)
    if not isinstance(definition, Instruction):
        return [_why_unknown(instruction)] * len(instruction.operands)
    found = context.output_to_input(definition, definition.called_computations[0], shape_index)
    n = len(instruction.operands)
    return _adapted(instruction, found, n, lambda band, k: (band.result(number), band.operand(k)))


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """As :func:`output_to_input`."""
    if is_annotation(instruction):
        return forward_to_outputs(instruction, operand, shape_index, shape_index)
    if target_of(instruction) in SHARDS:
        part = _shard_map(instruction, operand, to_output=True)
        return {operand: part.at((operand,)) if instruction.shape.is_tuple else part}
    if isinstance(mixing_of(instruction), Mixing):
        return inverted(output_to_input)(instruction, operand, shape_index, context)
    n, definition = n_outputs(instruction.shape), definition_of(instruction)
    if not isinstance(definition, Instruction):
        return [_why_unknown(instruction)] * n
    found = context.input_to_output(definition, definition.called_computations[0], operand, shape_index)
    return _adapted(instruction, found, n, lambda band, k: (band.operand(operand), band.result(k)))


def _mixed(instruction: Instruction, shape_index: ShapeIndex, number: int, mixing: Mixing) -> list[OperandIndexing]:
    """Dimensions that the call keeps have the index of the output, the others any: what matters is in the numbers."""
    sizes = shape_at(instruction.shape, shape_index).dimensions
    parts: list[OperandIndexing] = []
    for k, operand in enumerate(instruction.operands):
        if operand.shape.is_array:
            part = map_keeping(sizes, operand.shape.dimensions, dict(mixing.kept.get((k, number), ())))
            parts.append(Footprint(part.maps, False, mixing.reason))
        else:
            parts.append(Unknown("effects before a token may matter to the call"))
    return parts


def _adapted(
    instruction: Instruction,
    result: RuleResult,
    n: int,
    sides: Callable[[Band, int], tuple[Mapping[Role, int], Mapping[Role, int]]],
) -> list[OperandIndexing]:
    """The parts of the maps of a definition, for any values inside it, and within the band of an attention."""
    parts = [by_number(result).get(k, NOTHING) for k in range(n)]
    band = attention.band_of(instruction) if target_of(instruction) in attention.TARGETS else None
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
    if target in KERNELS:
        why += f", which runs code of its own: give its maps with hlomap.register_rule({target!r}, ...)"
    return Unknown(why)


# Changes to the maps of a definition that its HLO cannot express.


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

    return footprint.of((shape_index, restricted(m)) for shape_index, m in footprint.maps)


# Calls between an array and its parts on devices.  Every device holds a tile of the array; which one depends on the
# device.  The sizes give the tiles: index i of the array is index ``i mod size`` of tile ``i floordiv size``.


_TO_PARTS = {"SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape"}
_TO_WHOLE = {"SPMDShardToFullShape", "xla.sdy.LocalToGlobalShape"}
SHARDS = _TO_PARTS | _TO_WHOLE
"""Targets that change arrays to their parts, or parts to the arrays."""


def _shard_map(instruction: Instruction, number: int, *, to_output: bool) -> Footprint:
    """Between an operand and its result: from each element of a part to those of the array that it may be, or the other
    way."""
    n = len(instruction.operands)
    require(n == n_outputs(instruction.shape), f"{n} operands for {n_outputs(instruction.shape)} results")
    operand = instruction.operands[number].shape
    result = shape_at(instruction.shape, (number,) if instruction.shape.is_tuple else ())
    require(operand.is_array and result.is_array and operand.rank == result.rank, f"{operand} becomes {result}")
    source, target = (operand, result) if to_output else (result, operand)
    from_part = target_of(instruction) in (_TO_WHOLE if to_output else _TO_PARTS)
    whole, part = (target, source) if from_part else (source, target)
    results: list[Expr] = []
    tiles: list[tuple[int, int]] = []
    constraints: list[tuple[Expr, int, int]] = []
    for k, (n, size) in enumerate(zip(whole.dimensions, part.dimensions, strict=True)):
        require(0 < size <= n or size == n, f"{part} is not a part of {whole}")
        index = Expr.dim(k)
        if size == n:
            results.append(index)
        elif from_part:
            results.append(index + Expr.range(len(tiles)) * size)
            tiles.append((0, (n - 1) // size))
            constraints.append((results[-1], 0, n - 1))
        else:
            results.append(index % size)
    found = single_map(source, results, ranges=tiles, constraints=constraints)
    return Footprint(found.maps, crosses_devices=source.dimensions != target.dimensions)


def _operations(instruction: Instruction) -> Operations | Computation | Unknown:
    """The operations of the definition of a library call, or of the estimate of a kernel; annotations and sinks have
    none."""
    if is_annotation(instruction) or target_of(instruction) in SINKS:
        return Operations()
    definition = definition_of(instruction)
    if isinstance(definition, Instruction):
        return definition.called_computations[0]
    estimate = estimate_of(instruction)
    if isinstance(estimate, Estimate):
        return estimated(
            estimate.cost, f"custom-call to {target_of(instruction)!r}: as the kernel's {estimate.field} says"
        )
    unknown = Unknown(f"custom-call to {target_of(instruction)!r} has no known operations")
    return next((found for found in (definition, estimate) if isinstance(found, Unknown)), unknown)


def _matrix_product(instruction: Instruction) -> MatrixProduct | Computation | Unknown | None:
    """The product in the configuration of a cuBLAS call, or in the definition of another library call."""
    found = product_call_of(instruction)
    if isinstance(found, ProductCall):
        dims = found.dims
        n_batch, n_rows, n_columns = len(dims["lhs_batch"]), len(found.free[0]), len(found.free[1])
        output = range(n_batch + n_rows + n_columns)
        return MatrixProduct(
            MatrixDims(tuple(dims["lhs_batch"]), tuple(found.free[0]), tuple(dims["lhs_contracting"])),
            MatrixDims(tuple(dims["rhs_batch"]), tuple(dims["rhs_contracting"]), tuple(found.free[1])),
            MatrixDims(tuple(output[:n_batch]), tuple(output[n_batch:][:n_rows]), tuple(output[n_batch + n_rows :])),
            found.algorithm, found.epilogue, found.alpha, found.beta,
        )  # fmt: skip
    if found is not None:
        return found
    definition = definition_of(instruction)
    if isinstance(definition, Instruction):
        return definition.called_computations[0]
    target = target_of(instruction)
    is_described = target in ANNOTATIONS | SINKS | SHARDS or mixing_of(instruction) is not None
    if definition is None and is_described and instruction.attributes.get("dim_labels") is None:
        return None
    unknown = Unknown(f"{instruction.name}: whether custom-call to {target!r} is a product is not known")
    return unknown if definition is None else definition


def _scratch(instruction: Instruction) -> list[ShapeIndex]:
    """The workspaces of a library call."""
    mixing = mixing_of(instruction)
    numbers = mixing.unread if isinstance(mixing, Mixing) else workspaces_of(instruction)
    return [(k,) for k in numbers]


def _exchange(instruction: Instruction) -> Unknown | None:
    """The exchange of a custom call: unknown code may exchange anything if there is another device; libraries use
    one."""
    target = target_of(instruction)
    is_known = target in ANNOTATIONS | SINKS | SHARDS or has_custom_maps(instruction.opcode, target)
    if is_known or not has_several_devices(instruction):
        return None
    is_library = mixing_of(instruction) is not None or definition_of(instruction) is not None
    return None if is_library else _why_unknown(instruction)


register(
    "custom-call",
    Maps(output_to_input, input_to_output),
    Semantics(evaluate, operations=_operations, matrix_product=_matrix_product),
    memory=Memory(exchange=_exchange, scratch=_scratch),
)
