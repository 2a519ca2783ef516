"""The bytes that devices read from each other, as often as the instructions of a program run, in fusions too.

:func:`remote_bytes_moved` is the entry point.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from .._core import Computation, Instruction
from ..analysis.cost import BytesMoved
from ..analysis.executions import Run
from ..analysis.queries import output_to_input
from ..analysis.rule_provider import RuleProvider
from ..answers import Unknown
from ..errors import HlomapError
from ..maps.device_groups import n_between_devices
from ..ops import lookup
from ..shardings.assignment import is_whole
from ..shardings.program import leaf_shardings
from ..text import printable


def remote_bytes_moved(subject: Instruction | Computation) -> tuple[BytesMoved, dict[Instruction, BytesMoved]]:
    """The bytes that all devices together read from each other, and those of each instruction that may read any."""
    run = _RemoteRun(RuleProvider(subject.module))
    total, times = run.of_program(subject)
    amounts = ((i, run.of_instruction(i).times(n)) for i, n in times.items())
    return total, {i: amount for i, amount in amounts if amount.read or amount.unknown}


class _RemoteRun(Run[BytesMoved]):
    def measure(self, instruction: Instruction) -> BytesMoved:
        n = _remote_bytes(instruction)
        return BytesMoved(unknown=(f"{instruction.name}: {n.reason}",)) if isinstance(n, Unknown) else BytesMoved(n)

    def total(self, amounts: Iterable[BytesMoved]) -> BytesMoved:
        return BytesMoved.sum(amounts)

    def noted(self, note: str, *, is_unknown: bool) -> BytesMoved:
        return BytesMoved(unknown=(note,) if is_unknown else ())

    def weight(self, amount: BytesMoved) -> float:
        return amount.read

    def choice(self, heaviest: BytesMoved, every: Sequence[BytesMoved]) -> BytesMoved:
        return BytesMoved(heaviest.read, 0, BytesMoved.sum(every).unknown)

    def run_by(self, instruction: Instruction) -> Sequence[Computation]:
        return instruction.called_computations  # in fusions, and in what a reduction applies, too

    def counts(self, instruction: Instruction) -> bool:
        return True

    def is_nothing(self, amount: BytesMoved) -> bool:
        return not amount.read

    def key(self, instruction: Instruction) -> Hashable:
        return instruction.number  # shardings and groups are in no signature


def _remote_bytes(instruction: Instruction) -> int | Unknown:
    """The bytes that all devices together read from each other for one run of an instruction.

    A module that XLA has partitioned keeps the shardings of its parameters; only its schedule tells it from one that
    will get its collectives later.
    """
    if instruction.has_unnamed_operands:
        return Unknown(instruction.inconsistency or "the text names no operands")
    try:
        is_split = not all(map(is_whole, leaf_shardings(instruction).values()))
    except HlomapError as error:
        return Unknown(printable(error))
    if is_split and not instruction.module.attributes.get("is_scheduled"):
        return Unknown("it is split over devices, and the module is not scheduled, so XLA may not have partitioned it")
    op = lookup(instruction.opcode)
    exchanges = op.exchanges(instruction)
    if exchanges is not None:
        return Unknown(exchanges)
    runs_called = op.value_of_parameter is not None or op.parameter_to_operands is not None
    if not instruction.operands or runs_called:
        return 0  # what it runs is counted
    try:
        sets = output_to_input(instruction, ())
    except (HlomapError, OverflowError) as error:
        return Unknown(printable(error))
    total = 0
    for operand, maps in zip(instruction.operands, sets, strict=True):
        if maps.is_unknown and op.collective is not None:
            return Unknown(str(maps.reason))
        if maps.devices is None:
            continue
        n = n_between_devices(maps.devices.maps)
        if n is None:
            return Unknown(maps.devices.maps.reason or "the elements that cross devices are not counted")
        bits = max((s.element_bits for _, s in operand.shape._leaves() if s.is_array), default=0)
        total += -(-n * bits // 8)
    return total
