"""Rules whose maps lead from an element on a device to an element on a device.

The compiled propagation is the same as without devices; only the rules differ: group and position are two more
dimensions and results of every map, for one table of groups.  Such a propagation runs only if the plain propagation
crosses devices, and requires one table for all collectives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from .._core import (
    Computation,
    IndexingMap,
    Instruction,
    InstructionIndexing,
    RuleCache,
    checked_rule,
)
from ..base.answers import Unknown
from ..base.types import ShapeIndex
from ..hlo.order import callees, reachable
from ..maps.device_groups import (
    NO_COMMON_GROUP,
    GroupTable,
    common_table,
    lift_to_devices,
    lists_each_device_once,
    rewrite_for_table,
)
from ..ops import op_of
from ..ops._indexing.maps import by_number
from ..ops._rule import CollectiveRule, Footprint, OperandIndexing, RuleResult, RuleTraits
from ..ops._shapes import shape_at
from .questions import Questions


def device_questions(questions: Questions, subjects: Iterable[Instruction | Computation]) -> DeviceQuestions | Unknown:
    """The rules between devices for the table of all collective operations in ``subjects`` and in their callees.

    If the tables differ, or a device has several positions in a table that several collectives use, all devices
    become one group.  Unknown if that is not possible.
    """
    tables: list[GroupTable] = []
    own = [i for one in subjects for i in ([one] if isinstance(one, Instruction) else one.instructions)]
    below = reachable((called for instruction in own for called in instruction.called_computations), callees)
    for instruction in (*own, *(instruction for computation in below for instruction in computation.instructions)):
        collective = op_of(instruction).maps.collective
        groups = collective.groups(instruction) if collective is not None else None
        if isinstance(groups, Unknown):
            return groups
        if groups is not None:
            tables.append(groups)
    if not tables:
        return Unknown("no groups of devices were found")
    common = common_table(tables)
    return Unknown(NO_COMMON_GROUP) if common is None else DeviceQuestions(questions, common)


class DeviceQuestions(Questions):
    """Questions about the elements on devices, by rules between the devices of one table of groups.

    Results depend on the table, so they are not cached for other queries.
    """

    cache: RuleCache | None = None
    reads: RuleCache = RuleCache()

    def __new__(cls, plain: Questions, table: GroupTable) -> DeviceQuestions:
        each_once = lists_each_device_once(table)
        return super().__new__(cls, plain.module, plain=plain, runs=table.runs(), each_once=each_once)

    def __init__(self, plain: Questions, table: GroupTable) -> None:
        super().__init__(plain.module)
        self.shares_computations: bool = plain.shares_computations
        self.table = table
        self._plain = plain

    def traits(self, instruction: Instruction) -> RuleTraits:
        """Those of the plain rules."""
        return self._plain.traits(instruction)

    def rule(self, instruction: Instruction, index: ShapeIndex, direction: int) -> InstructionIndexing:
        """The rule of a collective operation with its groups; any other rule, lifted to every device."""
        plain = self._plain.rule(instruction, index, direction).parts
        value = instruction if direction < 0 else instruction.operands[direction]
        rank = shape_at(self.shape_of(value), index).rank
        arguments = (instruction, index, direction)
        found = checked_rule(*arguments, self._parts, *arguments, plain, rank, on_devices=True)
        if found.parts.keys() <= plain.keys():
            return found
        # A failed rule is unknown for all operands, but operands that the plain rule does not read stay unread.
        parts = {k: part for k, part in found.parts.items() if k in plain}
        return InstructionIndexing(instruction, index, direction, parts, on_devices=True)

    def _parts(
        self,
        instruction: Instruction,
        index: ShapeIndex,
        direction: int,
        plain: Mapping[int, OperandIndexing],
        rank: int,
    ) -> RuleResult:
        op = op_of(instruction)
        crossing = {k for k, part in plain.items() if isinstance(part, Footprint) and part.crosses_devices}
        parts: Mapping[int, OperandIndexing]
        if op.maps.collective is not None:
            parts = self._collective(op.maps.collective, instruction, index, direction, rank)
        elif op.calls.forwards and crossing:
            if direction < 0:
                result = op.maps.output_to_input(instruction, index, self)
            else:
                result = op.maps.input_to_output(instruction, direction, index, self)
            followed = by_number(result)
            parts = {k: followed.get(k, Unknown("not followed")) for k in plain}
        else:
            no_rule = Unknown(f"{instruction.opcode} has no rule with devices")
            parts = {k: no_rule if k in crossing else part for k, part in plain.items()}
        # Adds group and position to the maps that lack them.
        return {
            k: _rewritten(part, lambda m: lift_to_devices(m, self.table) if len(m.dims) == rank else [m])
            for k, part in parts.items()
        }

    def _collective(
        self, rule: CollectiveRule, instruction: Instruction, index: ShapeIndex, direction: int, rank: int
    ) -> Mapping[int, OperandIndexing]:
        """The maps of a collective operation, from its own groups to those of the table."""
        table = rule.groups(instruction)
        known = None if isinstance(table, Unknown) else table
        parts = rule.maps(instruction, index, direction, known, self)
        if isinstance(table, Unknown):
            return dict.fromkeys(parts, table)
        return {
            k: _rewritten(part, lambda m: [m] if len(m.dims) == rank else rewrite_for_table(m, table, self.table))
            for k, part in parts.items()
        }


def _rewritten(part: OperandIndexing, rewrite: Callable[[IndexingMap], list[IndexingMap] | None]) -> OperandIndexing:
    """The part with other maps in place of each; unknown if there are none."""
    if isinstance(part, Unknown):
        return part
    maps: list[tuple[ShapeIndex, IndexingMap]] = []
    for index, m in part.maps:
        found = rewrite(m)
        if found is None:
            return Unknown(NO_COMMON_GROUP)
        maps += [(index, each) for each in found]
    return part.of(maps)
