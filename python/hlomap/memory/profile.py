"""Joins the events of a profile with the instructions of its modules: measured time and exact bytes.

:func:`profile` is the entry point.  Every event of the file is counted, in one row or among the events without a row.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from .._core import Instruction, Module, _read_profile
from ..analysis.structure import runs_once
from ..base.answers import Unknown
from ..base.devices import Device, as_device
from ..base.text import joined, one_line, table_lines
from ..base.types import ReadOnlyDict, expect, expect_items, is_index, json_fields, wrong_type
from ..errors import HlomapError
from ..hlo.load import parse
from .cost import CostReport, costs_within

_MAX_LINES = 20


@dataclass(frozen=True)
class ProfileRow:
    """The events of one instruction, on all planes together.  Numbers that cannot be computed are None."""

    #: The name of the module in the events.
    module: str
    #: The id of the program, which distinguishes programs with one name; None if the events have none.
    program: int | None
    #: The name of the instruction in the events.
    name: str
    opcode: str | None
    #: Measured time of all calls, in microseconds.
    time_us: float
    #: The median time of the calls, the largest over planes.  None if it is not known which kernels belong to one call.
    median_us: float | None
    #: The number of runs of the instruction: on each plane the number of events of its kernel with the fewest events,
    #: summed over planes.
    calls: int
    #: The number of its events: kernels, copies, or calls of functions on a CPU.
    kernels: int
    #: Share of the time of all rows that contain no others; None for a call or a loop, which contain the time of
    #: others.
    share: float | None
    #: Distinct bytes that one call reads and writes.
    bytes: int | None
    #: Bytes that one call reads if no cache keeps them, every read counted.
    read_bytes: int | None
    #: ``bytes`` over the measured time, in 10**9 bytes a second.
    gb_per_s: float | None
    #: Arithmetic operations of one call, and their rate over the measured time in 10**9 a second.
    flops: int | None
    gflop_per_s: float | None
    #: The least time that the device needs, divided by the measured time: 1 is as fast as possible.
    of_limit: float | None
    #: The planes with its events, such as ``/device:GPU:0``.
    planes: tuple[str, ...]
    #: Why no instruction has this name; else None.
    unmatched: str | None
    instruction: Instruction | None = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values."""
        return json_fields(self, *(f.name for f in fields(self) if f.name != "instruction"))


@dataclass(frozen=True)
class Unplaced:
    """Events without a row: their number, and their time in microseconds, which may overlap."""

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
    #: By plane, the events that belong to no instruction: copies, the host's work, ends of operations.  They include
    #: events of hosts if a device has events of the same instruction, since the host's events launch its kernels.
    unplaced: Mapping[str, Unplaced]
    #: By plane, events on lines that repeat other lines.
    repeated: Mapping[str, Unplaced]
    #: The modules that are joined with events: modules of the file by name and program id, as in the rows, and modules
    #: in the argument by name and the id in the argument, or None.
    modules: Mapping[tuple[str, int | None], Module] = field(repr=False)

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
        """The rows without a known instruction."""
        return tuple(row for row in self.rows if row.unmatched is not None)

    def label(self, row: ProfileRow) -> str:
        """The name of a row, prefixed with its program and its id if several programs have one name."""
        return f"{_program(row)} {row.name}" if row.module in self._shared_names() else row.name

    def _shared_names(self) -> set[str]:
        programs = {(row.module, row.program) for row in self.rows}
        return {name for name, n in Counter(name for name, _ in programs).items() if n > 1}

    def to_dict(self) -> dict[str, Any]:
        """The profile as JSON values."""
        device = None if self.device is None else self.device.name
        return json_fields(self, "time_us") | {"device": device} | json_fields(self, "rows unplaced repeated")

    def __repr__(self) -> str:
        return f"<hlomap.results.Profile: {len(self.rows)} rows, {self.time_us:.6g} us>"

    def text(self, top: int = _MAX_LINES) -> str:
        """The table of the first rows, and a summary of the rest."""
        columns = {**_CELLS, **({} if self.device is None else _LIMIT)}
        if not self._shared_names():
            del columns["program"]
        if all(row.kernels == row.calls for row in self.rows):
            del columns["kernels"]
        table = [list(columns)] + [[cell(row) for cell in columns.values()] for row in self.rows[:top]]
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


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _program(row: ProfileRow) -> str:
    return one_line(row.module, 30) + ("" if row.program is None else f"({row.program})")


