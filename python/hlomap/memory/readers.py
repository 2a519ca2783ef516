"""Finds the instructions that read a value from memory, their bytes, and how often they read.

:func:`readers` is the entry point.  It follows the memory of the value, not results computed from it: through
operations that move nothing, into calls, branches and loops, and through updates in place, up to the instructions that
read the value.  No reader is left out, and no count is lower than the true one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, TypeAlias, overload

from .._core import Computation, Count, Instruction, Shape, _CountedLoop
from ..analysis.loops import loop, over_iterations
from ..analysis.questions import Questions
from ..base.answers import Unknown
from ..base.lazy import np
from ..base.text import bytes_text, one_line, plural
from ..base.types import ShapeIndex, instruction_of, json_fields
from ..errors import ShapeError
from ..hlo.order import callers, reverse_postorder
from ..maps.enumerate_pairs import EnumerationLimitError, enumerate_pairs
from ..maps.map_set import MapSet, union
from ..maps.variables import suppliers_of, with_dims
from ..ops import op_of
from ..ops._shapes import array_leaves, shape_at
from .reader_walk import Times, Walk

_MAX_POINTS = 1 << 20  # of an enumeration of the reads of iterations: some tenths of a second


@dataclass(frozen=True, slots=True)
class Reader:
    """An instruction that reads a value from memory."""

    instruction: Instruction
    maps: MapSet
    """The maps from its outputs to the elements of the value, with a dimension for the iteration of each loop around
    the instruction, ``t0``, ``t1``, ..., innermost first, if the iterations determine the reads."""
    distinct_bytes: int
    """The bytes of the distinct elements that it reads in all executions together."""
    most_reads: int | Unknown
    """The most reads of an element from memory; one execution reads an element once."""
    read_bytes: int | Unknown
    """The bytes that it reads in all executions together."""
    exact: bool
    reason: str | None
    """Why the numbers are upper bounds; None if they are exact."""

    def __str__(self) -> str:
        most = "" if self.exact else "at most "
        text = f"{self.instruction.name} ({self.instruction.opcode}): {most}{bytes_text(self.distinct_bytes)}"
        if isinstance(self.most_reads, Unknown) or isinstance(self.read_bytes, Unknown):
            text += ", an unknown number of times"
        elif self.read_bytes != self.distinct_bytes or self.most_reads != 1:
            text += f", {self.most_reads:,} times, {bytes_text(self.read_bytes)} in all"
        return text + (f" ({self.reason})" if self.reason else "")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        about = "instruction computation:instruction.computation opcode:instruction.opcode maps"
        return json_fields(self, about, "distinct_bytes most_reads read_bytes exact reason")


@dataclass(frozen=True, slots=True)
class Readers(Sequence[Reader]):
    """The readers of a value, in the order of the text; the result of :func:`readers`."""

    value: Instruction
    found: tuple[Reader, ...]

    def __len__(self) -> int:
        return len(self.found)

    @overload
    def __getitem__(self, i: int) -> Reader: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Reader, ...]: ...
    def __getitem__(self, i: int | slice) -> Reader | tuple[Reader, ...]:
        return self.found[i]

    @property
    def read_bytes(self) -> int | Unknown:
        """The bytes of the value read from memory."""
        return _sum(reader.read_bytes for reader in self)

    @property
    def most_reads(self) -> int | Unknown:
        """The most reads of any element from memory; 0 without readers."""
        by_maps: dict[MapSet, list[tuple[_Branches, int]]] = {}
        places: dict[Computation, tuple[_Branches, bool]] = {}
        for reader in self:
            if isinstance(reader.most_reads, Unknown):
                return reader.most_reads
            branches = _branches(reader.instruction, places)
            by_maps.setdefault(reader.maps, []).append((branches, reader.most_reads))
        # Maps to different arrays of the value share no element.
        by_array: dict[ShapeIndex | None, list[MapSet]] = {}
        for maps in by_maps:
            for shape_index in dict.fromkeys(m.shape_index for m in maps) if not maps.is_unknown else (None,):
                by_array.setdefault(shape_index, []).append(maps)
        anywhere = by_array.pop(None, [])
        most = 0
        for own in by_array.values() or [[]]:
            near = [*own, *anywhere]
            for maps in near:
                met = (one for one in near if one is maps or maps.overlap(one).value is not False)
                most = max(most, _most_reads(read for one in met for read in by_maps[one]))
        return most

    @property
    def exact(self) -> bool:
        """Whether the numbers of all readers are exact."""
        return all(reader.exact for reader in self)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return json_fields(self, "value readers:found most_reads read_bytes exact")

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {reader}" for reader in self)])

    @property
    def title(self) -> str:
        """The sums, in one line."""
        times, total = self.most_reads, self.read_bytes
        if not self:
            return f"{self.value.name}: no instruction reads it from memory"
        text = f"{self.value.name}: read by {plural(len(self), 'instruction')}"
        if isinstance(times, Unknown) or isinstance(total, Unknown):
            return f"{text}, how often is not known"
        most = "" if self.exact else "at most "
        often = "once" if times == 1 else f"{times:,} times"
        return f"{text}, {most}{bytes_text(total)} in all, no element more than {often}"

    def __repr__(self) -> str:
        return f"<Readers of {one_line(self.value.name, 80)}: {len(self)} instructions, {self.read_bytes} bytes>"


def readers(value: Instruction, /) -> Readers:
    """The instructions outside fusions that read a value from memory: how many bytes, and how often.

    The value is followed through bitcasts, tuples, calls, branches, loops, and through updates that XLA makes in place
    (``dynamic-update-slice``, ``scatter``, a fusion that ends in one), so readers of elements that an update keeps are
    found.  Each run of an instruction counts an element once, even if the instruction uses it several times.  The
    numbers are exact, or upper bounds with a reason, as for a branch that may not be taken; they are
    :class:`~hlomap.Unknown` if the number of iterations of a loop is unknown.

    Raises ``TypeError`` for anything but an instruction, and :class:`~hlomap.errors.ShapeError` for an instruction
    inside a fusion or in the computation of a reduction, since its value is not in memory.

    >>> module = hm.parse('''HloModule m
    ... body {
    ...   s = (s32[], f32[2], f32[6,2]) parameter(0)
    ...   i = s32[] get-tuple-element(s), index=0
    ...   acc = f32[2] get-tuple-element(s), index=1
    ...   xs = f32[6,2] get-tuple-element(s), index=2
    ...   zero = s32[] constant(0)
    ...   row = f32[1,2] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,2}
    ...   x = f32[2] bitcast(row)
    ...   sum = f32[2] add(acc, x)
    ...   one = s32[] constant(1)
    ...   next = s32[] add(i, one)
    ...   ROOT t = (s32[], f32[2], f32[6,2]) tuple(next, sum, xs)
    ... }
    ... condition {
    ...   s = (s32[], f32[2], f32[6,2]) parameter(0)
    ...   i = s32[] get-tuple-element(s), index=0
    ...   n = s32[] constant(6)
    ...   ROOT less = pred[] compare(i, n), direction=LT
    ... }
    ... ENTRY e {
    ...   zero = s32[] constant(0)
    ...   acc = f32[2] parameter(0)
    ...   xs = f32[6,2] parameter(1)
    ...   s = (s32[], f32[2], f32[6,2]) tuple(zero, acc, xs)
    ...   w = (s32[], f32[2], f32[6,2]) while(s), condition=condition, body=body
    ...   sum = f32[2] get-tuple-element(w), index=1
    ...   flat = f32[12] bitcast(xs)
    ...   other = f32[12] negate(flat)
    ...   ROOT r = (f32[2], f32[12]) tuple(sum, other)
    ... }''')
    >>> found = hm.readers(module.entry.parameters[1])
    >>> print(found)
    xs: read by 2 instructions, 96 bytes in all, no element more than 2 times
      row (dynamic-slice): 48 bytes
      other (negate): 48 bytes
    >>> found.most_reads, found.read_bytes
    (2, 96)
    """
    value = instruction_of(value, "readers")
    inside = applied_by(value.computation)
    if inside is not None:
        raise ShapeError(f"{value.name} is inside {inside.name}, so its value is not in memory: pass {inside.name}")
    walk = Walk(Questions(value.module))
    by_instruction: dict[Instruction, list[tuple[ShapeIndex, MapSet, Times]]] = {}
    shape = value.shape
    for shape_index in array_leaves(shape):
        for (reader, maps), times in walk.reads(value, shape_index).items():
            by_instruction.setdefault(reader, []).append((shape_index, maps, times))
    order = {c: k for k, c in enumerate(value.module.computations)}
    ordered = sorted(by_instruction, key=lambda i: (order[i.computation], i.number))
    return Readers(value, tuple(_reader(reader, shape, by_instruction[reader]) for reader in ordered))


def applied_by(computation: Computation) -> Instruction | None:
    """The fusion, or the operation such as a reduction, that applies a computation element by element; None for other
    computations, whose values are in memory."""
    for inside in reverse_postorder(computation, callers):
        for caller in inside.callers:
            op = op_of(caller)
            if inside.is_fusion or (op.calls.value_of_parameter is None and op.calls.parameter_to_operands is None):
                return caller
    return None


_OVERLAP = "overlaps of the maps are not counted"


def _reader(instruction: Instruction, whole: Shape, parts: Sequence[tuple[ShapeIndex, MapSet, Times]]) -> Reader:
    """The record of an instruction, from its reads of each array of the value."""
    by_shape_index: dict[ShapeIndex, list[_Part]] = {}
    for shape_index, maps, times in parts:
        by_shape_index.setdefault(shape_index, []).append(
            _part(instruction, shape_index, shape_at(whole, shape_index), maps, times)
        )
    every = [part for own in by_shape_index.values() for part in own]
    reasons = [part.reason for part in every]
    n_bytes = 0
    for shape_index, own in by_shape_index.items():
        shape, maps = shape_at(whole, shape_index), union([part.maps for part in own])
        distinct = own[0].distinct if len(own) == 1 else _distinct(maps, shape)
        n_bytes += _bytes(distinct.upper, shape)
        reasons.append(None if distinct.exact or not maps.exact else _OVERLAP)
    reason = next((reason for reason in reasons if reason), None)
    maps = union([part.maps for part in every])
    unknown = next((Unknown(str(part.reason)) for part in every if part.times is None), None)
    if unknown is not None:
        return Reader(instruction, maps, n_bytes, unknown, unknown, False, unknown.reason)
    most = max(sum(part.times or 0 for part in own) for own in by_shape_index.values())
    return Reader(instruction, maps, n_bytes, most, sum(part.n_bytes for part in every), reason is None, reason)


class _Part(NamedTuple):
    """The reads of one array along one way to the instruction."""

    maps: MapSet
    distinct: Count
    times: int | None
    n_bytes: int
    reason: str | None


def _part(instruction: Instruction, shape_index: ShapeIndex, shape: Shape, maps: MapSet, times: Times) -> _Part:
    maps, trip_counts = _by_iteration(instruction, maps, times)
    placed = (
        maps
        if maps.is_unknown
        else MapSet(
            (m._placed(shape_index, m.use, suppliers_of(m)) for m in maps), exact=maps.exact, reason=maps.reason
        )
    )
    distinct = _distinct(maps, shape)
    reason = times.reason or (None if maps.exact else maps.reason or "the maps may have more")
    if reason is None and not distinct.exact:
        reason = "reads depend on runtime values" if any(m.runtime for m in maps) else _OVERLAP
    if times.n is None:
        return _Part(placed, distinct, None, 0, reason)
    if not trip_counts:
        return _Part(placed, distinct, times.n, _bytes(distinct.upper, shape) * times.n, reason)
    # Pairs of an element and an iteration that reads it.
    n_loops = len(trip_counts)
    paired = MapSet((with_dims(m, n_loops) for m in maps), exact=maps.exact, reason=maps.reason)
    pairs = _distinct(paired, shape, prod(trip_counts))
    n: int | None = 1 if pairs.upper == distinct.upper else times.n
    if pairs.upper not in (distinct.upper, distinct.upper * times.n):
        n = _most_iterations(paired, shape, trip_counts)
        reason = reason or ("iterations share some of the elements" if n is None else None)
    n_bytes = _bytes(min(pairs.upper, distinct.upper * times.n), shape)
    return _Part(placed, distinct, times.n if n is None else n, n_bytes, reason or (None if pairs.exact else _OVERLAP))


def _most_iterations(paired: MapSet, shape: Shape, trip_counts: Sequence[int]) -> int | None:
    """The most iterations that read one element; None if they are too many to enumerate."""
    target = (*shape.dimensions, *trip_counts)
    try:
        found = [
            enumerate_pairs(m, [v.upper + 1 for v in m.dims], target, {}, _MAX_POINTS // len(paired))[1] for m in paired
        ]
    except EnumerationLimitError:
        return None
    _, counts = np.unique(np.unique(np.concatenate(found)) // prod(trip_counts), return_counts=True)
    return int(counts.max(initial=0))


def _by_iteration(instruction: Instruction, maps: MapSet, times: Times) -> tuple[MapSet, list[int]]:
    """The maps with a dimension for each loop around the instruction, and their trip counts, if runtime variables are
    affine in the iterations; then each iteration of these loops is one execution."""
    if times.n is None or times.reason or maps.is_unknown or not any(m.runtime for m in maps):
        return maps, []
    around = _CountedLoop.around(instruction)
    if around is None or around.trip_count is None:
        return maps, []
    nest = around.nest()
    trip_counts = [loop(one).trip_count for one in nest.loops]
    known = [n for n in trip_counts if isinstance(n, int)]
    if len(known) != len(nest.loops) or prod(known) != times.n:
        return maps, []
    found = over_iterations(maps, nest, known)
    return (maps, []) if any(m.runtime for m in found) else (found, known)


def _distinct(maps: MapSet, shape: Shape, n: int = 1) -> Count:
    """The elements that maps reach, each at most ``n`` times."""
    found = maps.count(distinct=True)
    return Count(found.lower, min(found.upper, shape.n_elements * n))


def _bytes(n: int, shape: Shape) -> int:
    return -(-n * shape.element_bits // 8)


_Branches: TypeAlias = tuple[tuple[Instruction, int], ...]


def _branches(reader: Instruction, known: dict[Computation, tuple[_Branches, bool]]) -> _Branches:
    """The branches around an instruction, outermost first, of conditionals that run at most once.

    ``known`` caches the branches of computations, and whether they may run several times.
    """
    inside: list[Computation] = []
    computation = reader.computation
    while computation not in known and computation != reader.module.entry and len(computation.callers) == 1:
        inside.append(computation)
        computation = computation.callers[0].computation
    found, repeats = known.get(computation, ((), computation != reader.module.entry))
    for computation in reversed(inside):
        (caller,) = computation.callers
        called = caller.called_computations
        repeats = repeats or op_of(caller).calls.parameter_to_operands is not None
        positions = Counter(called)
        for position, branch in enumerate(called if len(called) > 1 else ()):
            if len(branch.callers) == 1:
                is_one = positions[branch] == 1 and not repeats
                known[branch] = ((*found, (caller, position)) if is_one else found), repeats
        found, repeats = known.setdefault(computation, (found, repeats))
    return found


def _most_reads(reads: Iterable[tuple[_Branches, int]]) -> int:
    """The sum of reads, if only one branch of each conditional runs."""
    total: Counter[_Branches] = Counter()
    for branches, n in reads:
        total[branches] += n
    by_depth: dict[int, list[_Branches]] = {}
    for branches in total:
        by_depth.setdefault(len(branches), []).append(branches)
    for depth in range(max(by_depth, default=0), 0, -1):
        most: dict[tuple[_Branches, Instruction], int] = {}
        for branches in dict.fromkeys(by_depth.get(depth, ())):
            outer, (conditional, _) = branches[:-1], branches[-1]
            most[outer, conditional] = max(most.get((outer, conditional), 0), total[branches])
        for (outer, _), n in most.items():
            if outer not in total:
                by_depth.setdefault(depth - 1, []).append(outer)
            total[outer] += n
    return total[()]


def _sum(numbers: Iterable[int | Unknown]) -> int | Unknown:
    total = 0
    for n in numbers:
        if isinstance(n, Unknown):
            return n
        total += n
    return total
