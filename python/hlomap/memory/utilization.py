"""Utilization: the part of each operand that an instruction, a fusion or a computation reads.

:func:`utilization` is the entry point.  ``lower <= true number <= upper`` for both counts of a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._core import Computation, Count, Instruction, Module, Shape, _count_windows
from ..analysis.queries import maps_within, needed_by_outputs, operand_maps
from ..analysis.questions import Questions
from ..base.answers import Records
from ..base.lazy import np
from ..base.text import plural
from ..base.types import ShapeIndex, subject_of
from ..errors import HlomapError
from ..maps.enumerate_pairs import EnumerationLimitError, enumerate_pairs
from ..maps.map_set import MapSet
from ..maps.union_count import UNBOUNDED, count_array
from ..ops._shapes import arrays

_MAX_MAPS = 1 << 16
"""The most maps to follow from all outputs to the operands to count reads: some tenths of a second."""

_MAX_POINTS = 1 << 20
"""The most points of a union to enumerate if its maps cannot be counted otherwise."""


@dataclass(frozen=True)
class Utilization:
    """The elements of one operand that all outputs together read; the arrays of a tuple count together."""

    instruction: Instruction
    """The value that is read."""
    operand: int
    reads: Count
    """The reads: points of the maps, one for each path from an output element to an element that it needs."""
    distinct_elements: Count
    """The distinct elements that are read."""
    n_elements: int
    """The elements of the operand."""
    distinct_bytes: int
    """The bytes of ``distinct_elements.upper`` elements."""
    exact: bool
    reason: str | None
    """Why the counts are not exact; None if they are."""

    @property
    def fraction(self) -> float:
        """The share of the operand's elements that is read, an upper bound; 0 for an operand without elements."""
        return self.distinct_elements.upper / self.n_elements if self.n_elements else 0.0

    def __str__(self) -> str:
        most = "" if self.exact else "at most "
        is_all = self.exact and self.distinct_elements.upper == self.n_elements > 0
        part = "all " if is_all else f"{most}{self.distinct_elements.upper:,} of "
        text = f"{self.instruction.name}: {part}{plural(self.n_elements, 'element')}"
        if self.reads.upper < UNBOUNDED:
            each = (
                f" ({self.reads.upper / self.distinct_elements.upper:.4g} per element)"
                if self.distinct_elements.upper
                else ""
            )
            text += f", {most}{plural(self.reads.upper, 'read')}{each * self.exact}"
        return text if self.reason is None else f"{text} ({self.reason})"


def utilization(subject: Instruction | Computation | Module, /) -> Records[Utilization]:
    """The elements of each operand that all outputs together read: a record for each operand.

    ``subject`` is an instruction, a fusion or a computation, whose parameters are then the operands; a module stands
    for its entry.  The counts follow
    elements through the whole subject: overlapping slices of one operand count common elements once, and a slice of a
    concatenation reads nothing of the operands that it leaves out.  Runtime values give bounds.  If very many maps
    lead to the operands of a computation, the reads have no upper bound.

    Raises ``TypeError`` for anything else.

    >>> module = hm.parse('''ENTRY e {
    ...   p = f32[8] parameter(0)
    ...   q = f32[20] parameter(1)
    ...   a = f32[4] slice(p), slice={[0:4]}
    ...   b = f32[4] slice(p), slice={[2:6]}
    ...   c = f32[4] add(a, b)
    ...   d = f32[24] concatenate(c, q), dimensions={0}
    ...   ROOT r = f32[4] slice(d), slice={[0:4]}
    ... }''')
    >>> print(utilization(module.entry))
    p: 6 of 8 elements, 8 reads (1.333 per element)
    q: 0 of 20 elements, 0 reads
    """
    root = subject_of(subject, "utilization")
    value, operands = (root.root, root.parameters) if isinstance(root, Computation) else (root, root.operands)
    leaves = dict(arrays(value.shape))
    indices, sizes = list(leaves), [shape.dimensions for shape in leaves.values()]
    questions, elements = Questions(root.module), None
    if isinstance(root, Computation):
        (elements,) = needed_by_outputs(questions, root, indices, as_one=True)
        outputs = maps_within(questions, root, indices, _MAX_MAPS)
    else:
        outputs = [operand_maps(questions, root, index) for index in indices]
    is_partial = len(outputs) < len(indices)
    reads: dict[int, list[_Read]] = {}
    for found, own in zip(outputs, sizes, strict=False):
        for k, maps in found.items():
            reads.setdefault(k, []).append((maps, own))
    none = MapSet()
    return Records(
        _of_operand(operand, k, reads.get(k, []), is_partial, None if elements is None else elements.get(k, none))
        for k, operand in enumerate(operands)
    )


