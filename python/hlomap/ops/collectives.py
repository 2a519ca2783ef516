"""Operations in which the devices of a group exchange arrays.

The maps are between indices: from an element of the output to the elements that belong to it on the devices it comes
from; which devices those are is in the groups.  Where the index depends on the device's place in its group, a range
runs over all places and the set is an over-approximation.  Values of all devices meet, each device takes its part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._core import Expr, Instruction, Shape
from ..errors import ShapeError, UnsupportedError
from ._groups import everyone, group_of, key_of, listed_groups, numbered, own_id
from ._op import (
    NOTHING,
    Answer,
    Array,
    Context,
    Footprint,
    InputToOutput,
    Leaf,
    Op,
    OutputToInput,
    Part,
    Run,
    Steps,
    Unknown,
    Value,
    agree,
    dim_exprs,
    full,
    must,
    n_outputs,
    reads,
    reads_all,
    reads_same_place,
    register,
    shape_at,
)

_REASON = "which part it is depends on the device"

Law = Callable[[Instruction, Sequence[int], Sequence[int]], Part]
"""Between an operand's sizes and an output's."""


def _result_leaf(instruction: Instruction, leaf: Leaf) -> int | None:
    """Which result a leaf of the output belongs to; None for the rest of what the start of one gives."""
    if instruction.opcode in ("all-gather-start", "collective-permute-start"):
        if leaf[0] != 1:
            return None
        leaf = leaf[1:]
    return leaf[0] if leaf else 0


def _where(instruction: Instruction, k: int) -> list[Leaf]:
    """The leaves of the output where operand k's result lies, and for a start also the operand itself."""
    n = len(instruction.operands)
    below: Leaf = (k,) if n > 1 else ()
    if instruction.opcode in ("all-gather-start", "collective-permute-start"):
        return [(1, *below), (0, *below)]
    return [(k,) if instruction.shape.is_tuple else ()]


def _laws(to_operand: Law, to_output: Law) -> tuple[OutputToInput, InputToOutput]:
    def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
        sizes = shape_at(instruction.shape, leaf).dimensions
        which = _result_leaf(instruction, leaf)
        if which is None:
            given = leaf[1] if leaf[0] == 0 and len(leaf) > 1 else 0
            return {given: reads_same_place(sizes)} if leaf[0] == 0 else {}
        return {which: to_operand(instruction, instruction.operands[which].shape.dimensions, sizes)}

    def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
        sizes = instruction.operands[operand].shape.dimensions
        parts: list[Part] = [NOTHING] * n_outputs(instruction.shape)
        for place, there in enumerate(_where(instruction, operand)):
            lengths = shape_at(instruction.shape, there).dimensions
            part = to_output(instruction, sizes, lengths) if place == 0 else reads_same_place(sizes)
            parts[there[0] if there else 0] = part.at(there) if isinstance(part, Footprint) else part
        return parts

    return output_to_input, input_to_output


def _same(instruction: Instruction, operand: Sequence[int], output: Sequence[int]) -> Part:
    agree(output, operand, "an output")
    return reads_same_place(output)


def _along(instruction: Instruction, rank: int) -> int:
    (along,) = instruction.attributes["dimensions"]
    must(0 <= along < rank, f"dimension {along} of {rank}")
    return int(along)


def _parts_of(instruction: Instruction, whole: Sequence[int], part: Sequence[int]) -> tuple[int, int]:
    """The dimension that is cut, and in how many parts."""
    along = _along(instruction, len(whole))
    must(part[along] > 0 and whole[along] % part[along] == 0, f"{whole[along]} elements in parts of {part[along]}")
    agree((*whole[:along], part[along], *whole[along + 1 :]), part, "a part")
    return along, whole[along] // part[along]