_CELLS: dict[str, Callable[[ProfileRow], str]] = {
    "program": _program,
    "instruction": lambda row: one_line(row.name, 60) + (" (?)" if row.unmatched else ""),
    "us": lambda row: f"{row.time_us:.4g}",
    "share": lambda row: _number(row.share, ".1%"),
    "calls": lambda row: f"{row.calls:,}",
    "kernels": lambda row: f"{row.kernels:,}",
    "median us": lambda row: _number(row.median_us, ".4g"),
    "bytes": lambda row: _number(row.bytes, ","),
    "read": lambda row: _number(row.read_bytes, ","),
    "GB/s": lambda row: _number(row.gb_per_s, ".3g"),
    "flops": lambda row: _number(row.flops, ","),
    "GFLOP/s": lambda row: _number(row.gflop_per_s, ".3g"),
}
"""The columns of the printed table."""

_LIMIT: dict[str, Callable[[ProfileRow], str]] = {"of limit": lambda row: _number(row.of_limit, ".1%")}


def profile(
    path: str | os.PathLike[str] | bytes,
    /,
    *,
    module: Module | Iterable[Module] | Mapping[int, Module] | None = None,
    device: Device | str | None = None,
) -> Profile:
    """The measured time of each instruction, with its bytes read and written and its operations.

    Args:
        path: a ``*.xplane.pb`` file, a folder that ``jax.profiler.trace`` wrote to (the newest run, with the files of
            all hosts), or the bytes of a file.
        module: the module or modules that ran, for a profile without HLO, or a mapping from program ids to modules if
            several programs have one name.  They replace modules in the file with the same name or id.
        device: a device; rows then say how close they come to its limits.

    Events are joined with instructions by program and name.  An instruction without events has no row; events whose
    instruction is not known have a row with ``unmatched``, and events of no instruction are counted by plane.  If a
    device (``/device:``) has events of an instruction, events of hosts launch them and have no row.  Bytes and flops
    are counted by :func:`hlomap.cost`.

    Raises :class:`~hlomap.errors.HloSyntaxError` with the position for bytes that are not a profile,
    ``FileNotFoundError`` for a path without one, ``ValueError`` for different modules of one name without ids, and
    ``TypeError`` for other arguments.

    >>> found = profile("tests/cases/profiles/cpu.xplane.pb")
    >>> found.rows[0].name, found.rows[0].calls, found.rows[0].bytes
    ('ynn_fusion.3', 3, 229376)
    """
    known = _Modules(module)
    if device is not None:
        device = as_device(device, "profile")
    events: dict[_Key, dict[str, _Events]] = {}
    unplaced: dict[str, Unplaced] = {}
    repeated: dict[str, Unplaced] = {}
    for name, data in _files(path):
        planes, programs = _read_profile(data, name)
        for of, program, proto in programs:
            known.add((of, program), proto)
        for plane, ops, rest, again in planes:
            for of, program, op, kernels, calls, ps, median in ops:
                own = events.setdefault(_Key(of, program, op), {}).setdefault(plane, _Events())
                own.add(kernels, calls, ps, median)
            _count(unplaced, plane, *rest)
            _count(repeated, plane, *again)
    _set_aside_launches(events, unplaced)
    known.close(events)
    found = {key: known.instruction(key) for key in events}
    sums = {key: sum(planes.values(), _Events()) for key, planes in events.items()}
    total = sum(own.ps for key, own in sums.items() if not _contains_others(found[key]))
    reports = _reports([i for i in found.values() if isinstance(i, Instruction)], device)
    rows = [_row(key, own, tuple(events[key]), found[key], reports, total, device) for key, own in sums.items()]
    rows.sort(key=lambda row: -row.time_us)
    places = ReadOnlyDict(unplaced), ReadOnlyDict(repeated), ReadOnlyDict(known.read())
    return Profile(tuple(rows), total / 1e6, device, *places)


class _Key(NamedTuple):
    """The instruction that events name; the name of the module may be empty."""

    module: str
    program: int | None
    op: str


