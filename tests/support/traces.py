"""Traces of XLA's profiler, written field by field: ``XSpace`` of tsl/profiler/protobuf/xplane.proto."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field as of_class

from .proto import field

Stats = dict[str, "int | str | bytes | Ref"]


class Ref(str):
    """A text that a stat refers to, in place of holding it."""


@dataclass
class Event:
    """``name`` is that of the kernel or function; times in picoseconds, the start from that of the line."""

    name: str
    ps: int
    stats: Stats = of_class(default_factory=dict)
    at: int = 0
    n: int | None = None


@dataclass
class Plane:
    """Lines by name, and programs: title and proto of each, and perhaps a program id as a stat."""

    name: str
    lines: dict[str, Sequence[Event]] = of_class(default_factory=dict)
    programs: Sequence[tuple[str, bytes, int | None]] = ()


def hlo_stats(op: str, module: str | None = None, program: int | None = None) -> Stats:
    """The stats of an event of an instruction."""
    named: Stats = {"hlo_op": op}
    return (
        named
        | ({} if module is None else {"hlo_module": module})
        | ({} if program is None else {"program_id": program})
    )


class _Numbers(dict[str, int]):
    def __missing__(self, name: str) -> int:
        self[name] = len(self) + 1
        return self[name]


def space(*planes: Plane) -> bytes:
    """A trace."""
    return b"".join(field(1, _plane(number, plane)) for number, plane in enumerate(planes)) + field(4, b"host")


def _plane(number: int, plane: Plane) -> bytes:
    names, events = _Numbers(), _Numbers()
    lines = b"".join(field(3, _line(k, *line, names, events)) for k, line in enumerate(plane.lines.items()))
    metadata = [(key, field(2, name.encode())) for name, key in events.items()]
    for k, (title, proto, program) in enumerate(plane.programs):
        stats: Stats = {"Hlo Proto": proto} | ({} if program is None else {"program_id": program})
        metadata.append((10**6 + k, field(2, title.encode()) + _stats(stats, 5, names)))
    entries = b"".join(field(4, field(1, key) + field(2, field(1, key) + value)) for key, value in metadata)
    stat_names = b"".join(
        field(5, field(1, key) + field(2, field(1, key) + field(2, name.encode()))) for name, key in names.items()
    )
    id = field(1, number) if number else b""  # as serializers do, which leave out zeros
    return id + field(2, plane.name.encode()) + lines + entries + stat_names


def _line(number: int, name: str, events: Sequence[Event], names: _Numbers, metadata: _Numbers) -> bytes:
    head = field(1, number) + field(2, name.encode()) + field(3, 1_700_000_000_000_000_000)
    return head + b"".join(field(4, _event(event, names, metadata)) for event in events)


def _event(event: Event, names: _Numbers, metadata: _Numbers) -> bytes:
    when = field(2, event.at) if event.n is None else field(5, event.n)
    return field(1, metadata[event.name]) + when + field(3, event.ps) + _stats(event.stats, 4, names)


def _stats(stats: Stats, number: int, names: _Numbers) -> bytes:
    def value(of: int | str | bytes | Ref) -> bytes:
        match of:
            case int():
                return field(3, of)
            case Ref():
                return field(7, names[of])
            case str():
                return field(5, of.encode())
            case bytes():
                return field(6, of)

    return b"".join(field(number, field(1, names[name]) + value(of)) for name, of in stats.items())
