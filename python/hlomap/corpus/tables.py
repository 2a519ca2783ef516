"""The tables of a dataset: their columns, and the writers of their parts.

Read :data:`FILES` first.  The columns of ``rows`` are those of :func:`hlomap.analyze` after ``content_hash``; nothing
here lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import metadata
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from ..analysis.table import Batch, Table, arrow_schema
from ..interop.arrow import joined
from .manifest import SCHEMA_VERSION
from .tasks import Form

__all__ = ["FILES", "MODULES", "PartWriter", "RowsWriter", "Status", "rows_schema"]

Status = Literal["done", "skipped", "duplicate", "error", "timed out", "crashed"]


def _table(columns: dict[str, tuple[pa.DataType, str]]) -> pa.Schema:
    fields = [pa.field(name, kind, metadata={"description": text}) for name, (kind, text) in columns.items()]
    return pa.schema(fields, metadata=_versions())


def _versions() -> dict[str, str]:
    return {"hlomap.version": metadata.version("hlomap"), "hlomap.schema_version": str(SCHEMA_VERSION)}


FILES: Final[pa.Schema] = _table(
    {
        "path": (pa.string(), "the file as it was listed; a member of an archive as ARCHIVE!/MEMBER"),
        "size": (pa.int64(), "bytes, as listed"),
        "content_hash": (pa.string(), "BLAKE2b-128 of the file's bytes, hexadecimal; null for a file that is not HLO"),
        "kind": (pa.string(), "HLO, or what the file is instead; null where it could not be read"),
        "status": (pa.string(), "done, skipped (not HLO), duplicate, error, timed out or crashed"),
        "duplicate_of": (pa.string(), "the path of the file with the same content that has the rows"),
        "error": (pa.string(), "why the file has no rows"),
        "error_line": (pa.int64(), "line of a syntax error, from 1"),
        "error_column": (pa.int64(), "column of a syntax error, from 1"),
        "module": (pa.string(), "name of the module; of the first one in a file with several"),
        "n_modules": (pa.int64(), "modules in the file"),
        "instructions": (pa.int64(), "instructions in all computations"),
        "computations": (pa.int64(), "computations"),
        "rows": (pa.int64(), "rows of this content in `rows`; 0 for a duplicate"),
        "seconds": (pa.float64(), "time to parse and analyze the file"),
        "stage": (pa.string(), "stage of compilation, from the name of a dumped file"),
        "pass": (pa.string(), "the pass before the dump, from its name"),
    }
)
"""The columns of ``files``: a row for each input file."""

MODULES: Final[pa.Schema] = _table(
    {
        "content_hash": (pa.string(), "the key of `files` and `rows`"),
        "content": (pa.large_binary(), "the bytes of the file: HLO text, or a serialized proto"),
    }
)
"""The columns of ``modules``: the content of each file with rows, compressed by Parquet."""

HASH: Final[pa.Field] = pa.field(
    "content_hash", pa.string(), metadata={"description": "BLAKE2b-128 of the file's bytes, the key of `files`"}
)


@cache
def rows_schema() -> pa.Schema:
    """The columns of ``rows``: ``content_hash``, then those of :func:`hlomap.analyze`."""
    own = arrow_schema()
    return pa.schema([HASH, *own], metadata=own.metadata)


class PartWriter:
    """Writes tables to one Parquet file, or to a stream of Arrow batches, in pieces of a bounded size."""

    _FLUSH_ROWS = 1 << 16  # large enough to compress well
    _FLUSH_BYTES = 1 << 24  # small enough to hold in memory

    def __init__(self, path: str, names: pa.Schema, form: Form = "parquet") -> None:
        if form == "parquet":
            from pyarrow import parquet

            self._writer: Any = parquet.ParquetWriter(path, names, compression="zstd")
        else:
            self._writer = pa.ipc.new_stream(path, names)
        self._pending: list[pa.Table] = []
        self._n_rows = 0
        self._n_bytes = 0

    def write(self, table: pa.Table) -> None:
        """Adds rows."""
        self._pending.append(table)
        self._n_rows += table.num_rows
        self._n_bytes += table.get_total_buffer_size()
        if self._n_rows >= self._FLUSH_ROWS or self._n_bytes >= self._FLUSH_BYTES:
            self._flush()

    def close(self, facts: dict[str, str] | None = None) -> None:
        """Writes the rest, and ``facts`` as metadata of the file."""
        self._flush()
        if facts:
            self._writer.add_key_value_metadata(facts)
        self._writer.close()

    def _flush(self) -> None:
        if self._pending:
            self._writer.write_table(joined(self._pending, self._pending[0].schema))
        self._pending, self._n_rows, self._n_bytes = [], 0, 0


class RowsWriter(PartWriter):
    """Writes the rows of modules, each with the hash of its file as the first column."""

    def __init__(self, path: str, form: Form = "parquet") -> None:
        super().__init__(path, rows_schema(), form)
        self._batch = Batch()
        self._hashes: list[str] = []
        self._lengths: list[int] = []

    def append(self, content_hash: str, tables: Sequence[Table]) -> None:
        """Adds the rows of all modules of a file, or none where it raises: :class:`~hlomap.errors.UnsupportedError`."""
        self._batch.append(tables)
        self._hashes.append(content_hash)
        self._lengths.append(sum(map(len, tables)))

    def write_full(self) -> None:
        """Writes the rows where there are many."""
        if len(self._batch) >= self._FLUSH_ROWS or self._batch.n_bytes >= self._FLUSH_BYTES:
            self._flush()

    def _flush(self) -> None:
        if len(self._batch):
            owners = pa.array(np.repeat(np.arange(len(self._hashes)), self._lengths))
            hashes = pa.array(self._hashes, pa.string()).take(owners)
            self._writer.write_table(pa.Table.from_arrays([hashes, *self._batch.take().columns], schema=rows_schema()))
        self._hashes, self._lengths = [], []
