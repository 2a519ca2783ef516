"""The tables of a dataset: their columns, and the writers of their parts.

Start with :data:`FILES`.  The columns of ``rows`` are those of :func:`hlomap.analyze` for paths, with ``content_hash``
in place of ``file``; this module does not list them.  ``content_hash`` is the only name that ``files`` and ``rows``
share, so that a query over both needs no prefixes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Final, Literal

import pyarrow as pa

from .._core import __version__
from ..analysis.table import FILE_COLUMNS, SCHEMA_VERSION, Table, arrow_schema, is_small, joined_rows
from ..errors import UnsupportedError
from ..interop.arrow import column
from ..interop.row_files import PartWriter

Status = Literal["done", "skipped", "duplicate", "error", "timed out", "crashed"]


def _table(columns: dict[str, tuple[pa.DataType, str]]) -> pa.Schema:
    fields = [pa.field(name, kind, metadata={"description": text}) for name, (kind, text) in columns.items()]
    versions = {"hlomap.version": __version__, "hlomap.schema_version": str(SCHEMA_VERSION)}
    return pa.schema(fields, metadata=versions)


FILES: Final[pa.Schema] = _table(
    {
        "path": (pa.string(), "the file as it was listed; a member of an archive as ARCHIVE!/MEMBER"),
        "size": (pa.int64(), "bytes, as listed"),
        "content_hash": (pa.string(), "BLAKE2b-128 of the file's bytes, hexadecimal; null for a file that is not HLO"),
        "kind": (pa.string(), "HLO, or what the file is instead; null if it could not be read"),
        "status": (
            pa.string(),
            "done, skipped (not HLO, or no such program), duplicate, error, timed out or crashed",
        ),
        "duplicate_of": (pa.string(), "the path of the file with the same content that has the rows"),
        "file_error": (pa.string(), "why the file has no rows"),
        "file_error_line": (pa.int64(), "line of a syntax error, from 1"),
        "file_error_column": (pa.int64(), "column of a syntax error, from 1"),
        "file_module": (pa.string(), "name of the module; of the first one in a file with several"),
        "n_modules": (pa.int64(), "modules in the file"),
        "instructions": (pa.int64(), "instructions in all computations"),
        "computations": (pa.int64(), "computations"),
        "rows": (pa.int64(), "rows of this content in `rows`; 0 for a duplicate"),
        "seconds": (pa.float64(), "time to parse and analyze the file"),
        **{
            f"file_{name}": (pa.int64() if kind == "int" else pa.string(), description)
            for name, (kind, description) in FILE_COLUMNS.items()
            if name != "file"
        },
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
    """The columns of ``rows``: those of :func:`hlomap.analyze` for paths, ``content_hash`` in place of ``file``."""
    return arrow_schema(files=True).set(0, HASH)


_OF_FILE = ("content_hash", *(f"file_{name}" for name in FILE_COLUMNS if name != "file"))
"""The columns of ``files`` that the rows of a file begin with."""


_ROWS_TOGETHER = 1 << 12  # of small tables that are converted in one call


class RowsWriter(PartWriter):
    """Writes the rows of modules, each after the columns of its file."""

    def __init__(self, path: str, form: Literal["parquet", "arrow"] = "parquet") -> None:
        super().__init__(path, rows_schema(), form)
        self._files: list[list[Any]] = []
        self._lengths: list[int] = []
        self._waiting: list[Table | pa.Table] = []
        self._n_waiting = 0

    def append(self, file: Mapping[str, Any], tables: Sequence[Table]) -> None:
        """Adds the rows of all modules of a file with this row of ``files``, or none if it raises.

        Raises :class:`~hlomap.errors.UnsupportedError` for rows that Arrow cannot hold.
        """
        # Small tables are many: converting each would take longer than its rows.
        found = [table if is_small(table) else table.to_arrow() for table in tables]
        self._waiting += found
        self._n_waiting += sum(len(table) if isinstance(table, Table) else _ROWS_TOGETHER for table in found)
        self._files.append([file[name] for name in _OF_FILE])
        self._lengths.append(sum(map(len, tables)))

    def write_full(self) -> None:
        if self._n_waiting >= _ROWS_TOGETHER:
            self._convert()
        super().write_full()

    def _convert(self) -> None:
        """Adds the rows that wait for others."""
        waiting, self._waiting, self._n_waiting = self._waiting, [], 0
        for is_waiting, group in groupby(waiting, lambda table: isinstance(table, Table)):
            tables = list(group)
            if is_waiting:
                try:
                    tables = [joined_rows(tables)]
                except UnsupportedError:  # they fit, but not together
                    tables = [table.to_arrow() for table in tables]
            for table in tables:
                self.add(table)

    def _flush(self) -> None:
        self._convert()
        super()._flush()

    def _rows(self) -> pa.Table:
        cells = zip(zip(*self._files, strict=True), rows_schema().types[: len(_OF_FILE)], strict=True)
        files = [column(values, kind, self._lengths) for values, kind in cells]
        self._files, self._lengths = [], []
        return pa.Table.from_arrays([*files, *super()._rows().columns], schema=rows_schema())
