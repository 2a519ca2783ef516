"""Reads what workers have written: which shards are done, and their counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .folder import Folder
from .manifest import work_file
from .reports import CorpusReport
from .tasks import FILES_FOLDER, part_name

_PART = re.compile(r"part-(\d{6,})\.parquet$")


def done_shards(folder: Folder) -> set[int]:
    """The numbers of the shards whose parts are all there."""
    return {int(match[1]) for name in folder.names(FILES_FOLDER) if (match := _PART.match(name))}


def read_reports(folder: Folder, shards: Iterable[int]) -> CorpusReport:
    """The counts of some shards that are done."""
    total = CorpusReport()
    for shard in sorted(shards):
        total.add(_read_report(folder, shard))
    return total


def read_columns(folder: Folder, columns: list[str]) -> Iterator[Iterator[tuple[Any, ...]]]:
    """The cells of some columns of ``files``, part by part."""
    import pyarrow as pa
    from pyarrow import parquet

    for shard in sorted(done_shards(folder)):
        content = pa.BufferReader(folder.read(part_name(FILES_FOLDER, shard)))
        part = parquet.ParquetFile(content).read(columns=columns)  # read_table imports pandas where it is installed
        yield zip(*(column.to_pylist() for column in part.columns), strict=True)


def count_compilations(folder: Folder) -> int:
    """The number of compilations that have rows, by the names of their files."""
    parts = read_columns(folder, ["file_compilation", "status"])
    return len({name for part in parts for name, status in part if status == "done" and name is not None})


def _read_report(folder: Folder, shard: int) -> CorpusReport:
    """The counts of a shard that is done."""
    import pyarrow as pa
    from pyarrow import parquet

    name = part_name(FILES_FOLDER, shard)
    content = pa.BufferReader(folder.read(name))
    with work_file(folder, name, "remove it, and the same command makes it again, or remove the dataset"):
        return CorpusReport.from_dict(json.loads(parquet.read_metadata(content).metadata[b"hlomap.report"]))