@dataclass
class _Events:
    """The events of one instruction on one plane, or on several."""

    kernels: int = 0
    calls: int = 0
    ps: int = 0
    median: int | None = 0

    def add(self, kernels: int, calls: int, ps: int, median: int | None) -> None:
        self.kernels += kernels
        self.calls += calls
        self.ps += ps
        self.median = None if median is None or self.median is None else max(self.median, median)

    def __add__(self, other: _Events) -> _Events:
        both = replace(self)
        both.add(other.kernels, other.calls, other.ps, other.median)
        return both


def _count(found: dict[str, Unplaced], plane: str, n: int, ps: int) -> None:
    if n:
        before = found.get(plane, Unplaced(0, 0.0))
        found[plane] = Unplaced(before.events + n, before.time_us + ps / 1e6)


def _set_aside_launches(events: dict[_Key, dict[str, _Events]], unplaced: dict[str, Unplaced]) -> None:
    """Moves events of hosts to the events without a row if a device has events of the same instruction.

    A missing name or id in events matches any.
    """
    on_devices: dict[str, list[_Key]] = {}
    for key, planes in events.items():
        if any(map(_is_device, planes)):
            on_devices.setdefault(key.op, []).append(key)
    for key in list(events):
        planes = events[key]
        if any(_may_be_same(key, other) for other in on_devices.get(key.op, ())):
            for plane in [plane for plane in planes if not _is_device(plane)]:
                own = planes.pop(plane)
                _count(unplaced, plane, own.kernels, own.ps)
        if not planes:
            del events[key]


def _is_device(plane: str) -> bool:
    return plane.startswith("/device:")


def _may_be_same(a: _Key, b: _Key) -> bool:
    is_module = a.module == b.module or not a.module or not b.module
    return is_module and (a.program == b.program or a.program is None or b.program is None)


_Program = tuple[str, int | None]
"""The name of a module and the id of its program."""


class _Modules:
    """The modules that events may name."""

    def __init__(self, given: Module | Iterable[Module] | Mapping[int, Module] | None) -> None:
        self._given: dict[_Program, Module] = {}
        self._programs: dict[_Program, list[bytes]] = {}
        self._read: dict[_Program, Module | str] = {}
        self._ids: dict[str, set[int]] = {}
        self._is_single = False
        by_name: dict[str, list[Module]] = {}
        takes = "a Module, several, or a mapping of program ids to them as `module`"
        if isinstance(given, Mapping):
            for program, module in given.items():
                if not is_index(program):
                    raise wrong_type("profile", takes, program, "as a key")
                expect(Module, module, "profile", takes, "as a value")
                self._given[module.name, index(program)] = module
        elif given is not None:
            for module in [given] if isinstance(given, Module) else expect_items(Module, given, "profile", takes):
                same = by_name.setdefault(module.name, [])
                if all(other is not module and str(other) != str(module) for other in same):
                    same.append(module)
        for name, modules in by_name.items():
            # Modules from a trace have ids, which may differ in another trace, so a unique name is enough.
            by_id = {None if len(modules) == 1 else module.program: module for module in modules}
            if len(by_id) < len(modules) or (None in by_id and len(modules) > 1):
                raise ValueError(
                    f"hm.profile: several modules have the name {one_line(name, 60)!r}; pass them by program id, as in "
                    "module={17: first, 18: second}"
                )
            self._given |= {(name, id): module for id, module in by_id.items()}

    def add(self, program: _Program, proto: bytes) -> None:
        """Adds a program of the file."""
        protos = self._programs.setdefault(program, [])
        if proto not in protos:
            protos.append(proto)

    def close(self, events: Iterable[_Key]) -> None:
        """Ends the reading of files, once all events are known."""
        ran = {(key.module, key.program) for key in events}
        self._is_single = len(ran) == 1
        for name, program in [*self._programs, *ran]:
            if program is not None:
                self._ids.setdefault(name, set()).add(program)

    def read(self) -> dict[_Program, Module]:
        """The modules that were read from the file, and those of the argument."""
        return {key: module for key, module in self._read.items() if isinstance(module, Module)} | self._given

    def instruction(self, key: _Key) -> Instruction | str:
        """The instruction of events, or why none matches."""
        candidates = self._candidates(key.module, key.program)
        if isinstance(candidates, str):
            return candidates
        found: list[Instruction] = []
        for module in candidates:
            if isinstance(module, str):
                return module
            with suppress(KeyError):
                found.append(module[key.op])
        if len(found) == 1:
            return found[0]
        name = one_line(key.module, 60)
        return f"{len(found)} modules have an instruction of this name" if found else f"module {name} has no {key.op!r}"

    def _candidates(self, name: str, program: int | None) -> list[Module | str] | str:
        """The modules to which events of a program may belong, or why there is none."""
        for (_, id), module in self._given.items():
            if id is not None and id == program:
                return [module]
        ids = sorted(self._ids.get(name, ()))
        if (name, None) in self._given and len(ids) < 2:
            return [self._given[name, None]]
        if (name, program) in self._programs:
            return [self._module((name, program))]
        if (name, None) in self._given:
            programs = joined(list(map(str, ids)))
            return f"several programs have the name {name!r}: {programs}; pass modules by id as `module`"
        # Without an id every program with the name matches, without a name every program with the id.
        fits = [key for key in self._programs if key[0] == name and None in (program, key[1])]
        if not name and program is not None:
            fits = [key for key in self._programs if key[1] == program]
        if fits:
            return [self._module(key) for key in fits]
        # A module with another name stands for the only program that ran.
        if (self._is_single or not name) and (given := [own for (_, id), own in self._given.items() if id is None]):
            return [*given]
        if not name:
            return "the event names no module"
        others = [str(id) for of, id in self._programs if of == name]
        if others:
            return f"the profile has module {name!r} of program {joined(others)}, not {program}; pass it as `module`"
        return f"the profile has no module {name!r}; pass it as `module`"

    def _module(self, key: _Program) -> Module | str:
        if key not in self._read:
            try:
                modules = [parse(proto) for proto in self._programs[key]]
            except HlomapError as error:
                self._read[key] = f"the module {key[0]} in the profile cannot be read: {one_line(str(error))}"
                return self._read[key]
            # The hosts of one program may have traced different source files.
            texts = {module.to_string(metadata=False, backend_config=False) for module in modules if modules[1:]}
            self._read[key] = "hosts have different modules of this name and id" if len(texts) > 1 else modules[0]
        return self._read[key]


