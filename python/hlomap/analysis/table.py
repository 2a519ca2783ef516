"""The result of an analysis: named columns of plain values, in a fixed order.

Start with :class:`Table`.  All columns have the same length and the kinds of :data:`COLUMNS`; a null is ``None``.
A column is built on first access; only the ``to_`` methods import pyarrow, pandas and polars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from .._core import __version__, _row_columns, _rows_message
from ..base.attached import Page
from ..base.text import one_line, plural, safe, table_lines
from ..base.types import expect, needs
from ..errors import NotFoundError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from .._core import Rows
    from ..interop.arrow import Kind

COLUMNS: Final[dict[str, Kind]] = {name: cast("Kind", kind) for name, kind, _ in _row_columns()}
"""The columns of :func:`hlomap.analyze` in order, each with its kind.

``reads`` and ``distinct_elements`` count for the whole output, between ``_lower`` and ``_upper``.
``remote_bytes`` comes from :func:`hlomap.partitioned`.
"""

DESCRIPTIONS: Final[dict[str, str]] = {name: description for name, _, description in _row_columns()}
"""The meaning of each column's values, their unit, and when they are null."""

FILE_COLUMNS: Final[dict[str, tuple[Kind, str]]] = {
    "file": ("text", "Path of the file."),
    "compilation": (
        "text",
        "Folder, number and name of a compilation, from the name of a dumped file; null without one.",
    ),
    "stage": ("text", "Stage of the compilation, from the name of a dumped file; null without one."),
    "step": ("int", "Number of the pass after which the module was dumped; null for other stages."),
    "pipeline": ("text", "Pipeline of that pass."),
    "pass": ("text", "Name of that pass."),
    "form": ("text", "`text`, `proto`, `trace` or `StableHLO`: what the file holds."),
}
"""The columns before :data:`COLUMNS` in a table of files, each with its kind and what its values mean."""

SCHEMA_VERSION: Final = 2
"""Incremented when a column is removed or changes type or meaning, not for a new column."""

_NAMES = tuple(COLUMNS)
_SHARDING_COLUMNS = ("sharding", "operand_sharding", "remote_bytes")
_SHOWN_COLUMNS = ("module", "instruction", "opcode", "operand_name", "exact", "distinct_bytes", "maps")
SHOWN_ROWS = 10


@cache
def arrow_schema(*, files: bool = False) -> pyarrow.Schema:
    """The Arrow schema of :meth:`Table.to_arrow`, with :data:`FILE_COLUMNS` for a table of ``files``.

    Its metadata has ``hlomap.schema_version`` (:data:`SCHEMA_VERSION`) and ``hlomap.version``; the metadata of each
    field has its ``description``.  Parquet files keep all metadata.

    >>> schema = arrow_schema()
    >>> schema.metadata[b"hlomap.schema_version"], schema.field("opcode").metadata[b"description"]
    (b'2', b'Opcode of the instruction.')
    """
    with needs("arrow", "arrow_schema"):
        from ..interop import arrow

    versions = {"hlomap.schema_version": str(SCHEMA_VERSION), "hlomap.version": __version__}
    head = FILE_COLUMNS if files else {}
    kinds = {name: kind for name, (kind, _) in head.items()} | COLUMNS
    return arrow.schema(kinds, {name: text for name, (_, text) in head.items()} | DESCRIPTIONS, versions)


