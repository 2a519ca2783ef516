"""Checks a program against limits; what breaks one is a record with its instruction, its source and a sentence.

A limit holds only if it is proved: what is unknown breaks it, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from .._core import Computation, Instruction, Module, known_opcodes
from ..analysis.bitcasts import is_bitcast
from ..analysis.queries import output_to_input
from ..answers import Unknown
from ..differences.overview import BytesMoved, executed_computations, overview
from ..errors import HlomapError, NotFoundError
from ..explanation.notes import n_between_devices
from ..explanation.source import instruction_line, source_of, value_label
from ..explanation.values import is_container, runs_calls
from ..interop.jax import from_jax
from ..ops import lookup
from ..shardings.program import leaf_shardings
from ..text import joined, one_line, plural, printable
from ..tiles.readers import readers
from ..types import expect, expect_items, is_index, json_fields, json_value, wrong_type

_MAX_SHOWN = 20


@dataclass(frozen=True)
class Violation:
    """A limit that does not hold."""

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
        """The line of the program that the instruction comes from, as ``file:line``; None where it is not recorded."""
        return None if self.instruction is None else source_line(self.instruction)

    def __str__(self) -> str:
        lines = [_line(self.rule, self.limit, self.found), f"  {self.why}"]
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
    """The limits that were checked, and those that do not hold; ``bool()`` is ``.ok``."""

    subject: Module | Computation | Instruction
    limits: tuple[tuple[str, int, int | Unknown], ...]
    """Each rule with its limit and what was found."""
    violations: tuple[Violation, ...]

    @property
    def ok(self) -> bool:
        """Whether all limits hold."""
        return not self.violations

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
        broken = len({violation.rule for violation in self.violations})
        outcome = f"{broken} of {plural(len(self.limits), 'limit')} broken" if broken else "all limits hold"
        return f"{printable(self.subject.name, 60)}: {outcome}"

    def __str__(self) -> str:
        lines = [self.title]
        for violation in self.violations[:_MAX_SHOWN]:
            lines += [f"  {line}" for line in str(violation).split("\n")]
        if len(self.violations) > _MAX_SHOWN:
            lines.append(f"  … {len(self.violations) - _MAX_SHOWN} more")
        if self.ok:
            lines += [f"  {_line(*limit)}" for limit in self.limits]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<CheckReport {one_line(self.title, 100)}>"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        limits = [dict(zip(("rule", "limit", "found"), json_value(limit), strict=True)) for limit in self.limits]
        return json_fields(self, "subject ok") | {"limits": limits} | json_fields(self, "violations")


def check(
    subject: Any,
    /,
    *arguments: Any,
    max_bytes: int | None = None,
    max_reads: Mapping[str | int, int] | None = None,
    forbid: Iterable[str] = (),
    max_count: Mapping[str, int] | None = None,
    max_remote_bytes: int | None = None,
    bitcasts_only: Iterable[str] = (),
    stage: Literal["optimized", "unoptimized"] = "optimized",
) -> CheckReport:
    """Checks limits of a program, for a test: ``hm.check(f, x, max_reads={"x": 1}).assert_ok()``.

    ``subject`` is a ``Module``, a ``Computation`` or an ``Instruction``; or a function of JAX, which is compiled for
    ``arguments`` as :func:`from_jax` does, up to ``stage``.  The limits are about what runs: the instructions outside
    fusions, in loops and branches too, each counted once.

    Args:
        subject: what to check.
        *arguments: the arguments of a function.
        max_bytes: the most bytes that all instructions together read and write.
        max_reads: for a parameter, by its number or its name, in HLO or in the program, how often any of its elements
            may be read from memory; see :func:`readers`, which counts the iterations of loops.
        forbid: opcodes that must not move data, outside fusions or as the root of one.  What XLA makes a bitcast does
            not count: a transpose or reshape that leaves every element where it is.
        max_count: the most instructions of an opcode, outside fusions.
        max_remote_bytes: the most bytes that devices read from each other, all devices together, of a program that
            XLA has partitioned.
        bitcasts_only: opcodes, or names of instructions, that must leave every element where it is, in fusions too.
        stage: that of :func:`from_jax`.

    Opcodes may have wildcards: ``"all-*"``; that of an asynchronous operation is the opcode without ``-start``.

    Returns:
        A :class:`~hlomap.results.CheckReport`.  A limit that cannot be decided does not hold, with the reason.

    Raises:
        NotFoundError: no parameter, opcode or instruction has the name.
        TypeError: an argument is of another kind.
        ValueError: there is no limit.
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
    for name, limit in (("max_bytes", max_bytes), ("max_remote_bytes", max_remote_bytes)):
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
    program = subject if is_hlo else from_jax(subject, *arguments, stage=stage)
    checks = _Checks(program)
    if max_bytes is not None:
        checks.max_bytes(max_bytes)
    for parameter, limit in (max_reads or {}).items():
        checks.max_reads(parameter, limit)
    for pattern in patterns["forbid"]:
        checks.forbid(pattern)
    for pattern, limit in (max_count or {}).items():
        checks.max_count(pattern, limit)
    if max_remote_bytes is not None:
        checks.max_remote_bytes(max_remote_bytes)
    for pattern in patterns["bitcasts_only"]:
        checks.bitcasts_only(pattern)
    if not checks.limits:
        raise ValueError("hm.check: expected a limit, such as max_bytes= or forbid=, found none")
    return CheckReport(program, tuple(checks.limits), tuple(checks.violations))


