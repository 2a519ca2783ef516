"""The rows of a table of fusions, and their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, overload

from .._core import Instruction
from ..base.answers import Unknown
from ..base.attached import Page
from ..base.text import plural, printable, table_lines
from ..base.types import is_index, json_value
from ..errors import NotFoundError
from ..hlo.edit import fuse

COLUMNS = (
    "producer", "consumer", "n_others", "why_not", "xla", "bytes_before", "bytes_after", "bytes_saved",
    "saved_into_all", "recomputed", "boxes",
)  # fmt: skip
DEVICE_COLUMNS = (
    "emitter_before", "emitter_after", "efficiency_before", "efficiency_after", "time_before", "time_after",
)  # fmt: skip
_SHOWN_ROWS = 20
_MAX_NAME = 40


@dataclass(frozen=True, eq=False)
class FusionCandidate:
    """An edge from a producer to a consumer, and what changes if both become one kernel; a row of :class:`FusionTable`.

    "Before" is both kernels; "after" is the fused one, together with the producer if others read it, too.  A number is
    :class:`~hlomap.Unknown` if it is not known or if a fact forbids the fusion, and None if its column was left out.
    """

    producer: Instruction
    consumer: Instruction
    #: The other instructions that read the producer, plus one if it is the result of the computation.
    n_others: int
    #: The facts that forbid the fusion, in words; empty if there are none.
    why_not: tuple[str, ...]
    #: The rule by which XLA's GPU fusion refuses the edge; None if its cost model decides.
    xla: str | None = None
    #: Bytes that are read and written.
    bytes_before: int | Unknown | None = None
    bytes_after: int | Unknown | None = None
    bytes_saved: int | Unknown | None = None
    #: Bytes saved if the producer is fused into each of its readers, and then not computed by itself.
    saved_into_all: int | Unknown | None = None
    #: Evaluations of each element of the producer that the fused kernel needs, if each thread computes what it needs; a
    #: kernel of tiles evaluates an element once for each tile that needs it.
    recomputed: float | Unknown | None = None
    #: Whether for some tile of the output smaller than the whole, all reads of the fused kernel are boxes.
    boxes: bool | Unknown | None = None
    #: The emitters that XLA would pick (:func:`hlomap.schedule`), of the producer and the consumer.
    emitter_before: tuple[str | Unknown, str | Unknown] | None = None
    emitter_after: str | Unknown | None = None
    #: Bytes used for each byte moved (:func:`hlomap.coalescing`); before, the lower one of both kernels.
    efficiency_before: float | Unknown | None = None
    efficiency_after: float | Unknown | None = None
    #: Lower bounds of the seconds.
    time_before: float | None = None
    time_after: float | Unknown | None = None

    @property
    def fused(self) -> Instruction:
        """The fused kernel, as the root of a module: ``hm.fuse(consumer, producer)``.

        Raises :class:`~hlomap.errors.ShapeError` if the instructions cannot be fused.
        """
        return fuse(self.consumer, self.producer)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values; an unknown number is ``{"unknown": reason}``."""
        found = {field.name: json_value(getattr(self, field.name)) for field in fields(self)}
        return {"computation": self.consumer.computation.name, **found}

    def __repr__(self) -> str:
        return f"<FusionCandidate {self.producer.name} -> {self.consumer.name}>"

    def __str__(self) -> str:
        return "\n".join(_lines([self], self.emitter_before is not None))


