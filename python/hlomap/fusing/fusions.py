"""The edges between the kernels of a program, and the numbers of each fused kernel.

Equal pairs of kernels are analyzed once: layers of a model repeat.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from .. import _core
from .._core import Computation, Instruction, Module
from ..analysis.queries import reached
from ..analysis.questions import Questions
from ..analysis.structure import executed_computations, fused_by
from ..base.answers import Unknown
from ..base.devices import Device, as_device
from ..base.lazy import np
from ..base.types import expect_items, subject_of
from ..errors import HlomapError
from ..memory.coalescing import Coalescing, Requests, coalescing_of_schedule, scheduled
from ..memory.cost import CostReport, costs_within
from ..ops._shapes import array_leaves
from ..schedules.priority_fusion import Kernels
from ..tiles.candidates import candidates
from ..tiles.tiling import tile
from . import facts, in_place
from .table import COLUMNS, DEVICE_COLUMNS, FusionCandidate, FusionTable

_MAX_SAMPLES = 64
"""The most tile sizes to try for one that reads boxes only."""


def fusions(
    subject: Module | Computation | Instruction,
    /,
    device: Device | str | None = None,
    columns: Iterable[str] | None = None,
) -> FusionTable:
    """What fusing a producer into a consumer would change: a row for each edge between kernels, most saved bytes first.

    ``subject`` is a module for its entry, or a computation, each with the loops and branches that it runs; or an
    instruction, with the edges to it and from it.  A row has the facts that forbid the fusion (``why_not``), the rule
    by which XLA's GPU fusion of August 2026 refuses it (``xla``), bytes before and after, how often the fused kernel
    evaluates an element of the producer, and whether it can work on tiles; with a ``device`` the emitters, the
    efficiency of memory accesses and lower bounds of the time.  The fused kernel is ``row.fused``; there are none
    inside fusions.  ``columns`` are the columns of interest, by default all: others are not computed, and None.
    Without ``bytes_saved`` among them rows are in the order of the program.

    Updates in place are decided by maps: in a fused kernel no element may be written that another thread still reads.

    Raises ``TypeError`` for other arguments and ``ValueError`` for an unknown device or column.

    >>> module = hm.parse('''ENTRY e {
    ...   x = f32[64,32] parameter(0)
    ...   a = f32[64,32] exponential(x)
    ...   t = f32[32,64] transpose(a), dimensions={1,0}
    ...   ROOT s = (f32[32,64], f32[64,32]) tuple(t, a)
    ... }''')
    >>> table = hm.fusions(module)
    >>> print(table)
    producer -> consumer  before   after   saved  into all  recomputed  boxes
    a -> t                32,768  32,768       0         ?           1   True
    >>> table[0].n_others, table[0].saved_into_all
    (1, Unknown(reason='s (tuple) does not run as a fusion kernel'))
    """
    start = subject_of(subject, "fusions", "read a file with hm.load(path)")
    chosen = None if device is None else as_device(device, "fusions")
    names = _columns(columns, chosen)
    table = _Table(start.module, chosen, set(names))
    rows = table.rows(_edges(start))
    return FusionTable(sorted(rows, key=_rank) if "bytes_saved" in names else rows, names)


def _columns(given: Iterable[str] | None, device: Device | None) -> Sequence[str]:
    known = (*COLUMNS, *DEVICE_COLUMNS) if device is not None else COLUMNS
    if given is None:
        return known
    names = expect_items(str, given, "fusions", "names of columns as `columns`")
    for name in names:
        if name not in known:
            needs = "; it needs a device" if name in DEVICE_COLUMNS else ""
            raise ValueError(f"hm.fusions: no column {name!r}{needs}; there are: {', '.join(known)}")
    return tuple(name for name in known if name in names)


def _rank(row: FusionCandidate) -> float:
    saved = row.bytes_saved
    return inf if row.why_not else -saved if isinstance(saved, int) else inf


class _Edge(NamedTuple):
    producer: Instruction
    consumer: Instruction


def _edges(start: Computation | Instruction) -> list[_Edge]:
    """The edges between kernels outside fusions, in the order of the text."""
    if start.is_fusion if isinstance(start, Computation) else start.computation.is_fusion:
        return []
    if isinstance(start, Instruction):
        readers = [start] if facts.is_value(start) else [start, *start.users]
        own = [edge for reader in dict.fromkeys(readers) for edge in _edges_to(reader)]
        return [edge for edge in own if start in edge]
    return [edge for computation in executed_computations(start) for i in computation for edge in _edges_to(i)]


def _edges_to(consumer: Instruction) -> Iterator[_Edge]:
    if not facts.is_value(consumer):
        for producer in dict.fromkeys(consumer.operands):
            if not facts.is_value(producer):
                yield _Edge(producer, consumer)


class _Kernel(NamedTuple):
    """The numbers of one kernel."""

    bytes: int | Unknown
    time: float | None
    emitter: str | Unknown | None
    efficiency: float | Unknown | None


class _Fused(NamedTuple):
    """The numbers of a fused kernel, or why it cannot be fused."""

    kernel: _Kernel
    recomputed: float | Unknown | None
    boxes: bool | Unknown | None


_COST = {"bytes_before", "bytes_after", "bytes_saved", "saved_into_all", "time_before", "time_after"}
_EMITTER = {"emitter_before", "emitter_after"}
_EFFICIENCY = {"efficiency_before", "efficiency_after"}


class _Table:
    """One table: the numbers of the kernels of a module, each computed once for all equal ones."""

    def __init__(self, module: Module, device: Device | None, columns: Set[str]) -> None:
        self.module, self.device, self.columns = module, device, columns
        self.compiler = Kernels(as_device(device, "fusions"))
        self._kernels: dict[Instruction, _Kernel] = {}
        self._by_signature: dict[Hashable, _Kernel] = {}
        self._fused: dict[Hashable, _Fused | str] = {}
        self._no_kernel: dict[Instruction, str | None] = {}
        self._keys: dict[Instruction, Hashable] = {}
        self._control: dict[Computation, Mapping[Instruction, str]] = {}
        self._readers: dict[Instruction, int] = {}
        self._saved: dict[Instruction, int | Unknown] = {}
        self._requests: Requests = {}

    # ------------------------------------------------------------------ rows

    def rows(self, edges: Sequence[_Edge]) -> list[FusionCandidate]:
        """A row for each edge."""
        self._count(edges)
        found = []
        after: dict[_Edge, _Fused | None] = {}
        why: dict[_Edge, tuple[str, ...]] = {}
        for edge in edges:
            reasons, fused = self._why_not(edge)
            why[edge], after[edge] = reasons, fused
        for edge in edges:
            found.append(self._row(edge, why[edge], after))
        if "saved_into_all" in self.columns:
            for edge in edges:
                if edge.producer not in self._saved:
                    self._saved[edge.producer] = self._into_all(edge.producer, why, after)
            return [replace(row, saved_into_all=self._saved[row.producer]) for row in found]
        return found

    def _row(self, edge: _Edge, why_not: tuple[str, ...], after: dict[_Edge, _Fused | None]) -> FusionCandidate:
        p, c, n_others = self.kernel(edge.producer), self.kernel(edge.consumer), self._n_others(edge.producer)
        fused = after[edge]
        values: dict[str, Any] = {}
        before = _plus(p.bytes, c.bytes)
        seconds = None if p.time is None or c.time is None else p.time + c.time
        values |= {"bytes_before": before, "time_before": seconds, "emitter_before": (p.emitter, c.emitter)}
        values["efficiency_before"] = _lower(p.efficiency, c.efficiency)
        if fused is None:
            forbidden = Unknown("; ".join(why_not))
            values |= dict.fromkeys(("bytes_after", "bytes_saved", "recomputed", "boxes"), forbidden)
            values |= dict.fromkeys(("emitter_after", "efficiency_after", "time_after"), forbidden)
        else:
            n_bytes = _plus(fused.kernel.bytes, p.bytes if n_others else 0)
            values |= {"bytes_after": n_bytes, "bytes_saved": _minus(before, n_bytes)}
            values |= {"recomputed": fused.recomputed, "boxes": fused.boxes, "emitter_after": fused.kernel.emitter}
            values["efficiency_after"] = fused.kernel.efficiency
            if fused.kernel.time is not None and p.time is not None:
                values["time_after"] = fused.kernel.time + (p.time if n_others else 0.0)
        if "xla" in self.columns:
            values["xla"] = self.compiler.refusal(edge.producer, edge.consumer)
        shown = {name: value for name, value in values.items() if name in self.columns}
        return FusionCandidate(edge.producer, edge.consumer, n_others, why_not, **shown)

    def _into_all(
        self, producer: Instruction, why: dict[_Edge, tuple[str, ...]], after: dict[_Edge, _Fused | None]
    ) -> int | Unknown:
        """The bytes saved if a producer is fused into each of its readers."""
        if producer.is_root:
            return Unknown(f"{producer.name} is the result of {producer.computation.name}")
        saved: int | Unknown = self.kernel(producer).bytes
        for reader in dict.fromkeys(producer.users):
            edge = _Edge(producer, reader)
            if edge not in after:
                reason = facts.of_kernel(reader)
                if reason is not None or facts.is_value(reader):
                    return Unknown(reason or f"{reader.name} ({reader.opcode}) is not a kernel")
                after[edge] = None  # an instruction as the subject: edges to other readers are not in the table
                reasons, after[edge] = self._why_not(edge)
                why[edge] = reasons
            fused = after[edge]
            if fused is None:
                return Unknown("; ".join(why[edge]))
            saved = _plus(saved, _minus(self.kernel(reader).bytes, fused.kernel.bytes))
        return saved

    # ------------------------------------------------------------------ facts

    def no_kernel(self, instruction: Instruction) -> str | None:
        if instruction not in self._no_kernel:
            self._no_kernel[instruction] = facts.of_kernel(instruction)
        return self._no_kernel[instruction]

    def _why_not(self, edge: _Edge) -> tuple[tuple[str, ...], _Fused | None]:
        """The facts that forbid an edge, and the numbers of the fused kernel if there are none."""
        found = [reason for i in edge if (reason := self.no_kernel(i)) is not None]
        if found:
            return tuple(found), None
        control = self._control_edges(edge.consumer.computation)
        found = [control[i] for i in edge if i in control]
        found += facts.of_edge(edge.producer, edge.consumer, self._n_others(edge.producer))
        hazard = self._in_place(edge)
        found += [hazard] if hazard is not None else []
        if found:
            return tuple(found), None
        fused = self.fused(edge)
        return ((fused,), None) if isinstance(fused, str) else ((), fused)

    def _control_edges(self, computation: Computation) -> Mapping[Instruction, str]:
        if computation not in self._control:
            self._control[computation] = facts.control_edges(computation)
        return self._control[computation]

    def _n_others(self, producer: Instruction) -> int:
        """The readers of a producer but one, and one more if it is the result of its computation."""
        if producer not in self._readers:
            self._readers[producer] = len({*producer.users})
        return self._readers[producer] - 1 + producer.is_root

    def _in_place(self, edge: _Edge) -> str | None:
        """Why updates in place forbid an edge."""
        producer, consumer = edge
        written = [consumer.operands[update.operand] for update in in_place.updates(consumer)]
        for buffer in dict.fromkeys(written):
            if buffer in producer.operands:
                try:
                    root = _core._fuse([consumer, producer], [consumer], None).entry.root
                except HlomapError as error:
                    return str(error)
                return in_place.hazard(root, consumer.name, producer)
            owner = in_place.base(buffer)
            for operand in producer.operands:
                if in_place.base(operand) == owner and buffer != producer:
                    return f"in place: {consumer.name} writes {buffer.name} while {producer.name} still reads " + (
                        f"{operand.name}, which has the same memory"
                    )
        return None

    # ------------------------------------------------------------------ numbers

    def _count(self, edges: Sequence[_Edge]) -> None:
        """Computes the costs of all kernels of the table in one pass."""
        kernels = dict.fromkeys(i for edge in edges for i in edge if self.no_kernel(i) is None)
        others = dict.fromkeys(i for edge in edges for i in edge if i not in kernels)
        first: dict[Hashable, Instruction] = {}
        for i in kernels:
            first.setdefault(self._key(i), i)
        wanted = [*first.values(), *others]
        costs = costs_within(self.module, wanted, self.device) if self.columns & _COST else {}
        for key, i in first.items():
            self._by_signature[key] = self._measured(i, costs.get(i))
        for i in kernels:
            self._kernels[i] = self._by_signature[self._key(i)]
        for i in others:
            self._kernels[i] = _Kernel(_bytes(costs.get(i)), _seconds(costs.get(i)), None, None)

    def _key(self, instruction: Instruction) -> Hashable:
        if instruction not in self._keys:
            self._keys[instruction] = instruction.signature()
        return self._keys[instruction]

    def kernel(self, instruction: Instruction) -> _Kernel:
        """The numbers of an instruction of the module."""
        if instruction not in self._kernels:
            self._count([_Edge(instruction, instruction)])
        return self._kernels[instruction]

    def _measured(self, kernel: Instruction, cost: CostReport | None) -> _Kernel:
        emitter: str | Unknown | None = None
        efficiency: float | Unknown | None = None
        if self.device is not None and self.columns & (_EMITTER | _EFFICIENCY):
            found, flat = scheduled(kernel, self.device)
            emitter = found if isinstance(found, Unknown) else found.emitter
            if self.columns & _EFFICIENCY:
                efficiency = _efficiency(coalescing_of_schedule(kernel, found, flat, self.device, known=self._requests))
        return _Kernel(_bytes(cost), _seconds(cost), emitter, efficiency)

    def fused(self, edge: _Edge) -> _Fused | str:
        """The numbers of the fused kernel of an edge, or why there is none."""
        key = self._pair_key(edge)
        if key not in self._fused:
            try:
                root = _core._fuse([edge.consumer, edge.producer], [edge.consumer], None).entry.root
            except HlomapError as error:
                return str(error)
            cost = costs_within(root.module, [root], self.device)[root] if self.columns & _COST else None
            recomputed = _recomputed(root, edge) if "recomputed" in self.columns else None
            boxes = _boxes(root) if "boxes" in self.columns else None
            self._fused[key] = _Fused(self._measured(root, cost), recomputed, boxes)
        return self._fused[key]

    def _pair_key(self, edge: _Edge) -> Hashable:
        """Equal for pairs with the same operations that share their operands alike."""
        number: dict[Instruction, int] = {edge.producer: 0}
        operands = []
        for operand in (*edge.producer.operands, *edge.consumer.operands):
            k = number.setdefault(operand, len(number))
            # A scalar constant moves into the kernel.
            is_inside = operand._has("literal") and not operand.shape.dimensions
            operands.append((k, str(operand.shape), _value(operand)) if is_inside else k)
        return self._key(edge.producer), self._key(edge.consumer), tuple(operands)


def _value(constant: Instruction) -> Hashable:
    """Equal for scalar constants of equal value, as far as the text has it."""
    try:
        return str(constant.literal)
    except HlomapError:
        return constant.number


def _bytes(cost: CostReport | None) -> int | Unknown:
    if cost is None:
        return Unknown("not among the columns")
    if isinstance(cost.distinct_bytes, Unknown):
        return cost.distinct_bytes
    return cost.bytes_written if isinstance(cost.bytes_written, Unknown) else cost.distinct_bytes + cost.bytes_written


def _seconds(cost: CostReport | None) -> float | None:
    return None if cost is None else cost.time_at_least


def _plus(a: int | Unknown, b: int | Unknown) -> int | Unknown:
    return a if isinstance(a, Unknown) else b if isinstance(b, Unknown) else a + b


def _minus(a: int | Unknown, b: int | Unknown) -> int | Unknown:
    return a if isinstance(a, Unknown) else b if isinstance(b, Unknown) else a - b


def _lower(a: float | Unknown | None, b: float | Unknown | None) -> float | Unknown | None:
    for one in (a, b):
        if one is None or isinstance(one, Unknown):
            return one
    return min(a, b)  # type: ignore[type-var]


def _efficiency(accesses: Iterable[Coalescing]) -> float | Unknown:
    """The bytes used for each byte moved by all accesses of a kernel."""
    used = moved = 0
    for access in accesses:
        if access.bytes_used is None or access.bytes_moved is None:
            return Unknown(access.reason or "not known")
        used, moved = used + access.bytes_used, moved + access.bytes_moved
    return used / moved if moved else 1.0


def _recomputed(fused: Instruction, edge: _Edge) -> float | Unknown:
    """How often a fused kernel evaluates each element of its producer that it needs."""
    inside = fused.called_computations[0]
    part = _part(inside, edge.producer)
    if part is None:  # its name is taken: look it up by its place in a tuple of outputs
        root = _core._fuse([edge.consumer, edge.producer], [edge.consumer, edge.producer], None).entry.root
        inside = root.called_computations[0]
        start, part = inside.root.operands[0], inside.root.operands[1]
    else:
        start = inside.root
    indices = array_leaves(start.shape)
    found = reached(Questions(start.module), start, indices, inside, ends=[part], ends_alone=True)[part]
    if found.is_unknown:
        return Unknown(found.reason or "not known")
    try:
        reads, distinct = found.count(), found.count(distinct=True)
    except HlomapError as error:
        return Unknown(str(error))
    if not distinct.upper:
        return 0
    times, rest = divmod(reads.upper, distinct.upper)
    return times if rest == 0 else reads.upper / distinct.upper


def _part(inside: Computation, producer: Instruction) -> Instruction | None:
    """The instruction of a fused computation that has the value of the producer, if it has kept its name."""
    fused = fused_by(producer)
    own = producer if fused is None else fused.root
    for i in inside:
        if i.name == own.name and i.opcode == own.opcode and i.shape == own.shape:
            return i
    return None


def _boxes(fused: Instruction) -> bool | Unknown:
    """Whether for some tile of a kernel smaller than the whole, and larger than an element, all reads are boxes."""
    try:
        tiling = tile(fused)
    except HlomapError as error:
        return Unknown(str(error))
    unknown = next((read.unknown for read in (*tiling.reads, *tiling.writes) if read.unknown is not None), None)
    if unknown is not None:
        return Unknown(unknown)
    sizes = np.array([p.size for p in tiling.params], dtype=np.int64)
    if not len(sizes):
        return True
    tried = np.ones((1, len(sizes)), dtype=np.int64)
    if (sizes > 1).any():
        some = candidates(sizes[sizes > 1].tolist(), "pow2", _MAX_SAMPLES, 0)
        tried = np.repeat(tried, len(some), axis=0)
        tried[:, sizes > 1] = some
    inner = (tried < sizes).any(axis=1) & (tried > 1).any(axis=1)
    chosen = tried[inner] if inner.any() else tried
    return bool(tiling.evaluate(chosen, columns=["legal"])["legal"].any())
