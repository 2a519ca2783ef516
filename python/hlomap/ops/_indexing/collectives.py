"""From the law of a collective operation to its rules: maps with group and position, and plain ones without.

Read :class:`Transfer` and :func:`collective_rules` first.  The plain map leads to the element on some device of the
group. It depends on the instruction alone; the table of groups may depend on the module, so device maps are made when
asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from ..._core import Expr, IndexingMap, Instruction, Variable
from ...maps.device_groups import GroupTable
from ...types import ShapeIndex, Unknown
from .._attributes import split_dimension
from .._rule import Bounds, CollectiveRule, ExprLike, Footprint, InputToOutput, OperandIndexing, OutputToInput
from .._shapes import n_elements, require, require_sizes, shape_at
from .device_groups import group_sizes, group_table, pair_table
from .maps import dim_exprs, full_bounds, identity_map, single_map

ALL_POSITIONS: Final = None
"""Every position of the group."""


class Peer(NamedTuple):
    """What belongs to an element: these indices at a position, or at each; for positions of the element in bounds."""

    indices: Sequence[ExprLike]
    position: ExprLike | None
    of: Bounds | None = None


class ElementOnDevice(NamedTuple):
    """Of an element its rank, its index in the dimension that is cut, and its position; the size of a part."""

    rank: int
    along: int
    position: Expr
    size: int

    @property
    def cut(self) -> Expr:
        return Expr.dim(self.along)

    def replaced(self, index: Expr) -> list[Expr]:
        """The element's indices, with this one in the dimension that is cut."""
        indices = dim_exprs(self.rank)
        indices[self.along] = index
        return indices


@dataclass(frozen=True)
class Transfer:
    """From an element at a position to what belongs to it; ``whole``: on which side arrays are whole, cut on the other.

    ``both`` are cut in as many parts as the group has devices.
    """

    rule: Callable[[ElementOnDevice], Peer]
    whole: Literal["here", "there", "both"] | None = None

    @staticmethod
    def cutting(whole: Literal["here", "there", "both"]) -> Callable[[Callable[[ElementOnDevice], Peer]], Transfer]:
        return lambda rule: Transfer(rule, whole)


TransferOf = Callable[[Instruction, int, int], Transfer | None]
"""The law between a result and an operand, by their numbers."""

_STARTS = ("all-gather-start", "collective-permute-start")


class CollectiveIndexing(NamedTuple):
    """The rules of a collective operation, without the devices and with them."""

    output_to_input: OutputToInput
    input_to_output: InputToOutput
    collective: CollectiveRule


def collective_rules(
    opcode: str, to_input: Transfer | TransferOf, to_output: Transfer | TransferOf
) -> CollectiveIndexing:
    """The rules of an operation whose results follow laws, each from its own operand or as picked."""
    back, forth = _picked(to_input), _picked(to_output)

    def backward(instruction: Instruction, leaf: ShapeIndex, table: GroupTable | None) -> dict[int, OperandIndexing]:
        sizes = shape_at(instruction.shape, leaf).dimensions
        result = _result_at(instruction, leaf)
        if result is None:
            given = leaf[1] if leaf[0] == 0 and len(leaf) > 1 else 0
            return {given: identity_map(sizes)} if leaf[0] == 0 else {}
        laws = ((k, back(instruction, result, k)) for k in range(len(instruction.operands)))
        return {
            k: _part(instruction, law, sizes, instruction.operands[k].shape.dimensions, table)
            for k, law in laws
            if law is not None
        }

    def forward(
        instruction: Instruction, operand: int, leaf: ShapeIndex, table: GroupTable | None
    ) -> dict[int, OperandIndexing]:
        sizes = instruction.operands[operand].shape.dimensions
        parts: dict[int, OperandIndexing] = {}
        if opcode in _STARTS:
            parts[0] = identity_map(sizes).at((0, operand) if len(instruction.operands) > 1 else (0,))
        for result in range(len(instruction.operands)):
            law = forth(instruction, result, operand)
            if law is not None:
                there = _leaf_of(instruction, result)
                part = _part(instruction, law, sizes, shape_at(instruction.shape, there).dimensions, table)
                parts[there[0] if there else 0] = part if isinstance(part, Unknown) else part.at(there)
        return parts

    def groups(instruction: Instruction) -> GroupTable | Unknown:
        return groups_of(instruction, _n_of_shapes(instruction, back(instruction, 0, 0)))

    return CollectiveIndexing(
        lambda instruction, leaf, context: backward(instruction, leaf, None),
        lambda instruction, operand, leaf, context: forward(instruction, operand, leaf, None),
        CollectiveRule(
            groups,
            lambda instruction, leaf: backward(instruction, leaf, known(groups(instruction))),
            lambda instruction, operand, leaf: forward(instruction, operand, leaf, known(groups(instruction))),
        ),
    )