class _Checks:
    """The rules, each of which adds its limit and what breaks it."""

    def __init__(self, subject: Module | Computation | Instruction) -> None:
        self.subject = subject
        self.limits: list[tuple[str, int, int | Unknown]] = []
        self.violations: list[Violation] = []
        if isinstance(subject, Instruction):
            called = subject.called_computations if _runs(subject) else ()
            below = dict.fromkeys(one for c in called for one in executed_computations(c))
            self.module = subject.module
            self.executed = [subject, *(i for c in below for i in c)]
        else:
            self.module = subject if isinstance(subject, Module) else subject.module
            self.executed = [i for c in executed_computations(subject) for i in c]

    def max_bytes(self, limit: int) -> None:
        every = overview(self.module).moved
        moved = {i: every[i] for i in self.executed if i in every}
        total = sum(moved.values(), BytesMoved())
        most = max(moved, key=lambda i: moved[i].total, default=None)
        found: int | Unknown = total.total
        apart = next((i for i in self.executed if i not in every and not lookup(i.opcode).moves_nothing), None)
        if apart is not None or total.n_unknown:
            reason = f"{plural(total.n_unknown, 'operand')} without a known bound"
            found = Unknown(reason if apart is None else f"{apart.name} is in a fusion, or nothing calls it")
            why = f"what it moves is not known: {found.reason}"
        else:
            share = "" if most is None else f"; the most in {printable(most.name, 60)} ({moved[most].total:,} bytes)"
            why = f"it moves {total.total:,} bytes, {total.read:,} read and {total.written:,} written{share}"
        self._add("max_bytes", limit, found, most, why)

    def max_reads(self, parameter: str | int, limit: int) -> None:
        value = self._parameter(parameter)
        name = value_label(value) if isinstance(parameter, int) else printable(parameter)
        read = readers(value)
        found = read.times
        by = joined([printable(reader.instruction.name, 60) for reader in read[:5]] + ["others"] * (len(read) > 5))
        most = max(read, key=lambda one: one.times if isinstance(one.times, int) else 1 << 200, default=None)
        if isinstance(found, Unknown):
            why = f"how often an element of {name} is read from memory is not known: {printable(found.reason)}"
        else:
            often = f"{'' if read.exact else 'at most '}{plural(found, 'time')}"
            reason = next((f" ({printable(one.reason)})" for one in read if one.reason), "")
            why = f"an element of {name} is read from memory {often}, by {by}{reason}"
        self._add(f"max_reads[{parameter}]", limit, found, None if most is None else most.instruction, why)

    def forbid(self, pattern: str) -> None:
        self._expect_opcode(pattern, "forbid")
        found = []
        for instruction in self.executed:
            for inner in (instruction, *_roots(instruction)):
                if _matches(inner.opcode, pattern) and not _is_free(inner):
                    found.append((instruction, inner))
        self._add_all("forbid", pattern, found)

    def max_count(self, pattern: str, limit: int) -> None:
        self._expect_opcode(pattern, "max_count")
        found = [i for i in self.executed if _matches(i.opcode, pattern)]
        names = joined([printable(i.name, 60) for i in found[:5]] + [f"{len(found) - 5} more"] * (len(found) > 5))
        why = f"{plural(len(found), 'instruction')} outside fusions: {names}"
        self._add(f"max_count[{pattern}]", limit, len(found), found[-1] if found else None, why)

    def max_remote_bytes(self, limit: int) -> None:
        known: dict[Instruction, int] = {}
        for instruction in self.executed:
            n = remote_bytes(instruction)
            if isinstance(n, Unknown):
                why = f"what {printable(instruction.name, 60)} reads from other devices is not known: {n.reason}"
                self._add("max_remote_bytes", limit, n, instruction, why)
                return
            known[instruction] = n
        found = sum(known.values())
        most = max(known, key=lambda i: known[i]) if found else None
        share = "" if most is None else f"; the most in {printable(most.name, 60)} ({known[most]:,} bytes)"
        why = f"devices read {found:,} bytes from each other{share}"
        self._add("max_remote_bytes", limit, found, most, why)

    def bitcasts_only(self, pattern: str) -> None:
        inside = [i for one in self.executed if is_container(one) for c in one.called_computations for i in c]
        every = [*self.executed, *(i for i in inside if i.parameter_number is None)]
        named = [i for i in every if i.name == pattern]
        if not named:
            self._expect_opcode(pattern, "bitcasts_only", "and no instruction that runs has this name")
        found = [(i, i) for i in named or every if (named or _matches(i.opcode, pattern)) and not _is_free(i)]
        self._add_all("bitcasts_only", pattern, found)

    def _parameter(self, name: str | int) -> Instruction:
        start = self.module.entry if isinstance(self.subject, (Module, Instruction)) else self.subject
        for k, parameter in enumerate(start.parameters):
            if name in (k, parameter.name, parameter.metadata.op_name):
                return parameter
        there = joined([f"`{value_label(p)}`" for p in start.parameters[:_MAX_SHOWN]]) or "none"
        advice = "JAX drops what a function does not use" if isinstance(name, str) else "they count from 0"
        raise NotFoundError(f"hm.check: no parameter `{printable(name)}` in max_reads; there are {there}: {advice}")

    def _expect_opcode(self, pattern: str, rule: str, also: str = "") -> None:
        if not any(_matches(opcode, pattern) for opcode in (*known_opcodes(), *(i.opcode for i in self.executed))):
            raise NotFoundError(f"hm.check: no opcode matches `{printable(pattern)}` in {rule}{also and ', ' + also}")

    def _add(self, rule: str, limit: int, found: int | Unknown, at: Instruction | None, why: str) -> None:
        self.limits.append((rule, limit, found))
        if isinstance(found, Unknown) or found > limit:
            self.violations.append(Violation(rule, limit, found, at, why))

    def _add_all(self, rule: str, pattern: str, found: Iterable[tuple[Instruction, Instruction]]) -> None:
        """A violation for each instruction: the one that runs, and the one in it that matches."""
        found = list(dict.fromkeys(found))
        rule = f"{rule}[{pattern}]"
        self.limits.append((rule, 0, len(found)))
        for outer, inner in found:
            place = "" if outer == inner else f", the root of {printable(outer.name, 60)},"
            why = f"{printable(inner.name, 60)}{place} moves data: {_n_bytes(inner):,} bytes written"
            reason = is_bitcast(inner).reason if inner._has("moves") else None
            why += f" ({printable(reason)})" if reason else ""
            self.violations.append(Violation(rule, 0, len(found), inner, why))


