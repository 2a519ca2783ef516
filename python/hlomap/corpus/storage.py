"""Writes the rows of many files to one file: Parquet, CSV or JSON lines.

Read :class:`Writer` first.  The file is written atomically: rows go to a temporary file in the same folder, which is
renamed at the end.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa

from ..analysis.table import COLUMNS, Table
from ..errors import UnsupportedError
from ..interop.arrow import Kind, arrays, schema

__all__ = ["FILE_COLUMNS", "FORMATS", "Writer", "error_row", "file_rows", "from_bytes", "to_bytes"]

FILE_COLUMNS: dict[str, Kind] = {"file": "text", **COLUMNS}
"""The columns of a table over many files: the file of the row, then the columns of one module."""

_FLUSH_ROWS = 1 << 16  # a row group: large enough to compress well, small enough to hold in memory


class _Format(Protocol):
    """A writer for one file format: call ``write`` any number of times, then ``close``."""

    def __init__(self, path: str, schema: pa.Schema) -> None: ...
    def write(self, rows: pa.Table) -> None: ...
    def close(self) -> None: ...


class _Parquet:
    def __init__(self, path: str, schema: pa.Schema) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(path, schema, compression="zstd")

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)

    def close(self) -> None:
        self._writer.close()


class _Csv:
    """A list or bool is JSON text in one cell; a null is an empty cell."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._file: IO[str] = open(path, "w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(schema.names)

    def write(self, rows: pa.Table) -> None:
        columns = [
            [None if value is None else json.dumps(value, ensure_ascii=False) for value in column.to_pylist()]
            if pa.types.is_list(column.type) or pa.types.is_boolean(column.type)
            else column.to_pylist()
            for column in rows.columns
        ]
        self._rows.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        self._file.close()


class _JsonLines:
    """One object a line, keys in the order of the columns."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._file: IO[str] = open(path, "w", encoding="utf-8", newline="\n")

    def write(self, rows: pa.Table) -> None:
        self._file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.to_pylist())

    def close(self) -> None:
        self._file.close()


FORMATS: dict[str, type[_Format]] = {".parquet": _Parquet, ".csv": _Csv, ".jsonl": _JsonLines}
"""Writers by file name extension."""


class Writer:
    """Writes a file of rows atomically.

    A context manager: when the block ends normally, the file at ``path`` is created or replaced; when it raises,
    including on an interrupt, ``path`` is unchanged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        if self._path.suffix not in FORMATS:
            raise UnsupportedError(f"cannot write {self._path.name!r}: expected an extension of {', '.join(FORMATS)}")
        self._schema = schema(FILE_COLUMNS)
        self._pending: list[pa.Table] = []
        self._n_pending = 0
        self.n_rows: int = 0

    def __enter__(self) -> Writer:
        self._temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
        # The format opens the file by name, so that the process's umask applies.
        with contextlib.ExitStack() as stack:
            stack.callback(self._discard)
            self._format = FORMATS[self._path.suffix](str(self._temporary), self._schema)
            stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush()
            self._format.close()
            if kind is None:
                os.replace(self._temporary, self._path)
        finally:
            self._discard()

    def write(self, rows: pa.Table) -> None:
        """Adds rows; they are written in row groups."""
        self._pending.append(rows)
        self._n_pending += rows.num_rows
        self.n_rows += rows.num_rows
        if self._n_pending >= _FLUSH_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._n_pending:
            self._format.write(pa.concat_tables(self._pending))
        self._pending, self._n_pending = [], 0

    def _discard(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary)


def to_bytes(rows: pa.Table) -> bytes:
    """The rows as an Arrow stream, to send them to another process."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    content: Any = sink.getvalue().to_pybytes()
    assert isinstance(content, bytes)
    return content


def from_bytes(content: bytes) -> pa.Table:
    """The rows that :func:`to_bytes` encoded."""
    with pa.ipc.open_stream(content) as stream:
        return stream.read_all()


def file_rows(file: str, tables: Sequence[Table]) -> pa.Table:
    """The rows of the modules of one file, with the file name as the first column."""
    names = schema(FILE_COLUMNS)
    parts = [pa.Table.from_arrays([_repeat_text(file, len(table)), *arrays(table)], schema=names) for table in tables]
    return pa.concat_tables(parts) if parts else names.empty_table()


def error_row(file: str, error: str) -> pa.Table:
    """The single row of a file that could not be analysed."""
    names = schema(FILE_COLUMNS)
    values = {"file": file, "error": error}
    cells = [_repeat_text(values[f.name], 1) if f.name in values else pa.nulls(1, f.type) for f in names]
    return pa.Table.from_arrays(cells, schema=names)


def _repeat_text(text: str, n: int) -> pa.Array:
    """A column with one text in n rows."""
    content = text.encode("utf-8", "replace")
    if n * len(content) > np.iinfo(np.int32).max:
        raise UnsupportedError(f"{n} names of {len(content)} bytes exceed the 2 GiB of an Arrow column")
    offsets = np.arange(n + 1, dtype=np.int32) * np.int32(len(content))
    return pa.Array.from_buffers(pa.string(), n, [None, pa.py_buffer(offsets), pa.py_buffer(content * n)])
