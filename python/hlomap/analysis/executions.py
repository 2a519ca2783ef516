"""Counts the runs of the instructions of a program, and sums over them; only this module multiplies by trip counts.

:class:`Run` is the walk; derived classes define the summed amount.  Calls count as often as they are made, loops by
their trip count, and a conditional as its heaviest branch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from .._core import Computation, Instruction, Module
from ..base.answers import Unknown
from ..hlo.order import callees, callers, postorder, reachable, reverse_postorder
from ..ops import lookup
from ..ops._shapes import INT64_MAX, array_leaves
from .questions import Questions
from .structure import is_loop, runs_once


class Amount(Protocol):
    """An amount of work, in one or several runs."""

    def times(self: A, n: int, /) -> A:
        """The amount of ``n`` runs."""


A = TypeVar("A", bound=Amount)
V = TypeVar("V")
W = TypeVar("W")
Path: TypeAlias = tuple[tuple[Instruction, Computation], ...]
"""Calling instructions, outermost first, each with the computation that it runs."""
_Calls: TypeAlias = list[tuple[Computation, int]]
"""The computations that are run, each with its number of runs."""


class Group(NamedTuple):
    """Instructions of one computation with equal amounts: the first of them, and the numbers of all in order."""

    first: Instruction
    numbers: Sequence[int]


class Each(Mapping[Instruction, V]):
    """A value for each of some instructions, in the order of a walk; it is computed once for each group of them."""

    def __init__(self, groups: Sequence[tuple[Group, V]], walk: Callable[[], Iterable[Instruction]]) -> None:
        """The walk meets the instructions, and maybe others."""
        self.groups = groups
        self._walk = walk

    @cached_property
    def _values(self) -> dict[int, V]:
        return {number: value for group, value in self.groups for number in group.numbers}

    @cached_property
    def _module(self) -> Module | None:
        return self.groups[0][0].first.module if self.groups else None

    def __getitem__(self, instruction: Instruction) -> V:
        if instruction.module != self._module or instruction.number not in self._values:
            raise KeyError(instruction)
        return self._values[instruction.number]

    def __iter__(self) -> Iterator[Instruction]:
        values = self._values
        return (i for i in self._walk() if i.number in values)

    def __len__(self) -> int:
        return sum(len(group.numbers) for group, _ in self.groups)

    def pairs(self) -> Iterator[tuple[Instruction, V]]:
        """The items, sooner than :meth:`items` finds them."""
        values = self._values
        return ((i, values[i.number]) for i in self)

    def map(self, of: Callable[[Instruction, V], W]) -> Each[W]:
        """The results of a function of an instruction and its value, called once for each group."""
        return Each([(group, of(group.first, value)) for group, value in self.groups], self._walk)

    def where(self, holds: Callable[[V], object]) -> Each[V]:
        """The instructions whose value fulfils a condition."""
        return Each([(group, value) for group, value in self.groups if holds(value)], self._walk)

    def first(self) -> Instruction | None:
        """The instruction that the walk meets first."""
        firsts = [group.first for group, _ in self.groups]
        if len({i.computation for i in firsts}) < 2:  # the walk meets those of one computation in order
            return min(firsts, key=lambda i: i.number, default=None)
        wanted = set(firsts)
        return next(i for i in self._walk() if i in wanted)

    def heaviest(self, weight: Callable[[V], float]) -> Instruction | None:
        """The first of the instructions with the largest weight."""
        most = max((weight(value) for _, value in self.groups), default=None)
        return self.where(lambda value: weight(value) == most).first()


class Run(ABC, Generic[A]):
    """A walk over what a program runs."""

    def __init__(self, questions: Questions) -> None:
        self.questions = questions
        self.unknown_times: dict[Instruction, str] = {}
        """The instructions that run computations an unknown number of times, with the reason."""
        self._known: dict[Hashable, A] = {}

    @abstractmethod
    def measure(self, instruction: Instruction) -> A:
        """The amount of one run of an instruction, without the computations that it runs."""

    @abstractmethod
    def total(self, amounts: Iterable[A]) -> A:
        """The sum."""

    @abstractmethod
    def noted(self, note: str, *, is_unknown: bool) -> A:
        """The zero amount, with a note on a choice, or on an unknown part that is left out."""

    @abstractmethod
    def weight(self, amount: A) -> float:
        """The measure by which one branch is heavier than another."""

    def choice(self, heaviest: A, every: Sequence[A]) -> A:
        """The amount of a conditional that runs its heaviest branch."""
        return heaviest

    def once_at_most(self, amount: A) -> A:
        """The amount of a part that runs an unknown number of times, maybe none."""
        return amount

    def is_nothing(self, amount: A) -> bool:
        """Whether the amount is zero for any number of runs."""
        return False

    def within(self, computation: Computation) -> Iterable[Instruction]:
        """The instructions of a computation that may count, or may run computations."""
        return computation

    def calling(self, computation: Computation) -> Iterable[Instruction]:
        """The instructions of :meth:`within` that call computations."""
        return computation._calling

    def run_by(self, instruction: Instruction) -> Sequence[Computation]:
        """The computations whose instructions count, run by a call, a loop or a conditional."""
        return () if runs_once(instruction) else instruction.called_computations

    def counts(self, instruction: Instruction) -> bool:
        """Whether an instruction has an amount by itself."""
        return runs_once(instruction) and not lookup(instruction.opcode).memory.moves_nothing

    def key(self, instruction: Instruction) -> Hashable:
        """A key that is equal for instructions with equal amounts.

        What :meth:`measure` asks about an instruction may tell it apart from others.
        """
        return self.questions.key(instruction.number)

    def of_instruction(self, instruction: Instruction) -> A:
        """:meth:`measure`, once for all instructions with the same key."""
        key = self.key(instruction)
        if key not in self._known:
            found = self.measure(instruction)
            key = self.key(instruction)
            self._known[key] = found
        return self._known[key]

    def groups(self, computation: Computation) -> list[tuple[Group, A]]:
        """The counting instructions of a computation, those with equal amounts together, with the amount of each.

        The groups come in the order of their first instructions.
        """
        at = computation.module.instruction
        found: list[tuple[Group, A]] = []
        for alike in self.questions.alike(computation.number):
            if not self.counts(at(alike[0])):
                continue
            parts = [alike]
            while True:
                amounts = [self.of_instruction(at(numbers[0])) for numbers in parts]
                apart = self.questions.told_apart(alike)
                if len(apart) == len(parts):  # what rules read only ever tells more instructions apart
                    break
                parts = apart
            found += zip((Group(at(numbers[0]), numbers) for numbers in parts), amounts, strict=True)
        return sorted(found, key=lambda item: item[0].first.number)

    def of_program(self, start: Computation | Instruction) -> tuple[A, Each[int]]:
        """The total amount, and the number of runs of each counting instruction, in the order of :meth:`met`."""
        known: dict[Computation, A] = {}
        calls: dict[Computation, _Calls] = {}
        groups: dict[Computation, list[tuple[Group, A]]] = {}
        first = [start] if isinstance(start, Computation) else list(self.run_by(start))
        order = postorder(first, lambda c: (d for i in self.calling(c) for d in self.run_by(i)))
        for computation in order:
            calls[computation] = []
            parts = [self._of_calls(i, known, calls[computation]) for i in self.calling(computation) if self.run_by(i)]
            groups[computation] = self.groups(computation)
            own = (amount.times(len(group.numbers)) for group, amount in groups[computation])
            known[computation] = self.total([*parts, *own])
        times: Counter[Computation] = Counter()
        counted: list[tuple[Group, int]] = []
        if isinstance(start, Computation):
            total = known[start]
            times[start] = 1
        else:
            run: _Calls = []
            parts = [self._of_calls(start, known, run)] if first else []
            if self.counts(start):
                parts.append(self.of_instruction(start))
                counted.append((Group(start, [start.number]), 1))
            total = self.total(parts)
            for called, n in run:
                times[called] += n
        for computation in reversed(order):
            n = times[computation]
            for called, factor in calls[computation]:
                times[called] += n * factor
        counted += ((group, n) for c in order if (n := times[c]) > 0 for group, _ in groups[c])
        return total, Each(counted, lambda: (i for i, _ in self.met(start, lambda c: times[c] > 0)))

    def met(
        self, start: Computation | Instruction, enters: Callable[[Computation], bool] = lambda computation: True
    ) -> Iterator[tuple[Instruction, Path]]:
        """The instructions in the order in which a run meets them, each with the calls that lead to it.

        This is the order of the text, which is the schedule of a scheduled module; the instructions of a computation
        follow the first instruction that runs it.
        """
        stack: list[tuple[Iterator[Instruction], Container[Instruction], Path]] = [
            (iter([start]), [start], ())
            if isinstance(start, Instruction)
            else (iter(self.within(start)), {*self.calling(start)}, ())
        ]
        entered: set[Computation | Instruction] = {start}
        while stack:
            instructions, calling, path = stack[-1]
            for instruction in instructions:
                yield instruction, path
                if instruction not in calling:
                    continue
                inner = [c for c in dict.fromkeys(self.run_by(instruction)) if c not in entered and enters(c)]
                if inner:
                    entered.update(inner)
                    stack += [
                        (iter(self.within(c)), {*self.calling(c)}, (*path, (instruction, c))) for c in reversed(inner)
                    ]
                    break
            else:
                stack.pop()

    def uncounted(self) -> dict[Computation, str]:
        """After a walk, the computations that run an unknown number of times, with the reason."""
        found: dict[Computation, str] = {}
        for instruction, reason in self.unknown_times.items():
            for computation in self._below(self.run_by(instruction)):
                found.setdefault(computation, reason)
        return found

    def _below(self, computations: Iterable[Computation]) -> Iterator[Computation]:
        """Computations, with all computations that they run."""
        return reachable(computations, lambda c: (d for i in self.calling(c) for d in self.run_by(i)))

    def of_text(self, start: Computation | Instruction) -> tuple[A, Each[int]]:
        """The sum of the amounts of all instructions that may run, each once."""
        own = [start] if isinstance(start, Instruction) and self.counts(start) else []
        below = list(self._below([start] if isinstance(start, Computation) else self.run_by(start)))
        groups = [(Group(i, [i.number]), self.of_instruction(i)) for i in own]
        groups += (item for c in below for item in self.groups(c))
        total = self.total(amount.times(len(group.numbers)) for group, amount in groups)
        runs = [(group, 1) for group, _ in groups]
        return total, Each(runs, lambda: chain(own, (i for c in below for i in self.within(c))))

    def _of_calls(self, instruction: Instruction, known: Mapping[Computation, A], calls: _Calls) -> A:
        """The amount of the computations that an instruction, such as a loop, runs; adds these and their runs to
        ``calls``."""
        called = list(self.run_by(instruction))
        missing = next((c for c in called if c not in known), None)
        if missing is not None:
            return self.noted(f"not counted: {missing.name} calls itself", is_unknown=True)
        kind = lookup(instruction.opcode).calls.runs
        notes: dict[str, None] = {}
        if kind == "branch" and called:
            heaviest = max(called, key=lambda c: self.weight(known[c]))
            calls.append((heaviest, 1))
            choice = self.choice(known[heaviest], [known[c] for c in called])
            if len(called) == 1:
                return choice
            note = f"{instruction.name}: counted as its most expensive branch, {heaviest.name}"
            return self.total([choice, self.noted(note, is_unknown=False)])
        parts: list[A] = []
        for computation in dict.fromkeys(called):
            n = _runs(instruction, computation, self.questions)
            if isinstance(n, Unknown):
                self.unknown_times.setdefault(instruction, n.reason)
                if not self.is_nothing(known[computation]):
                    notes[f"{n.reason}, {'one iteration' if kind == 'loop' else 'once'} is counted"] = None
                calls.append((computation, 1))
                parts.append(self.once_at_most(known[computation]))
            elif n:  # parts that do not run leave nothing unknown
                calls.append((computation, n))
                parts.append(known[computation].times(n))
        return self.total([*parts, *(self.noted(note, is_unknown=True) for note in notes)])


@dataclass(frozen=True, slots=True)
class Executions:
    """A number of executions, or why it is not known."""

    n: int = 0
    unknown: tuple[str, ...] = ()

    def times(self, n: int) -> Executions:
        """The number for ``n`` runs."""
        return Executions(self.n * n, self.unknown)


class CountRun(Run[Executions]):
    """Counts the runs of some instructions outside fusions."""

    def __init__(self, questions: Questions, wanted: Iterable[Instruction]) -> None:
        super().__init__(questions)
        self.wanted: set[Instruction] = set(wanted)
        self._within = leading_to(self.wanted)

    def within(self, computation: Computation) -> Sequence[Instruction]:
        return self._within.get(computation, ())

    def measure(self, instruction: Instruction) -> Executions:
        return Executions(1)

    def total(self, amounts: Iterable[Executions]) -> Executions:
        parts = list(amounts)
        reasons = dict.fromkeys(reason for part in parts for reason in part.unknown)
        return Executions(sum(part.n for part in parts), tuple(reasons))

    def noted(self, note: str, *, is_unknown: bool) -> Executions:
        return Executions(unknown=(note,) if is_unknown else ())

    def weight(self, amount: Executions) -> float:
        return amount.n

    def choice(self, heaviest: Executions, every: Sequence[Executions]) -> Executions:
        return Executions(heaviest.n, self.total(every).unknown)

    def calling(self, computation: Computation) -> Iterable[Instruction]:
        return (i for i in self.within(computation) if i.called_computations)

    def counts(self, instruction: Instruction) -> bool:
        return instruction in self.wanted

    def key(self, instruction: Instruction) -> Hashable:
        return None  # each counts as one

    def groups(self, computation: Computation) -> list[tuple[Group, Executions]]:
        wanted = [i for i in self.within(computation) if self.counts(i)]
        return [(Group(wanted[0], [i.number for i in wanted]), Executions(1))] if wanted else []


def leading_to(instructions: Iterable[Instruction]) -> dict[Computation, list[Instruction]]:
    """By computation, in order: some instructions, and all instructions that directly or indirectly run one of them."""
    found: dict[Computation, set[Instruction]] = {}
    for instruction in instructions:
        found.setdefault(instruction.computation, set()).add(instruction)
    for computation in reachable(found, callers):
        for caller in computation.callers:
            found.setdefault(caller.computation, set()).add(caller)
    return {c: sorted(own, key=lambda i: i.number) for c, own in found.items()}


def effects(fused: Computation) -> dict[Instruction, list[Instruction]]:
    """The instructions inside a fusion that read operands for no array of its root.

    Each has the instructions in or below it that may do so.  They have no output array, as an outfeed, or have a side
    effect and a value that the root does not use.
    """
    used: dict[Computation, set[Instruction]] = {}

    def is_told(instruction: Instruction) -> bool:
        here = instruction.computation
        if here not in used:
            used[here] = {*reachable([here.root], lambda i: (k for k in i.operands if array_leaves(k.shape)))}
        return instruction in used[here] and bool(array_leaves(instruction.shape))

    below: dict[tuple[Computation, ...], list[Instruction]] = {}
    found: dict[Instruction, list[Instruction]] = {}
    for instruction in fused:
        called = tuple(instruction.called_computations)
        if called not in below:  # several may call the same computation
            inside = (i for c in reachable(called, callees) for i in c)
            below[called] = [i for i in inside if i.called_computations or _may_act(i)]
        every = [instruction, *below[called]]
        acting = [i for i in every if _may_act(i)]
        if acting and not all(map(is_told, every)):
            found[instruction] = acting
    return found


def _may_act(instruction: Instruction) -> bool:
    """Whether an operation may read arrays for a purpose other than an output array."""
    op = lookup(instruction.opcode)
    if op.memory.moves_nothing or op.calls.runs is not None:
        return False
    if not instruction._has("acts") and array_leaves(instruction.shape):
        return False
    return any(array_leaves(operand.shape) for operand in instruction.operands)


def times_of(computation: Computation) -> int | Unknown:
    """The most runs of a computation in one run of the module's entry: see ``Computation.times``."""
    return _times(computation.module)[computation.number]