def _expect_limit(limit: object, name: str) -> None:
    if not is_index(limit):
        raise wrong_type("check", f"an int of at least 0 as `{name}`", limit)
    if isinstance(limit, bool) or int(limit) < 0:
        raise ValueError(f"hm.check: expected a number of at least 0 as `{name}`, found {limit!r}")


def _patterns(got: Iterable[str], name: str) -> list[str]:
    return expect_items(str, [got] if isinstance(got, str) else got, "check", f"opcodes as `{name}`")


def _matches(opcode: str, pattern: str) -> bool:
    """Whether an opcode is one of a pattern, where that of an asynchronous operation is that of its start."""
    return fnmatchcase(opcode, pattern) or fnmatchcase(opcode.removesuffix("-start"), pattern)


def _runs(instruction: Instruction) -> bool:
    """Whether the computations that an instruction calls run as they are."""
    return runs_calls(instruction) and not any(computation.is_fusion for computation in instruction.called_computations)


def _roots(fusion: Instruction) -> Iterator[Instruction]:
    """The values that a fusion writes: its root, and the elements of a tuple, seen through what moves nothing."""
    called = fusion.called_computations
    pending = [called[0].root] if called and called[0].is_fusion else []
    seen: set[Instruction] = set()
    while pending:
        root = pending.pop()
        if root in seen:
            continue
        seen.add(root)
        yield root
        if lookup(root.opcode).moves_nothing:
            pending += root.operands
        elif is_container(root):
            yield from _roots(root)