def _contains_others(instruction: Instruction | str) -> bool:
    """Whether its events contain the time of others."""
    return isinstance(instruction, Instruction) and not runs_once(instruction)


def _reports(instructions: Sequence[Instruction], device: Device | None) -> dict[Instruction, CostReport]:
    by_module: dict[Module, list[Instruction]] = {}
    for instruction in instructions:
        by_module.setdefault(instruction.module, []).append(instruction)
    return {i: report for module, own in by_module.items() for i, report in costs_within(module, own, device).items()}


def _row(
    key: _Key,
    own: _Events,
    planes: tuple[str, ...],
    instruction: Instruction | str,
    reports: Mapping[Instruction, CostReport],
    total_ps: int,
    device: Device | None,
) -> ProfileRow:
    seconds = own.ps / 1e12
    report = reports[instruction] if isinstance(instruction, Instruction) else None
    moved = flops = None
    if report is not None:
        distinct, written = report.distinct_bytes, report.bytes_written
        moved = None if isinstance(distinct, Unknown) or isinstance(written, Unknown) else distinct + written
        flops = None if any(note.startswith("not counted") for note in report.notes) else report.flops
    is_outer = _contains_others(instruction)

    def rate(amount: float | None, unit: float) -> float | None:
        return None if amount is None or not seconds else amount * own.calls / seconds / unit

    return ProfileRow(
        *key[:2],
        key.op,
        None if isinstance(instruction, str) else instruction.opcode,
        own.ps / 1e6,
        None if own.median is None else own.median / 1e6,
        own.calls,
        own.kernels,
        None if is_outer else own.ps / total_ps if total_ps else 0.0,
        moved,
        None if report is None or isinstance(report.read_bytes, Unknown) else report.read_bytes,
        rate(moved, 1e9),
        flops,
        rate(flops, 1e9),
        rate(None if report is None or device is None else report.time_at_least, 1),
        planes,
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
    for folder in ("", "*/", "plugins/profile/*/"):
        files = sorted(file for end in ("pb", "pb.gz") for file in place.glob(f"{folder}*.xplane.{end}"))
        if files:
            newest = max(file.parent for file in files)
            return [(str(file), file.read_bytes()) for file in files if file.parent == newest]
    raise FileNotFoundError(f"hm.profile: {place} has no *.xplane.pb, nor plugins/profile/*/*.xplane.pb below it")
