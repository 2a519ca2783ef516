"""Coalescing: the sectors of memory that the warps of a grid move, for each read and each write.

:func:`coalescing` is the entry point.  Everything follows from maps: from threads to elements of the output, from these
to elements of operands, and from elements to bytes; a kernel that reads in another order than it writes goes through
its hero.  A record that is not exact has upper bounds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from .._core import Computation, IndexingMap, Instruction, Module, Shape, count_requests, flat_thread_map
from ..analysis.queries import operand_maps, reached
from ..analysis.questions import Questions
from ..analysis.structure import is_fusion
from ..base.answers import Records, Unknown
from ..base.devices import Device, as_device
from ..base.types import ShapeIndex, expect, subject_of
from ..errors import HlomapError, ShapeError
from ..maps.map_set import MapSet
from ..ops._shapes import arrays
from ..schedules.fusions import flat_kernel
from ..schedules.schedule import Schedule, caller_of, is_kernel, schedule, schedule_of_flat


@dataclass(frozen=True)
class Coalescing:
    """The memory accesses of a grid for one read of an operand, by one map, or for one write of an output.

    A request is one access by the lanes of one warp.  Counts are totals of the whole grid; if the record is not exact,
    they are upper bounds, or None if nothing is known.
    """

    instruction: Instruction
    """The value that is read or written."""
    operand: int
    """The number of the operand, or of the output that is written."""
    shape_index: ShapeIndex
    """The shape index of the array in the operand."""
    is_write: bool
    requests: int | None
    """The number of accesses of a warp to memory, without accesses that have no active lane."""
    sectors: int | None
    """The sectors that the requests move; a sector of two requests counts twice."""
    bytes_used: int | None
    """The bytes that the lanes ask for; bytes for several lanes of a request count once."""
    bytes_moved: int | None
    """The bytes of all sectors."""
    contiguous_bytes: int | None
    """The longest run of neighbouring bytes in one request; if not exact, over the requests as counted."""
    exact: bool
    reason: str | None
    """Why the record is not exact; None if it is."""
    map: IndexingMap | None
    """The map from a thread to the elements; None if unknown."""
    vector: int
    """The most neighbouring elements that a thread accesses at once."""
    kernel: str | None
    """The schedule that the threads come from, and whether the module was compiled for another backend; None if the
    caller passed a thread map."""

    @property
    def efficiency(self) -> float | None:
        """Bytes used for each byte moved; 1 if nothing is moved, None if unknown."""
        if self.bytes_used is None or self.bytes_moved is None:
            return None
        return self.bytes_used / self.bytes_moved if self.bytes_moved else 1.0

    def __str__(self) -> str:
        verb = "write" if self.is_write else "read"
        where = f"{verb} {self.instruction.name}{''.join(f'.{i}' for i in self.shape_index)}"
        if self.sectors is None or self.efficiency is None:
            return f"{where}: unknown, {self.reason}"
        most = "" if self.exact else "at most "
        counts = f"{self.requests} requests, {self.sectors} sectors, {self.bytes_used} of {self.bytes_moved} bytes used"
        kernel = f"; {self.kernel}" if self.kernel else ""
        return f"{where}: {most}{counts}{'' if self.exact else f' ({self.reason})'}{kernel}"


def coalescing(
    subject: Instruction | Computation | Module,
    /,
    thread_map: IndexingMap | Unknown | None = None,
    *,
    warp: int = 32,
    vector: int | None = None,
    base_alignment: int = 256,
    device: Device | str | None = None,
) -> Records[Coalescing]:
    """The sectors and bytes that a kernel moves: a record for each map to an operand, then one for each output.

    ``subject`` is an instruction, a fusion or a computation, whose parameters are then the operands; a module stands
    for its entry.  ``thread_map`` leads from (th_x, th_y, th_z, bl_x, bl_y, bl_z) and ranges to the elements of the
    output; outputs of other dimensions are unknown.  Without ``thread_map`` the kernel is the one that XLA would make
    for the device (:func:`hlomap.schedule`), which may read in another order than it writes; if the schedule is not
    known, neither are the counts.  A computation or an instruction that XLA would not turn into a kernel takes the
    output in memory order.

    A request is one access of a warp: ``warp`` threads with consecutive numbers ``x + X * (y + Y * z)``, at one value
    of the ranges of the thread map and of the read.  ``vector`` is by default the schedule's, at most 16 bytes, and 1
    for a thread map.  With ``vector`` above 1, that many steps of the last range with several values, counted from its
    least value, form one request if every active lane of the warp takes all of these steps, at neighbouring elements
    with an aligned first element; otherwise each step is a separate request.

    Addresses follow the layouts, including tiles, padding and packed elements.  Arrays begin at unknown multiples of
    ``base_alignment`` bytes; ``device`` determines the size of a sector.  Runtime values that move addresses
    within a sector, or that differ between the lanes of a warp, give upper bounds.  Caches are not considered.

    Raises :class:`ShapeError` for a thread map that does not fit, and ``ValueError`` for ``warp`` beyond 1 to 1024,
    ``vector`` beyond 1 to 64, a ``base_alignment`` below 1 and an unknown device.

    >>> module = hm.parse('''ENTRY e {
    ...   p = f32[1024,1024] parameter(0)
    ...   ROOT t = f32[1024,1024] transpose(p), dimensions={1,0}
    ... }''')
    >>> print(coalescing(module["t"]))
    read p: 32768 requests, 131072 sectors, 4194304 of 4194304 bytes used; tiled_transpose, vectors of 1
    write t: 32768 requests, 131072 sectors, 4194304 of 4194304 bytes used; tiled_transpose, vectors of 1
    >>> print(coalescing(module["t"], hm.thread_map(module["t"], "loop"))[0])
    read p: 32768 requests, 1048576 sectors, 4194304 of 33554432 bytes used
    """
    root = subject_of(subject, "coalescing")
    if thread_map is not None:
        expect((IndexingMap, Unknown), thread_map, "coalescing", "an IndexingMap as `thread_map`, or None")
    chosen = as_device(device, "coalescing")
    _expect_number(warp, "warp", 1024)
    if vector is not None:
        _expect_number(vector, "vector", 64)
    _expect_number(base_alignment, "base_alignment", 1 << 40)
    if thread_map is None:
        return coalescing_of_schedule(root, *scheduled(root, chosen), chosen, warp, vector, base_alignment)
    return _counted((None, 1, _by_thread_map(root, thread_map)), chosen, warp, vector, base_alignment, {})


def coalescing_of_schedule(
    root: Root,
    found: Schedule | Unknown,
    flat: Root,
    device: Device,
    warp: int = 32,
    vector: int | None = None,
    base_alignment: int = 256,
    known: Requests | None = None,
) -> Records[Coalescing]:
    """:func:`coalescing` by the schedule of a kernel, with its flat fusion (:func:`scheduled`).

    ``known`` keeps the counts, which are equal for equal maps and arrays: kernels that are fused keep most of theirs.
    """
    accesses = _by_schedule(root, found, flat)
    return _counted(accesses, device, warp, vector, base_alignment, {} if known is None else known)


Requests: TypeAlias = "dict[Hashable, tuple[IndexingMap | None, tuple[int, ...] | None, str | None]]"
"""The requests of accesses, by their maps, the shape of the array and the sizes that count."""


def _counted(
    accessed: tuple[str | None, int, Iterable[_Access]],
    device: Device,
    warp: int,
    vector: int | None,
    base_alignment: int,
    known: Requests,
) -> Records[Coalescing]:
    kernel, width, accesses = accessed
    found: dict[Coalescing, None] = {}
    for access in accesses:
        # The caller's vector width; else the schedule's, up to the 16 bytes that one instruction can access.
        lanes = vector or max(1, min(width, 128 // max(1, access.shape.value_bits)))
        question = access.shape, warp, lanes, base_alignment, device.sector_bytes
        unknown, maps = access.unknown, access.maps
        if not device.sector_bytes:
            unknown, maps = f"requests need threads, and {device.name!r} has none", ()
        counted = [_requests(first, second, question, known) for first, second in maps]
        if unknown is not None:
            counted.insert(0, (None, None, unknown))
        for m, counts, reason in counted:
            requests, sectors, used, moved, run = counts or (None,) * 5
            if counts is not None:
                reason = access.inexact or reason
            totals = requests, sectors, used, moved, run
            found[Coalescing(*access.about, *totals, reason is None, reason, m, lanes, kernel)] = None
    return Records(sorted(found, key=lambda record: (record.is_write, record.operand)))


def _requests(first: IndexingMap, second: IndexingMap | None, question: Any, known: Requests) -> Any:
    key = first, second, question
    if key not in known:
        known[key] = count_requests(first, second, *question)
    return known[key]


def _expect_number(value: int, name: str, greatest: int) -> None:
    expect(int, value, "coalescing", f"an int as `{name}`")
    if not 1 <= value <= greatest:
        raise ValueError(f"hm.coalescing: expected 1 to {greatest} as `{name}`, got {value}")


Root = Instruction | Computation
"""The instruction or computation that a kernel computes; the operands of a computation are its parameters."""


class _Access(NamedTuple):
    """The accesses of the threads of a grid to one array."""

    about: tuple[Instruction, int, ShapeIndex, bool]
    """The first fields of its records."""
    shape: Shape
    maps: Sequence[tuple[IndexingMap, IndexingMap | None]]
    """Maps from threads to elements, some with a second map to apply."""
    unknown: str | None = None
    """Why the accesses are not known; None if they are."""
    inexact: str | None = None
    """Why the maps may have too many elements; None if they are exact."""


def _by_thread_map(root: Root, thread_map: IndexingMap | Unknown) -> Iterator[_Access]:
    """The accesses of a grid whose threads compute these elements of each output with the map's rank.

    Raises :class:`ShapeError` for a map that does not lead from threads to the first output.
    """
    outputs = _outputs(root)
    if isinstance(thread_map, Unknown):
        maps = MapSet.unknown(thread_map.reason)
    else:
        maps = MapSet([thread_map])
        if outputs:
            _expect_thread_map(thread_map, outputs[0][1].rank)
    other = MapSet.unknown("the thread map leads to an output of other dimensions")
    questions, operands = Questions(root.module), _operands(root)
    for k, (index, shape) in enumerate(outputs):
        threads = maps if shape.dimensions == outputs[0][1].dimensions else other
        yield from _write_and_reads(questions, root, operands, (k, index), shape, threads)


def _by_schedule(root: Root, found: Schedule | Unknown, flat: Root) -> tuple[str, int, Iterator[_Access]]:
    """The kernel that XLA would make, its vectors and accesses; without a kernel, threads take outputs in memory
    order."""
    outputs = _outputs(root)
    if isinstance(found, Unknown):
        reason = found.reason
    elif found.emitter == "triton_block":
        reason = "Triton chooses which thread handles which element"
    elif len(found.outputs) != len(outputs):
        reason = "the schedule has other outputs"
    else:
        kernel = f"{found.emitter}, vectors of {found.vector}"
        note = found.note
        accesses = _accesses(flat, outputs, found)
        return (
            f"{kernel}; {note}" if note else kernel,
            found.vector,
            accesses if flat is root else _outside(root, flat, accesses),
        )
    threads = None
    if not isinstance(found, Unknown) or is_kernel(root):
        threads = MapSet.unknown(f"unknown schedule: {reason}; pass thread_map=")
    questions, operands = Questions(root.module), _operands(root)
    accesses = (
        access
        for k, (index, shape) in enumerate(outputs)
        for access in _write_and_reads(
            questions, root, operands, (k, index), shape, threads or MapSet([flat_thread_map(shape)])
        )
    )
    return "not a kernel of XLA: threads in memory order", 1, accesses


def scheduled(root: Root, device: Device) -> tuple[Schedule | Unknown, Root]:
    """The schedule, and the fusion without fusions and calls in it, whose instructions are scheduled."""
    fusion = caller_of(root) if isinstance(root, Computation) else root
    if fusion is None:
        return schedule(root, device), root
    try:
        flat = flat_kernel(fusion)
    except HlomapError as error:
        return Unknown(str(error)), root
    own: Root = root if flat is fusion else flat
    return schedule_of_flat(fusion, flat, device), own


def _outside(root: Root, flat: Root, accesses: Iterable[_Access]) -> Iterator[_Access]:
    """Accesses of a flat fusion as those of the one that it stands for, whose operands have the same names."""
    fusion = caller_of(root) if isinstance(root, Computation) else root
    numbers: dict[str, int] = {}
    for number, operand in enumerate(() if fusion is None else fusion.operands):
        numbers.setdefault(operand.name, number)
    operands = _operands(root)
    for access in accesses:
        at, number, index, is_write = access.about
        if is_write:
            at = _value(root)
        else:
            number = numbers[at.name]
            at = operands[number]
        yield access._replace(about=(at, number, index, is_write))


def _accesses(root: Root, outputs: Sequence[tuple[ShapeIndex, Shape]], found: Schedule) -> Iterator[_Access]:
    """The accesses of a kernel: the reads of each hero by its maps, and the reads on the path from the hero to its
    root."""
    questions = Questions(root.module)
    operands = _operands(root)
    inside: Sequence[Instruction]
    if isinstance(root, Instruction) and not is_fusion(root):
        inside, inner = (root,), operands
    else:
        fused = root if isinstance(root, Computation) else root.called_computations[0]
        inside, inner = fused.instructions, fused.parameters

    def reads(start: Instruction, threads: MapSet, inside: Sequence[Instruction]) -> Iterator[_Access]:
        found = reached(questions, start, [()], inside, ends=inner, ends_alone=True)
        for number, (operand, parameter) in enumerate(zip(operands, inner, strict=True)):
            yield from _read(operand, number, threads, found[parameter])

    for k, ((index, shape), output) in enumerate(zip(outputs, found.outputs, strict=True)):
        if found.emitter == "loop" and output.hero == output.root:
            yield from _write_and_reads(questions, root, operands, (k, index), shape, output.output)
            continue
        yield _write(root, k, index, shape, output.output)
        for operand, threads in zip(output.hero.operands, output.inputs, strict=True):
            if threads:
                yield from reads(operand, threads, inside)
        if output.hero != output.root:
            yield from reads(output.root, output.output, [one for one in inside if one != output.hero])


def _operands(root: Root) -> tuple[Instruction, ...]:
    return root.parameters if isinstance(root, Computation) else root.operands


def _write_and_reads(
    questions: Questions,
    root: Root,
    operands: Sequence[Instruction],
    output: tuple[int, ShapeIndex],
    shape: Shape,
    threads: MapSet,
) -> Iterator[_Access]:
    yield _write(root, *output, shape, threads)
    for number, maps in operand_maps(questions, root, output[1]).items():
        yield from _read(operands[number], number, threads, maps)


def _write(root: Root, k: int, index: ShapeIndex, shape: Shape, threads: MapSet) -> _Access:
    return _Access((_value(root), k, index, True), shape, [(m, None) for m in threads], *_doubts(threads))


def _read(operand: Instruction, number: int, threads: MapSet, maps: MapSet) -> Iterator[_Access]:
    """An access for each array of an operand.  Every step of a thread reads again, so no range may be dropped."""
    if not threads or not maps:
        return
    unknown, inexact = _doubts(threads, maps)
    for index, shape in arrays(operand.shape):
        steps = [(first, second) for second in maps if second.shape_index == index for first in threads]
        if steps or unknown is not None:
            yield _Access((operand, number, index, False), shape, steps, unknown, inexact)


def _doubts(*sets: MapSet) -> tuple[str | None, str | None]:
    """Why the composition of sets is unknown, and why it may have too many elements."""
    inexact, reason, crosses = False, None, False
    for maps in sets:
        if maps.is_unknown:
            return maps.reason or "unknown", None
        inexact, reason, crosses = inexact or not maps.exact, reason or maps.reason, crosses or maps.devices is not None
    if inexact:
        return None, reason or "the maps may have elements that are not read"
    return None, "elements of other devices count too" if crosses else None


def _value(root: Root) -> Instruction:
    return root.root if isinstance(root, Computation) else root


def _outputs(root: Root) -> list[tuple[ShapeIndex, Shape]]:
    return arrays(_value(root).shape)


def _expect_thread_map(thread_map: IndexingMap, rank: int) -> None:
    dims = thread_map.dims
    if len(dims) != 6 or min(v.lower for v in dims) < 0:
        raise ShapeError(
            f"expected a thread map with the 6 dims th_x, th_y, th_z, bl_x, bl_y, bl_z, all from 0, found "
            f"{', '.join(f'{v.name} in [{v.lower}, {v.upper}]' for v in dims) or 'none'}; hm.thread_map returns one"
        )
    if len(thread_map.results) != rank and not thread_map.is_known_empty:
        raise ShapeError(
            f"expected a thread map to an array with {rank} dimensions, found one with {len(thread_map.results)} "
            "results; hm.layouts.thread_map(shape) returns one"
        )
