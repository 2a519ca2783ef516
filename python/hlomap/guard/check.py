"""Checks a program against limits; each holds, is broken, or is unknown.

A limit that is broken or unknown has a record with its instruction, source line and reason.  A limit holds only if it
is proved, and only for a program whose instructions were all read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple, TypeAlias

from .._core import Computation, Instruction, Module, known_opcodes
from ..analysis.bitcasts import is_bitcast
from ..analysis.executions import CountRun, Each
from ..analysis.questions import Questions
from ..analysis.structure import executed_computations, is_container, run_by
from ..base.answers import Answer, Unknown
from ..base.text import joined, one_line, plural, printable
from ..base.types import expect, expect_items, is_index, json_fields, wrong_type
from ..errors import NotFoundError
from ..hlo.order import callees, callers, reachable
from ..hlo.unread import unread_reason
from ..interop.jax import from_jax
from ..memory.cost import BytesMoved, bytes_moved
from ..memory.readers import applied_by, readers
from ..memory.wire import WireBytes, wire_bytes
from ..ops import lookup
from ..ops.asynchronous import begun_by, is_later_step
from ..words.source import instruction_line, source_of, value_label

_MAX_SHOWN = 20
_Bytes: TypeAlias = BytesMoved | WireBytes


class Limit(NamedTuple):
    """A limit that was checked."""

    rule: str
    """The argument of :func:`check`, with the name in it: ``max_reads[x]``."""
    limit: int
    """0 for ``forbid`` and ``bitcasts_only``."""
    found: int | Unknown
    """At most this many."""

    @property
    def holds(self) -> Answer[None]:
        """Whether the limit holds; undecided, with the reason, if that is not known."""
        if isinstance(self.found, Unknown):
            return Answer(None, reason=self.found.reason)
        return Answer(self.found <= self.limit)

    @property
    def status(self) -> Literal["holds", "broken", "unknown"]:
        """The answer as a word."""
        holds = self.holds.value
        return "unknown" if holds is None else "holds" if holds else "broken"

    def __str__(self) -> str:
        found = "unknown" if isinstance(self.found, Unknown) else f"{self.found:,}"
        return f"{printable(self.rule)}: limit {self.limit:,}, found {found}"


@dataclass(frozen=True)
class Violation:
    """A limit that is broken, or unknown if ``found`` is :class:`~hlomap.Unknown`."""

    rule: str
    """The argument of :func:`check`, with the name in it: ``max_reads[x]``."""
    limit: int
    """0 for ``forbid`` and ``bitcasts_only``."""
    found: int | Unknown
    """At most this many."""
    instruction: Instruction | None
    """The instruction that breaks the limit, or that contributes most."""
    why: str
    """One sentence."""

    @property
    def source(self) -> str | None:
        """The line of the program that the instruction comes from, as ``file:line``; None if it is not recorded."""
        return None if self.instruction is None else source_line(self.instruction)

    def __str__(self) -> str:
        lines = [str(Limit(self.rule, self.limit, self.found)), f"  {self.why}"]
        if self.instruction is not None:
            lines.append(f"  {instruction_line(self.instruction)}")
        if self.source is not None:
            lines.append(f"  at {printable(self.source)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return json_fields(self, "rule limit found instruction source why")


@dataclass(frozen=True)
class CheckReport:
    """The limits that were checked, and the violations; ``bool()`` is ``.ok``."""

    subject: Module | Computation | Instruction
    limits: tuple[Limit, ...]
    """Each rule with its limit and what was found."""
    violations: tuple[Violation, ...]
    """The limits that are broken or unknown."""

    @property
    def ok(self) -> bool:
        """Whether all limits are proved to hold; False if one is unknown, see :attr:`reason`."""
        return not self.violations

    @property
    def reason(self) -> str | None:
        """The reason of the first unknown limit; None if every limit holds or is broken."""
        return next((limit.found.reason for limit in self.limits if isinstance(limit.found, Unknown)), None)

    def __bool__(self) -> bool:
        return self.ok

    def assert_ok(self) -> None:
        """Raises ``AssertionError`` with the report as text unless all limits hold."""
        __tracebackhide__ = True  # pytest shows the test, not this frame
        if not self.ok:
            raise AssertionError(str(self))

    @property
    def title(self) -> str:
        """The subject of the check, and the outcome."""
        counts = Counter(limit.status for limit in self.limits)
        words = [f"{counts[status]:,} {status}" for status in ("broken", "unknown") if counts[status]]
        of_all = f" of {plural(len(self.limits), 'limit')} "
        outcome = ", ".join(words).replace(" ", of_all, 1) if words else "all limits hold"
        return f"{printable(self.subject.name, 60)}: {outcome}"

    def __str__(self) -> str:
        lines = [self.title]
        for violation in self.violations[:_MAX_SHOWN]:
            lines += [f"  {line}" for line in str(violation).split("\n")]
        if len(self.violations) > _MAX_SHOWN:
            lines.append(f"  … {len(self.violations) - _MAX_SHOWN} more")
        if self.ok:
            lines += [f"  {limit}" for limit in self.limits]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<CheckReport {one_line(self.title, 100)}>"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        limits = [json_fields(limit, "rule limit found status") for limit in self.limits]
        return json_fields(self, "subject ok reason") | {"limits": limits} | json_fields(self, "violations")


def check(
    subject: Any,
    /,
    *arguments: Any,
    max_bytes: int | None = None,
    max_reads: Mapping[str | int, int] | None = None,
    forbid: Iterable[str] = (),
    max_count: Mapping[str, int] | None = None,
    max_wire_bytes: int | None = None,
    bitcasts_only: Iterable[str] = (),
    executed: bool | None = None,
    stage: Literal["optimized", "unoptimized"] = "optimized",
) -> CheckReport:
    """Check limits of a program, for a test: ``hm.check(f, x, max_reads={"x": 1}).assert_ok()``.

    ``subject`` is a ``Module``, a ``Computation`` or an ``Instruction``; or a function of JAX, which is compiled for
    ``arguments`` as :func:`from_jax` does, up to ``stage``.  The limits apply to instructions that run: those outside
    fusions, including loops and branches.  Bytes count as often as they move: times trip counts and calls, and for a
    conditional the branch with the most.  Instructions count once each, as in the text.  ``executed`` changes both.

    Args:
        subject: what to check.
        *arguments: the arguments of a function.
        max_bytes: the most bytes that all instructions together read and write, counted as :func:`cost` does.
        max_reads: for a parameter, by its number or its name, in HLO or in the program, how often any of its elements
            may be read from memory; see :func:`readers`, which counts the iterations of loops.
        forbid: opcodes that must not move data, outside fusions or as the root of one.  A transpose or reshape that XLA
            turns into a bitcast, since every element stays in place, does not count.
        max_count: the most instructions of an opcode, outside fusions.
        max_wire_bytes: the most bytes that a device sends: the sum over all collectives of the least bytes that the
            busiest device sends (see :func:`collectives`), for a program that XLA has partitioned.
        bitcasts_only: opcodes, or names of instructions, that must leave every element in place, in fusions too.
        executed: True counts instructions as often as they run, in ``max_count`` too; False counts each instruction
            once, for bytes too.
        stage: as for :func:`from_jax`.

    Opcodes may have wildcards: ``"all-*"``; asynchronous operations match without ``-start``.

    Returns:
        A :class:`~hlomap.results.CheckReport`.  A limit holds only if that is proved.  It is unknown, with the
        reason, if an instruction that matters was not read or has no rule, or if bytes move in a loop without a known
        trip count.

    Raises:
        NotFoundError: no parameter, opcode or instruction has the name.
        TypeError: an argument is of another kind.
        ValueError: no limit is given, or a name in ``max_reads`` matches two parameters.
        UnsupportedError: JAX is needed and missing.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   x = f32[4,6]{1,0} parameter(0)
    ...   n = f32[4,6]{1,0} negate(x)
    ...   c = f32[4,6]{0,1} copy(x)
    ...   ROOT r = (f32[4,6]{1,0}, f32[4,6]{0,1}) tuple(n, c)
    ... }''')
    >>> report = hm.check(module, max_reads={"x": 1}, forbid=["copy"], max_bytes=400)
    >>> print(report)
    m: 2 of 3 limits broken
      max_reads[x]: limit 1, found 2
        an element of x is read from memory 2 times, by n and c
        n = f32[4,6]{1,0} negate(x)
      forbid[copy]: limit 0, found 1
        c moves data: 96 bytes written
        c = f32[4,6]{0,1} copy(x)
    >>> report.ok
    False
    """
    is_hlo = isinstance(subject, (Module, Computation, Instruction))
    if is_hlo and arguments:
        raise wrong_type("check", f"no arguments with a {type(subject).__name__}", arguments[0])
    for name, limit in (("max_bytes", max_bytes), ("max_wire_bytes", max_wire_bytes)):
        if limit is not None:
            _expect_limit(limit, name)
    for name, limits in (("max_reads", max_reads), ("max_count", max_count)):
        expect(Mapping, limits or {}, "check", f"a mapping to int as `{name}`")
        for limit in (limits or {}).values():
            _expect_limit(limit, name)
    for pattern in max_count or {}:
        expect(str, pattern, "check", "opcodes as the keys of `max_count`")
    for key in max_reads or {}:
        expect((str, int), key, "check", "names or numbers of parameters as the keys of `max_reads`")
    patterns = {"forbid": _patterns(forbid, "forbid"), "bitcasts_only": _patterns(bitcasts_only, "bitcasts_only")}
    if not is_hlo and not callable(subject) and not hasattr(subject, "as_text"):  # a Lowered or a Compiled
        takes = "a Module, a Computation, an Instruction or a function of JAX"
        raise wrong_type("check", takes, subject, "read a file with hm.load(path)")
    if not isinstance(stage, str) or stage not in ("optimized", "unoptimized"):
        raise ValueError(f"hm.check: expected stage 'optimized' or 'unoptimized', found {one_line(repr(stage), 60)}")
    if executed is not None:
        expect(bool, executed, "check", "a bool or None as `executed`")
    program = subject if is_hlo else from_jax(subject, *arguments, stage=stage)
    checks = _Checks(program, executed)
    if max_bytes is not None:
        checks.max_bytes(max_bytes)
    for parameter, limit in (max_reads or {}).items():
        checks.max_reads(parameter, limit)
    for pattern in patterns["forbid"]:
        checks.forbid(pattern)
    for pattern, limit in (max_count or {}).items():
        checks.max_count(pattern, limit)
    if max_wire_bytes is not None:
        checks.max_wire_bytes(max_wire_bytes)
    for pattern in patterns["bitcasts_only"]:
        checks.bitcasts_only(pattern)
    if not checks.limits:
        raise ValueError("hm.check: expected a limit, such as max_bytes= or forbid=, found none")
    return CheckReport(program, tuple(checks.limits), tuple(checks.violations))


class _Checks:
    """The rules; each method adds a limit and its violations."""

    def __init__(self, subject: Module | Computation | Instruction, executed: bool | None) -> None:
        self.subject = subject
        self.counts_runs = executed is not False
        """Whether bytes count as often as they move."""
        self.counts_executions = executed is True
        """Whether instructions count as often as they run."""
        self.limits: list[Limit] = []
        self.violations: list[Violation] = []
        first = run_by(subject) if isinstance(subject, Instruction) else [subject]
        self.computations = list(dict.fromkeys(one for c in first for one in executed_computations(c)))
        self.module = subject if isinstance(subject, Module) else subject.module
        self.start = self.module.entry if isinstance(subject, Module) else subject
        own = [subject] if isinstance(subject, Instruction) else []
        self.unread = unread_reason(self.module, {*own, *self.computations})
        within = reachable((*(d for i in own for d in i.called_computations), *self.computations), callees)
        self.unread_within = self.unread or unread_reason(self.module, set(within))

    def executed(self, pattern: str = "*", *, containers: bool = False) -> list[Instruction]:
        """The instructions that run and whose opcode matches a pattern, with ``containers`` also fusions and calls."""
        own = [self.subject] if isinstance(self.subject, Instruction) else []
        found = [i for i in own if _matches(i.opcode, pattern) or containers]
        at = self.module.instruction
        for computation in self.computations:
            by_opcode = computation._by_opcode().items()
            numbers = {k for opcode, numbers in by_opcode if _matches(opcode, pattern) for k in numbers}
            numbers |= {i.number for i in computation._calling} if containers else set()
            found += map(at, sorted(numbers))
        return found

    def max_bytes(self, limit: int) -> None:
        computation = self.start.computation if isinstance(self.start, Instruction) else self.start
        if computation.is_fusion or applied_by(computation) is not None:
            found = Unknown(f"values inside {printable(computation.name, 60)} are not in memory")
            self._add("max_bytes", limit, found, None, f"the bytes that it moves are not known: {found.reason}")
            return
        total, moved = bytes_moved(self.start, executed=self.counts_runs)
        why = f"it moves {total.total:,} bytes, {total.distinct_bytes:,} read and {total.bytes_written:,} written"
        self._add_bytes("max_bytes", limit, total, moved, why)

    def max_reads(self, parameter: str | int, limit: int) -> None:
        value = self._parameter(parameter)
        name = value_label(value) if isinstance(parameter, int) else printable(parameter)
        read = readers(value)
        found = read.most_reads
        by = joined([printable(reader.instruction.name, 60) for reader in read[:5]] + ["others"] * (len(read) > 5))
        most = max(read, key=lambda one: one.most_reads if isinstance(one.most_reads, int) else 1 << 200, default=None)
        if isinstance(found, Unknown):
            why = f"how often an element of {name} is read from memory is not known: {printable(found.reason)}"
        else:
            often = f"{'' if read.exact else 'at most '}{plural(found, 'time')}"
            reason = next((f" ({printable(one.reason)})" for one in read if one.reason), "")
            why = f"an element of {name} is read from memory {often}, by {by}{reason}"
        at = None if most is None else most.instruction
        self._add(f"max_reads[{parameter}]", limit, found, at, why, self._unread_around(value.computation))

    def _unread_around(self, computation: Computation) -> str | None:
        """Text that was not read in a computation, its callers and callees, which all may read its parameters."""
        above = reachable([computation], callers)
        return unread_reason(self.module, set(reachable(above, callees)))

    def forbid(self, pattern: str) -> None:
        self._expect_opcode(pattern, "forbid")
        found = []
        for instruction in self.executed(pattern, containers=True):
            for inner in (instruction, *_roots(instruction)):
                if _matches(inner.opcode, pattern):
                    found.append((instruction, inner))
        self._add_all("forbid", pattern, found)

    def max_count(self, pattern: str, limit: int) -> None:
        self._expect_opcode(pattern, "max_count")
        wanted: Iterable[Instruction] = self.executed(pattern)
        # An asynchronous operation counts once.
        wanted = (i for i in wanted if i.opcode == pattern or not is_later_step(i))
        run = CountRun(Questions(self.module), wanted)
        total, times = (run.of_program if self.counts_executions else run.of_text)(self.start)
        found = sorted(times, key=lambda i: -times[i])
        names = [printable(i.name, 60) + (f" {times[i]:,} times" if times[i] > 1 else "") for i in found[:5]]
        words = joined(names + [f"{len(found) - 5} more"] * (len(found) > 5))
        what = "execution" if self.counts_executions else "instruction"
        why = f"{plural(total.n, what)} outside fusions: {words}"
        unknown = _first(total.unknown) or self.unread
        self._add(f"max_count[{pattern}]", limit, total.n, found[0] if found else None, why, unknown)

    def max_wire_bytes(self, limit: int) -> None:
        total, moved = wire_bytes(self.start, executed=self.counts_runs)
        why = f"a device sends {total.total:,} bytes"
        self._add_bytes("max_wire_bytes", limit, total, moved, why)

    def bitcasts_only(self, pattern: str) -> None:
        executed = self.executed()
        inside = [i for one in executed if is_container(one) for c in one.called_computations for i in c]
        every = [*executed, *(i for i in inside if i.parameter_number is None)]
        named = [i for i in every if i.name == pattern]
        if not named:
            self._expect_opcode(pattern, "bitcasts_only", "and no instruction that runs has this name")
        found = [(i, i) for i in named or every if named or _matches(i.opcode, pattern)]
        self._add_all("bitcasts_only", pattern, found)

    def _parameter(self, name: str | int) -> Instruction:
        start = self.module.entry if isinstance(self.subject, (Module, Instruction)) else self.subject
        fitting = [p for p in start.parameters if name in (p.parameter_number, p.name, p.metadata.op_name)]
        if len(fitting) > 1:
            both = joined([f"`{printable(p.name, 60)}` (number {p.parameter_number})" for p in fitting[:_MAX_SHOWN]])
            raise ValueError(f"hm.check: `{printable(name)}` in max_reads is the name of {both}: give the number")
        if fitting:
            return fitting[0]
        there = joined([f"`{value_label(p)}`" for p in start.parameters[:_MAX_SHOWN]]) or "none"
        advice = "JAX drops what a function does not use" if isinstance(name, str) else "they count from 0"
        raise NotFoundError(f"hm.check: no parameter `{printable(name)}` in max_reads; there are {there}: {advice}")

    def _expect_opcode(self, pattern: str, rule: str, also: str = "") -> None:
        if not any(_matches(opcode, pattern) for opcode in known_opcodes()) and not self.executed(pattern):
            raise NotFoundError(f"hm.check: no opcode matches `{printable(pattern)}` in {rule}{also and ', ' + also}")

    def _add_bytes(self, rule: str, limit: int, total: _Bytes, moved: Each[Any], why: str) -> None:
        """Adds a limit of bytes, with the instruction that moves the most, or one whose bytes are unknown."""
        most = moved.heaviest(lambda n: n.total)
        if most is not None and (n := max(n.total for _, n in moved.groups)):
            why += f"; the most in {printable(most.name, 60)} ({n:,} bytes)"
        unknown = moved.where(lambda n: n.unknown).first() if total.total <= limit else None
        at = most if unknown is None else unknown
        self._add(rule, limit, total.total, at, why, _first(total.unknown) or self.unread_within)

    def _add(
        self, rule: str, limit: int, found: int | Unknown, at: Instruction | None, why: str, unknown: str | None = None
    ) -> None:
        """Adds a limit; with a reason in ``unknown`` it is broken or unknown, but never holds."""
        if isinstance(found, int) and found <= limit and unknown is not None:
            found, why = Unknown(unknown), f"not known to hold: {printable(unknown)}"
        self.limits.append(Limit(rule, limit, found))
        if self.limits[-1].holds.value is not True:
            self.violations.append(Violation(rule, limit, found, at, why))

    def _add_all(self, rule: str, pattern: str, matching: Iterable[tuple[Instruction, Instruction]]) -> None:
        """Adds a violation for each pair of an instruction that runs and a match in it that moves data, or may."""
        rule = f"{rule}[{pattern}]"
        broken, unknown = [], []
        for outer, inner in dict.fromkeys(matching):
            moves = _moves_data(inner)
            place = "" if outer == inner else f", the root of {printable(outer.name, 60)},"
            name = f"{printable(inner.name, 60)}{place}"
            if moves.value is None:
                reason = Unknown(str(moves.reason))
                unknown.append(Violation(rule, 0, reason, inner, f"{name} may move data: {printable(reason.reason)}"))
            elif moves:
                why = f" ({printable(moves.reason)})" if moves.reason else ""
                broken.append((inner, f"{name} moves data: {_n_bytes(inner):,} bytes written{why}"))
        if self.unread_within is not None:
            reason = Unknown(self.unread_within)
            unknown.append(Violation(rule, 0, reason, None, f"not known to hold: {reason.reason}"))
        found = len(broken) if broken or not unknown else unknown[0].found
        self.limits.append(Limit(rule, 0, found))
        self.violations += [Violation(rule, 0, len(broken), inner, why) for inner, why in broken]
        self.violations += [] if broken else unknown


def _first(reasons: Sequence[str]) -> str | None:
    """The first of some reasons, and the number of the others."""
    more = f", and {len(reasons) - 1:,} more" if len(reasons) > 1 else ""
    return f"{reasons[0]}{more}" if reasons else None


def _expect_limit(limit: object, name: str) -> None:
    if not is_index(limit):
        raise wrong_type("check", f"an int of at least 0 as `{name}`", limit)
    if isinstance(limit, bool) or int(limit) < 0:
        raise ValueError(f"hm.check: expected a number of at least 0 as `{name}`, found {limit!r}")


def _patterns(got: Iterable[str], name: str) -> list[str]:
    return expect_items(str, [got] if isinstance(got, str) else got, "check", f"opcodes as `{name}`")


def _matches(opcode: str, pattern: str) -> bool:
    """Whether an opcode matches a pattern; an asynchronous start also matches the name of its operation."""
    return fnmatchcase(opcode, pattern) or fnmatchcase(begun_by(opcode), pattern)


def _roots(fusion: Instruction) -> Iterator[Instruction]:
    """The values that a fusion writes: its root or the elements of a root tuple, through operations that move
    nothing."""
    called = fusion.called_computations
    pending = [called[0].root] if called and called[0].is_fusion else []
    seen: set[Instruction] = set()
    while pending:
        root = pending.pop()
        if root in seen:
            continue
        seen.add(root)
        yield root
        if lookup(root.opcode).memory.moves_nothing:
            pending += root.operands
        elif is_container(root):
            pending.append(root.called_computations[0].root)


def _moves_data(instruction: Instruction) -> Answer[None]:
    """Whether an instruction moves data, that is, XLA does not turn it into a bitcast; a copy in one layout always
    moves.

    The reason of the answer says why a question about layouts is undecided, or answered in this way.
    """
    if lookup(instruction.opcode).memory.moves_nothing:
        return Answer(False)
    operands = instruction.operands
    if not instruction._has("moves") or len(operands) != 1:
        return Answer(True)
    found = is_bitcast(instruction)
    if operands[0].shape == instruction.shape:
        return Answer(True, reason=found.reason)
    return Answer(None if found.value is None else not found.value, reason=found.reason)


def _n_bytes(instruction: Instruction) -> int:
    written = lookup(instruction.opcode).memory.written(instruction)
    return sum(-(-shape.n_elements * shape.element_bits // 8) for _, shape in written)


def source_line(instruction: Instruction) -> str | None:
    """The line of the program that an instruction comes from, as ``file:line``, with the function if known."""
    origin = source_of(instruction)
    if origin is None:
        return None
    if origin.stack:
        return origin.stack[-1]
    return f"{origin.file}:{origin.line}" if origin.file and origin.line else origin.file
