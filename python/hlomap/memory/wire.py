"""Wire bytes: the least bytes that the busiest device sends, for one run of an instruction and for a whole program.

:func:`operation_of` leads from any step of an asynchronous operation to the instruction whose op rule describes the
exchange, :func:`exchange_of` calls that rule, and :func:`wire_bytes` sums over all runs, in fusions too.  No code
depends on an opcode.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .._core import Computation, Count, Instruction, Module
from ..analysis.executions import Each, Group, Run, leading_to
from ..analysis.questions import Questions
from ..analysis.traits import asked
from ..base.answers import Unknown
from ..base.text import printable
from ..errors import HlomapError
from ..hlo.annotations import is_whole, leaf_shardings
from ..hlo.unread import unread_reason
from ..ops import lookup
from ..ops._exchange import Exchange, exchanges_nothing
from ..ops._rule import has_several_devices


def operation_of(instruction: Instruction) -> Instruction:
    """The operation of an instruction or of a step: the start, or the only operation that the start runs."""
    if not instruction.async_steps:
        return instruction
    start = instruction.async_steps[0]
    called = start.called_computations if lookup(start.opcode).calls.forwards else ()
    if len(called) != 1:
        return start
    root = called[0].root
    if not all(caller.async_steps for caller in called[0].callers):
        return start  # it also runs elsewhere
    return root if {*called[0]} == {root, *root.operands} else start


def exchange_of(instruction: Instruction) -> Exchange | Unknown | None:
    """The data that devices send each other in one run of an instruction; None if they send nothing."""
    exchange = lookup(instruction.opcode).memory.exchange
    if exchange is exchanges_nothing and not instruction.has_unnamed_operands:
        return None
    if instruction.inconsistency is not None or instruction.has_unnamed_operands:
        return Unknown(instruction.inconsistency or "the text names no operands")
    found = asked(exchange, instruction)
    return Unknown(found.reason.removeprefix(f"{instruction.name}: ")) if isinstance(found, Unknown) else found


def is_collective(operation: Instruction, exchange: Exchange | Unknown | None) -> bool:
    """Whether an operation exchanges data, even if its groups are unknown."""
    if isinstance(exchange, Exchange):
        return True
    return exchange is not None and lookup(operation.opcode).maps.collective is not None


def _why_not_partitioned(instruction: Instruction) -> str | None:
    """Why XLA may still add collectives for an instruction: its value is split over devices.

    A module that XLA has partitioned keeps the shardings of its parameters; only its schedule distinguishes it from a
    module that will get its collectives later.
    """
    try:
        alone = not has_several_devices(instruction)
        if all(is_whole(one) and (one.device is None or alone) for one in leaf_shardings(instruction).values()):
            return None
    except HlomapError as error:
        return printable(error)
    return "it is split over devices, and the module is not scheduled, so XLA may not have partitioned it"


@dataclass(frozen=True, slots=True)
class WireBytes:
    """Bounds of the bytes that the busiest device sends, and of all devices; and why some bytes are left out."""

    least: int = 0
    most: int = 0
    least_all_devices: int = 0
    most_all_devices: int = 0
    unknown: tuple[str, ...] = ()

    @classmethod
    def sum(cls, parts: Iterable[WireBytes]) -> WireBytes:
        """The sum of all parts."""
        least = most = least_all = most_all = 0
        unknown: dict[str, None] = {}
        for part in parts:
            least, most = least + part.least, most + part.most
            least_all, most_all = least_all + part.least_all_devices, most_all + part.most_all_devices
            if part.unknown:
                unknown |= dict.fromkeys(part.unknown)
        return cls(least, most, least_all, most_all, tuple(unknown))

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """All four."""
        return self.least, self.most, self.least_all_devices, self.most_all_devices

    def times(self, n: int) -> WireBytes:
        """The bytes of ``n`` runs."""
        least, most, least_all, most_all = self.numbers
        return WireBytes(least * n, most * n, least_all * n, most_all * n, self.unknown)

    @property
    def total(self) -> int:
        """The upper bound of the bytes that the busiest device sends."""
        return self.most

    @property
    def count(self) -> Count | Unknown:
        """The bytes that the busiest device sends."""
        return self._known(self.least, self.most)

    @property
    def count_all_devices(self) -> Count | Unknown:
        """The bytes that all devices send."""
        return self._known(self.least_all_devices, self.most_all_devices)

    def __str__(self) -> str:
        return wire_words(self.count, self.count_all_devices)

    def _known(self, least: int, most: int) -> Count | Unknown:
        if self.unknown:
            more = f", and {len(self.unknown) - 1:,} more" if len(self.unknown) > 1 else ""
            return Unknown(self.unknown[0] + more)
        try:
            return Count(least, most)
        except OverflowError:
            return Unknown("the number does not fit into 128 bits")


_NOTHING = WireBytes()


def wire_words(one: Count | Unknown, every: Count | Unknown) -> str:
    """Wire bytes in words: ``416 wire bytes, 832 over all devices``."""
    for found in (one, every):
        if isinstance(found, Unknown):
            return f"wire bytes are not known: {printable(found.reason)}"
    return f"{_words(one)} wire bytes, {_words(every)} over all devices"


def _words(found: Count | Unknown) -> str:
    if isinstance(found, Unknown):
        return "unknown"
    return f"{found.upper:,}" if found.exact else f"{found.lower:,} to {found.upper:,}"


class WireRun(Run[WireBytes]):
    """A walk over the instructions that may send data, also inside fusions and computations applied to elements."""

    def __init__(self, module: Module) -> None:
        super().__init__(Questions(module))
        self._within, _ = _may_send(module)
        self._is_scheduled = bool(module.attributes.get("is_scheduled"))
        self._why_unpartitioned = None if self._is_scheduled else _why_unpartitioned(module)
        self._exchanges: dict[int, Exchange | Unknown | None] = {}

    def exchange(self, instruction: Instruction) -> Exchange | Unknown | None:
        """:func:`exchange_of`, cached."""
        number = instruction.number
        if number not in self._exchanges:
            self._exchanges[number] = exchange_of(instruction)
        return self._exchanges[number]

    def within(self, computation: Computation) -> Sequence[Instruction]:
        return self._within.get(computation, ())

    def whole(self, total: WireBytes) -> WireBytes:
        """The sum over a module, unknown if a part of its text was not read."""
        more = [unread_reason(self.questions.module, ()), None if total.unknown else self._why_unpartitioned]
        unknown = dict.fromkeys((*total.unknown, *(reason for reason in more if reason is not None)))
        return WireBytes(*total.numbers, tuple(unknown))

    def measure(self, instruction: Instruction) -> WireBytes:
        reason = None if self._is_scheduled else _why_not_partitioned(instruction)
        found = self.exchange(instruction) if reason is None else Unknown(reason)
        if found is None:
            return _NOTHING
        if isinstance(found, Unknown):
            return WireBytes(unknown=(f"{printable(instruction.name, 60)}: {found.reason}",))
        one, every = found.wire_bytes, found.wire_bytes_all_devices
        return WireBytes(one.lower, one.upper, every.lower, every.upper)

    def total(self, amounts: Iterable[WireBytes]) -> WireBytes:
        return WireBytes.sum(amounts)

    def noted(self, note: str, *, is_unknown: bool) -> WireBytes:
        return WireBytes(unknown=(note,)) if is_unknown else _NOTHING

    def weight(self, amount: WireBytes) -> float:
        return amount.most

    def choice(self, heaviest: WireBytes, every: Sequence[WireBytes]) -> WireBytes:
        most = max(every, key=lambda one: one.most_all_devices)
        unknown = WireBytes.sum(every).unknown
        return WireBytes(heaviest.least, heaviest.most, most.least_all_devices, most.most_all_devices, unknown)

    def run_by(self, instruction: Instruction) -> Sequence[Computation]:
        """The computations of all operations; an asynchronous end names those of its start again."""
        op = lookup(instruction.opcode)
        called = () if op.memory.moves_nothing and op.calls.runs is None else instruction.called_computations
        return [computation for computation in called if computation in self._within]

    def counts(self, instruction: Instruction) -> bool:
        return True

    def is_nothing(self, amount: WireBytes) -> bool:
        return not amount.most and not amount.unknown

    def key(self, instruction: Instruction) -> Hashable:
        return instruction.number  # what rules read does not include shardings and groups

    def calling(self, computation: Computation) -> Iterable[Instruction]:
        return (i for i in self.within(computation) if i.called_computations)

    def groups(self, computation: Computation) -> list[tuple[Group, WireBytes]]:
        return [(Group(i, [i.number]), self.of_instruction(i)) for i in self.within(computation)]


@lru_cache(maxsize=2)
def _why_unpartitioned(module: Module) -> str | None:
    """Why collectives may still be added anywhere in a module: some value is split over devices."""
    for instruction in module.instructions:
        reason = None
        if instruction.attributes.get("sharding") is not None:
            reason = _why_not_partitioned(instruction)
        if reason is not None:
            return f"{printable(instruction.name, 60)}: {reason}"
    return None


@lru_cache(maxsize=2)
def _may_send(module: Module) -> tuple[Mapping[Computation, Sequence[Instruction]], Container[Instruction]]:
    """The instructions that may send data or run a computation that may, by computation and together.

    Modules are immutable, so the result is cached.
    """
    found: list[Instruction] = []
    is_scheduled = bool(module.attributes.get("is_scheduled"))
    sends: dict[str, bool] = {}
    for i in module.instructions:
        opcode = i.opcode
        if opcode not in sends:
            sends[opcode] = lookup(opcode).memory.exchange is not exchanges_nothing
        may_send = sends[opcode] or i.has_unnamed_operands
        if may_send or not (is_scheduled or i.attributes.get("sharding") is None):
            found.append(i)
    within = leading_to(found)
    return within, {i for instructions in within.values() for i in instructions}


def may_send(computation: Computation) -> Sequence[Instruction]:
    """The instructions of a computation that may send data, or run a computation that may."""
    return _may_send(computation.module)[0].get(computation, ())


def wire_bytes(subject: Instruction | Computation, *, executed: bool = True) -> tuple[WireBytes, Each[WireBytes]]:
    """The wire bytes of a program, and of each instruction that sends any.

    Instructions count as often as they run, in a conditional only in the branch that sends most; unless ``executed``,
    once.
    """
    module = subject.module
    if (
        isinstance(subject, Instruction)
        and subject not in _may_send(module)[1]
        and module.attributes.get("is_scheduled")
    ):
        return _NOTHING, Each((), tuple)
    run = WireRun(module)
    total, times = run.of_program(subject) if executed else run.of_text(subject)
    total = run.whole(total)
    amounts = times.map(lambda i, n: run.of_instruction(i).times(n))
    return total, amounts.where(lambda amount: amount.most or amount.unknown)
