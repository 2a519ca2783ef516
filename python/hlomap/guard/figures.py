"""Figures of a program for golden files and pull requests: bytes, instructions, copies, collectives.

:func:`markdown` is the table for a pull request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from .._core import Instruction, Module
from ..analysis.structure import executed_computations
from ..base.text import printable, table_lines
from ..base.types import ReadOnlyDict
from ..errors import DatasetError
from ..memory.overview import overview
from ..memory.wire import wire_bytes
from ..ops import lookup
from ..ops.asynchronous import begun_by
from .check import CheckReport, check, source_line

_FORMAT = 3
_MAX_LINES = 5


@dataclass(frozen=True)
class Figures:
    """Figures of a program: the bytes that move in a run, and in ``opcodes`` the number of instructions outside
    fusions, without those that do nothing, and asynchronous ones without their ``-start``.

    Bytes are None if they are not known.
    """

    bytes: int | None
    wire_bytes: int | None
    opcodes: Mapping[str, int]
    lines: Mapping[str, int] = field(default_factory=ReadOnlyDict)
    """The bytes moved by the instructions of each source line, if the program records them."""

    def rows(self) -> dict[str, int | None]:
        """The figures by their names in a table."""
        return {
            "bytes moved, at most": self.bytes,
            "instructions": sum(self.opcodes.values()),
            "fusions": self.opcodes.get("fusion", 0),
            "copies": self.opcodes.get("copy", 0),
            "collectives": sum(n for opcode, n in self.opcodes.items() if lookup(opcode).maps.collective is not None),
            "wire bytes": self.wire_bytes,
        }

    def to_dict(self) -> dict[str, object]:
        """The content of a golden file; source lines are left out, since they change with every edit."""
        opcodes = dict(sorted(self.opcodes.items()))
        return {"format": _FORMAT, "bytes": self.bytes, "wire_bytes": self.wire_bytes, "opcodes": opcodes}

    @classmethod
    def from_dict(cls, content: object) -> Figures:
        """The figures in a golden file; raises :class:`~hlomap.errors.DatasetError` for anything else."""
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise DatasetError(f"expected a golden file of format {_FORMAT}, written with --hlo-update")
        opcodes = content.get("opcodes")
        counts = list(opcodes.values()) if isinstance(opcodes, dict) else [None]
        n_bytes = [n for n in (content.get("bytes"), content.get("wire_bytes")) if n is not None]
        if not all(isinstance(n, int) for n in (*counts, *n_bytes)):
            raise DatasetError("expected numbers as bytes and in `opcodes`; write the file again with --hlo-update")
        return cls(content.get("bytes"), content.get("wire_bytes"), ReadOnlyDict(content["opcodes"]))


def figures(module: Module) -> Figures:
    """The figures of a module.

    >>> figures(hm.parse("ENTRY e { p = f32[3] parameter(0)  ROOT c = f32[3] copy(p) }")).to_dict()
    {'format': 3, 'bytes': 24, 'wire_bytes': 0, 'opcodes': {'copy': 1}}
    """
    found = overview(module)
    executed = [i for c in executed_computations(module) for i in c]
    sent, _ = wire_bytes(module.entry)
    lines: Counter[str] = Counter()
    for instruction, moved in found.moved.items():
        if (line := _line(instruction)) is not None:
            lines[line] += moved.total
    opcodes = Counter(begun_by(i.opcode) for i in executed if not lookup(i.opcode).memory.moves_nothing)
    n_bytes, n_sent = (None if n.unknown else n.total for n in (found.total, sent))
    return Figures(n_bytes, n_sent, ReadOnlyDict(opcodes), ReadOnlyDict(lines))


def against(module: Module, golden: Figures) -> CheckReport:
    """Checks that no figure of a module is larger than in a golden file."""
    limits = dict.fromkeys(figures(module).opcodes, 0) | dict(golden.opcodes)
    return check(module, max_bytes=golden.bytes, max_wire_bytes=golden.wire_bytes, max_count=limits)


def text_table(before: Figures, after: Figures, names: tuple[str, str]) -> str:
    """The figures side by side, as text."""
    return "\n".join(table_lines([("", *names, ""), *_rows(before, after)]))


def markdown(before: Figures, after: Figures) -> str:
    """A table for a pull request: the figures, then the source lines whose bytes grow the most.

    >>> one, two = (Figures(n, 0, {"copy": n // 8}) for n in (8, 24))
    >>> print(markdown(one, two))
    | | before | after | change |
    |---|--:|--:|--:|
    | bytes moved, at most | 8 | 24 | +16 (+200 %) |
    | instructions | 1 | 3 | +2 (+200 %) |
    | fusions | 0 | 0 | |
    | copies | 1 | 3 | +2 (+200 %) |
    | collectives | 0 | 0 | |
    | wire bytes | 0 | 0 | |
    """
    grown = {line: n - before.lines.get(line, 0) for line, n in after.lines.items()}
    worst = sorted((line for line in grown if grown[line] > 0), key=lambda line: (-grown[line], line))[:_MAX_LINES]
    rows = _rows(before, after)
    for line in worst:
        code = printable(line).replace("|", "\\|").replace("`", "'")
        rows.append((f"`{code}`: bytes", *_cells(before.lines.get(line, 0), after.lines[line])))
    head = ["| | before | after | change |", "|---|--:|--:|--:|"]
    return "\n".join(head + ["| " + " | ".join(row).rstrip() + " |" for row in rows])


def _rows(before: Figures, after: Figures) -> list[tuple[str, str, str, str]]:
    new = after.rows()
    return [(name, *_cells(old, new[name])) for name, old in before.rows().items()]


def _cells(before: int | None, after: int | None) -> tuple[str, str, str]:
    number: Callable[[int | None], str] = lambda n: "unknown" if n is None else f"{n:,}"  # noqa: E731
    if before is None or after is None or before == after:
        return number(before), number(after), ""
    share = f" ({100 * (after - before) / before:+.0f} %)" if before else ""
    return number(before), number(after), f"{after - before:+,}{share}"


def _line(instruction: Instruction) -> str | None:
    """``file:line`` with the last two parts of the path, which do not depend on the machine."""
    source = source_line(instruction)
    if source is None:
        return None
    file, colon, line = source.split(" in ")[0].rpartition(":")
    return "/".join(PurePath(file or line).parts[-2:]) + (f"{colon}{line}" if file else "")
