"""Measured time beside exact bytes: the events of a profile joined with the instructions of its modules.

:func:`profile` is the entry point.  Every event of the file is counted, under one row or under what has no
row.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .._core import Instruction, Module, _read_profile
from ..devices import Device, as_device
from ..errors import HlomapError
from ..hlo.load import parse
from ..text import one_line, table_lines
from ..types import ReadOnlyDict, expect_items, json_fields, wrong_type
from .cost import CostReport, costs_within
from .executions import runs_once

_MAX_LINES = 20


@dataclass(frozen=True)
class ProfileRow:
    """The events of one instruction, on all planes together.  Numbers that cannot be computed are None."""

    #: The name of the module as the events have it, without a program id.
    module: str
    #: The name of the instruction as the events have it.
    name: str
    opcode: str | None
    #: Measured time of all calls, in microseconds.
    time_us: float
    #: The middle of the times of the calls; of several planes the largest.
    median_us: float
    calls: int
    #: Part of the time of all rows that contain no others; None for a call or a loop, which contain the time of others.
    share: float | None
    #: Distinct bytes that one call reads and writes.
    bytes: int | None
    #: Bytes that one call reads again, if no cache keeps them.
    bytes_reread: int | None
    #: ``bytes`` for the measured time, in 10**9 bytes a second.
    gb_per_s: float | None
    #: Arithmetic operations of one call, and those for the measured time in 10**9 a second.
    flops: int | None
    gflop_per_s: float | None
    #: The least time that the device needs, as a part of the measured time: 1 is as fast as it can be.
    of_limit: float | None
    #: The planes with events of it, such as ``/device:GPU:0``.
    planes: tuple[str, ...]
    #: Why there is no instruction of that name; else None.
    unmatched: str | None
    instruction: Instruction | None = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values."""
        return json_fields(self, *(f.name for f in fields(self) if f.name != "instruction"))


@dataclass(frozen=True)
class Unplaced:
    """Events without a row: how many, and their time in microseconds, which may overlap."""

    events: int
    time_us: float


