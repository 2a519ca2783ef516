"""Merges the rows of all shards into one file: Parquet, CSV or JSON lines.

Start with :func:`merge`.  Rows come in the order of the listing, and a file that could not be analyzed has a row with
its error.  Each shard's rows are mapped into memory and read once, from front to back.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from ..analysis.table import arrow_schema
from ..base.files import replacing
from ..hlo.dump_directory import name_columns
from ..interop import row_files
from ..interop.arrow import column, from_rows
from .folder import LocalFolder, output_errors
from .manifest import work_file
from .plan import Plan, read_shard
from .tables import rows_schema
from .tasks import FILES_FOLDER, ROWS_FOLDER, part_name

# Tables large enough that copying their columns takes longer than the calls, and small enough to hold as Python values.
_BATCH_ROWS: Final = 1 << 12
_BATCH_BYTES: Final = 1 << 22


def merge(folder: LocalFolder, plan: Plan, target: Path) -> None:
    """Writes the rows of all shards to ``target``, which appears at once."""
    shards = [_shard_rows(folder, shard.number) for shard in plan]
    with output_errors(), replacing(target, within=folder.url) as temporary:
        files = (file for _, file in heapq.merge(*shards, key=lambda item: item[0]))
        row_files.write(temporary, target.suffix, arrow_schema(files=True), _tables(files))


class _FileRows(NamedTuple):
    """The rows of one file."""

    path: str
    batches: list[pa.RecordBatch]
    n_rows: int
    n_bytes: int
    """About."""


def _tables(files: Iterable[_FileRows]) -> Iterator[pa.Table]:
    """The rows of all files after their paths, in tables of many files."""
    together: list[_FileRows] = []
    n_rows = n_bytes = 0
    for file in files:
        together.append(file)
        n_rows, n_bytes = n_rows + file.n_rows, n_bytes + file.n_bytes
        if n_rows >= _BATCH_ROWS or n_bytes >= _BATCH_BYTES:
            yield _table(together)
            together, n_rows, n_bytes = [], 0, 0
    if together:
        yield _table(together)


def _table(files: list[_FileRows]) -> pa.Table:
    rows = pa.Table.from_batches([batch for file in files for batch in file.batches]).combine_chunks()
    paths = column([file.path for file in files], pa.string(), [file.n_rows for file in files])
    return pa.Table.from_arrays([paths, *rows.columns[1:]], schema=arrow_schema(files=True))


def _files(folder: LocalFolder, shard: int) -> Iterator[tuple[str, str | None, int]]:
    """The path, the error and the number of rows of each file of a shard."""
    part = parquet.ParquetFile(os.path.join(folder.url, part_name(FILES_FOLDER, shard)))
    for batch in part.iter_batches(4096, columns=["path", "file_error", "rows"]):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _shard_rows(folder: LocalFolder, shard: int) -> Iterator[tuple[int, _FileRows]]:
    """The rows of each file of a shard, with its number in the listing."""
    name = part_name(ROWS_FOLDER, shard, "arrow")
    with work_file(folder, name, f"remove {folder.url}"), pa.memory_map(os.path.join(folder.url, name)) as memory:
        rows = _Cursor(pa.ipc.open_stream(memory))
        for source, (path, error, n_rows) in zip(read_shard(folder, shard), _files(folder, shard), strict=True):
            if error is not None:
                table = from_rows([{**name_columns(path), "error": error}], rows_schema())
                yield source.number, _FileRows(path, table.to_batches(), 1, table.nbytes)
            elif n_rows:
                yield source.number, _FileRows(path, *rows.take(n_rows))


class _Cursor:
    """Takes rows from a stream of batches, in order."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._batch: Any = None
        self._at = 0
        self._row_bytes = 0.0

    def take(self, n: int) -> tuple[list[pa.RecordBatch], int, int]:
        """The next rows, their number and about their size."""
        taken, left, n_bytes = [], n, 0.0
        while left:
            if self._batch is None or self._at == self._batch.num_rows:
                self._batch, self._at = self._stream.read_next_batch(), 0
                self._batch.validate(full=True)
                self._row_bytes = self._batch.nbytes / max(self._batch.num_rows, 1)
            part = self._batch.slice(self._at, left)
            taken.append(part)
            self._at += part.num_rows
            left -= part.num_rows
            n_bytes += self._row_bytes * part.num_rows
        return taken, n, int(n_bytes)
