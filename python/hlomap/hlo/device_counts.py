"""How many devices a module is compiled for, as its header says."""

from __future__ import annotations

from typing import NamedTuple

from .._core import Module


class DeviceCounts(NamedTuple):
    """The numbers of replicas and partitions; None where the header does not say."""

    replicas: int | None
    partitions: int | None

    @property
    def grid(self) -> tuple[int, int]:
        """Both numbers, 1 where nothing is said."""
        return self.replicas or 1, self.partitions or 1


def device_counts(module: Module) -> DeviceCounts:
    """The numbers in the header of a module.

    >>> device_counts(hm.parse("HloModule m, num_partitions=4 ENTRY e { ROOT p = f32[] parameter(0) }"))
    DeviceCounts(replicas=None, partitions=4)
    """
    replicas, partitions = map(module.attributes.get, ("replica_count", "num_partitions"))
    return DeviceCounts(
        replicas if isinstance(replicas, int) else None, partitions if isinstance(partitions, int) else None
    )
