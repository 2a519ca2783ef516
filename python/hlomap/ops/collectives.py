"""Operations in which the devices of a group exchange arrays.

A law says, for an element at a position in a group, which element at which position belongs to it; the group stays.
It is one map with group and position behind the indices, and the plain map is that without them: to the element on
some device of the group.  Values of all devices meet, each device takes its part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .._core import Expr, IndexingMap, Instruction, Shape
from ..errors import ShapeError, UnsupportedError
from ._groups import Table, everyone, group_of, group_sizes, key_of, listed_groups, numbered, own_id, pairs_of, table_of
from ._op import (
    Answer,
    Array,
    Bounds,
    Context,
    Evaluate,
    Exchange,
    ExprLike,
    Footprint,
    Leaf,
    Op,
    Part,
    Run,
    Steps,
    Unknown,
    Value,
    agree,
    dim_exprs,
    full,
    must,
    n_elements,
    reads,
    reads_all,
    reads_same_place,
    register,
    shape_at,
)


class _There(NamedTuple):
    """What belongs to element d at position p: these indices at one position, or at each; for p in some bounds."""

    indices: Sequence[ExprLike]
    position: ExprLike | None = None
    of: Bounds | None = None


class _Ends(NamedTuple):
    """An element's own array and the other one, the dimension that is cut, its position, and the number of devices."""

    here: Sequence[int]
    there: Sequence[int]
    along: int
    position: Expr
    n: int


Law = Callable[[_Ends], _There]


def _same(ends: _Ends) -> _There:
    """all-reduce: the same element everywhere."""
    return _There(dim_exprs(len(ends.here)))


