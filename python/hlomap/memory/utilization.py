"""Utilization: how much of each operand an instruction, a fusion or a computation reads.

:func:`utilization` is the entry point.  Invariant: ``lower <= true number <= upper`` for both counts of a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Computation, Count, Instruction, Shape, _count, _count_windows
from ..analysis.queries import output_to_input
from ..errors import HlomapError
from ..maps.enumerate_pairs import EnumerationLimitError, enumerate_pairs
from ..maps.map_set import MapSet
from ..maps.union_count import UNBOUNDED, count_union
from ..ops._shapes import array_leaves, shape_at
from ..types import expect

__all__ = ["Utilization", "utilization"]

_MAX_POINTS = 1 << 20
"""The points of a union that are enumerated where its maps cannot be counted otherwise."""


@dataclass(frozen=True)
class Utilization:
    """What the whole of the outputs reads of one operand; the arrays of a tuple count together."""

    instruction: Instruction
    """The value that is read."""
    operand: int
    touched: Count
    """The reads: points of the maps, so one for each path from an element of the output to one that it needs."""
    distinct: Count
    """The elements that are read at all."""
    n_elements: int
    """The elements of the operand."""
    bytes: int
    """The bytes of ``distinct.upper`` elements."""
    exact: bool
    reason: str | None
    """Why it is not exact."""

    @property
    def fraction(self) -> float:
        """The part of the operand's elements that is read, at most; 0 of an operand without elements."""
        return self.distinct.upper / self.n_elements if self.n_elements else 0.0

    def __str__(self) -> str:
        most = "" if self.exact else "at most "
        text = (
            f"{self.instruction.name}: {most}{self.distinct.upper} of {self.n_elements} elements, {self.fraction:.3g}"
        )
        reads = f", {most}{self.touched.upper} reads" if self.touched.upper < UNBOUNDED else ""
        return f"{text}{reads}{'' if self.reason is None else f' ({self.reason})'}"


def utilization(root: Instruction | Computation) -> tuple[Utilization, ...]:
    """How much of each operand is read, all outputs together: a record for each operand.

    ``root`` is an instruction, a fusion or a computation, whose parameters are then the operands.  The counts follow
    the elements through the whole of it: two slices of one operand that overlap count what they share once, and a
    slice of a concatenation reads nothing of the operands that it leaves out.  Runtime values give bounds.

    Raises ``TypeError`` for anything else.

    >>> import hlomap as hm
    >>> module = hm.parse('''ENTRY e {
    ...   p = f32[8] parameter(0)
    ...   q = f32[20] parameter(1)
    ...   a = f32[4] slice(p), slice={[0:4]}
    ...   b = f32[4] slice(p), slice={[2:6]}
    ...   c = f32[4] add(a, b)
    ...   d = f32[24] concatenate(c, q), dimensions={0}
    ...   ROOT r = f32[4] slice(d), slice={[0:4]}
    ... }''')
    >>> for record in utilization(module.entry):
    ...     print(record)
    p: 6 of 8 elements, 0.75, 8 reads
    q: 0 of 20 elements, 0, 0 reads
    """
    takes = "an hlomap.Instruction or hlomap.Computation"
    expect((Instruction, Computation), root, "utilization", takes, "use module.entry or module[name]")
    value, operands = (root.root, root.parameters) if isinstance(root, Computation) else (root, root.operands)
    outputs = [output_to_input(root, index) for index in array_leaves(value.shape)]
    sizes = [shape_at(value.shape, index).dimensions for index in array_leaves(value.shape)]
    return tuple(
        _of_operand(operand, k, [(maps[k], size) for maps, size in zip(outputs, sizes, strict=True)])
        for k, operand in enumerate(operands)
    )


_Read = tuple[MapSet, Sequence[int]]
"""The maps from an output, and its sizes."""


def _of_operand(operand: Instruction, number: int, reads: Sequence[_Read]) -> Utilization:
    touched, distinct, n_elements, n_bytes = _ZERO, _ZERO, 0, 0
    for index in array_leaves(operand.shape):
        shape = shape_at(operand.shape, index)
        reads_here, elements = _count_reads([(_at_index(maps, index), sizes) for maps, sizes in reads], shape)
        touched, distinct = _sum([touched, reads_here]), _sum([distinct, elements])
        n_elements += shape.n_elements
        n_bytes += -(-elements.upper * shape.element_bits // 8)
    reason = next((maps.reason or "the maps may have more" for maps, _ in reads if not maps.exact), None)
    if reason is None and not (touched.exact and distinct.exact):
        has_runtime = any(m.runtime for maps, _ in reads for m in maps)
        reason = "reads depend on runtime values" if has_runtime else "the maps overlap in a way that is not counted"
    return Utilization(operand, number, touched, distinct, n_elements, n_bytes, reason is None, reason)


_ZERO = _count(0, 0)


def _at_index(maps: MapSet, index: tuple[int, ...]) -> MapSet:
    if maps.is_unknown:
        return maps
    return MapSet([m for m in maps if m.index == index], exact=maps.exact, reason=maps.reason)


def _sum(counts: Iterable[Count]) -> Count:
    counts = list(counts)
    upper = min(sum(count.upper for count in counts), UNBOUNDED)
    return _count(sum(count.lower for count in counts), upper)


def _count_reads(reads: Sequence[_Read], shape: Shape) -> tuple[Count, Count]:
    """The reads of one array by all outputs, and the elements that they read."""
    if any(maps.is_unknown for maps, _ in reads):
        return _count(0, UNBOUNDED), _count(0, shape.n_elements)
    images = list(dict.fromkeys(m for maps, _ in reads for m in maps))
    touched = _sum(m.count() for maps, _ in reads for m in maps)
    distinct = count_union(images)
    if not (touched.exact and distinct.exact):
        touched, distinct = _count_windows([m for maps, _ in reads for m in maps]) or (touched, distinct)
    if not distinct.exact:
        distinct = _enumerated(reads, shape) or distinct
    least = 1 if all(maps.exact for maps, _ in reads) else 0
    upper = min(distinct.upper, shape.n_elements)
    return _count(least * touched.lower, touched.upper), _count(least * distinct.lower, upper)


def _enumerated(reads: Sequence[_Read], shape: Shape) -> Count | None:
    """The elements, one by one; None where they are too many or depend on runtime values."""
    elements, n_left = [np.empty(0, np.int64)], _MAX_POINTS
    try:
        for maps, sizes in reads:
            for m in maps:
                found = enumerate_pairs(m, sizes, shape.dimensions, {}, n_left)[1]
                n_left -= len(found)
                elements.append(np.unique(found))
    except (EnumerationLimitError, HlomapError, OverflowError, ValueError):
        return None
    n = len(np.unique(np.concatenate(elements)))
    return _count(n, n)
