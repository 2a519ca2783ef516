"""The figures of one run: operations and bytes, and what is certain of them; the bytes that maps and shapes move.

:class:`Figures` add up; :func:`moved` makes them of what is read and written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf
from typing import NamedTuple

from .._core import Count, Shape, _extent, _reads
from ..base.devices import Device
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..maps.union_count import UNBOUNDED
from ..ops._operations import Operations
from ..ops._shapes import array_leaves, arrays, shape_at

_MAX_MAPS = 16  # of a union whose elements are counted by taking maps apart


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of one run of an instruction or computation.  ``sure_flops`` and ``sure_bytes`` are lower bounds."""

    #: Flops, transcendentals, evaluated operations including those that a fusion repeats, and bytes read, read again
    #: and written; None if a number is unknown.
    numbers: tuple[int | None, ...] = (0,) * 6
    sure_flops: Counter[str] = field(default_factory=Counter)
    #: Only of device memory.
    sure_bytes: int = 0
    #: Bytes that are read and written, by the memory space of the arrays.
    by_space: Counter[int] = field(default_factory=Counter)
    exact: bool = True
    notes: tuple[str, ...] = ()
    #: Unknown bytes that are left out, such as the reads of an instruction whose text was not read.
    unknown: tuple[str, ...] = ()
    #: Whether some operations are left out.
    lacks_operations: bool = False

    def __add__(self, other: Figures) -> Figures:
        return total((self, other))

    def times(self, n: int) -> Figures:
        """The numbers of ``n`` runs."""
        numbers = tuple(None if number is None else number * n for number in self.numbers)
        sure_flops = Counter({dtype: flops * n for dtype, flops in self.sure_flops.items()})
        by_space = Counter({space: n_bytes * n for space, n_bytes in self.by_space.items()})
        sure_bytes = self.sure_bytes * n
        return replace(self, numbers=numbers, sure_flops=sure_flops, sure_bytes=sure_bytes, by_space=by_space)

    @property
    def weight(self) -> int:
        """The measure of expense if no device is given."""
        return weight_of(*self.numbers[:2], self.numbers[3], self.numbers[5])

    def seconds(self, device: Device) -> float:
        """A lower bound of the needs: the operations and bytes with certain bounds."""
        bandwidth = device.dram_bytes_per_second
        arithmetic = [ratio(n, peak) for dtype, n in self.sure_flops.items() if (peak := device.peak(dtype))]
        return max([*arithmetic, ratio(self.sure_bytes, bandwidth) if bandwidth else 0.0])


def total(parts: Iterable[Figures]) -> Figures:
    """The sum of figures."""
    numbers: tuple[int | None, ...] = (0,) * 6
    sure_flops, sure_bytes, by_space, exact, lacks_operations = Counter[str](), 0, Counter[int](), True, False
    notes: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for part in parts:
        numbers = tuple(map(plus, numbers, part.numbers))
        sure_flops.update(part.sure_flops)
        by_space.update(part.by_space)
        sure_bytes, exact = sure_bytes + part.sure_bytes, exact and part.exact
        notes |= dict.fromkeys(part.notes)
        unknown |= dict.fromkeys(part.unknown)
        lacks_operations |= part.lacks_operations
    return Figures(numbers, sure_flops, sure_bytes, by_space, exact, tuple(notes), tuple(unknown), lacks_operations)


def ratio(a: int, b: int) -> float:
    """A quotient; infinite if it does not fit a float."""
    try:
        return a / b
    except OverflowError:
        return inf


def plus(a: int | None, b: int | None) -> int | None:
    """A sum; None if a number is unknown."""
    return None if a is None or b is None else a + b


def weight_of(*numbers: int | None) -> int:
    """The sum of the known numbers."""
    return sum(filter(None, numbers))


class Placed(NamedTuple):
    """A moved value, and the value whose layouts give the memory spaces of its arrays, by default itself."""

    shape: Shape
    place: Shape | None = None

    def spaces(self) -> list[int]:
        """The memory space of each array of the value; 0 if not given."""
        inside = [array for _, array in arrays(self.shape)]
        outside = inside if self.place is None else [array for _, array in arrays(self.place)]
        outside = outside if len(outside) == len(inside) else inside
        return [0 if array.layout is None else array.layout.memory_space for array in outside]


def placed(shapes: Iterable[Shape]) -> list[Placed]:
    """Values whose own layouts give their memory spaces."""
    return list(map(Placed, shapes))


