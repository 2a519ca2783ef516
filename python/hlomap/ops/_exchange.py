"""The bytes that devices send each other: ``exchange`` of :class:`Memory`, and its values.

*Wire bytes* are the least that the busiest device sends, whichever algorithm moves the data.  For S bytes of operands
on each of the n devices of a group these are, as NCCL's documentation of bus bandwidth derives them:

* all-reduce: 2 (n - 1) / n S, since every sum needs the summands, and every device the sums
* all-gather: (n - 1) S, (n - 1) / n of the whole array
* reduce-scatter, all-to-all: (n - 1) / n S
* a permutation: S where a device sends to another one, and a broadcast or reduction to one device: S

A group of one device sends nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from .._core import Count, Instruction
from ..base.answers import Unknown
from ..hlo.device_counts import device_counts
from ..maps.device_groups import GroupTable
from ._shapes import arrays


class Exchange(NamedTuple):
    """The data that devices send each other in one run of an operation."""

    table: GroupTable
    is_pairs: bool
    """Whether the groups are the pairs of a source and a target."""
    n_operands: int
    """The number of operands, the first ones, whose elements are sent."""
    wire_bytes: Count
    """The least that the busiest device sends."""
    wire_bytes_all_devices: Count
    """The bytes that all devices together send in that run."""


class Sent(NamedTuple):
    """The amounts that the devices of a group send, in any unit: n times that of the busiest of n, and the total."""

    busiest_times_n: int
    together: int


SentInGroup: TypeAlias = Callable[[int, int], Sent]
"""From the number n of devices in a group, at least 2, and the size of the operands on each of them."""
Exchanges: TypeAlias = Callable[[Instruction], Exchange | Unknown | None]
"""None if devices send nothing."""


def exchanges_nothing(instruction: Instruction) -> None:
    """Devices send each other nothing."""
    return


def sent_for_sums(n: int, size: int) -> Sent:
    """Every device needs the combination of all."""
    return Sent(2 * (n - 1) * size, 2 * (n - 1) * size)


def sent_for_whole(n: int, size: int) -> Sent:
    """Every device needs the arrays of all."""
    return Sent(n * (n - 1) * size, n * (n - 1) * size)


def sent_for_parts(n: int, size: int) -> Sent:
    """Every device needs its part of the arrays of all, or of their combination."""
    return Sent((n - 1) * size, (n - 1) * size)


def sent_for_one(n: int, size: int) -> Sent:
    """All need the array of one device, or one device the combination of all."""
    return Sent(n * size, (n - 1) * size)


def operand_bits(instruction: Instruction, n_operands: int | None = None) -> tuple[int, int]:
    """The bits of the first operands, at least and at most: dynamic dimensions may be smaller than their bounds."""
    least = most = 0
    for operand in instruction.operands[:n_operands]:
        for _, shape in arrays(operand.shape):
            bits = shape.n_elements * shape.element_bits
            most += bits
            least += 0 if any(shape.dynamic) else bits
    return least, most


def exchange_in_groups(
    instruction: Instruction, table: GroupTable | Unknown, n_operands: int, bits: tuple[int, int], sent: SentInGroup
) -> Exchange | Unknown:
    """The exchange in the groups of a table; ``bits`` of each device take part, at least and at most."""
    if isinstance(table, Unknown):
        return Unknown(f"its groups are not known: {table.reason}")
    sizes: Counter[int] = Counter()
    for (first, last), n in table.runs():
        sizes[n] += last - first + 1

    def in_all_groups(bits: int) -> tuple[int, int]:
        found = [(sent(n, bits), n, n_groups) for n, n_groups in sizes.items() if n > 1]
        busiest = max((_bytes(one.busiest_times_n, n) for one, n, _ in found), default=0)
        return busiest, sum(one.together * n_groups for one, _, n_groups in found)

    return _exchange(instruction, table, n_operands, bits, in_all_groups, is_pairs=False)


def exchange_in_pairs(instruction: Instruction, table: GroupTable, n_operands: int, bits: tuple[int, int]) -> Exchange:
    """The exchange between the sources and targets of pairs; a pair of a device with itself sends nothing."""
    n_targets = Counter(source for source, target in table.groups if source != target)
    most, total = max(n_targets.values(), default=0), n_targets.total()

    def in_all_pairs(bits: int) -> tuple[int, int]:
        return _bytes(most * bits), total * bits

    return _exchange(instruction, table, n_operands, bits, in_all_pairs, is_pairs=True)


def _bytes(n_bits: int, of: int = 1) -> int:
    """The bytes of a part of some bits, rounded up."""
    return -(-n_bits // (8 * of))


def _exchange(
    instruction: Instruction,
    table: GroupTable,
    n_operands: int,
    bits: tuple[int, int],
    sent: Callable[[int], tuple[int, int]],
    *,
    is_pairs: bool,
) -> Exchange:
    """The exchange in which ``sent`` gives the amounts of the busiest device and of all devices in one set of
    groups."""
    n_times = _n_same_groups(instruction, table.ids)
    most = sent(bits[1])
    least = most if bits[0] == bits[1] else sent(bits[0])
    every = Count(_bytes(least[1] * n_times), _bytes(most[1] * n_times))
    return Exchange(table, is_pairs, n_operands, Count(least[0], most[0]), every)


def _n_same_groups(instruction: Instruction, ids: str) -> int:
    """How often the groups occur: replicas form them in every partition, and partitions in every replica."""
    if ids not in ("replica", "partition"):
        return 1
    replicas, partitions = device_counts(instruction.module).grid
    return partitions if ids == "replica" else replicas