@dataclass(frozen=True)
class Profile:
    """The result of :func:`profile`: rows for instructions, the longest first; ``str()`` is a table.

    ``len`` and iteration are those of ``rows``.
    """

    rows: tuple[ProfileRow, ...] = field(repr=False)
    #: The time of all rows that contain no others, in microseconds.
    time_us: float
    device: Device | None
    #: By plane, the events that belong to no instruction: copies, the host's work, ends of operations.
    unplaced: Mapping[str, Unplaced]
    #: By plane, events on lines that repeat those of other lines.
    repeated: Mapping[str, Unplaced]
    #: By name the modules that are joined with events: those of the file, and those that were given.
    modules: Mapping[str, Module] = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ProfileRow]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a field of :class:`ProfileRow` in all rows.  Raises :class:`KeyError` for another name."""
        if column not in {f.name for f in fields(ProfileRow)}:
            raise KeyError(column)
        return [getattr(row, column) for row in self.rows]

    @property
    def unmatched(self) -> tuple[ProfileRow, ...]:
        """The rows of which no instruction is known."""
        return tuple(row for row in self.rows if row.unmatched is not None)

    def to_dict(self) -> dict[str, Any]:
        """The profile as JSON values."""
        device = None if self.device is None else self.device.name
        return json_fields(self, "time_us") | {"device": device} | json_fields(self, "rows unplaced repeated")

    def __repr__(self) -> str:
        return f"<hlomap.results.Profile: {len(self.rows)} rows, {self.time_us:.6g} us>"

    def text(self, top: int = _MAX_LINES) -> str:
        """The table of the first rows, and what is left out."""
        head = ["instruction", "us", "share", "calls", "median us", "bytes", "reread", "GB/s", "flops", "GFLOP/s"]
        has_limit = self.device is not None
        table = [[*head, "of limit"] if has_limit else head]
        table += [_cells(row, has_limit) for row in self.rows[:top]]
        lines = table_lines(table)
        left = self.rows[top:]
        if left:
            lines.append(f"… {len(left):,} more rows, {sum(row.time_us for row in left):.6g} us")
        lines.append(f"{len(self.rows):,} rows, {self.time_us:.6g} us")
        if self.unmatched:
            time = sum(row.time_us for row in self.unmatched)
            lines.append(f"without a known instruction: {len(self.unmatched):,} rows, {time:.6g} us")
        for what, found in (("of no instruction", self.unplaced), ("repeated on other lines", self.repeated)):
            lines += [f"{plane}: {own.events:,} events {what}, {own.time_us:.6g} us" for plane, own in found.items()]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def _cells(row: ProfileRow, has_limit: bool) -> list[str]:
    def number(value: float | None, form: str) -> str:
        return "" if value is None else f"{value:{form}}"

    cells = [
        one_line(row.name, 60) + (" (?)" if row.unmatched else ""),
        f"{row.time_us:.4g}",
        number(row.share, ".1%"),
        f"{row.calls:,}",
        f"{row.median_us:.4g}",
        number(row.bytes, ","),
        number(row.bytes_reread, ","),
        number(row.gb_per_s, ".3g"),
        number(row.flops, ","),
        number(row.gflop_per_s, ".3g"),
    ]
    return [*cells, number(row.of_limit, ".1%")] if has_limit else cells


def profile(
    path: str | os.PathLike[str] | bytes,
    /,
    *,
    module: Module | Iterable[Module] | None = None,
    device: Device | str | None = None,
) -> Profile:
    """The measured time of each instruction, and what it read, wrote and computed in that time.

    Args:
        path: a ``*.xplane.pb`` file, a folder that ``jax.profiler.trace`` wrote to (of several runs the newest counts,
            with the files of all hosts), or the bytes of a file.
        module: the module or modules that ran, for a profile without HLO.  They take the place of those in the file
            with the same name.
        device: with it, rows tell how close they come to its limits.

    Events are joined with instructions by program and name.  An instruction without events has no row; events whose
    instruction is not known have a row with ``unmatched``, and events of no instruction are counted by plane.  Bytes
    and flops are those of :func:`hlomap.cost`.

    Raises :class:`~hlomap.errors.HloSyntaxError` with the position for bytes that are not a profile,
    ``FileNotFoundError`` for a path without one, and ``TypeError`` for other arguments.

    >>> found = profile("tests/cases/profiles/cpu.xplane.pb")
    >>> found.rows[0].name, found.rows[0].calls, found.rows[0].bytes
    ('ynn_fusion.3', 3, 229376)
    """
    given: list[Module] = []
    if module is not None:
        takes = "a Module or several as `module`"
        given = [module] if isinstance(module, Module) else expect_items(Module, module, "profile", takes)
    if device is not None:
        device = as_device(device, "profile")
    events: dict[tuple[str, int | None, str], _Events] = {}
    unplaced: dict[str, Unplaced] = {}
    repeated: dict[str, Unplaced] = {}
    known = _Modules(given)
    for name, data in _files(path):
        planes, modules = _read_profile(data, name)
        for title, program, proto in modules:
            known.add(title, program, proto)
        for plane, ops, rest, again in planes:
            for of_module, program, op, calls, ps, median in ops:
                own = events.setdefault((of_module, program, op), _Events())
                own.add(plane, calls, ps, median)
            for target, (n, ps) in ((unplaced, rest), (repeated, again)):
                if n:
                    before = target.get(plane, Unplaced(0, 0.0))
                    target[plane] = Unplaced(before.events + n, before.time_us + ps / 1e6)
    found = {key: known.instruction(*key) for key in events}
    total = sum(own.ps for key, own in events.items() if not _contains_others(found[key]))
    reports = _reports([i for i in found.values() if isinstance(i, Instruction)], device)
    rows = [_row(key, own, found[key], reports, total, device) for key, own in events.items()]
    rows.sort(key=lambda row: -row.time_us)
    places = ReadOnlyDict(unplaced), ReadOnlyDict(repeated), ReadOnlyDict(known.by_title())
    return Profile(tuple(rows), total / 1e6, device, *places)


class _Events:
    """The events of one name."""

    def __init__(self) -> None:
        self.calls = self.ps = self.median = 0
        self.planes: dict[str, None] = {}

    def add(self, plane: str, calls: int, ps: int, median: int) -> None:
        self.calls += calls
        self.ps += ps
        self.median = max(self.median, median)
        self.planes[plane] = None


class _Modules:
    """The modules that events may name."""

    def __init__(self, given: Sequence[Module]) -> None:
        self.given = {module.name: module for module in given}
        self._programs: dict[tuple[str, int | None], bytes] = {}
        self._read: dict[tuple[str, int | None], Module | str] = {}

    def add(self, title: str, program: int | None, proto: bytes) -> None:
        name = title.rpartition("(")[0] if title.endswith(")") else title
        self._programs.setdefault((name, program), proto)

    def by_title(self) -> dict[str, Module]:
        read = {name: module for (name, _), module in self._read.items() if isinstance(module, Module)}
        return {**read, **self.given}

    def instruction(self, name: str, program: int | None, op: str) -> Instruction | str:
        """The instruction of an event, or why there is none."""
        if name in self.given:
            candidates: list[Module | str] = [self.given[name]]
        elif (name, program) in self._programs:
            candidates = [self._module((name, program))]
        else:
            keys = [key for key in self._programs if key[0] == name]
            candidates = [self._module(key) for key in keys] or [*self.given.values()]
        if not candidates:
            return f"the profile has no module {name!r}; pass it as `module`" if name else "the event names no module"
        found: list[Instruction] = []
        for module in candidates:
            if isinstance(module, str):
                return module
            with suppress(KeyError):
                found.append(module[op])
        if len(found) == 1:
            return found[0]
        return f"{len(found)} modules have an instruction of this name" if found else f"module {name} has no {op!r}"

    def _module(self, key: tuple[str, int | None]) -> Module | str:
        if key not in self._read:
            try:
                self._read[key] = parse(self._programs[key])
            except HlomapError as error:
                self._read[key] = f"the module {key[0]} in the profile cannot be read: {one_line(str(error))}"
        return self._read[key]


def _contains_others(instruction: Instruction | str) -> bool:
    """Whether its events last while those of others do."""
    return isinstance(instruction, Instruction) and not runs_once(instruction)


def _reports(instructions: Sequence[Instruction], device: Device | None) -> dict[Instruction, CostReport]:
    by_module: dict[Module, list[Instruction]] = {}
    for instruction in instructions:
        by_module.setdefault(instruction.module, []).append(instruction)
    return {i: report for module, own in by_module.items() for i, report in costs_within(module, own, device).items()}


def _row(
    key: tuple[str, int | None, str],
    own: _Events,
    instruction: Instruction | str,
    reports: Mapping[Instruction, CostReport],
    total_ps: int,
    device: Device | None,
) -> ProfileRow:
    seconds = own.ps / 1e12
    report = reports[instruction] if isinstance(instruction, Instruction) else None
    moved = flops = None
    if report is not None:
        if report.bytes_read is not None and report.bytes_written is not None:
            moved = report.bytes_read + report.bytes_written
        flops = None if any(note.startswith("not counted") for note in report.notes) else report.flops
    is_outer = _contains_others(instruction)

    def rate(amount: float | None, unit: float) -> float | None:
        return None if amount is None or not seconds else amount * own.calls / seconds / unit

    return ProfileRow(
        key[0],
        key[2],
        None if isinstance(instruction, str) else instruction.opcode,
        own.ps / 1e6,
        own.median / 1e6,
        own.calls,
        None if is_outer else own.ps / total_ps if total_ps else 0.0,
        moved,
        None if report is None else report.bytes_reread,
        rate(moved, 1e9),
        flops,
        rate(flops, 1e9),
        rate(None if report is None or device is None else report.time_at_least, 1),
        tuple(own.planes),
        instruction if isinstance(instruction, str) else None,
        None if isinstance(instruction, str) else instruction,
    )


def _files(path: str | os.PathLike[str] | bytes) -> list[tuple[str | None, bytes]]:
    """The profiles at a path, each with its name."""
    if isinstance(path, bytes):
        return [(None, path)]
    if not isinstance(path, (str, os.PathLike)):
        raise wrong_type("profile", "the path of a profile, or its bytes", path)
    place = Path(path)
    if not place.is_dir():
        return [(str(place), place.read_bytes())]
    for pattern in ("*.xplane.pb", "*/*.xplane.pb", "plugins/profile/*/*.xplane.pb"):
        files = sorted(place.glob(pattern))
        if files:
            newest = max(file.parent for file in files)
            return [(str(file), file.read_bytes()) for file in files if file.parent == newest]
    raise FileNotFoundError(f"hm.profile: {place} has no *.xplane.pb, nor plugins/profile/*/*.xplane.pb below it")
