"""The elements that the threads of a grid read and write, array by array.

:func:`by_thread_map` follows a thread map of the caller, :func:`by_schedule` the kernel that XLA would make.  Both go
from threads to arrays by maps alone; a kernel that reads in another order than it writes goes through its hero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .._core import Computation, IndexingMap, Instruction, Shape
from ..analysis.queries import output_to_input, reached
from ..analysis.rule_provider import RuleProvider
from ..answers import Unknown
from ..devices import Device
from ..errors import ShapeError
from ..maps.flat_thread_map import THREAD_DIMS, flat_thread_map
from ..maps.map_set import MapSet
from ..ops._shapes import array_leaves, shape_at
from ..schedules.schedule import OutputSchedule, Schedule, is_kernel, schedule
from ..types import ShapeIndex

Root = Instruction | Computation
"""What a kernel computes: the operands of a computation are its parameters."""


@dataclass(frozen=True)
class Access:
    """How the threads of a grid access one array."""

    instruction: Instruction
    operand: int
    """The number of the operand, or of the output that is written."""
    shape_index: ShapeIndex
    is_write: bool
    maps: MapSet
    """From threads to elements; unknown with the reason."""
    vector: int = 1
    """The neighbouring elements that a thread accesses at once, at most."""
    kernel: str | None = None
    """Where the maps come from."""

    @property
    def shape(self) -> Shape:
        """The array."""
        return shape_at(self.instruction.shape, self.shape_index)


def by_thread_map(root: Root, thread_map: IndexingMap | Unknown) -> Iterator[Access]:
    """The accesses of a grid whose threads compute these elements of each output of the map's rank.

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
    for k, (index, shape) in enumerate(outputs):
        threads = maps if shape.dimensions == outputs[0][1].dimensions else other
        yield from _write_and_reads(root, k, index, threads)


def by_schedule(root: Root, device: Device) -> Iterator[Access]:
    """The accesses of the kernel that XLA would make; what is not a kernel of XLA takes outputs in memory order."""
    found = _schedule(root, device)
    kernel = "no kernel of XLA: threads in the order of memory"
    if isinstance(found, Schedule):
        kernel = f"{found.emitter}, vectors of {found.vector}"
        kernel = f"{kernel}; {found.note}" if found.note else kernel
    for access in _accesses(root, found):
        yield replace(access, kernel=kernel, vector=found.vector if isinstance(found, Schedule) else 1)


def _accesses(root: Root, found: Schedule | str | None) -> Iterator[Access]:
    outputs = _outputs(root)
    if not isinstance(found, Schedule):
        for k, (index, shape) in enumerate(outputs):
            threads = MapSet([flat_thread_map(shape)]) if found is None else MapSet.unknown(found)
            yield from _write_and_reads(root, k, index, threads)
        return
    region = _Region.of(root)
    for k, ((index, _), output) in enumerate(zip(outputs, found.outputs, strict=True)):
        if _reads_as_it_writes(found, output):
            yield from _write_and_reads(root, k, index, output.output)
            continue
        yield Access(_value(root), k, index, is_write=True, maps=output.output)
        yield from region.reads(output)


def _schedule(root: Root, device: Device) -> Schedule | str | None:
    """The schedule, or why it does not say what each thread does; None for what is not a kernel."""
    if not is_kernel(root):
        return None
    found = schedule(root, device)
    if isinstance(found, Unknown):
        reason: str | None = found.reason
    elif found.emitter == "triton_block":
        reason = "which thread of a block has an element is Triton's choice"
    else:
        reason = None if len(found.outputs) == len(_outputs(root)) else "the schedule has other outputs"
    if reason is None and isinstance(found, Schedule):
        return found
    return f"unknown schedule: {reason}; a thread_map would tell"


def _reads_as_it_writes(found: Schedule, output: OutputSchedule) -> bool:
    return found.emitter == "loop" and output.hero == output.root


def _write_and_reads(root: Root, k: int, index: ShapeIndex, threads: MapSet) -> Iterator[Access]:
    yield Access(_value(root), k, index, is_write=True, maps=threads)
    operands = root.parameters if isinstance(root, Computation) else root.operands
    for number, (operand, maps) in enumerate(zip(operands, output_to_input(root, index), strict=True)):
        yield from _read(operand, number, threads, maps)


def _read(operand: Instruction, number: int, threads: MapSet, maps: MapSet) -> Iterator[Access]:
    """An access for each array of an operand.  Every step of a thread reads anew, so no range may be dropped."""
    if not threads or not maps:
        return
    unknown = next((s for s in (threads, maps) if s.is_unknown), None)
    exact, reason = threads.exact and maps.exact, threads.reason or maps.reason
    for index in array_leaves(operand.shape):
        steps = [first.then(second) for second in maps if second.shape_index == index for first in threads]
        here = unknown or MapSet(steps, exact=exact, reason=reason, devices=maps.devices)
        if here:
            yield Access(operand, number, index, is_write=False, maps=here)


@dataclass(frozen=True)
class _Region:
    """The instructions of a kernel."""

    rules: RuleProvider
    inside: Sequence[Instruction]
    operands: Sequence[Instruction]
    inner: Sequence[Instruction]
    """What stands for the operands inside: the parameters of a fused computation."""

    @classmethod
    def of(cls, root: Root) -> _Region:
        rules = RuleProvider(root.module)
        computation = root if isinstance(root, Computation) else next(iter(root.called_computations), None)
        if computation is None or (isinstance(root, Instruction) and root.opcode != "fusion"):
            assert isinstance(root, Instruction)
            return cls(rules, (root,), root.operands, root.operands)
        operands = computation.parameters if isinstance(root, Computation) else root.operands
        return cls(rules, computation.instructions, operands, computation.parameters)

    def reads(self, output: OutputSchedule) -> Iterator[Access]:
        """What the hero of an output reads by its own maps, and what the steps from there to the root read."""
        for operand, threads in zip(output.hero.operands, output.inputs, strict=True):
            if threads:
                yield from self._reads_below(operand, threads, self.inside)
        if output.hero != output.root:
            rest = [instruction for instruction in self.inside if instruction != output.hero]
            yield from self._reads_below(output.root, output.output, rest)

    def _reads_below(self, start: Instruction, threads: MapSet, inside: Sequence[Instruction]) -> Iterator[Access]:
        found = reached(self.rules, start, [()], inside, ends=self.inner)
        for number, (operand, parameter) in enumerate(zip(self.operands, self.inner, strict=True)):
            yield from _read(operand, number, threads, found[parameter])


def _value(root: Root) -> Instruction:
    return root.root if isinstance(root, Computation) else root


def _outputs(root: Root) -> list[tuple[ShapeIndex, Shape]]:
    shape = _value(root).shape
    return [(index, shape_at(shape, index)) for index in array_leaves(shape)]


def _expect_thread_map(thread_map: IndexingMap, rank: int) -> None:
    dims = thread_map.dims
    if len(dims) != len(THREAD_DIMS) or min(v.lower for v in dims) < 0:
        raise ShapeError(
            f"expected a thread map with the 6 dims {', '.join(THREAD_DIMS)}, all from 0, found "
            f"{', '.join(f'{v.name} in [{v.lower}, {v.upper}]' for v in dims) or 'none'}; hm.thread_map makes one"
        )
    if len(thread_map.results) != rank and not thread_map.is_known_empty:
        raise ShapeError(
            f"expected a thread map to an array with {rank} dimensions, found one with {len(thread_map.results)} "
            "results; hm.flat_thread_map(shape) makes one"
        )
