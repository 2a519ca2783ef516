"""Rows of Arrow tables in files: Parquet, CSV and JSON lines.

Start with :func:`write`.  CSV and JSON lack some types: decimals become numbers, other values that are neither numbers
nor lists become text, and in CSV a list or bool is JSON text in one cell and a null an empty cell.
"""

from __future__ import annotations

import csv
import decimal
import json
import math
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES: Final = (".parquet", ".csv", ".jsonl")

_Tables: TypeAlias = "Iterable[pa.Table | pa.RecordBatch]"


def write(path: str, suffix: str, schema: pa.Schema, tables: _Tables) -> None:
    """Writes the rows of all tables to a file of one of the :data:`SUFFIXES`."""
    import pyarrow as pa

    if suffix == ".parquet":
        writer = PartWriter(path, schema)
        try:
            for table in tables:
                writer.write(table if isinstance(table, pa.Table) else pa.Table.from_batches([table]))
        finally:
            writer.close()
        return
    with open(path, "w", encoding="utf-8", newline="") as stream:
        if suffix == ".csv":
            write_csv(stream, schema, tables)
        else:
            stream.writelines(line + "\n" for line in json_lines(tables, ensure_ascii=False))


def write_csv(stream: IO[str], schema: pa.Schema, tables: _Tables) -> None:
    """Writes a line of column names, then a line for each row."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(schema.names)
    for row in values(tables):
        writer.writerow([json.dumps(v, ensure_ascii=False) if isinstance(v, (bool, list, dict)) else v for v in row])


def json_lines(tables: _Tables, *, ensure_ascii: bool = True) -> Iterator[str]:
    """An object for each row, keys in the order of the columns."""
    for table in tables:
        for row in values([table]):
            cells = dict(zip(table.schema.names, row, strict=True))
            yield json.dumps(cells, ensure_ascii=ensure_ascii, allow_nan=False)


def values(tables: _Tables) -> Iterator[tuple[Any, ...]]:
    """The rows as values that JSON can represent."""
    for table in tables:
        yield from zip(*map(_column, table.columns), strict=True)


def _column(column: Any) -> list[Any]:
    import pyarrow as pa

    found: list[Any] = column.to_pylist()
    kind = column.type.value_type if pa.types.is_list(column.type) else column.type
    is_plain = pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    return found if is_plain else list(map(_plain, found))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class PartWriter:
    """Writes tables to one Parquet file, or to a stream of Arrow batches, in pieces of a bounded size."""

    _FLUSH_ROWS = 1 << 16  # large enough to compress well
    _FLUSH_BYTES = 1 << 24  # small enough to hold in memory

    def __init__(self, path: str, names: pa.Schema, form: Literal["parquet", "arrow"] = "parquet") -> None:
        import pyarrow as pa
        from pyarrow import parquet

        if form == "parquet":
            self._writer: Any = parquet.ParquetWriter(path, names, compression="zstd")
        else:
            self._writer = pa.ipc.new_stream(path, names)
        self._pending: list[pa.Table] = []
        self._n_rows = 0
        self._n_bytes = 0
        self.n_written: int = 0
        """The rows in the file, once it is closed."""

    def write(self, table: pa.Table) -> None:
        """Adds rows, and writes the collected rows if there are many."""
        self.add(table)
        self.write_full()

    def add(self, table: pa.Table) -> None:
        """Adds rows."""
        self._pending.append(table)
        self._n_rows += table.num_rows
        self._n_bytes += table.get_total_buffer_size()

    def write_full(self) -> None:
        """Writes the collected rows if there are many."""
        if self._n_rows >= self._FLUSH_ROWS or self._n_bytes >= self._FLUSH_BYTES:
            self._flush()

    def close(self, facts: dict[str, str] | None = None) -> None:
        """Writes the rest, and ``facts`` as metadata of the file."""
        self._flush()
        if facts:
            self._writer.add_key_value_metadata(facts)
        self._writer.close()

    def _flush(self) -> None:
        if self._n_rows:
            self._writer.write_table(self._rows())
            self.n_written += self._n_rows
        self._pending, self._n_rows, self._n_bytes = [], 0, 0

    def _rows(self) -> pa.Table:
        from .arrow import joined

        return joined(self._pending, self._pending[0].schema)
