"""The tables of a plan: its moves, and the shardings of all values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, overload

from .._core import Instruction
from ..analysis.table import SHOWN_ROWS, Table, first_rows
from ..base.types import ShapeIndex, is_index, json_value
from ..errors import NotFoundError

if TYPE_CHECKING:
    import pyarrow

    from ..interop.arrow import Kind


@dataclass(frozen=True)
class Move:
    """Data that devices send each other for one instruction of a plan; a row of :class:`Moves`."""

    #: The instruction that needs the data, or whose partial results are combined.
    instruction: Instruction
    #: The array that moves: the name in the source program for a parameter, else that of its instruction.
    value: str
    #: ``operand`` (needed in another sharding), ``partial result``, ``halo`` (read beyond the own block) or ``result``.
    why: str
    #: The collective, such as ``all-gather``; ``several`` if one is not enough.
    collective: str
    #: The axes along which devices send.
    axes: tuple[str, ...]
    #: The sharding before, as ``P('data', None)``.
    source: str
    #: The sharding afterwards.
    target: str
    #: The bytes that the busiest device sends in one run.
    wire_bytes: int
    #: The runs; 0 in a branch of a conditional of which another one sends more.
    times: int
    #: The file of the source program, if it is known.
    source_file: str | None
    #: The line in it.
    source_line: int | None

    @property
    def total_wire_bytes(self) -> int:
        """``wire_bytes`` of all runs."""
        return self.wire_bytes * self.times

    def to_dict(self) -> dict[str, Any]:
        """The columns as JSON values."""
        return {name: json_value(getattr(self, name)) for name in MOVE_COLUMNS}

    def __str__(self) -> str:
        times = f" x {self.times}" if self.times != 1 else ""
        along = ", ".join(map(repr, self.axes))
        if self.why == "partial result":
            change = self.target if self.collective != "reduce-scatter" else f"-> {self.target}"
            what = f"{self.value} {change}, partial along {along}"
        elif self.why == "halo":
            what = f"{self.value} {self.source}, halo of {self.instruction.name} along {along}"
        else:
            what = f"{self.value} {self.source} -> {self.target}, {self.why} of {self.instruction.name}"
        return f"{self.collective:<14}  {what}{times}"


@dataclass(frozen=True)
class PlannedValue:
    """The sharding of one array; a row of :meth:`ShardPlan.table`."""

    #: The instruction.
    instruction: Instruction
    #: The position of the array in a tuple.
    shape_index: ShapeIndex
    #: The shape of the whole array.
    shape: str
    #: The sharding, as ``P('data', None)``.
    spec: str
    #: The bytes on the device with most.
    bytes: int
    #: The factor by which devices hold more than one copy of the array together.
    n_replicas: int


_MOVES: Final[dict[str, tuple[Kind, str]]] = {
    "instruction": ("text", "The instruction that needs the data."),
    "value": ("text", "The array that moves."),
    "why": ("text", "`operand`, `partial result`, `halo` or `result`."),
    "collective": ("text", "The collective."),
    "axes": ("texts", "The axes along which devices send."),
    "source": ("text", "The sharding before."),
    "target": ("text", "The sharding afterwards."),
    "wire_bytes": ("int", "Bytes that the busiest device sends in one run."),
    "times": ("int", "Number of runs."),
    "source_file": ("text", "File of the source program."),
    "source_line": ("int", "Line in it."),
}
_VALUES: Final[dict[str, tuple[Kind, str]]] = {
    "instruction": ("text", "The instruction."),
    "shape_index": ("text", "Position of the array in a tuple."),
    "shape": ("text", "Shape of the whole array."),
    "spec": ("text", "The sharding."),
    "bytes": ("int", "Bytes on the device with most."),
    "n_replicas": ("int", "Devices that hold the same block."),
}
MOVE_COLUMNS = tuple(_MOVES)

_R = TypeVar("_R")


def _cell(record: Any, column: str) -> Any:
    value = getattr(record, column)
    if isinstance(value, Instruction):
        return value.name
    return ",".join(map(str, value)) if column == "shape_index" else value


class Records(Table, Generic[_R]):
    """A table of records: ``table["wire_bytes"]`` is a column, ``table[0]`` a record."""

    __slots__ = ("records",)

    #: The rows as records.
    records: tuple[_R, ...]

    def __init__(self, records: Sequence[_R]) -> None:
        self.records = tuple(records)
        self.__setstate__({name: [] for name in self._kinds()})
        self._columns.clear()

    @staticmethod
    def _kinds() -> dict[str, tuple[Kind, str]]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, column: str) -> Sequence[Any]: ...
    @overload
    def __getitem__(self, column: int) -> _R: ...
    def __getitem__(self, column: str | int) -> Sequence[Any] | _R:
        """The values of a column, or the record of a row."""
        return self.records[column] if is_index(column) else super().__getitem__(cast(str, column))

    def _column(self, column: str) -> list[Any]:
        if column not in self._kinds():
            raise NotFoundError(f"no column {column!r}, there are: {', '.join(self._kinds())}")
        if column not in self._columns:
            self._columns[column] = [_cell(record, column) for record in self.records]
        return self._columns[column]

    def _schema(self) -> pyarrow.Schema:
        from ..interop import arrow

        kinds = {name: kind for name, (kind, _) in self._kinds().items()}
        return arrow.schema(kinds, {name: text for name, (_, text) in self._kinds().items()})

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (self.records,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows>"

    def __str__(self) -> str:
        columns = [islice(self._column(name), SHOWN_ROWS) for name in self._names]
        return first_rows(self._names, columns, len(self), len(self._names))


class Moves(Records[Move]):
    """The moves of a plan in program order; ``moves[0]`` is a :class:`~hlomap.results.Move`."""

    __slots__ = ()

    @staticmethod
    def _kinds() -> dict[str, tuple[Kind, str]]:
        return _MOVES


class PlannedValues(Records[PlannedValue]):
    """The shardings of all values of a plan; ``table[0]`` is a :class:`~hlomap.results.PlannedValue`."""

    __slots__ = ()

    @staticmethod
    def _kinds() -> dict[str, tuple[Kind, str]]:
        return _VALUES
