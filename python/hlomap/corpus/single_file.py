"""Merges the rows of all shards into one file: Parquet, CSV or JSON lines.

Start with :func:`merge`.  Rows come in the order of the listing, and a file that could not be analyzed has a row with
its error.  Each shard's rows are mapped into memory and read once, from front to back.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ..analysis.table import arrow_schema
from ..base.files import replacing
from ..hlo.dump_directory import name_columns
from ..interop import row_files
from ..interop.arrow import from_rows, repeated
from .folder import LocalFolder, output_errors
from .manifest import work_file
from .plan import Plan, read_shard
from .tasks import FILES_FOLDER, ROWS_FOLDER, part_name


def merge(folder: LocalFolder, plan: Plan, target: Path) -> None:
    """Writes the rows of all shards to ``target``, which appears at once."""
    names = arrow_schema(files=True)
    shards = [_shard_rows(folder, shard.number, names) for shard in plan]
    with output_errors(), replacing(target, within=folder.url) as temporary:
        rows = (table for _, table in heapq.merge(*shards, key=lambda item: item[0]))
        row_files.write(temporary, target.suffix, names, rows)


def _files(folder: LocalFolder, shard: int) -> Iterator[tuple[str, str | None, int]]:
    """The path, the error and the number of rows of each file of a shard."""
    part = parquet.ParquetFile(os.path.join(folder.url, part_name(FILES_FOLDER, shard)))
    for batch in part.iter_batches(4096, columns=["path", "file_error", "rows"]):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _shard_rows(folder: LocalFolder, shard: int, names: pa.Schema) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each file of a shard, with its number in the listing."""
    name = part_name(ROWS_FOLDER, shard, "arrow")
    with work_file(folder, name, f"remove {folder.url}"), pa.memory_map(os.path.join(folder.url, name)) as memory:
        rows = _Cursor(pa.ipc.open_stream(memory))
        for source, (path, error, n_rows) in zip(read_shard(folder, shard), _files(folder, shard), strict=True):
            if error is not None:
                cells = {"file": path, **name_columns(path), "error": error}
                yield source.number, from_rows([cells], names)
            elif n_rows:
                table = rows.take(n_rows)
                paths = repeated([path], [table.num_rows], pa.string())
                yield source.number, pa.Table.from_arrays([paths, *table.columns[1:]], schema=names)


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