def _picked(law: Transfer | TransferOf) -> TransferOf:
    if isinstance(law, Transfer):
        own = law
        return lambda instruction, result, operand: own if result == operand else None
    return law


def known(table: GroupTable | Unknown) -> GroupTable:
    assert isinstance(table, GroupTable), "asked where the groups are known"
    return table


def groups_of(instruction: Instruction, n: int | None) -> GroupTable | Unknown:
    """The table, where its groups have the ``n`` devices that the shapes say."""
    if "source_target_pairs" in instruction.attributes:
        return pair_table(instruction)
    table = group_table(instruction, n)
    if isinstance(table, GroupTable) and n is not None and any(size != n for _, size in table.runs()):
        return Unknown(f"groups of other sizes than the {n} of the shapes")
    return table


def _n_of_shapes(instruction: Instruction, law: Transfer | None) -> int | None:
    """How many devices a group has, where the shapes say it: as many as there are parts."""
    if instruction.shape.is_tuple and (law is None or law.whole is None) and instruction.opcode.startswith("all-to"):
        return len(instruction.operands)
    if law is None or law.whole not in ("here", "there"):
        return None
    a = n_elements(instruction.operands[0].shape.dimensions)
    b = n_elements(shape_at(instruction.shape, _leaf_of(instruction, 0)).dimensions)
    return max(a, b) // min(a, b) if a and b else None


def _result_at(instruction: Instruction, leaf: ShapeIndex) -> int | None:
    """Which result a leaf of the output belongs to; None for the rest of what the start of one gives."""
    if instruction.opcode in _STARTS:
        if leaf[0] != 1:
            return None
        leaf = leaf[1:]
    return leaf[0] if leaf else 0


def _leaf_of(instruction: Instruction, result: int) -> ShapeIndex:
    """Where a result lies in the output."""
    if instruction.opcode in _STARTS:
        return (1, result) if len(instruction.operands) > 1 else (1,)
    return (result,) if instruction.shape.is_tuple else ()


# --------------------------------------------------------------------------------------------------------------- maps


def _part(
    instruction: Instruction, law: Transfer, here: Sequence[int], there: Sequence[int], table: GroupTable | None
) -> OperandIndexing:
    """The maps of a law for the groups of a table, or the plain ones."""
    along, n = _cut(instruction, law, here, there)
    if table is not None:
        return _joint(law, here, there, along, table)
    alone = _sizes_alone(instruction, n)
    if alone is None and law.whole == "both":
        any_place = dim_exprs(len(here))
        any_place[along] = Expr.range(0)
        maps = single_map(full_bounds(here), any_place, ranges=[(0, here[along] - 1)]).maps
        return Footprint(maps, False, "how many devices there are is not said", crosses_devices=True)
    if alone is None:
        alone = GroupTable("", [(0, 1)])
    return plain(_joint(law, here, there, along, alone), alone)