def _whole_to_part(whole: Sequence[int], along: int, n: int) -> Part:
    """Element d of the whole is d mod size of one part."""
    results = dim_exprs(len(whole))
    results[along] = results[along] % (whole[along] // n)
    return reads(full(whole), results)


def _part_to_whole(part: Sequence[int], along: int, n: int) -> Part:
    """Element d of a part is d + s * size of the whole, for one s."""
    results = dim_exprs(len(part))
    if n > 1:
        results[along] = results[along] + Expr.range(0) * part[along]
    return reads(full(part), results, ranges=[(0, n - 1)] if n > 1 else [])


def _over(part: Part, n: int) -> Part:
    return part if n == 1 or not isinstance(part, Footprint) else Footprint(part.maps, False, _REASON)


def _gather_to_operand(instruction: Instruction, operand: Sequence[int], output: Sequence[int]) -> Part:
    return _whole_to_part(output, *_parts_of(instruction, output, operand))


def _gather_to_output(instruction: Instruction, operand: Sequence[int], output: Sequence[int]) -> Part:
    along, n = _parts_of(instruction, output, operand)
    return _over(_part_to_whole(operand, along, n), n)


def _scatter_to_operand(instruction: Instruction, operand: Sequence[int], output: Sequence[int]) -> Part:
    along, n = _parts_of(instruction, operand, output)
    return _over(_part_to_whole(output, along, n), n)


def _scatter_to_output(instruction: Instruction, operand: Sequence[int], output: Sequence[int]) -> Part:
    return _whole_to_part(operand, *_parts_of(instruction, operand, output))


def _exchange(instruction: Instruction, here: Sequence[int], there: Sequence[int]) -> Part:
    """Element d of one side is at the same place of some part of the other."""
    agree(here, there, "an output")
    sizes = {len(group) for group in listed_groups(instruction)}
    if len(sizes) != 1:
        return Unknown("all-to-all without groups of one size")
    (n,) = sizes
    along = _along(instruction, len(here))
    must(here[along] % n == 0, f"{here[along]} elements in {n} parts")
    part = here[along] // n
    results = dim_exprs(len(here))
    results[along] = results[along] % part + Expr.range(0) * part if n > 1 else results[along]
    return _over(reads(full(here), results, ranges=[(0, n - 1)] if n > 1 else []), n)


def _exchange_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """An array in parts; or part by part, each output from any operand."""
    sizes = shape_at(instruction.shape, leaf).dimensions
    operands = [operand.shape.dimensions for operand in instruction.operands]
    if not instruction.shape.is_tuple:
        return [_exchange(instruction, sizes, operands[0])]
    for operand in operands:
        agree(operand, sizes, "an operand")
    return [_over(reads_same_place(sizes), len(operands))] * len(operands)


def _exchange_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    sizes = instruction.operands[operand].shape.dimensions
    if not instruction.shape.is_tuple:
        return [_exchange(instruction, sizes, instruction.shape.dimensions)]
    n = n_outputs(instruction.shape)
    return [_over(reads_same_place(sizes).at((k,)), n) for k in range(n)]


def _ragged_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The output operand at the same place; rows of the input and all the numbers may matter."""
    sizes = instruction.shape.dimensions
    parts: list[Part] = []
    for k, operand in enumerate(instruction.operands):
        part = reads_same_place(sizes) if k == 1 else reads_all(sizes, operand.shape.dimensions)
        parts.append(Footprint(part.maps, False, "offsets and sizes are values"))
    return parts


def _ragged_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    sizes = instruction.operands[operand].shape.dimensions
    part = reads_same_place(sizes) if operand == 1 else reads_all(sizes, instruction.shape.dimensions)
    return [Footprint(part.maps, False, "offsets and sizes are values")]


# ------------------------------------------------------------------------------------------------------------- values


def _group(instruction: Instruction, run: Run) -> list[int]:
    group = group_of(instruction, run)
    if group is None:
        raise ShapeError(f"device {run.device.number} is in none of the groups {listed_groups(instruction)}")
    return group


def _like(instruction: Instruction, results: Sequence[Array]) -> Value:
    return tuple(results) if instruction.shape.is_tuple else results[0]


def _started(operands: Sequence[Value], results: Sequence[Array], shape: Shape) -> Value:
    """What the start of an asynchronous operation gives: operands, results, and states that say nothing."""
    several = len(operands) > 1
    given, made = (tuple(operands), tuple(results)) if several else (operands[0], results[0])
    return (given, made, *(_nothing(part) for part in shape.tuple_shapes[2:]))


def _nothing(shape: Shape) -> Value:
    return np.zeros(shape.dimensions, np.uint32) if shape.is_array else None


def _all_reduce(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """All arrays of the group combined in the order of the group."""
    values = yield run.meet(key_of(instruction), _group(instruction, run), operands)
    return _like(instruction, _combined(instruction, values, run))


def _combined(instruction: Instruction, values: Sequence[Sequence[Array]], run: Run) -> list[Array]:
    total = list(values[0])
    for value in values[1:]:
        total = [run.apply(instruction.called[0], pair) for pair in zip(total, value, strict=True)]
    return total


def _all_gather(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """The arrays of the group one after the other."""
    values = yield run.meet(key_of(instruction), _group(instruction, run), operands)
    results = [np.concatenate(arrays, _along(instruction, arrays[0].ndim)) for arrays in zip(*values, strict=True)]
    if instruction.opcode == "all-gather-start":
        return _started(operands, results, instruction.shape)
    return _like(instruction, results)


def _reduce_scatter(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """The combined array cut in as many parts as the group has devices."""
    group = _group(instruction, run)
    values = yield run.meet(key_of(instruction), group, operands)
    results = []
    for array in _combined(instruction, values, run):
        along = _along(instruction, array.ndim)
        must(array.shape[along] % len(group) == 0, f"{array.shape[along]} elements for {len(group)} devices")
        results.append(np.split(array, len(group), along)[group.index(run.device.number)])
    return _like(instruction, results)


def _all_to_all(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """Part k of every device goes to device k of the group."""
    group = _group(instruction, run)
    values = yield run.meet(key_of(instruction), group, operands)
    own = group.index(run.device.number)
    if instruction.shape.is_tuple:
        must(len(operands) == len(group), f"{len(operands)} parts for {len(group)} devices")
        return tuple(value[own] for value in values)
    along = _along(instruction, operands[0].ndim)
    must(operands[0].shape[along] % len(group) == 0, f"{operands[0].shape[along]} elements for {len(group)} devices")
    return np.concatenate([np.split(value[0], len(group), along)[own] for value in values], along)


def _ragged_all_to_all(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """Rows go to where their sender says; what nobody sends to keeps the rows of the output operand."""
    group = _group(instruction, run)
    values = yield run.meet(key_of(instruction), group, operands)
    own = group.index(run.device.number)
    out = operands[1].copy()
    for rows, _, offsets, sizes, targets, _ in values:
        must(offsets.size % len(group) == 0, f"{offsets.size} offsets for {len(group)} devices")
        n = offsets.size // len(group)
        for k in range(own * n, (own + 1) * n):
            start, count, target = (int(x.reshape(-1)[k]) for x in (offsets, sizes, targets))
            inside = min(start, target, count) >= 0 and start + count <= len(rows) and target + count <= len(out)
            must(inside, f"{count} rows from {start} to {target} of {len(out)}")
            out[target : target + count] = rows[start : start + count]
    return out


def _permute(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """The arrays of the source; zeros where there is none."""
    pairs = [(int(a), int(b)) for a, b in instruction.attributes["source_target_pairs"]]
    numbered(instruction, [i for pair in pairs for i in pair], run)
    for side in zip(*pairs, strict=True):
        must(len(set(side)) == len(side), f"a device twice in {pairs}")
    if len(operands) == 4 and not instruction.shape.is_tuple:
        raise UnsupportedError("a permutation of slices in place")
    devices = everyone(instruction, run)
    values = yield run.meet(key_of(instruction), devices, operands)
    own = own_id(instruction, run)
    source = next((a for a, b in pairs if b == own), None)
    results = [np.zeros_like(x) for x in operands] if source is None else list(values[source])
    if instruction.opcode == "collective-permute-start":
        return _started(operands, results, instruction.shape)
    return _like(instruction, results)


def _broadcast(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """The arrays of the first device of the group; zeros outside of all groups."""
    group = group_of(instruction, run)
    if group is None:
        return _like(instruction, [np.zeros_like(x) for x in operands])
    values = yield run.meet(key_of(instruction), group, operands)
    return _like(instruction, values[0])


for _opcode, _to_operand, _to_output, _evaluate in (
    ("all-reduce", _same, _same, _all_reduce),
    ("all-reduce-start", _same, _same, _all_reduce),
    ("all-gather", _gather_to_operand, _gather_to_output, _all_gather),
    ("all-gather-start", _gather_to_operand, _gather_to_output, _all_gather),
    ("reduce-scatter", _scatter_to_operand, _scatter_to_output, _reduce_scatter),
    ("collective-permute", _same, _same, _permute),
    ("collective-permute-start", _same, _same, _permute),
    ("collective-broadcast", _same, _same, _broadcast),
):
    register(Op(_opcode, *_laws(_to_operand, _to_output), _evaluate, acts=True))
register(Op("all-to-all", _exchange_to_input, _exchange_to_output, _all_to_all, acts=True))
register(Op("ragged-all-to-all", _ragged_to_input, _ragged_to_output, _ragged_all_to_all, acts=True))
