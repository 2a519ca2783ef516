"""Semantics of collective operations: the devices of a group exchange values, and each computes its own result."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...base.lazy import np
from .._attributes import (
    PermutedSlice,
    permuted_slices,
    returns_operands,
    root_operand,
    source_target_pairs,
    split_dimension,
)
from .._evaluation import Array, EvalContext, Steps, Value
from .._numpy.device_groups import group_of, own_group, own_id, permuted_devices, rendezvous_key, require_ids
from .._numpy.reduction import pack_results
from .._shapes import require


def _value(instruction: Instruction, operands: Sequence[Value], results: Sequence[Value]) -> Value:
    """The value with these results; the value of a start also has its operands, and states without content."""
    shape = instruction.shape
    if not returns_operands(instruction):
        return pack_results(shape.is_tuple, results)
    first, second = (tuple(x) if len(operands) > 1 else x[0] for x in (operands, results))
    states = (np.zeros(part.dimensions, np.uint32) if part.is_array else None for part in shape.tuple_shapes[2:])
    return (first, second, *states)


def _split(array: Array, n: int, along: int) -> list[Array]:
    """One part for each device of a group."""
    size = array.shape[along]
    require(size % n == 0, f"{size} elements cannot be split among {n} devices")
    return np.split(array, n, along)


def all_reduce(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """The arrays of the group, combined in the order of the group."""
    values = yield context.rendezvous(rendezvous_key(instruction), own_group(instruction, context), operands)
    return _value(instruction, operands, _combined(instruction, values, context))


def _combined(instruction: Instruction, values: Sequence[Sequence[Array]], context: EvalContext) -> list[Array]:
    total = list(values[0])
    for value in values[1:]:
        total = [context.apply(instruction.called_computations[0], pair) for pair in zip(total, value, strict=True)]
    return total


def all_gather(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """The arrays of the group, concatenated; scalars are unchanged."""
    values = yield context.rendezvous(rendezvous_key(instruction), own_group(instruction, context), operands)
    results = [
        np.concatenate(arrays, split_dimension(instruction, own.ndim)) if own.ndim else own
        for own, *arrays in zip(operands, *values, strict=True)
    ]
    return _value(instruction, operands, results)


def reduce_scatter(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """One part of the combined array, which has as many parts as the group has devices; scalars have no parts."""
    group = own_group(instruction, context)
    values = yield context.rendezvous(rendezvous_key(instruction), group, operands)
    results = []
    for array in _combined(instruction, values, context):
        if not array.ndim:
            results.append(array)
            continue
        parts = _split(array, len(group), split_dimension(instruction, array.ndim))
        results.append(parts[group.index(context.device.number)])
    return _value(instruction, operands, results)


def all_to_all(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Part k of every device goes to device k of the group."""
    group = own_group(instruction, context)
    values = yield context.rendezvous(rendezvous_key(instruction), group, operands)
    own = group.index(context.device.number)
    if instruction.shape.is_tuple:
        require(len(operands) == len(group), f"{len(operands)} operands for {len(group)} devices")
        return tuple(value[own] for value in values)
    along = split_dimension(instruction, operands[0].ndim)
    return np.concatenate([_split(value[0], len(group), along)[own] for value in values], along)


def collective_permute(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """The arrays of the source; zeros if a device has no source."""
    pairs = source_target_pairs(instruction)
    require_ids(instruction, [i for pair in pairs for i in pair], context)
    for side in zip(*pairs, strict=True):
        require(len(set(side)) == len(side), f"a device occurs twice in {pairs}")
    slices = permuted_slices(instruction)
    devices = permuted_devices(instruction, context)
    values = yield context.rendezvous(rendezvous_key(instruction), devices, operands)
    own = own_id(instruction, context)
    source = next((a for a, b in pairs if b == own), None)
    if slices:
        updated = _with_slices(slices, values[source] if source is not None else None, operands)
        return _value(instruction, operands[:1], [updated]) if returns_operands(instruction) else updated
    results = [np.zeros_like(x) for x in operands] if source is None else list(values[source])
    return _value(instruction, operands, results)


def _with_slices(slices: Sequence[PermutedSlice], source: Sequence[Value] | None, operands: Sequence[Value]) -> Value:
    """A copy of the output in which slices of the source's input replace those at the offsets of the output."""
    output = operands[1]
    several = isinstance(output, tuple)
    buffers = [np.array(x) for x in (output if several else (output,))]
    for s in slices:
        if source is None:
            break
        which = s.buffer[0] if s.buffer else 0
        taken = source[0][which] if several else source[0]
        offsets = source[2], operands[3]
        for i in s.offsets:
            offsets = offsets[0][i], offsets[1][i]
        where = []
        for array, starts in zip((taken, buffers[which]), offsets, strict=True):
            firsts = [int(x) for x in starts]
            inside = all(a >= 0 and a + n <= m for a, n, m in zip(firsts, s.extents, array.shape, strict=True))
            require(inside, f"a slice at {firsts} of sizes {list(s.extents)} in an array of sizes {list(array.shape)}")
            where.append(tuple(slice(a, a + n) for a, n in zip(firsts, s.extents, strict=True)))
        buffers[which][where[1]] = taken[where[0]]
    return tuple(buffers) if several else buffers[0]


def collective_broadcast(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Each array of its root in the group; zeros on devices in no group."""
    group = group_of(instruction, context)
    if group is None:
        return _value(instruction, operands, [np.zeros_like(x) for x in operands[: root_operand(instruction)]])
    roots = _roots(instruction, operands, len(group))
    values = yield context.rendezvous(rendezvous_key(instruction), group, operands)
    return _value(instruction, operands, [values[root][k] for k, root in enumerate(roots)])


def collective_reduce(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """The combined arrays of the group at their roots; zeros elsewhere, where XLA defines no value."""
    group = own_group(instruction, context)
    roots = _roots(instruction, operands, len(group))
    values = yield context.rendezvous(rendezvous_key(instruction), group, operands)
    combined = _combined(instruction, [value[: len(roots)] for value in values], context)
    own = group.index(context.device.number)
    results = [x if root == own else np.zeros_like(x) for x, root in zip(combined, roots, strict=True)]
    return _value(instruction, operands, results)


def _roots(instruction: Instruction, operands: Sequence[Value], n: int) -> list[int]:
    """The position of each array's root in a group of n devices."""
    operand = root_operand(instruction)
    if operand is None:
        return [0] * len(operands)
    roots = [int(root) for root in operands[operand]]
    require(all(0 <= root < n for root in roots), f"roots {roots} in a group of {n} devices")
    return roots
