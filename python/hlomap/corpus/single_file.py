"""Merges the rows of all shards into one file: Parquet, CSV or JSON lines.

Read :func:`merge` first.  Rows come in the order of the listing, and a file that could not be analyzed has a row with
its error.  Each shard's rows are mapped into memory and read once, from front to back.
"""

from __future__ import annotations

import contextlib
import csv
import heapq
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import pyarrow as pa
from pyarrow import parquet

from ..analysis.table import arrow_schema
from ..io.dump_directory import name_columns
from .folder import LocalFolder, output_errors
from .manifest import work_file
from .plan import Plan, read_shard
from .tables import PartWriter
from .tasks import FILES_FOLDER, ROWS_FOLDER, part_name

__all__ = ["FORMATS", "merge"]


class _Format(Protocol):
    """A writer for one file format: call ``write`` any number of times, then ``close``."""

    def __init__(self, path: str, names: pa.Schema) -> None: ...
    def write(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


class _Csv:
    """A list or bool is JSON text in one cell; a null is an empty cell."""

    def __init__(self, path: str, names: pa.Schema) -> None:
        self._file: IO[str] = open(path, "w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(names.names)

    def write(self, table: pa.Table) -> None:
        columns = [
            [None if value is None else json.dumps(value, ensure_ascii=False) for value in column.to_pylist()]
            if pa.types.is_list(column.type) or pa.types.is_boolean(column.type)
            else column.to_pylist()
            for column in table.columns
        ]
        self._rows.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        self._file.close()


class _JsonLines:
    """One object a line, keys in the order of the columns."""

    def __init__(self, path: str, names: pa.Schema) -> None:
        self._file: IO[str] = open(path, "w", encoding="utf-8", newline="\n")

    def write(self, table: pa.Table) -> None:
        self._file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())

    def close(self) -> None:
        self._file.close()


FORMATS: dict[str, type[_Format]] = {".parquet": PartWriter, ".csv": _Csv, ".jsonl": _JsonLines}
"""Writers by file name extension."""


def merge(folder: LocalFolder, plan: Plan, target: Path) -> None:
    """Writes the rows of all shards to ``target``, which appears at once."""
    names = arrow_schema(files=True)
    # The file is opened by name inside the folder of the run, so that the process's umask applies.
    temporary = os.path.join(folder.url, f"merged{target.suffix}")
    folder.remove(f"merged{target.suffix}")  # it may be a link
    with output_errors(), contextlib.ExitStack() as stack:
        writer = FORMATS[target.suffix](temporary, names)
        stack.callback(writer.close)
        shards = [_shard_rows(folder, shard.number, names) for shard in plan.shards]
        for _, table in heapq.merge(*shards, key=lambda item: item[0]):
            writer.write(table)
    with output_errors():
        os.replace(temporary, target)


class _File(NamedTuple):
    path: str
    error: str | None
    n_rows: int


def _files(folder: LocalFolder, shard: int) -> Iterator[_File]:
    part = parquet.ParquetFile(os.path.join(folder.url, part_name(FILES_FOLDER, shard)))
    for batch in part.iter_batches(4096, columns=["path", "file_error", "rows"]):
        yield from map(_File, *(column.to_pylist() for column in batch.columns))


def _shard_rows(folder: LocalFolder, shard: int, names: pa.Schema) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each file of a shard, with its number in the listing."""
    name = part_name(ROWS_FOLDER, shard, "arrow")
    with work_file(folder, name, f"remove {folder.url}"), pa.memory_map(os.path.join(folder.url, name)) as memory:
        rows = _Cursor(pa.ipc.open_stream(memory))
        for source, file in zip(read_shard(folder, shard), _files(folder, shard), strict=True):
            if file.error is not None:
                cells = {"file": file.path, **name_columns(file.path), "error": file.error}
                yield source.number, pa.Table.from_pylist([cells], schema=names)
            elif file.n_rows:
                table = rows.take(file.n_rows)
                path = pa.repeat(pa.scalar(file.path, pa.string()), table.num_rows)
                yield source.number, pa.Table.from_arrays([path, *table.columns[1:]], schema=names)


class _Cursor:
    """Takes rows from a stream of batches, in order."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._batch: Any = None
        self._at = 0

    def take(self, n: int) -> pa.Table:
        taken = []
        while n:
            if self._batch is None or self._at == self._batch.num_rows:
                self._batch, self._at = self._stream.read_next_batch(), 0
                self._batch.validate(full=True)
            part = self._batch.slice(self._at, n)
            taken.append(part)
            self._at += part.num_rows
            n -= part.num_rows
        return pa.Table.from_batches(taken)