def moved(
    reads: Iterable[tuple[Placed, Sequence[MapSet]]],
    written: Sequence[Placed],
    by: str,
    unsure: Sequence[Placed] = (),
) -> Figures:
    """The bytes read from values by all sets together, and written, by an instruction or computation.

    The written values that are ``unsure`` may not be written.
    """
    reads = list(reads)
    reasons = dict.fromkeys(str(maps.reason) for _, sets in reads for maps in sets if maps.is_unknown)
    unknown = tuple(f"{by}: {reason}" for reason in reasons)
    read, sure, exact = Counter[int](), Counter[int](), True
    reread: int | None = 0
    n_written = bytes_of(written)
    for value, sets in reads:
        for index, space in zip(array_leaves(value.shape), value.spaces(), strict=True):
            shape = shape_at(value.shape, index)
            try:
                touched, distinct = _count_reads([maps._at(index) for maps in sets], shape)
            except HlomapError:  # an array with an unbounded dimension
                unknown += (f"{by} reads an array without bound",)
                return replace(figures_of_bytes(None, None, n_written), exact=False, unknown=unknown)
            bits = shape.element_bits
            read[space] += -(-distinct.upper * bits // 8)
            sure[space] += -(-distinct.lower * bits // 8)
            exact = exact and distinct.exact
            again = None if touched is None else max(0, touched.upper - distinct.upper) * bits // 8
            reread, exact = plus(reread, again), exact and touched is not None and touched.exact
    if n_written is None:
        unknown += (f"{by} writes an array without bound",)
    else:
        sure.update(n_written)
        sure.subtract(bytes_of(unsure) or NO_BYTES)
    return replace(figures_of_bytes(read, reread, n_written), sure_bytes=sure[0], exact=exact, unknown=unknown)


def estimated(found: Figures, estimate: Operations) -> Figures:
    """The bytes of an operation with unknown reads, from an estimate of all accessed bytes, if there is one.

    It writes its outputs and reads the rest, first each byte of its operands once, then again; all in device memory.
    """
    n = estimate.n_bytes
    if n is None:
        return found
    _, _, _, read, _, written = found.numbers
    n_written = n if written is None else min(n, written)
    n_read = n - n_written if read is None else min(n - n_written, read)
    return replace(
        found,
        numbers=(0, 0, 0, n_read, n - n_written - n_read, n_written),
        by_space=Counter({0: n_read + n_written}),
        unknown=(str(estimate.estimate),),
    )


NO_BYTES = Counter[int]()


def figures_of_bytes(read: Counter[int] | None, reread: int | None, written: Counter[int] | None) -> Figures:
    """Bytes read, read again and written, by memory space; None if not known."""
    totals = [None if one is None else sum(one.values()) for one in (read, written)]
    by_space = (read or NO_BYTES) + (written or NO_BYTES)
    return Figures((0, 0, 0, totals[0], reread, totals[1]), by_space=by_space)


def bytes_of(values: Iterable[Placed]) -> Counter[int] | None:
    """The bytes of all arrays of some values, by memory space; None if an array has no bound."""
    by_space: dict[int, list[Shape]] = {}
    for value in values:
        for space, (_, array) in zip(value.spaces(), arrays(value.shape), strict=True):
            by_space.setdefault(space, []).append(array)
    found = {space: _extent(group)[1] for space, group in by_space.items()}
    return None if None in found.values() else Counter(found)


def _count_reads(sets: Sequence[MapSet], shape: Shape) -> tuple[Count | None, Count]:
    """Reads by all sets, one for each path from an output element, and distinct elements; None without a bound.

    The sets lead to an array of this shape.
    """
    n = shape.n_elements
    if any(one.is_unknown for one in sets):
        return None, Count(0, n)
    maps, is_exact = list(dict.fromkeys(chain.from_iterable(sets))), all(one.exact for one in sets)
    if is_exact and len(maps) == 1:
        paths, elements = maps[0].count(), maps[0].count(distinct=True)
        upper = min(elements.upper, n)
        return paths if paths.upper < UNBOUNDED else None, Count(min(elements.lower, upper), upper)
    _, _, _, n_paths, lower, most, _ = _reads(maps, is_exact, shape)
    upper = n if most is None else min(most, n)
    if is_exact and lower < upper and len(maps) <= _MAX_MAPS and len({m.shape_index for m in maps}) == 1:
        found = MapSet(maps).count(distinct=True)
        lower, upper = max(lower, found.lower), min(upper, found.upper)
    distinct = Count(min(lower, upper), upper)
    if n_paths is None:
        return None, distinct
    return Count(n_paths if is_exact and all(m.count().exact for m in maps) else 0, n_paths), distinct
