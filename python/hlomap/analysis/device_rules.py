"""From element and device to element and device, through computations in which devices exchange arrays.

Read :class:`DeviceWalk` first.  It follows the same rules as :mod:`hlomap.analysis.rule_provider`, with group and
position behind every index, and for one table of groups; it is asked only where a plain walk has found that elements
are on other devices.  What it cannot follow is unknown, never left out: the plain maps are there in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from .._core import Computation, IndexingMap, Instruction, Module, Shape
from ..errors import HlomapError
from ..maps.device_groups import GroupTable
from ..maps.device_indexing import (
    NO_COMMON_GROUP,
    DeviceIndexing,
    all_as_one,
    each_once,
    in_one_group,
    lifted,
    same_groups,
)
from ..maps.map_set import MapSet, not_followed
from ..ops import op_of
from ..ops._rule import NOTHING, Footprint, OperandIndexing, RuleResult
from ..ops._shapes import n_outputs, shape_at
from ..types import ShapeIndex, Unknown
from .physical import compose_all
from .rule_provider import Walker
from .sources import sources_of, with_sources
from .toposort import reverse_postorder

__all__ = ["devices_backward", "devices_forward", "devices_within", "goes_across"]

MAX_MAPS = 128  # of one value; of more nothing is said

_DEEPEST = 16
_OF_A_CALL = 5 << 60  # numbers of the values inside a computation that is called several times
_MANY = 4096  # instructions that are looked through for groups

Parts = Mapping[int, OperandIndexing]


def devices_backward(
    walker: Walker, asked: Instruction | Computation, leaf: ShapeIndex
) -> Callable[[int], DeviceIndexing]:
    """For each operand or parameter, on which devices it belongs to a leaf of the output."""
    return _answered(
        walker,
        [asked],
        lambda walk: (
            walk.ask_backward(asked, leaf) if isinstance(asked, Instruction) else walk.through_backward(asked, leaf)
        ),
    )


def devices_forward(
    walker: Walker, asked: Instruction | Computation, operand: int, leaf: ShapeIndex
) -> Callable[[int], DeviceIndexing]:
    """For each output, on which devices it belongs to a leaf of an operand or parameter."""
    return _answered(
        walker,
        [asked],
        lambda walk: (
            walk.ask_forward(asked, operand, leaf)
            if isinstance(asked, Instruction)
            else walk.through_forward(asked, operand, leaf)
        ),
    )


def devices_within(
    walker: Walker, start: Instruction, leaves: Iterable[ShapeIndex], inside: Iterable[Instruction]
) -> Callable[[Instruction], DeviceIndexing]:
    """For each value, on which devices it belongs to the leaves of ``start``; followed through ``inside`` alone."""
    region = list(inside)
    table = _table(region)
    if isinstance(table, str):
        return lambda instruction: not_followed(table)
    walk = DeviceWalk(walker, start.module, *table)
    found = walk.states(start, leaves, {instruction.number for instruction in region})

    def of(instruction: Instruction) -> DeviceIndexing:
        state = found.get(instruction.number)
        return not_followed("not reached from device to device") if state is None else walk.devices(state.part())

    return of


def _answered(
    walker: Walker, asked: Sequence[Instruction | Computation], ask: Callable[[DeviceWalk], Parts]
) -> Callable[[int], DeviceIndexing]:
    table = _table(asked)
    if isinstance(table, str):
        return lambda number: not_followed(table)
    walk = DeviceWalk(walker, asked[0].module, *table)
    try:
        parts = ask(walk)
    except (HlomapError, OverflowError) as error:
        reason = str(error)
        return lambda number: not_followed(reason)
    return lambda number: walk.devices(parts.get(number, NOTHING))


def _table(asked: Iterable[Instruction | Computation]) -> tuple[GroupTable, bool] | str:
    """The one table that all exchanges in these, and in what they call, have, and whether it is that of all devices.

    That is so where tables differ, or where a device may be left twice and is in a table twice.
    """
    found: list[GroupTable] = []
    seen: set[int] = set()
    waiting = list(asked)
    while waiting and len(seen) < _MANY:
        here = waiting.pop()
        inside = [here] if isinstance(here, Instruction) else here.instructions
        for instruction in inside:
            exchange = op_of(instruction).collective
            groups = exchange.groups(instruction) if exchange is not None else None
            if isinstance(groups, Unknown):
                return groups.reason
            if groups is not None:
                found.append(GroupTable(groups.ids, groups.groups))
            for computation in instruction.called_computations:
                if computation.number not in seen:
                    seen.add(computation.number)
                    waiting.append(computation)
    if not found or waiting:
        return "no groups of devices were found"
    first = found[0]
    if all(same_groups(table, first) for table in found) and (len(found) == 1 or each_once(first)):
        return first, False
    wide = all_as_one(found)
    return NO_COMMON_GROUP if wide is None else (wide, True)


class _State:
    """The maps of one value by leaf, each with group and position, and what is not known."""

    def __init__(self) -> None:
        self.maps: dict[tuple[ShapeIndex, IndexingMap], None] = {}
        self.unknown: str | None = None
        self.exact = True
        self.reason: str | None = None
        self.crosses_devices = False

    def part(self) -> OperandIndexing:
        if self.unknown is not None:
            return Unknown(self.unknown)
        return Footprint(tuple(self.maps), self.exact, self.reason, self.crosses_devices)

    def by_leaf(self) -> list[tuple[ShapeIndex, list[IndexingMap]]]:
        leaves: dict[ShapeIndex, list[IndexingMap]] = {}
        for leaf, m in self.maps:
            leaves.setdefault(leaf, []).append(m)
        return list(leaves.items())

    def not_known(self, reason: str | None) -> None:
        self.unknown = self.unknown or reason

    def add(self, part: OperandIndexing, before: _State, begun: Sequence[IndexingMap]) -> None:
        """What a rule says, after the maps with which it was reached."""
        if isinstance(part, Unknown) or before.unknown is not None:
            self.not_known(part.reason if isinstance(part, Unknown) else before.unknown)
            return
        self.exact = self.exact and part.exact and before.exact
        self.reason = self.reason or part.reason or before.reason
        self.crosses_devices = self.crosses_devices or part.crosses_devices or before.crosses_devices
        pairs = [(m, then) for m in begun for _, then in part.maps]
        leaves = [leaf for _ in begun for leaf, _ in part.maps]
        for leaf, m in zip(leaves, compose_all(pairs), strict=True):
            if isinstance(m, Unknown):
                self.not_known(m.reason)
            elif not m.is_known_empty:
                self.maps[leaf, m] = None
        if len(self.maps) > MAX_MAPS:
            self.not_known("too many maps")


class DeviceWalk:
    """A walk with devices, for one table; the context of rules that only pass on what a computation says."""

    def __init__(self, walker: Walker, module: Module, table: GroupTable, is_wide: bool) -> None:
        self._walker = walker
        self._module = module
        self._is_wide = is_wide
        self._table = table
        self._each_once = each_once(table)
        self._depth = 0
        self._of_calls: dict[tuple[int, int], int] = {}
        self._asked: dict[tuple[int, int, ShapeIndex], Parts] = {}

    def devices(self, part: OperandIndexing) -> DeviceIndexing:
        if isinstance(part, Unknown):
            return not_followed(part.reason)
        maps = [m._placed(leaf, None, self._suppliers(m)) for leaf, m in part.maps]
        return DeviceIndexing(self._table.ids, self._table.groups, MapSet(maps, exact=part.exact, reason=part.reason))

    # One instruction.

    def ask_backward(self, instruction: Instruction, leaf: ShapeIndex) -> Parts:
        plain = self._walker.backward(instruction, leaf)
        rank = shape_at(self._walker.shape_of(instruction), leaf).rank
        op = op_of(instruction)
        if op.collective is not None:
            exchange = op.collective
            return self._exchanged(instruction, plain, lambda: exchange.output_to_input(instruction, leaf), rank)
        if op.forwards_calls and goes_across(plain):
            return self._passed_on(op.output_to_input(instruction, leaf, self), plain, rank)
        return {k: self._stays(instruction, part, rank) for k, part in plain.items()}

    def ask_forward(self, instruction: Instruction, operand: int, leaf: ShapeIndex) -> Parts:
        plain = self._walker.forward(instruction, operand, leaf)
        rank = shape_at(self._walker.shape_of(instruction.operands[operand]), leaf).rank
        op = op_of(instruction)
        if op.collective is not None:
            exchange = op.collective
            return self._exchanged(
                instruction, plain, lambda: exchange.input_to_output(instruction, operand, leaf), rank
            )
        if op.forwards_calls and goes_across(plain):
            return self._passed_on(op.input_to_output(instruction, operand, leaf, self), plain, rank)
        return {k: self._stays(instruction, part, rank) for k, part in plain.items()}

    def _exchanged(self, instruction: Instruction, plain: Parts, rule: Callable[[], Parts], rank: int) -> Parts:
        """Where groups and shapes do not go together, what the plain walk has found is not known here."""
        try:
            said = rule()
        except (HlomapError, ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
            return {k: Unknown(f"{instruction.opcode}: {error}") for k in plain}
        numbers = {k: operand.number for k, operand in enumerate(instruction.operands)}
        parts = {k: with_sources(part, numbers) for k, part in said.items()}
        return {k: self._lifted(self._widened(instruction, part, rank), rank) for k, part in parts.items()}

    def _widened(self, instruction: Instruction, part: OperandIndexing, rank: int) -> OperandIndexing:
        """From the operation's own groups to all devices as one, where that is the table."""
        exchange = op_of(instruction).collective
        if not self._is_wide or isinstance(part, Unknown) or exchange is None:
            return part
        groups = exchange.groups(instruction)
        maps: list[tuple[ShapeIndex, IndexingMap]] = []
        for leaf, m in part.maps:
            wide = [m] if len(m.dims) == rank else None
            if wide is None and not isinstance(groups, Unknown):
                wide = in_one_group(m, GroupTable(groups.ids, groups.groups), len(self._table.groups[0]))
            if wide is None:
                return Unknown(NO_COMMON_GROUP)
            maps += [(leaf, moved) for moved in wide]
        return part.of(maps)

    def _passed_on(self, said: RuleResult, plain: Parts, rank: int) -> Parts:
        """Where the plain walk finds something, a computation that was followed with devices has said it."""
        parts = dict(said) if isinstance(said, Mapping) else dict(enumerate(said))
        return {k: self._lifted(parts.get(k, Unknown("not followed")), rank) for k in plain}

    def _stays(self, instruction: Instruction, part: OperandIndexing, rank: int) -> OperandIndexing:
        if isinstance(part, Footprint) and part.crosses_devices:
            return Unknown(f"{instruction.opcode} does not say to which devices it goes")
        return self._lifted(part, rank)

    def _lifted(self, part: OperandIndexing, rank: int) -> OperandIndexing:
        """With group and position behind the indices, where they are not there already."""
        if isinstance(part, Unknown):
            return part
        maps: list[tuple[ShapeIndex, IndexingMap]] = []
        for leaf, m in part.maps:
            maps += [(leaf, above) for above in (lifted(m, self._table) if len(m.dims) == rank else [m])]
        return part.of(maps)

    # Computations.

    def shape_of(self, instruction: Instruction) -> Shape:
        return self._walker.shape_of(instruction)

    def output_to_input(self, instruction: Instruction, computation: Computation, leaf: ShapeIndex) -> Parts:
        return self._outside(instruction, computation, self.through_backward(computation, leaf))

    def input_to_output(
        self, instruction: Instruction, computation: Computation, parameter: int, leaf: ShapeIndex
    ) -> Parts:
        return self._outside(instruction, computation, self.through_forward(computation, parameter, leaf))

    def _outside(self, caller: Instruction, computation: Computation, parts: Parts) -> Parts:
        sources = sources_of(parts)
        parameters = {parameter.number: k for k, parameter in enumerate(computation.parameters)}
        once = len(computation.callers) <= 1
        numbers: dict[int, int] = {}
        for source in sources:
            if source in parameters:
                numbers[source] = caller.operands[parameters[source]].number
            elif once:
                numbers[source] = source
            else:
                numbers[source] = self._of_calls.setdefault((caller.number, source), _OF_A_CALL + len(self._of_calls))
        return {k: with_sources(part, numbers) for k, part in parts.items()} if numbers else parts

    def _suppliers(self, m: IndexingMap) -> dict[int, Instruction]:
        """The instructions that the sources of a map stand for."""
        inside = {number: source for (_, source), number in self._of_calls.items()}
        found = self._walker.suppliers_of(m)
        for source in (v.source for v in m.runtime if v.source in inside):
            original = source
            while original in inside:
                original = inside[original]
            found[source] = self._module.instruction(original)
        return found

    def through_backward(self, computation: Computation, leaf: ShapeIndex) -> Parts:
        """From a leaf of the root to the parameters, sources being instruction numbers in the computation."""

        def follow() -> Parts:
            states = self.states(computation.root, [leaf], {inside.number for inside in computation.instructions})
            parameters = enumerate(computation.parameters)
            return {k: states[p.number].part() for k, p in parameters if p.number in states}

        return self._known((computation.number, -1, leaf), len(computation.parameters), follow)

    def through_forward(self, computation: Computation, parameter: int, leaf: ShapeIndex) -> Parts:
        """From a leaf of a parameter to the outputs of the root."""

        def follow() -> Parts:
            start, root = computation.parameters[parameter], computation.root
            found = {start.number: self._begun(start, [leaf])}
            for user in reversed(reverse_postorder(root, lambda value: value.operands)):
                for k, operand in enumerate(user.operands):
                    if operand.number in found:
                        given = found[operand.number]
                        target = found.setdefault(user.number, _State())
                        for below, begun in given.by_leaf():
                            for part in self.ask_forward(user, k, below).values():
                                target.add(self._once(given, part), given, begun)
                        target.not_known(given.unknown)
            return _by_output(found.get(root.number), root)

        return self._known((computation.number, parameter, leaf), n_outputs(computation.root.shape), follow)

    def _known(self, key: tuple[int, int, ShapeIndex], n: int, follow: Callable[[], Parts]) -> Parts:
        """Asked once; calls that nest deeply are not followed, so that no stack grows."""
        if key not in self._asked:
            if self._depth == _DEEPEST:
                return dict.fromkeys(range(n), Unknown("calls that nest deeply"))
            self._depth += 1
            self._asked[key] = follow()
            self._depth -= 1
        return self._asked[key]

    def states(self, start: Instruction, leaves: Iterable[ShapeIndex], inside: set[int]) -> dict[int, _State]:
        """Every value that is reached against the arrows of data, users before what they use."""
        found = {start.number: self._begun(start, leaves)}
        for value in reverse_postorder(start, lambda value: value.operands if value.number in inside else ()):
            state = found.get(value.number)
            if state is None or value.number not in inside:
                continue
            operands = value.operands
            for leaf, begun in state.by_leaf():
                for k, part in self.ask_backward(value, leaf).items():
                    found.setdefault(operands[k].number, _State()).add(self._once(state, part), state, begun)
            if state.unknown is not None:
                for operand in operands:
                    found.setdefault(operand.number, _State()).not_known(state.unknown)
        return found

    def _begun(self, start: Instruction, leaves: Iterable[ShapeIndex]) -> _State:
        state = _State()
        for leaf in leaves:
            sizes = shape_at(start.shape, leaf).dimensions
            if 0 not in sizes:
                for m in lifted(IndexingMap.identity([(0, size - 1) for size in sizes]), self._table):
                    state.maps[leaf, m] = None
        return state

    def _once(self, before: _State, part: OperandIndexing) -> OperandIndexing:
        """A device under several places of the table is followed from one of them only, so it can be left but once."""
        if isinstance(part, Footprint) and part.crosses_devices and before.crosses_devices and not self._each_once:
            return Unknown("a device in several groups")
        return part


def goes_across(parts: Parts) -> bool:
    return any(isinstance(part, Footprint) and part.crosses_devices for part in parts.values())


def _by_output(state: _State | None, root: Instruction) -> Parts:
    if state is None:
        return {}
    part = state.part()
    if isinstance(part, Unknown):
        return dict.fromkeys(range(n_outputs(root.shape)), part)
    if not root.shape.is_tuple:
        return {0: part}
    outputs: dict[int, list[tuple[ShapeIndex, IndexingMap]]] = {}
    for leaf, m in part.maps:
        outputs.setdefault(leaf[0], []).append((leaf, m))
    return {i: part.of(maps) for i, maps in outputs.items()}