class FusionTable(Page, Sequence[FusionCandidate]):
    """The edges between kernels, the one whose fusion saves most bytes first; ``print`` shows the first rows.

    ``table[0]`` is a :class:`~hlomap.results.FusionCandidate`, ``table["bytes_saved"]`` a list with the values of a
    column, and ``columns`` are the names of the columns.
    """

    __slots__ = ("_rows", "columns")

    def __init__(self, rows: Sequence[FusionCandidate], columns: Sequence[str]) -> None:
        self._rows = tuple(rows)
        self.columns: tuple[str, ...] = tuple(columns)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, key: int) -> FusionCandidate: ...
    @overload
    def __getitem__(self, key: slice) -> FusionTable: ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    def __getitem__(self, key: int | slice | str) -> FusionCandidate | FusionTable | list[Any]:
        """A row, a table of some rows, or the values of a column."""
        if isinstance(key, str):
            if key not in self.columns:
                raise NotFoundError(f"no column {key!r}, there are: {', '.join(self.columns)}")
            return [getattr(row, key) for row in self._rows]
        if isinstance(key, slice):
            return FusionTable(self._rows[key], self.columns)
        if not is_index(key):
            raise TypeError("hm.results.FusionTable[]: expected the number of a row, a slice or the name of a column")
        return self._rows[key]

    def __iter__(self) -> Iterator[FusionCandidate]:
        return iter(self._rows)

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON values, a list of rows with the columns of the table."""
        names = ("computation", *self.columns)
        return {"fusions": [{name: row[name] for name in names} for row in map(FusionCandidate.to_dict, self._rows)]}

    def text(self, limit: int | None = _SHOWN_ROWS) -> str:
        """The text of the first ``limit`` rows, of all rows for None."""
        if not self._rows:
            return "no edges between kernels"
        shown = self._rows[:limit]
        lines = _lines(shown, "emitter_before" in self.columns)
        left = len(self._rows) - len(shown)
        return "\n".join([*lines, f"… {plural(left, 'more row')}"] if left else lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<FusionTable of {plural(len(self), 'edge')}>"


def _lines(rows: Sequence[FusionCandidate], with_device: bool) -> list[str]:
    """The header, the rows in columns, and rows that a fact forbids with that fact."""
    header = ["producer -> consumer", "before", "after", "saved", "into all", "recomputed", "boxes"]
    cells = [[*header, "efficiency", "at least", "emitter"] if with_device else header]
    cells += [_cells(row, with_device) for row in rows if not row.why_not]
    lines = iter(table_lines(cells, left=(0, 9)))
    found = [next(lines)]
    for row in rows:
        found.append(f"{_edge(row)}  no: {'; '.join(map(printable, row.why_not))}" if row.why_not else next(lines))
    return found


def _edge(row: FusionCandidate) -> str:
    return f"{printable(row.producer.name, _MAX_NAME)} -> {printable(row.consumer.name, _MAX_NAME)}"


def _cells(row: FusionCandidate, with_device: bool) -> list[str]:
    numbers = (row.bytes_before, row.bytes_after, row.bytes_saved, row.saved_into_all)
    cells = [_edge(row), *map(_number, numbers), _number(row.recomputed), _word(row.boxes)]
    if not with_device:
        return cells
    emitters = ", ".join(map(_word, row.emitter_before or ()))
    efficiency = f"{_ratio(row.efficiency_before)} → {_ratio(row.efficiency_after)}"
    return [*cells, efficiency, _times(row.time_before, row.time_after), f"{emitters} → {_word(row.emitter_after)}"]


def _number(value: float | Unknown | None) -> str:
    if value is None or isinstance(value, Unknown):
        return "" if value is None else "?"
    return f"{int(value):,}" if value == int(value) else f"{value:,.3g}"


def _ratio(value: float | Unknown | None) -> str:
    return "?" if value is None or isinstance(value, Unknown) else f"{value:.2f}"


def _word(value: object) -> str:
    return "" if value is None else "?" if isinstance(value, Unknown) else str(value)


def _times(before: float | Unknown | None, after: float | Unknown | None) -> str:
    """Two times in one unit."""
    known = [t for t in (before, after) if t is not None and not isinstance(t, Unknown)]
    longest = max(known, default=0.0)
    units = (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9))
    unit, factor = next((unit for unit in units if longest * unit[1] >= 1), units[-1])
    shown = ("?" if t is None or isinstance(t, Unknown) else f"{t * factor:.2f}" for t in (before, after))
    return f"{' → '.join(shown)} {unit}"