class Table(Page):
    """The rows of an analysis, stored by column; iterating gives the rows.

    >>> import hlomap as hm
    >>> table = hm.analyze(hm.parse("HloModule m  ENTRY e { p = f32[2,3] parameter(0)  ROOT n = f32[2,3] negate(p) }"))
    >>> len(table), table["opcode"], table["distinct_bytes"]
    (1, ['negate'], [24])
    >>> table.to_arrow().num_rows
    1
    """

    __slots__ = ("_columns", "_files", "_is_sharded", "_names", "_rows")

    def __init__(self, rows: Rows) -> None:
        self._rows: Rows | None = rows
        self._columns: dict[str, list[Any]] = {}
        self._files: Sequence[tuple[Mapping[str, Any], Table]] = ()
        self._is_sharded: bool | None = None  # not known yet
        self._names = _NAMES

    @staticmethod
    def _of_files(files: Sequence[tuple[Mapping[str, Any], Table]]) -> Table:
        """The rows of the modules of files, concatenated, each with the file's :data:`FILE_COLUMNS`."""
        table = Table._of_values({name: [] for name in (*FILE_COLUMNS, *COLUMNS)})
        if files:
            table._columns, table._files = {}, files
        return table

    @staticmethod
    def _of_values(columns: Mapping[str, Sequence[Any]]) -> Table:
        """The table of these columns, which must be complete."""
        table = Table.__new__(Table)
        table.__setstate__({name: list(values) for name, values in columns.items()})
        return table

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self._names

    def __len__(self) -> int:
        if self._files:
            return sum(len(table) for _, table in self._files)
        return len(self._columns["module"]) if self._rows is None else len(self._rows)

    def __getitem__(self, column: str) -> Sequence[Any]:
        """A list of the values of one column, a copy.

        Raises :class:`~hlomap.errors.NotFoundError`, a ``KeyError``, for an unknown name.
        """
        expect(str, column, "results.Table[]", "the name of a column (str)", "rows() iterates over the rows")
        return list(self._column(column))

    def _column(self, column: str) -> list[Any]:
        found = self._columns.get(column)
        if found is None:
            if column not in self._names:
                raise NotFoundError(f"no column {column!r}, there are: {', '.join(self._names)}")
            if self._rows is None:
                parts = (
                    [facts.get(column)] * len(table) if column in FILE_COLUMNS else table._column(column)
                    for facts, table in self._files
                )
                found = self._columns[column] = [value for part in parts for value in part]
                return found
            if column in _SHARDING_COLUMNS:
                self._add_shardings(self._rows)
                return self._columns[column]
            found = self._columns[column] = self._rows.column(column)
        return found

    def _add_shardings(self, rows: Rows) -> bool:
        """Computes the columns about shardings once; returns whether any row has a sharding."""
        if self._is_sharded is None:
            found = rows.sharding_columns(self)
            self._columns |= found or dict.fromkeys(_SHARDING_COLUMNS, [None] * len(self))
            self._is_sharded = found is not None
        return self._is_sharded

    def __getstate__(self) -> dict[str, Sequence[Any]]:
        return {name: self._column(name) for name in self._names}

    def __setstate__(self, columns: dict[str, list[Any]]) -> None:
        self._rows = None
        self._columns = columns
        self._files = ()
        self._is_sharded = None
        self._names = tuple(columns)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows in order, each a dictionary from column to value.

        >>> import hlomap as hm
        >>> module = hm.parse("ENTRY e { p = f32[5] parameter(0)  ROOT r = f32[5] reverse(p), dimensions={0} }")
        >>> [(row["operand_name"], row["maps"]) for row in hm.analyze(module).rows()]
        [('p', ('(d0) -> (-d0 + 4), domain: d0 in [0, 4]',))]
        """
        for values in zip(*(self._column(name) for name in self._names), strict=True):
            yield dict(zip(self._names, values, strict=True))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.rows()

    def to_arrow(self) -> pyarrow.Table:
        """A :class:`pyarrow.Table` with the schema :func:`hlomap.analysis.table.arrow_schema`.

        The compiled module writes all columns into one buffer, without the interpreter lock, and Arrow takes over the
        buffer.
        """
        with needs("arrow", "to_arrow"):
            from ..interop import arrow

        if self._files:
            facts = {name: self._column(name) for name in FILE_COLUMNS}
            joined = arrow.joined([table.to_arrow() for _, table in self._files], arrow_schema())
            return arrow.prepend_columns(facts, joined, arrow_schema(files=True))
        if self._rows is None:
            return arrow.from_values({name: self._column(name) for name in self._names}, self._schema())
        return joined_rows([self])

    def _schema(self) -> pyarrow.Schema:
        return arrow_schema(files="file" in self._names)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for any library that reads Arrow streams (PyCapsule interface): ``polars.DataFrame(table)``."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """A :class:`pandas.DataFrame`; needs ``pip install 'hlomap[pandas]'``.  Integers with nulls stay integers."""
        with needs("pandas", "to_pandas"):
            from ..interop import arrow

        return arrow.to_pandas(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """A :class:`polars.DataFrame`; needs ``pip install 'hlomap[polars]'``."""
        with needs("polars", "to_polars"):
            from ..interop import arrow

        return arrow.to_polars(self.to_arrow())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return len(self) == len(other) and all(self._column(name) == other._column(name) for name in self.columns)

    __hash__: ClassVar[None]  # type: ignore[assignment]  # set to None by __eq__: columns are lists

    def __repr__(self) -> str:
        return f"<hlomap.Table: {len(self)} rows, {len(self._names)} columns>"

    def __str__(self) -> str:
        names = _SHOWN_COLUMNS if "file" in self._names else _SHOWN_COLUMNS[1:]
        columns = [islice(self._column(name), SHOWN_ROWS) for name in names]
        return first_rows(names, columns, len(self), len(self._names))


_FEW_ROWS = 1 << 12
_COLUMN_BYTES = 1 << 31  # more than the texts of a column


def completed(table: Table) -> Table:
    """The table of a module with the columns that are not part of the compiled rows, such as those about shardings."""
    if table._rows is not None:
        table._add_shardings(table._rows)
    return table


def is_small(table: Table) -> bool:
    """Whether the rows of a module certainly fit into an Arrow table, and are so few that a conversion of their own
    would take longer than theirs with others."""
    return table._rows is not None and len(table) < _FEW_ROWS and table._rows.most_bytes() < _COLUMN_BYTES


def joined_rows(tables: Sequence[Table]) -> pyarrow.Table:
    """The rows of the tables of some modules in Arrow's layout, one table after the other.

    Raises :class:`~hlomap.errors.UnsupportedError` if they are too long for Arrow.
    """
    from ..interop import arrow

    rows = [table._rows for table in tables if table._rows is not None]
    found = arrow.from_message(_rows_message(rows), arrow_schema())
    is_sharded = [table._add_shardings(own) for table, own in zip(tables, rows, strict=True)]
    if any(is_sharded):
        sharded = {name: [v for table in tables for v in table._columns[name]] for name in _SHARDING_COLUMNS}
        found = arrow.with_values(found, sharded)
    return found


def first_rows(names: Sequence[str], columns: Sequence[Iterable[object]], n: int, n_columns: int) -> str:
    """The text of a table with ``n`` rows and ``n_columns`` columns: the first rows of some columns."""
    rows = [list(names), *([_cell(value) for value in values] for values in zip(*columns, strict=True))]
    lines = table_lines(rows, left=range(len(names)))
    left = n - len(rows) + 1
    lines += [f"… {left:,} more rows"] if left else []
    return "\n".join([*lines, f"{plural(n, 'row')}, {n_columns} columns; their names: table.columns"])


def _cell(value: object) -> str:
    if isinstance(value, (tuple, list)):
        value = "; ".join(map(str, value))
    return "null" if value is None else safe(one_line(str(value), 60))


def count_problems(tables: Sequence[Table]) -> tuple[int, Counter[tuple[str, str]]]:
    """The number of rows with an error, and the numbers of rows with unknown maps, by opcode and reason."""
    n_errors, unknown = 0, Counter[tuple[str, str]]()
    for table in tables:
        if table._rows is None:
            n_errors += sum(error is not None for error in table["error"])
            reasons = zip(table["opcode"], table["unknown"], strict=True)
            unknown.update(pair for pair in reasons if pair[1] is not None)
        else:
            own_errors, own = table._rows.problems()
            n_errors += own_errors
            unknown.update(own)
    return n_errors, unknown