def _is_free(instruction: Instruction) -> bool:
    """Whether an instruction moves nothing, or is what XLA makes a bitcast; a copy in one layout is there to move."""
    if lookup(instruction.opcode).moves_nothing:
        return True
    operands = instruction.operands
    if not instruction._has("moves") or len(operands) != 1 or operands[0].shape == instruction.shape:
        return False
    return is_bitcast(instruction).value is True


def _n_bytes(instruction: Instruction) -> int:
    return sum(-(-s.n_elements * s.element_bits // 8) for _, s in instruction.shape._leaves() if s.is_array)


def remote_bytes(instruction: Instruction) -> int | Unknown:
    """The bytes that all devices together read from each other for an instruction.

    A module that XLA has partitioned keeps the shardings of its parameters; only its schedule tells it from one that
    will get its collectives later.
    """
    kinds = {sharding.kind for sharding in leaf_shardings(instruction).values()}
    if kinds & {"tiled", "named"} and not instruction.module.attributes.get("is_scheduled"):
        return Unknown("it is split over devices, and the module is not scheduled, so XLA may not have partitioned it")
    if not instruction.operands or _runs(instruction):
        return 0  # what it runs is counted
    try:
        sets = output_to_input(instruction, ())
    except (HlomapError, OverflowError) as error:
        return Unknown(printable(error))
    total = 0
    for operand, maps in zip(instruction.operands, sets, strict=True):
        if maps.devices is None:
            continue
        n = n_between_devices(maps.devices.maps)
        if n is None:
            return Unknown(maps.devices.maps.reason or "the elements that cross devices are not counted")
        bits = max((s.element_bits for _, s in operand.shape._leaves() if s.is_array), default=0)
        total += -(-n * bits // 8)
    return total


def source_line(instruction: Instruction) -> str | None:
    """The line of the program that an instruction comes from, as ``file:line``, with the function if it is known."""
    origin = source_of(instruction)
    if origin is None:
        return None
    if origin.stack:
        return origin.stack[-1]
    return f"{origin.file}:{origin.line}" if origin.file and origin.line else origin.file


def _line(rule: str, limit: int, found: int | Unknown) -> str:
    return f"{printable(rule)}: limit {limit:,}, found {'unknown' if isinstance(found, Unknown) else f'{found:,}'}"
