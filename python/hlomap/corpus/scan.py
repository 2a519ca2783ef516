"""Reads a dataset of ``hlomap analyze`` back.

:func:`scan` is the entry point.  A dataset directory has ``TABLE/part-*.parquet`` for each table.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from ..analysis.table import SCHEMA_VERSION
from ..base.text import error_text, one_line, plural
from ..base.types import expect, needs
from ..errors import DatasetError, NotFoundError, UnsupportedError
from .parts import Part, faults, faults_text, is_part, parts_of_json

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset
    from pyarrow.fs import FileInfo

TableName: TypeAlias = Literal["rows", "files", "modules"]

TABLES: Final[tuple[TableName, ...]] = get_args(TableName)
"""The tables of a dataset; ``modules`` is optional."""

_MARK = "_hlomap.json"
_PLAN = "_work/plan.json"


def scan(path: str | os.PathLike[str], /, table: TableName = "rows") -> Dataset:
    """A table of a dataset, as a :class:`pyarrow.dataset.Dataset`, which reads rows on demand.

    ``path`` is a directory that :func:`hlomap.analyze_corpus` or ``hlomap analyze PATHS -o DIR`` wrote, a Parquet file
    of rows that ``hlomap analyze PATHS -o FILE.parquet`` wrote, or the URL of one (``s3://…``; anything but ``s3``,
    ``gs`` and ``file`` needs fsspec).  ``table`` is ``"rows"`` (the columns of :func:`hlomap.analyze` for paths),
    ``"files"`` (a row for each input file) or ``"modules"`` (the content of the files, if ``--modules`` kept it).
    Warns if the dataset is not finished, or has no list of its parts, in which case some may be lost.

    The parts of a complete dataset are compared with its list: names, sizes, and on a disk the numbers of rows.
    ``hlomap analyze`` compares their digests as well.

    Raises ``FileNotFoundError`` if nothing is at ``path``, :class:`~hlomap.errors.DatasetError` for a complete
    dataset with lost, truncated or foreign parts, :class:`~hlomap.errors.NotFoundError` (a ``KeyError``) for a table
    that the dataset does not have, and :class:`~hlomap.errors.UnsupportedError` for anything that is not a dataset, or
    is a dataset of a later version of hlomap.

    >>> import hlomap as hm, pyarrow.parquet, tempfile
    >>> module = hm.parse("ENTRY e { p = f32[3] parameter(0)  ROOT n = f32[3] negate(p) }")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.parquet.write_table(hm.analyze(module).to_arrow(), f"{folder}/rows.parquet")
    ...     hm.scan(f"{folder}/rows.parquet").to_table(columns=["instruction", "distinct_bytes"]).to_pylist()
    [{'instruction': 'n', 'distinct_bytes': 12}]
    """
    expect((str, os.PathLike), path, "scan", "the path or URL of a dataset")
    expect(str, table, "scan", "the name of a table")
    if table not in TABLES:
        raise ValueError(f"table: expected one of {', '.join(TABLES)}, found {one_line(repr(table), 60)}")
    location = Location(path)
    if message := location.doubt():
        warnings.warn(message, stacklevel=2)
    return location.dataset(table)


class Location:
    """A directory or a file in some file system, with errors as of :func:`scan`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with needs("corpus", "scan"):
            from pyarrow import fs

            from ..interop.filesystems import connect

        self._name = name = os.fspath(path)
        self._files, self._path = connect(name)
        info = self._files.get_file_info(self._path)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(2, "No such file or directory", name)
        self._is_directory = info.type == fs.FileType.Directory

    def doubt(self) -> str | None:
        """Why parts of a dataset may be missing: it is unfinished, or has no list of its parts.

        Raises :class:`DatasetError` if the parts are not those of the list.
        """
        if not self._is_directory or not (mark := self._read(_MARK)):
            return None
        if b'"complete": false' not in mark:
            if self._listed(mark) is None and b'"complete": true' in mark:
                return f"{self._name} has no list of its parts: lost or foreign parts are not detected"
            return None
        try:
            done = f"{len(self._parts('files'))} of {len(json.loads(self._read(_PLAN)))} shards"
        except (TypeError, ValueError):  # not there yet, or damaged, which the next run reports
            done = "no shards yet"
        return f"{self._name} is unfinished: {done}; the same `hlomap analyze` continues it"

    def _listed(self, mark: bytes) -> dict[str, Part] | None:
        """The parts in the manifest; raises :class:`DatasetError` if the dataset has other parts."""
        try:
            cells = json.loads(mark).get("parts")
            parts = None if cells is None else parts_of_json(cells)
        except (TypeError, ValueError, AttributeError) as error:
            raise DatasetError(f"{self._name}/{_MARK} is damaged ({error_text(error, 200)})") from error
        if parts is None:
            return None
        sizes = {f"{table}/{PurePosixPath(p.path).name}": p.size for table in TABLES for p in self._infos(table)}
        found = faults(parts, sizes)
        if not found and self._files.type_name == "local":
            found = self._other_rows(parts)
        if found:
            raise DatasetError(
                f"{self._name} is damaged: {faults_text(found)}; the `hlomap analyze` that made it repairs it"
            )
        return parts

    def _other_rows(self, parts: Mapping[str, Part]) -> dict[str, str]:
        """The parts with another number of rows, according to the footers of the files."""
        import pyarrow as pa
        from pyarrow import parquet

        found = {}
        for name, part in parts.items():
            try:
                with self._files.open_input_file(f"{self._path.rstrip('/')}/{name}") as stream:
                    n = parquet.read_metadata(stream).num_rows
            except (pa.ArrowInvalid, OSError) as error:
                found[name] = one_line(str(error), 100)
                continue
            if n != part.rows:
                found[name] = f"{plural(n, 'row')}, expected {part.rows:,}"
        return found

    def _read(self, name: str) -> bytes:
        """The content of a file in the directory, empty without it."""
        if not self._exists(name):
            return b""
        with self._files.open_input_file(f"{self._path.rstrip('/')}/{name}") as stream:
            return bytes(stream.read())

    def tables(self) -> dict[str, Dataset]:
        """All tables of the dataset."""
        found = [name for name in TABLES if name == "rows" or (self._is_directory and self._parts(name))]
        return {name: self.dataset(name) for name in found}

    def dataset(self, table: TableName) -> Dataset:
        """A table, before any rows are read."""
        found = self._directory(table) if self._is_directory else self._file(table)
        version = (found.schema.metadata or {}).get(b"hlomap.schema_version", b"")
        if version.isdigit() and int(version) > SCHEMA_VERSION:
            raise UnsupportedError(
                f"{self._name}: schema version {int(version)}, this hlomap reads up to {SCHEMA_VERSION}; update hlomap"
            )
        return found

    def _directory(self, table: TableName) -> Dataset:
        from pyarrow import dataset

        from .tables import rows_schema

        if parts := self._parts(table):
            return self._open(parts)
        if not self._exists(_MARK) and not any(self._parts(other) for other in TABLES):
            raise UnsupportedError(
                f"{self._name}: expected rows/part-*.parquet in it; `hlomap analyze -o DIR` writes such a directory"
            )
        if table == "rows":  # a run without files
            return dataset.dataset(rows_schema().empty_table())
        hint = "; `hlomap analyze --modules` keeps them" if table == "modules" else ""
        raise NotFoundError(f"{self._name} has no table {table!r}{hint}")

    def _file(self, table: TableName) -> Dataset:
        with self._files.open_input_file(self._path) as stream:
            head = stream.read(4)
        if head != b"PAR1":
            raise UnsupportedError(f"{self._name}: expected a dataset directory or a Parquet file")
        found = self._open([self._path])
        if not {"instruction", "operand", "maps"} <= set(found.schema.names):
            names = one_line(", ".join(found.schema.names), 100)
            raise UnsupportedError(f"{self._name}: expected the columns of `hlomap analyze`, found {names}")
        if table != "rows":
            raise NotFoundError(f"{self._name} has no table {table!r}: a single file has rows only")
        return found

    def _open(self, parts: list[str]) -> Dataset:
        import pyarrow as pa
        from pyarrow import dataset

        try:
            return dataset.dataset(parts, format="parquet", filesystem=self._files)
        except pa.ArrowInvalid as error:
            raise UnsupportedError(f"{self._name}: {one_line(str(error), 300)}") from error

    def _parts(self, table: TableName) -> list[str]:
        """The parts in order."""
        return sorted(info.path for info in self._infos(table))

    def _infos(self, table: TableName) -> list[FileInfo]:
        """Paths and sizes of the parts, without files that another run is writing."""
        from pyarrow import fs

        selector = fs.FileSelector(f"{self._path.rstrip('/')}/{table}", allow_not_found=True)
        found = [info for info in self._files.get_file_info(selector) if info.type == fs.FileType.File]
        return [info for info in found if is_part(PurePosixPath(info.path).name)]

    def _exists(self, name: str) -> bool:
        from pyarrow import fs

        return bool(self._files.get_file_info(f"{self._path.rstrip('/')}/{name}").type != fs.FileType.NotFound)