@lru_cache(maxsize=2)
def _times(module: Module) -> Sequence[int | Unknown]:
    """The counts for each computation, cached since modules are immutable."""
    calls: dict[Computation, list[tuple[Instruction, Computation]]] = {c: [] for c in module.computations}
    for called in calls:
        for caller in called.callers:
            calls[caller.computation].append((caller, called))
    order = reverse_postorder(module.entry, lambda c: (called for _, called in calls[c]))
    times: dict[Computation, int | Unknown] = {c: int(c == module.entry) for c in calls}
    reached = set(order)
    unread = next((i for i in module.unread if i.computation in reached), None)
    if unread is not None or module.has_skipped_text:
        what = "text that cannot be read" if unread is None else f"{unread.name}, which cannot be read,"
        return [1 if c == module.entry else Unknown(f"{what} may call {c.name}") for c in calls]
    questions = Questions(module)
    for computation in order:
        for caller, called in calls[computation]:
            times[called] = _sum(times[called], _product(times[computation], _runs(caller, called, questions)))
    return [times[c] for c in calls]


def _runs(caller: Instruction, called: Computation, questions: Questions) -> int | Unknown:
    """The most runs of a computation in one run of an instruction."""
    op = lookup(caller.opcode)
    if is_loop(caller):
        trips = questions.trip_count(caller)
        if trips is None:
            return Unknown(f"{caller.name}: unknown trip count")
        return trips + int(called == caller.attributes.get("condition"))
    if op.calls.runs is not None or op.memory.moves_nothing:
        return int(op.calls.runs is not None)  # a later step of an asynchronous operation runs nothing again
    return Unknown(f"{caller.name}: the number of applications of {called.name} is not known")


def _product(a: int | Unknown, b: int | Unknown) -> int | Unknown:
    if a == 0 or b == 0:
        return 0
    return _bounded(a * b) if isinstance(a, int) and isinstance(b, int) else a if isinstance(a, Unknown) else b


def _sum(a: int | Unknown, b: int | Unknown) -> int | Unknown:
    return _bounded(a + b) if isinstance(a, int) and isinstance(b, int) else a if isinstance(a, Unknown) else b


def _bounded(n: int) -> int | Unknown:
    # Calls of calls grow without bound in the length of the number.
    return n if n <= INT64_MAX else Unknown("more than 2**63 - 1 times")