def _cut(instruction: Instruction, law: Transfer, here: Sequence[int], there: Sequence[int]) -> tuple[int, int | None]:
    """The dimension that a law cuts, and in how many parts where the shapes say it."""
    if law.whole in (None, "both"):
        require_sizes(here, there, "an output")
        return (split_dimension(instruction, len(here)) if law.whole else 0), None
    whole, part = (here, there) if law.whole == "here" else (there, here)
    along = split_dimension(instruction, len(whole))
    require(part[along] > 0 and whole[along] % part[along] == 0, f"{whole[along]} elements in parts of {part[along]}")
    require_sizes((*whole[:along], part[along], *whole[along + 1 :]), part, "a part")
    return along, whole[along] // part[along]


def _sizes_alone(instruction: Instruction, n: int | None) -> GroupTable | None:
    """Groups of the sizes that the instruction says, whatever else the module is."""
    if "source_target_pairs" in instruction.attributes:
        return GroupTable("", [(0, 1)] if instruction.attributes["source_target_pairs"] else [])
    sizes = group_sizes(instruction) if n is None else {n}
    return GroupTable("", [range(size) for size in sorted(sizes)]) if sizes else None


def _joint(law: Transfer, here: Sequence[int], there: Sequence[int], along: int, table: GroupTable) -> Footprint:
    """A map with group and position for each run of groups of one size."""
    maps: list[tuple[ShapeIndex, IndexingMap]] = []
    rank = len(here)
    for groups, n in table.runs():
        if law.whole == "both":
            require(here[along] % n == 0, f"{here[along]} elements in {n} parts")
        size = 0 if law.whole is None else there[along] if law.whole == "here" else here[along]
        said = law.rule(ElementOnDevice(rank, along, Expr.dim(rank + 1), size // n if law.whole == "both" else size))
        each = said.position is ALL_POSITIONS and n > 1
        position = said.position if said.position is not ALL_POSITIONS else Expr.range(0) if each else 0
        ends = [*said.indices, Expr.dim(rank), position]
        made = on_devices(here, groups, said.of or (0, n - 1), ends, ranges=[(0, n - 1)] if each else [])
        maps.append(((), made.simplify(keep_point_dims=True)))
    return Footprint(tuple(maps), crosses_devices=True)


def on_devices(
    sizes: Sequence[int],
    groups: Bounds,
    positions: Bounds,
    results: Sequence[ExprLike],
    *,
    ranges: Sequence[Bounds] = (),
    runtime: Sequence[Variable] = (),
    constraints: Sequence[tuple[Expr, int, int]] = (),
) -> IndexingMap:
    """A map from the elements of an array on the devices of some groups."""
    places: list[tuple[str, int, int]] = [("group", *groups), ("position", *positions)]
    return IndexingMap([*full_bounds(sizes), *places], results, ranges=ranges, runtime=runtime, constraints=constraints)


def plain(joint: Footprint, table: GroupTable) -> Footprint:
    """The same without group and position, which may be any; a device alone in its group is not across."""
    maps = dict.fromkeys((leaf, _without_device(m)) for leaf, m in joint.maps)
    return Footprint(tuple(maps), crosses_devices=any(n > 1 for _, n in table.runs()))


def _without_device(m: IndexingMap) -> IndexingMap:
    rank, n = len(m.dims) - 2, len(m.ranges)
    dims = [*dim_exprs(rank), Expr.range(n), Expr.range(n + 1)]
    runtime = [
        Variable(None, v.lower, v.upper, source=v.source, index=[e.substitute(dims=dims) for e in v.index[:-2]])
        for v in m.runtime
    ]
    return IndexingMap(
        m.dims[:rank],
        [e.substitute(dims=dims) for e in m.results[:-2]],
        ranges=[*m.ranges, *((v.lower, v.upper) for v in m.dims[rank:])],
        runtime=runtime,
        constraints=[(c.expr.substitute(dims=dims), c.lower, c.upper) for c in m.constraints],
    ).simplify(keep_point_dims=True, drop_unused=True)
