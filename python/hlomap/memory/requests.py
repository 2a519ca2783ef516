"""Counts of memory requests: sectors, bytes and runs, from the addresses of lanes.

:func:`measure` takes the addresses of many requests at once.  Invariant: lanes that are inactive count nothing, and
lanes with the same address count once in each request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Bools", "Counts", "Ints", "RequestForm", "count_requests"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_BEYOND = 1 << 62
"""An address after all others, for inactive lanes."""


@dataclass(frozen=True)
class RequestForm:
    """What the requests of one access have in common; addresses count in units, of which a byte has ``per_byte``."""

    width: int
    """The units of an element."""
    per_byte: int
    """1 where addresses are bytes, 8 where they are bits."""
    sector_bytes: int
    vector: int
    """The steps that one request may hold."""
    loosest_start: int = 0
    """Where not 0, every run may be moved by multiples of this number of units: sectors are then an upper bound."""

    @property
    def sector(self) -> int:
        """The units of a sector."""
        return self.sector_bytes * self.per_byte


class Counts(NamedTuple):
    """Totals of requests."""

    requests: int = 0
    sectors: int = 0
    bytes_used: int = 0
    longest_run: int = 0

    def plus(self, other: Counts, times: int = 1) -> Counts:
        """The totals of both, the others counted ``times``."""
        if not times:
            return self
        return Counts(
            self.requests + times * other.requests,
            self.sectors + times * other.sectors,
            self.bytes_used + times * other.bytes_used,
            max(self.longest_run, other.longest_run),
        )


def count_requests(address: Ints, active: Bools, form: RequestForm, offset: int) -> Counts:
    """The totals of requests ``[n, lanes, steps]`` whose addresses all move by ``offset``.

    The steps are one request where every active lane takes all of them, at neighbouring elements that begin at a
    multiple of their size; else each step is a request.

    >>> lanes = np.arange(32).reshape(1, 32, 1)
    >>> count_requests(lanes * 4, np.ones((1, 32, 1), bool), RequestForm(4, 1, 32, 1), 0)
    Counts(requests=1, sectors=4, bytes_used=128, longest_run=128)
    """
    n, n_lanes, n_steps = address.shape

    def by_step(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values.swapaxes(1, 2).reshape(n * n_steps, n_lanes)

    totals = measure(by_step(address), by_step(active), form, offset)
    if n_steps > 1:
        found = totals.reshape(4, n, n_steps)
        totals = np.concatenate([found[:3].sum(axis=2), found[3:].max(axis=2, initial=0)])
    if form.vector > 1 and n_steps == form.vector:
        whole = _is_vector(address, active, form, offset)
        shape = (int(whole.sum()), n_lanes * n_steps)
        totals[:, whole] = measure(address[whole].reshape(shape), active[whole].reshape(shape), form, offset)
    requests, sectors, bytes_used = totals[:3].sum(axis=1).tolist()
    return Counts(requests, sectors, bytes_used, int(totals[3].max(initial=0)))


def _is_vector(address: Ints, active: Bools, form: RequestForm, offset: int) -> Bools:
    """Which requests take all steps at once."""
    size = form.vector * form.width
    if size % form.per_byte:
        return np.zeros(len(address), np.bool_)
    idle = ~active.any(axis=2)
    neighbours = (np.diff(address, axis=2) == form.width).all(axis=2)
    aligned = (address[:, :, 0] + offset) % size == 0
    ok: Bools = (idle | (active.all(axis=2) & neighbours & aligned)).all(axis=1)
    return ok


def measure(address: Ints, active: Bools, form: RequestForm, offset: int) -> Ints:
    """The columns of :class:`Counts` for each row of addresses, which is one request."""
    start = np.where(active, address, _BEYOND)
    if (start[:, 1:] < start[:, :-1]).any():
        start = np.sort(start, axis=1)
    held = start != _BEYOND
    low = (start + offset) // form.per_byte
    high = (start + offset + form.width - 1) // form.per_byte
    before = _previous(high)
    new_bytes = _new_items(low, high, before) * held
    begins = low > before + 1
    run = (high - np.maximum.accumulate(np.where(begins, low, -_BEYOND), axis=1) + 1) * held
    if form.loosest_start:
        sectors = _worst_sectors(begins & held, run, form)
    else:
        first, last = low // form.sector_bytes, high // form.sector_bytes
        sectors = (_new_items(first, last, _previous(last)) * held).sum(axis=1)
    return np.array([held.any(axis=1), sectors, new_bytes.sum(axis=1), run.max(axis=1, initial=0)], np.int64)


def _previous(high: Ints) -> Ints:
    """The ends before each interval of a row."""
    before = np.empty_like(high)
    before[:, :1] = -_BEYOND
    before[:, 1:] = high[:, :-1]
    return before


def _new_items(low: Ints, high: Ints, before: Ints) -> Ints:
    """How many of ``low .. high`` come after ``before``."""
    return np.maximum(high - np.maximum(low - 1, before), 0)


def _worst_sectors(begins: Bools, run: Ints, form: RequestForm) -> Ints:
    """The most sectors that the runs of each row touch, each at any start that is a multiple of ``loosest_start``."""
    ends = np.ones_like(begins)
    ends[:, :-1] = begins[:, 1:] | (run[:, 1:] == 0)
    size = form.sector_bytes
    latest = (form.sector - form.loosest_start) // form.per_byte
    sectors: Ints = np.where(ends & (run > 0), (run + latest - 1) // size + 1, 0).sum(axis=1)
    return sectors