_Read = tuple[MapSet, Sequence[int]]
"""The maps from an output, and its sizes."""


def _of_operand(
    operand: Instruction, number: int, reads: Sequence[_Read], is_partial: bool, elements: MapSet | None
) -> Utilization:
    """Partial ``reads`` are those of the first outputs; ``elements`` has no dims."""
    touched, distinct, n_elements, n_bytes = _ZERO, _ZERO, 0, 0
    leaves = dict(arrays(operand.shape))
    by_shape_index = _by_index(reads, leaves)
    images, images_by_index = reads, by_shape_index
    if elements is not None:
        images = [(elements, ())]
        images_by_index = _by_index(images, leaves)
    for index, shape in leaves.items():
        reads_here, elements_here = _count_reads(by_shape_index[index], is_partial, images_by_index[index], shape)
        touched, distinct = touched + reads_here, distinct + elements_here
        n_elements += shape.n_elements
        n_bytes += -(-elements_here.upper * shape.element_bits // 8)
    sets = [maps for maps, _ in (*reads, *images)]
    reason = next((maps.reason or "the maps may have more" for maps in sets if not maps.exact), None)
    if reason is None and not (touched.exact and distinct.exact):
        has_runtime = any(m.runtime for maps in sets for m in maps)
        reason = "reads depend on runtime values" if has_runtime else "overlaps of the maps are not counted"
        if is_partial:
            reason = "there are too many maps to count the reads"
    return Utilization(operand, number, touched, distinct, n_elements, n_bytes, reason is None, reason)


_ZERO = Count(0, 0)


def _by_index(reads: Sequence[_Read], indices: Iterable[ShapeIndex]) -> dict[ShapeIndex, list[_Read]]:
    """The maps to each array, without exact maps to other arrays."""
    found: dict[ShapeIndex, list[_Read]] = {index: [] for index in indices}
    for maps, sizes in reads:
        own = maps._by_array()
        for index in own if maps.exact else indices:
            found[index].append((own[index] if index in own else maps._select(()), sizes))
    return found


def _count_reads(
    reads: Sequence[_Read], is_partial: bool, images: Sequence[_Read], shape: Shape
) -> tuple[Count, Count]:
    """The reads of one array by all outputs, and the elements that they read, by ``images``."""
    maps = [m for own, _ in reads for m in own]
    unknown = [own for own, _ in (*reads, *images) if own.is_unknown]
    touched = sum([m.count() for m in maps], _ZERO)
    if unknown or (is_partial and any(own or not own.exact for own, _ in images)):
        touched = Count(0 if unknown else touched.lower, UNBOUNDED)
    if any(own.is_unknown for own, _ in (images if unknown else ())):
        return touched, Count(0, shape.n_elements)
    distinct = count_array(images[0][0] if len(images) == 1 else MapSet(m for own, _ in images for m in own))
    if not (unknown or is_partial or (touched.exact and distinct.exact)):
        touched, distinct = _count_windows(maps) or (touched, distinct)
    if not distinct.exact:
        distinct = _enumerated(images, shape) or distinct
    fewest_reads = 0 if False in [own.exact for own, _ in reads] else touched.lower
    fewest = 0 if False in [own.exact for own, _ in images] else distinct.lower
    return Count(fewest_reads, touched.upper), Count(fewest, min(distinct.upper, shape.n_elements))


def _enumerated(reads: Sequence[_Read], shape: Shape) -> Count | None:
    """The elements, one by one; None if they are too many or depend on runtime values."""
    if any(m.runtime for maps, _ in reads for m in maps):
        return None
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
    return Count(n, n)