def _whole_to_part(ends: _Ends) -> _There:
    """Element d of the whole is d mod size of part d div size."""
    indices, size = dim_exprs(len(ends.here)), ends.there[ends.along]
    indices[ends.along] = indices[ends.along] % size
    return _There(indices, Expr.dim(ends.along) // size)


def _part_to_whole(ends: _Ends) -> _There:
    """Element d of part p is d + p * size of the whole, which each device has."""
    indices = dim_exprs(len(ends.here))
    indices[ends.along] = indices[ends.along] + ends.position * ends.here[ends.along]
    return _There(indices)


def _exchanged(ends: _Ends) -> _There:
    """Part q at position p is part p at position q."""
    indices, size = dim_exprs(len(ends.here)), ends.here[ends.along] // ends.n
    indices[ends.along] = indices[ends.along] % size + ends.position * size
    return _There(indices, Expr.dim(ends.along) // size)


def _from_source(ends: _Ends) -> _There:
    return _There(dim_exprs(len(ends.here)), Expr.constant(0), (1, 1))


def _to_target(ends: _Ends) -> _There:
    return _There(dim_exprs(len(ends.here)), Expr.constant(1), (0, 0))


def _from_first(ends: _Ends) -> _There:
    return _There(dim_exprs(len(ends.here)), Expr.constant(0))


def _to_each(ends: _Ends) -> _There:
    return _There(dim_exprs(len(ends.here)), None, (0, 0))


def _crossing(between: int, to: int) -> Law:
    """all-to-all of a tuple: output j at position k is operand k at position j."""
    return lambda ends: _There(dim_exprs(len(ends.here)), Expr.constant(to), (between, between))


def _joint(law: Law, here: Sequence[int], there: Sequence[int], along: int, table: Table) -> Footprint:
    """A map for each run of groups of one size."""
    maps = []
    rank = len(here)
    for groups, n in table.runs():
        said = law(_Ends(here, there, along, Expr.dim(rank + 1), n))
        each = said.position is None and n > 1
        position = said.position if said.position is not None else Expr.range(0) if each else Expr.constant(0)
        maps.append(
            IndexingMap(
                [*full(here), ("group", *groups), ("position", *(said.of or (0, n - 1)))],
                [*said.indices, Expr.dim(rank), position],
                ranges=[(0, n - 1)] if each else [],
            ).simplify(keep_point_dims=True)
        )
    return Footprint(tuple(((), m) for m in maps), across=True)


def _plain(joint: Footprint, table: Table) -> Footprint:
    """The same without group and position, which may be any; a device alone in its group is not across."""
    maps = dict.fromkeys((leaf, _without_device(m)) for leaf, m in joint.maps)
    return Footprint(tuple(maps), across=any(n > 1 for _, n in table.runs()))


def _without_device(m: IndexingMap) -> IndexingMap:
    rank, n = len(m.dims) - 2, len(m.ranges)
    dims = [*dim_exprs(rank), Expr.range(n), Expr.range(n + 1)]
    made = IndexingMap(
        m.dims[:rank],
        [e.substitute(dims=dims) for e in m.results[:-2]],
        ranges=[*m.ranges, *((v.lower, v.upper) for v in m.dims[rank:])],
        constraints=[(c.expr.substitute(dims=dims), c.lower, c.upper) for c in m.constraints],
    )
    return made.simplify(keep_point_dims=True, drop_unused=True)


# ----------------------------------------------------------------------------------------------- results and operands

_STARTS = ("all-gather-start", "collective-permute-start")


def _result_leaf(instruction: Instruction, leaf: Leaf) -> int | None:
    """Which result a leaf of the output belongs to; None for the rest of what the start of one gives."""
    if instruction.opcode in _STARTS:
        if leaf[0] != 1:
            return None
        leaf = leaf[1:]
    return leaf[0] if leaf else 0


def _leaf_of(instruction: Instruction, result: int) -> Leaf:
    """Where a result lies in the output."""
    if instruction.opcode in _STARTS:
        return (1, result) if len(instruction.operands) > 1 else (1,)
    return (result,) if instruction.shape.is_tuple else ()


def _along(instruction: Instruction, rank: int) -> int:
    (along,) = instruction.attributes["dimensions"]
    must(0 <= along < rank, f"dimension {along} of {rank}")
    return int(along)


def _cut(instruction: Instruction, law: Law, here: Sequence[int], there: Sequence[int]) -> tuple[int, int | None]:
    """The dimension that a law cuts, and in how many parts where the shapes say it."""
    if law not in (_whole_to_part, _part_to_whole):
        agree(here, there, "an output")
        return (_along(instruction, len(here)) if law is _exchanged else 0), None
    whole, part = (here, there) if law is _whole_to_part else (there, here)
    along = _along(instruction, len(whole))
    must(part[along] > 0 and whole[along] % part[along] == 0, f"{whole[along]} elements in parts of {part[along]}")
    agree((*whole[:along], part[along], *whole[along + 1 :]), part, "a part")
    return along, whole[along] // part[along]


def _sizes_alone(instruction: Instruction, n: int | None) -> Table | None:
    """Groups of the sizes that the instruction says, whatever else the module is."""
    if "source_target_pairs" in instruction.attributes:
        return Table("", [(0, 1)] if instruction.attributes["source_target_pairs"] else [])
    sizes = group_sizes(instruction) if n is None else {n}
    return Table("", [tuple(range(size)) for size in sorted(sizes)]) if sizes else None


def _part(instruction: Instruction, law: Law, here: Sequence[int], there: Sequence[int], table: Table | None) -> Part:
    along, n = _cut(instruction, law, here, there)
    if table is not None:
        return _joint(law, here, there, along, table)
    table = _sizes_alone(instruction, n)
    if table is None and law is not _exchanged:
        table = Table("", [(0, 1)])
    if table is None:
        any_place = dim_exprs(len(here))
        any_place[along] = Expr.range(0)
        whole = reads(full(here), any_place, ranges=[(0, here[along] - 1)])
        return Footprint(whole.maps, False, "how many devices there are is not said", across=True)
    for _, size in table.runs() if law is _exchanged else ():
        must(here[along] % size == 0, f"{here[along]} elements in {size} parts")
    return _plain(_joint(law, here, there, along, table), table)


Pick = Callable[[Instruction, int, int], Law | None]
"""The law between a result and an operand, by their numbers."""


def _groups(instruction: Instruction) -> Table | Unknown:
    """The table, where it has the sizes that the shapes say."""
    if "source_target_pairs" in instruction.attributes:
        return pairs_of(instruction)
    n = len(instruction.operands) if _is_crossing(instruction) else None
    if instruction.opcode.startswith(("all-gather", "reduce-scatter")):
        a = n_elements(instruction.operands[0].shape.dimensions)
        b = n_elements(shape_at(instruction.shape, _leaf_of(instruction, 0)).dimensions)
        n = max(a, b) // min(a, b) if a and b else None
    table = table_of(instruction, n)
    if isinstance(table, Table) and n is not None and any(size != n for _, size in table.runs()):
        return Unknown(f"groups of other sizes than the {n} of the shapes")
    return table


def _register(opcode: str, to_input: Pick, to_output: Pick, evaluate: Evaluate) -> None:
    def backward(instruction: Instruction, leaf: Leaf, table: Table | None) -> dict[int, Part]:
        sizes = shape_at(instruction.shape, leaf).dimensions
        result = _result_leaf(instruction, leaf)
        if result is None:
            given = leaf[1] if leaf[0] == 0 and len(leaf) > 1 else 0
            return {given: reads_same_place(sizes)} if leaf[0] == 0 else {}
        laws = ((k, to_input(instruction, result, k)) for k in range(len(instruction.operands)))
        return {
            k: _part(instruction, law, sizes, instruction.operands[k].shape.dimensions, table)
            for k, law in laws
            if law is not None
        }

    def forward(instruction: Instruction, operand: int, leaf: Leaf, table: Table | None) -> dict[int, Part]:
        sizes = instruction.operands[operand].shape.dimensions
        parts: dict[int, Part] = {}
        if opcode in _STARTS:
            parts[0] = reads_same_place(sizes).at((0, operand) if len(instruction.operands) > 1 else (0,))
        for result in range(len(instruction.operands)):
            law = to_output(instruction, result, operand)
            if law is not None:
                there = _leaf_of(instruction, result)
                part = _part(instruction, law, sizes, shape_at(instruction.shape, there).dimensions, table)
                parts[there[0] if there else 0] = part if isinstance(part, Unknown) else part.at(there)
        return parts

    def joined(instruction: Instruction) -> Table:
        table = _groups(instruction)
        assert isinstance(table, Table), "asked where the groups are known"
        return table

    register(
        Op(
            opcode,
            lambda instruction, leaf, context: backward(instruction, leaf, None),
            lambda instruction, operand, leaf, context: forward(instruction, operand, leaf, None),
            evaluate,
            acts=True,
            methods=("all_reduce", "cross_replica_sum") if opcode == "all-reduce" else (),
            exchange=Exchange(
                _groups,
                lambda instruction, leaf: backward(instruction, leaf, joined(instruction)),
                lambda instruction, operand, leaf: forward(instruction, operand, leaf, joined(instruction)),
            ),
        )
    )


def _own(law: Law) -> Pick:
    """Each result belongs to its own operand alone."""
    return lambda instruction, result, operand: law if result == operand else None


def _is_crossing(instruction: Instruction) -> bool:
    return instruction.opcode.startswith("all-to-all") and instruction.shape.is_tuple


def _exchange_to_input(instruction: Instruction, result: int, operand: int) -> Law | None:
    return _crossing(operand, result) if _is_crossing(instruction) else _exchanged


def _exchange_to_output(instruction: Instruction, result: int, operand: int) -> Law | None:
    return _crossing(result, operand) if _is_crossing(instruction) else _exchanged


def _ragged_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The output operand at the same place; rows of the input and all the numbers may matter."""
    sizes = instruction.shape.dimensions
    parts: list[Part] = []
    for k, operand in enumerate(instruction.operands):
        part = reads_same_place(sizes) if k == 1 else reads_all(sizes, operand.shape.dimensions)
        parts.append(Footprint(part.maps, False, "offsets and sizes are values", across=k != 1))
    return parts


def _ragged_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    sizes = instruction.operands[operand].shape.dimensions
    part = reads_same_place(sizes) if operand == 1 else reads_all(sizes, instruction.shape.dimensions)
    return [Footprint(part.maps, False, "offsets and sizes are values", across=operand != 1)]


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


for _opcode, _to_input, _to_output, _evaluate in (
    ("all-reduce", _same, _same, _all_reduce),
    ("all-reduce-start", _same, _same, _all_reduce),
    ("all-gather", _whole_to_part, _part_to_whole, _all_gather),
    ("all-gather-start", _whole_to_part, _part_to_whole, _all_gather),
    ("reduce-scatter", _part_to_whole, _whole_to_part, _reduce_scatter),
    ("collective-permute", _from_source, _to_target, _permute),
    ("collective-permute-start", _from_source, _to_target, _permute),
    ("collective-broadcast", _from_first, _to_each, _broadcast),
):
    _register(_opcode, _own(_to_input), _own(_to_output), _evaluate)
_register("all-to-all", _exchange_to_input, _exchange_to_output, _all_to_all)
register(Op("ragged-all-to-all", _ragged_to_input, _ragged_to_output, _ragged_all_to_all, acts=True))
