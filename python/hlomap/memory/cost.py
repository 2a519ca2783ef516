"""Cost of a program: arithmetic operations, bytes that move, and a lower bound of the time.

:func:`cost` is the entry point.  Operations come from the trait ``operations`` of the op rules; the elements that a
fusion evaluates, how often, and the bytes that it reads come from the indexing maps.  No code depends on an opcode.
The numbers are exact if ``exact`` is true, else upper bounds of the necessary costs, explained by ``notes``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .._core import Computation, Count, Instruction, Module, Shape
from ..analysis.executions import Each, Run, effects
from ..analysis.queries import operand_maps, reached
from ..analysis.questions import Questions
from ..analysis.structure import fused_by, runs_once
from ..base.answers import Unknown
from ..base.devices import Device, as_device
from ..base.later import Later, deferred, later
from ..base.text import table_lines
from ..base.types import ReadOnlyDict, json_fields, json_value, subject_of
from ..hlo.unread import unread_reason
from ..maps.map_set import MapSet
from ..ops import lookup
from ..ops._operations import Operations
from ..ops._shapes import array_leaves, arrays
from ..ops.asynchronous import begun_by
from .figures import (
    NO_BYTES,
    Figures,
    Placed,
    bytes_of,
    estimated,
    figures_of_bytes,
    moved,
    placed,
    plus,
    ratio,
    total,
    weight_of,
)
from .wire import WireBytes, wire_bytes

if TYPE_CHECKING:
    from .._core import _Operations

_MAX_LINES = 10


@dataclass(frozen=True)
class CostReport(Later):
    """The result of :func:`cost`, with a part for each instruction of the subject; ``str()`` is a table.

    All numbers are for ``times`` runs.  They are exact if ``exact`` is true; otherwise they are upper bounds, unless
    ``notes`` say that something is left out.
    """

    #: The instruction or the computation; for a module its entry.
    subject: Instruction | Computation
    #: The number of runs of the subject; more than 1 in a loop.
    times: int
    #: Arithmetic operations on the needed elements, each counted once; 2 for a multiply-add.
    flops: int
    #: Functions such as exp, which take several arithmetic operations each.
    transcendentals: int
    #: Evaluated operations for each needed operation: above 1 if a fusion computes an element again for each of its
    #: uses.
    recomputed: float | Unknown
    #: Bytes read from memory of any space, each counted once.
    distinct_bytes: int | Unknown
    #: Bytes read from memory of any space if no cache keeps them, every read counted.
    read_bytes: int | Unknown
    #: Bytes written to memory of any space.
    bytes_written: int | Unknown
    #: ``distinct_bytes + bytes_written`` by the memory space in the layouts of the arrays: 0 is the device's memory,
    #: which is always listed and includes arrays without a layout; 1 is on the chip, 5 the host's memory.
    bytes_by_memory_space: Mapping[int, int] | Unknown = field(hash=False)
    #: The device of ``time_at_least``.
    device: Device | None
    #: Seconds: a lower bound, never an estimate.  None without a device.
    time_at_least: float | None
    exact: bool
    #: The omissions and assumptions of the numbers, in words.
    notes: tuple[str, ...]
    #: The reports of the instructions outside fusions that run, each for all its ``times`` runs, in schedule order,
    #: that is, in the order of their first run, so that the body of a loop takes the place of the loop.  The order
    #: inside a computation is that of the text.  For a fusion, the reports of the instructions inside, which move no
    #: bytes.
    parts: tuple[CostReport, ...] = later()
    #: Whether an unknown part is left out, so that the numbers are not upper bounds.
    _is_partial: bool = False

    @property
    def name(self) -> str:
        """The name of the subject."""
        return self.subject.name

    def _of(self, subject: Instruction, parts: tuple[CostReport, ...] = ()) -> CostReport:
        """The report of a subject with equal numbers; :func:`dataclasses.replace` takes five times as long."""
        copy = object.__new__(CostReport)
        vars(copy).update(vars(self), subject=subject, parts=parts)
        return copy

    @property
    def wire_bytes(self) -> Count | Unknown:
        """The least bytes that the busiest device sends to others, see :func:`hlomap.collectives`."""
        return self._sent.count

    @cached_property
    def _sent(self) -> WireBytes:
        return wire_bytes(self.subject)[0].times(self.times)

    @property
    def _weight(self) -> int:
        moved = (n for n in (self.distinct_bytes, self.bytes_written) if not isinstance(n, Unknown))
        return weight_of(self.flops, self.transcendentals, *moved)

    @property
    def intensity(self) -> float | None:
        """Flops for each byte of device memory that is read or written; None if there are none, or unknown."""
        spaces = self.bytes_by_memory_space
        n_bytes = 0 if isinstance(spaces, Unknown) else spaces[0]
        return ratio(self.flops, n_bytes) if n_bytes else None

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        head = {"name": self.name, "kind": type(self.subject).__name__.lower(), **json_fields(self, *_NUMBERS)}
        spaces = self.bytes_by_memory_space
        by_space = spaces if isinstance(spaces, Unknown) else {str(space): n for space, n in spaces.items()}
        head |= {"bytes_by_memory_space": json_value(by_space), **json_fields(self, "wire_bytes")}
        return head | {"device": self.device and self.device.name} | json_fields(self, "notes parts")

    def __repr__(self) -> str:
        numbers = (f"{name}={getattr(self, name)!r}" for name in ("flops", "transcendentals", "distinct_bytes"))
        return f"<hlomap.results.CostReport of {self.name}: {', '.join(numbers)}, bytes_written={self.bytes_written}>"

    def __str__(self) -> str:
        weighed = [(p._weight, p) for p in self.parts]
        shown = [part for weight, part in sorted(weighed, key=lambda item: -item[0]) if weight][:_MAX_LINES]
        has_time = self.time_at_least is not None
        header = ["", "flops", "transcendentals", "recomputed", "distinct bytes", "read bytes", "written", "flops/byte"]
        rows = [[*header, "at least"] if has_time else header, _cells(self, has_time)]
        rows += [_cells(part, has_time, "  ") for part in shown]
        lines = table_lines(rows)
        left = len(self.parts) - len(shown)
        lines += [f"  … {left} more"] if left else []
        about = "a part is not known" if self._is_partial else "at most, not exactly"
        lines += [about] if not self.exact else []
        if not isinstance(self.bytes_by_memory_space, Unknown):
            spaces = ((space, n) for space, n in self.bytes_by_memory_space.items() if space)
            lines += [f"{n:,} bytes are in memory space {space}, not in device memory" for space, n in spaces]
        lines += [str(self._sent)] if self._sent.most or self._sent.unknown else []
        return "\n".join([*lines, *self.notes])


_NUMBERS = (
    "times", "flops", "transcendentals", "recomputed", "distinct_bytes", "read_bytes", "bytes_written", "intensity",
    "time_at_least", "exact",
)  # fmt: skip


def _cells(report: CostReport, has_time: bool, indent: str = "") -> list[str]:
    times = f" x{report.times}" if report.times != 1 else ""
    numbers = (report.distinct_bytes, report.read_bytes, report.bytes_written)
    is_inside = isinstance(report.subject, Instruction) and report.subject.computation.is_fusion
    cells = [
        f"{indent}{report.name}{times}",
        f"{report.flops:,}",
        f"{report.transcendentals:,}",
        "?" if isinstance(report.recomputed, Unknown) else f"{report.recomputed:.3g}",
        *("" if is_inside else "?" if isinstance(number, Unknown) else f"{number:,}" for number in numbers),
        "" if report.intensity is None else f"{report.intensity:.3g}",
    ]
    return [*cells, _time(report.time_at_least or 0.0)] if has_time else cells


def _time(seconds: float) -> str:
    unit, factor = next((unit for unit in (("s", 1), ("ms", 1e3), ("us", 1e6)) if seconds * unit[1] >= 1), ("ns", 1e9))
    return f"{seconds * factor:.3g} {unit}"


def cost(subject: Instruction | Computation | Module, /, device: Device | str | None = None) -> CostReport:
    """The arithmetic operations of a program, the bytes that it moves, and with a device a lower bound of its time.

    ``subject`` is an instruction, a computation, or a module for its entry.  Operations on needed elements count once:
    for a slice of a sum in a fusion only the additions of the slice.  ``recomputed`` says how often a fusion evaluates
    them.  Bytes are those of the distinct elements that instructions outside fusions read, and those that they write;
    the operand of an update in place is neither.  A loop counts its trip count times, or once if that is unknown, and a
    conditional as its most expensive branch: by time with a device, else by flops plus bytes.  ``notes`` say so.

    ``time_at_least`` is the larger of flops / the peak of their element type and bytes / bandwidth, in seconds: a
    lower bound for a device whose caches are empty before each instruction.  Element types without a known peak, bytes
    outside the device's memory, and numbers that are not known exactly do not count.

    ``device`` is a :class:`~hlomap.Device` or the name of one.  Raises ``TypeError`` for other arguments and
    ``ValueError`` for an unknown name.

    >>> import hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   a = f32[64,32] parameter(0)
    ...   b = f32[32,16] parameter(1)
    ...   ROOT d = f32[64,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ... }''')
    >>> report = cost(module, device="h100")
    >>> report.flops == 2 * 64 * 32 * 16, report.distinct_bytes, report.read_bytes, report.bytes_written
    (True, 10240, 262144, 4096)
    """
    subject = subject_of(subject, "cost", "read a file with hm.load(path)")
    if device is not None:
        device = as_device(device, "cost")
    run = _Run(Questions(subject.module), device)
    if isinstance(subject, Instruction) and runs_once(subject):
        return run.report(subject, run.of_instruction(subject), 1, run.inner(subject))
    if isinstance(subject, Computation) and subject.is_fusion:
        figures, counts = run.of_fused(subject)
        return run.report(subject, figures, 1, run.inner_of(counts))
    total, times = run.of_program(subject)
    total += _skipped(subject.module)
    reports = times.map(lambda i, n: (run.report(i, run.of_instruction(i).times(n), n), tuple(run.inner(i, n))))
    return run.report(subject, total, 1, lambda: tuple(_about(i, *report) for i, report in reports.pairs()))


def _about(instruction: Instruction, report: CostReport, inner: tuple[CostReport, ...]) -> CostReport:
    """The report of an instruction from the one of another with equal costs, and the reports inside that."""
    first = report.subject
    own, other = (fused_by(instruction), fused_by(first)) if inner and isinstance(first, Instruction) else (None, None)
    if own is not None and other is not None and own != other:
        # Computations with equal fingerprints have equal instructions in the same order.
        at, shift = instruction.module.instruction, own.root.number - other.root.number
        subjects = [at(part.subject.number + shift) for part in inner]
        inner = tuple(part._of(subject) for subject, part in zip(subjects, inner, strict=True))
    return report._of(instruction, inner)


def costs_within(
    module: Module, instructions: Iterable[Instruction], device: Device | None
) -> dict[Instruction, CostReport]:
    """:func:`cost` of some instructions of a module, without parts; equal instructions are computed once."""
    run = _Run(Questions(module), device)
    found: dict[Instruction, CostReport] = {}
    for instruction in instructions:
        once = runs_once(instruction)
        figures = run.of_instruction(instruction) if once else run.of_program(instruction)[0]
        found[instruction] = run.report(instruction, figures, 1)
    return found


@dataclass(frozen=True)
class BytesMoved:
    """The bytes that instructions outside fusions read and write in all runs; an upper bound if nothing is unknown."""

    #: Each byte counted once for each run of an instruction that reads it.
    distinct_bytes: int = 0
    bytes_written: int = 0
    #: Unknown bytes that are left out.
    unknown: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The bytes read and written together."""
        return self.distinct_bytes + self.bytes_written

    @classmethod
    def sum(cls, parts: Iterable[BytesMoved]) -> BytesMoved:
        """The sum of all parts."""
        read, written, unknown = 0, 0, dict[str, None]()
        for part in parts:
            read, written = read + part.distinct_bytes, written + part.bytes_written
            unknown |= dict.fromkeys(part.unknown)
        return cls(read, written, tuple(unknown))

    def times(self, n: int) -> BytesMoved:
        """The bytes of ``n`` runs."""
        return BytesMoved(self.distinct_bytes * n, self.bytes_written * n, self.unknown)

    @property
    def bound(self) -> str:
        """The total in words, as a bound if it is one."""
        return str(self) if self.unknown else f"at most {self}"

    def __str__(self) -> str:
        return f"{self.total:,}" + (" + unknown" if self.unknown else "")


Moved: TypeAlias = tuple[BytesMoved, Each[BytesMoved]]
"""The bytes that a program and each of its instructions move."""


def bytes_moved(subject: Instruction | Computation, *, executed: bool = True) -> Moved:
    """The bytes that a program and each of its instructions move; a conditional counts its branch that moves most.

    An instruction has the bytes of all its runs; instructions in other branches are left out.  Unless ``executed``,
    all instructions count once.
    """
    run = _BytesRun(Questions(subject.module), None)
    total, times = run.of_program(subject) if executed else run.of_text(subject)
    moved = times.map(lambda i, n: _as_bytes(run.of_instruction(i).times(n)))
    return _as_bytes(total + _skipped(subject.module)), moved


def _as_bytes(figures: Figures) -> BytesMoved:
    read, written = figures.numbers[3], figures.numbers[5]
    return BytesMoved(read or 0, written or 0, figures.unknown)


class _Counted(NamedTuple):
    """An instruction inside a fusion: its operations on needed elements, and on evaluated elements."""

    instruction: Instruction
    needed: _Operations | str
    """Or why they are not known."""
    evaluated: int | None


class _Run(Run[Figures]):
    """One question about one module; the cost of equal instructions is computed once."""

    def __init__(self, questions: Questions, device: Device | None) -> None:
        super().__init__(questions)
        self.device = device
        self._counted: dict[Computation, list[_Counted]] = {}

    def total(self, amounts: Iterable[Figures]) -> Figures:
        return total(amounts)

    def noted(self, note: str, *, is_unknown: bool) -> Figures:
        return Figures(notes=(note,), exact=False, unknown=(note,) if is_unknown else ())

    def weight(self, amount: Figures) -> float:
        return amount.seconds(self.device) if self.device else amount.weight

    def choice(self, heaviest: Figures, every: Sequence[Figures]) -> Figures:
        """The numbers of one branch, with the smallest lower bounds of all branches."""
        dtypes = set.intersection(*(set(one.sure_flops) for one in every))
        flops = Counter({dtype: min(one.sure_flops[dtype] for one in every) for dtype in dtypes})
        return replace(heaviest, sure_flops=flops, sure_bytes=min(one.sure_bytes for one in every))

    def once_at_most(self, amount: Figures) -> Figures:
        return replace(amount, sure_flops=Counter(), sure_bytes=0)

    # ------------------------------------------------------------------ an instruction

    def measure(self, instruction: Instruction) -> Figures:
        """The figures of one run of an operation or a fusion."""
        fused = fused_by(instruction)
        if fused is None:
            figures = self._of_operation(instruction)
        else:
            figures, self._counted[fused] = self.of_fused(fused, instruction)
        is_clear = instruction.inconsistency is None and not instruction.has_unnamed_operands
        return figures if is_clear else figures + _unread([instruction])

    def _of_operation(self, instruction: Instruction) -> Figures:
        op = lookup(instruction.opcode)
        operations = self.questions.operations(instruction.number)  # of the whole output
        n = None if isinstance(operations, str) else operations.flops + operations.transcendentals
        figures = self._arithmetic([_Counted(instruction, operations, n)])
        if op.memory.moves_nothing:
            return figures
        if instruction.has_unnamed_operands:
            return figures
        update_of = lookup(begun_by(instruction.opcode)).memory.updated_operand
        updated = update_of(instruction) if update_of is not None else None
        if updated is not None and updated < len(instruction.operands):
            combines = bool(instruction.called_computations) and (
                isinstance(operations, str) or bool(n) or operations.exact
            )
            return figures + self._of_update(instruction, updated, combines)
        if not array_leaves(instruction.shape):
            return figures + self._of_effect(instruction)
        reads: dict[Instruction, list[MapSet]] = {}
        kept = {alias.output_index for alias in instruction.attributes.get("output_to_operand_aliasing", ())}
        written = op.memory.written(instruction)
        # An operation may replace only a part of the memory of an operand; the rest is not read.
        replaced = {index: place.operand for index, place in op.memory.in_place(instruction).items() if place.replaces}
        unsure = [shape for index, shape in written if index in replaced]
        for index in array_leaves(instruction.shape):
            found = operand_maps(self.questions, instruction, index)
            for k, operand in enumerate(instruction.operands):
                maps = MapSet() if replaced.get(index) == k else found.get(k, MapSet())
                reads.setdefault(operand, []).append(maps)
            # Unknown code need not write any of an operand's memory.
            if index in kept and any(maps.is_unknown for maps in found.values()):
                unsure += [shape for at, shape in written if at == index]
        read = [(Placed(i.shape), sets) for i, sets in reads.items()]
        of_bytes = moved(read, placed(shape for _, shape in written), instruction.name, placed(unsure))
        estimate = self._estimate(instruction) if of_bytes.unknown else None
        return figures + (of_bytes if estimate is None else estimated(of_bytes, estimate))

    def _estimate(self, instruction: Instruction) -> Operations | None:
        """The figures of an operation from an estimate, without proof."""
        found = self.questions.counted(instruction)
        return found if isinstance(found, Operations) and found.estimate is not None else None

    def _of_update(self, instruction: Instruction, updated: int, combines: bool) -> Figures:
        """The figures of an update in place: reads of the other operands, and of the old elements if they count."""
        operands = instruction.operands[1:]
        whole = [operand.shape for operand in dict.fromkeys(operands) if operand != instruction.operands[0]]
        new = Placed(instruction.operands[updated].shape, instruction.shape)
        read, written = bytes_of([*placed(whole), *([new] if combines else [])]), bytes_of([new])
        sure = sum((bytes_of([one]) or NO_BYTES)[0] for one in placed(whole)) if not combines else 0
        return replace(figures_of_bytes(read, 0, written), sure_bytes=sure, exact=not instruction.called_computations)

    def _of_effect(self, instruction: Instruction) -> Figures:
        """The figures of an operation without output arrays, whose maps would show its reads: it reads whole
        operands."""
        reason = self._why_unknown(instruction)
        read = bytes_of(placed(operand.shape for operand in dict.fromkeys(instruction.operands)))
        if read is None:
            reason = f"{instruction.name} reads an array without bound"
        if reason is not None:
            return replace(figures_of_bytes(read, None, NO_BYTES), exact=False, unknown=(reason,))
        found = figures_of_bytes(read, 0, NO_BYTES)
        return replace(found, sure_bytes=found.by_space[0])

    def _why_unknown(self, instruction: Instruction) -> str | None:
        """Why the reads of an operation without output arrays are not known."""
        operations = self.questions.operations(instruction.number)
        return f"{instruction.name}: {operations}" if isinstance(operations, str) else None

    # ------------------------------------------------------------------ a fusion

    def of_fused(
        self, computation: Computation, fusion: Instruction | None = None, *, with_bytes: bool = True
    ) -> tuple[Figures, list[_Counted]]:
        """The figures of one run of a fused computation, and the operations evaluated inside.

        The shapes of ``fusion`` give the memory spaces of operands and outputs; by default the shapes inside do.
        """
        questions, at = self.questions, computation.module.instruction
        fused = questions.fused(computation.number)
        counted = [_Counted(at(one.number), one.needed, one.evaluated) for one in fused.evaluated]
        figures = self._arithmetic(counted)
        reads: dict[Instruction, list[MapSet]] = {}
        acting = effects(computation) if with_bytes else {}
        ends = [*map(at, fused.starts), *(operand for instruction in acting for operand in instruction.operands)]
        for start in dict.fromkeys(ends) if with_bytes else ():
            indices = array_leaves(start.shape)
            own, parameters = computation.instructions, computation.parameters
            found = reached(questions, start, indices, own, ends=parameters, ends_alone=True) if indices else {}
            for instruction, maps in found.items():
                if maps or maps.is_unknown:
                    reads.setdefault(instruction, []).append(maps)
        for instruction, inside in acting.items():
            unknown = tuple(reason for i in inside if (reason := self._why_unknown(i)) is not None)
            note = f"not counted: the operations that {instruction.name} alone needs"
            figures += Figures(exact=False, notes=(note,), unknown=unknown, lacks_operations=True)
        if with_bytes:
            read = [(Placed(i.shape, _outside(i, fusion)), sets) for i, sets in reads.items()]
            results = _outputs(fusion, len(fused.written))
            new = [Placed(at(number).shape, place) for number, place in zip(fused.written, results, strict=True)]
            figures += moved(read, new, computation.name)
            figures += _unread(i for i in computation if i.has_unnamed_operands)
        return figures, [one for one in counted if not isinstance(one.needed, str)]

    def _arithmetic(self, counted: Iterable[_Counted]) -> Figures:
        flops, others, exact, sure = 0, 0, True, Counter[str]()
        evaluated: int | None = 0
        notes: dict[str, None] = {}
        estimates: dict[str, None] = {}
        for one in counted:
            if isinstance(one.needed, str):
                exact, evaluated = False, None
                notes[f"not counted: {one.needed}"] = None
                continue
            flops, others = flops + one.needed.flops, others + one.needed.transcendentals
            exact, evaluated = exact and one.needed.exact, plus(evaluated, one.evaluated)
            estimate = None if one.needed.exact else self._estimate(one.instruction)
            if estimate is not None:
                estimates[str(estimate.estimate)] = None
            if self.device is not None and one.needed.exact:
                sure[_dtype(one.instruction)] += one.needed.flops
        numbers = (flops, others, evaluated, 0, 0, 0)
        all_notes = (*notes, *estimates)
        return Figures(numbers, sure, exact=exact, notes=all_notes, lacks_operations=bool(all_notes))

    # ------------------------------------------------------------------ reports

    def report(
        self,
        subject: Instruction | Computation,
        figures: Figures,
        times: int,
        parts: Iterable[CostReport] | Callable[[], tuple[CostReport, ...]] = (),
    ) -> CostReport:
        """The report of these figures, which are for all runs."""
        flops, others = figures.numbers[0] or 0, figures.numbers[1] or 0
        evaluated, read, reread, written = figures.numbers[2:]
        why = Unknown("; ".join(figures.unknown or figures.notes) or "an array has no bound")
        recomputed = why if evaluated is None else ratio(evaluated, flops + others) if flops + others else 1.0
        seconds = None if self.device is None else figures.seconds(self.device)
        found = deferred(parts) if callable(parts) else tuple(parts)
        about = (self.device, seconds, figures.exact, figures.notes, found)
        is_partial = bool(figures.unknown) or figures.lacks_operations
        by_space: Mapping[int, int] | Unknown = ReadOnlyDict({0: 0, **dict(sorted(figures.by_space.items()))})
        if read is None or written is None:
            by_space = why
        moved = [why if n is None else n for n in (read, plus(read, reread), written)]
        numbers = flops, others, recomputed, moved[0], moved[1], moved[2], by_space
        return CostReport(subject, times, *numbers, *about, _is_partial=is_partial)

    def inner(self, instruction: Instruction, times: int = 1) -> Iterator[CostReport]:
        """The reports of the operations evaluated inside a fusion."""
        fused = fused_by(instruction)
        if fused is None:
            return iter(())
        if fused not in self._counted:
            self._counted[fused] = self.of_fused(fused, with_bytes=False)[1]
        return self.inner_of(self._counted[fused], times)

    def inner_of(self, counted: Sequence[_Counted], times: int = 1) -> Iterator[CostReport]:
        """The reports of instructions inside, in the order of the text."""
        for one in sorted(counted, key=lambda one: one.instruction.number):
            yield self.report(one.instruction, self._arithmetic([one]).times(times), times)


class _BytesRun(_Run):
    """A run that takes the branch of a conditional that moves the most bytes, and the unknowns of all branches."""

    def weight(self, amount: Figures) -> float:
        return weight_of(amount.numbers[3], amount.numbers[5])

    def choice(self, heaviest: Figures, every: Sequence[Figures]) -> Figures:
        return replace(super().choice(heaviest, every), unknown=total(every).unknown)


def _unread(instructions: Iterable[Instruction]) -> Figures:
    """The figures of instructions whose operands are not known: they leave bytes out."""
    unknown = tuple(f"{i.name}: {i.inconsistency or 'the text names no operands'}" for i in instructions)
    return Figures(exact=not unknown, notes=tuple(f"not counted: {reason}" for reason in unknown), unknown=unknown)


def _skipped(module: Module) -> Figures:
    """The figures of a part of the text outside instructions."""
    reason = unread_reason(module, ())
    return Figures() if reason is None else Figures(exact=False, notes=(f"not counted: {reason}",), unknown=(reason,))


def _outside(parameter: Instruction, fusion: Instruction | None) -> Shape | None:
    """The operand that is the value of a parameter of a fused computation."""
    number = parameter.parameter_number
    return None if fusion is None or number is None or number >= len(fusion.operands) else fusion.operands[number].shape


def _outputs(fusion: Instruction | None, n: int) -> Sequence[Shape | None]:
    """The values of the ``n`` outputs of a fusion."""
    if fusion is None:
        return [None] * n
    parts = fusion.shape.tuple_shapes if fusion.shape.is_tuple else ()
    return parts if len(parts) == n else [fusion.shape] * n


def _dtype(instruction: Instruction) -> str:
    """The element type of the arithmetic: the first operand's, since products and comparisons may return another
    type."""
    shapes = (shape for value in (*instruction.operands[:1], instruction) for _, shape in arrays(value.shape))
    return next((shape.dtype for shape in shapes if shape.dtype != "pred"), "pred")
