"""``_hlomap.json``: the inputs and options of a dataset; and which shards are done, with their counts.

The options of a dataset never change; other options are an error, whose message names the option.
"""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from .._core import __version__
from ..analysis.table import SCHEMA_VERSION
from ..base.text import cut, error_text
from ..errors import DatasetError, HlomapError
from .folder import Folder
from .parts import FACT, PLAN_FACT, Part, digest, faults, is_part, parts_of_json
from .reports import CorpusReport
from .tasks import FILES_FOLDER, MODULES_FOLDER, ROWS_FOLDER, part_name

MANIFEST = "_hlomap.json"


@contextlib.contextmanager
def work_file(folder: Folder, name: str, advice: str) -> Iterator[None]:
    """Turns an error of the block, which reads this file, into a :class:`DatasetError` that names the file."""
    try:
        yield
    except (HlomapError, OSError):
        raise
    except Exception as error:  # JSON, zlib and Parquet raise many kinds for damaged content
        raise DatasetError(f"{folder.url}/{name} is damaged ({error_text(error, 200)}): {advice}") from error


@dataclass(frozen=True)
class Manifest:
    """``dataset`` identifies this dataset; ``summary`` and ``parts`` are set once it is complete.

    ``parts`` lists the files of the tables; a dataset of an earlier version has no list.
    """

    dataset: str
    options: Mapping[str, Any]
    schema_version: int
    hlomap_version: str
    summary: Mapping[str, Any] | None = None
    parts: Mapping[str, Part] | None = None

    def write(self, folder: Folder) -> None:
        """Creates or replaces the file in a folder."""
        cells = {**vars(self), "complete": self.summary is not None}
        parts = cells.pop("parts")
        text = json.dumps(cells, indent=1)
        if parts is not None:  # one line each
            lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(part)}" for name, part in sorted(parts.items()))
            text = f'{text[:-2]},\n "parts": {{\n{lines}\n }}\n}}'
        folder.write(MANIFEST, (text + "\n").encode())


def read_manifest(folder: Folder) -> Manifest | None:
    """The manifest in a folder, None without one.  Raises :class:`DatasetError` if it cannot be read."""
    try:
        content = folder.read(MANIFEST)
    except FileNotFoundError:
        return None
    with work_file(folder, MANIFEST, "it is not the manifest of a dataset; choose another folder, or remove this one"):
        cells = json.loads(content)
        found = Manifest(**{one.name: cells[one.name] for one in fields(Manifest) if one.name != "parts"})
        if cells.get("parts") is not None:
            found = replace(found, parts=parts_of_json(cells["parts"]))
        if not isinstance(found.dataset, str) or not isinstance(found.options, dict):
            raise ValueError("expected a text as dataset, an object as options")
        if found.summary is not None:
            CorpusReport.from_dict(found.summary)
        return found


def open_dataset(folder: Folder, options: Mapping[str, Any]) -> Manifest:
    """The manifest of the dataset in a folder; begins one where there is none.

    Raises :class:`DatasetError` if the folder has other files, or a dataset of other options or another version.
    """
    found = read_manifest(folder)
    if found is None:
        parts = [f"{kind}/{name}" for kind in ("files", "rows", "modules") for name in folder.names(kind)]
        if parts:
            raise DatasetError(f"{folder.url} has {parts[0]} but no {MANIFEST}: choose another folder, or remove it")
        found = Manifest(uuid.uuid4().hex, dict(options), SCHEMA_VERSION, __version__)
        found.write(folder)
        return read_manifest(folder) or found  # folders at URLs have no locks: the last of two runs wins
    if found.schema_version != SCHEMA_VERSION:
        raise DatasetError(_differs(folder, "schema version", found.schema_version, SCHEMA_VERSION))
    if found.hlomap_version != __version__:
        raise DatasetError(_differs(folder, "hlomap version", found.hlomap_version, __version__))
    for name in sorted({*found.options, *options}):
        before, now = found.options.get(name), options.get(name)
        if before != now:
            raise DatasetError(_differs(folder, f"value of {name}", before, now))
    return found


def _differs(folder: Folder, what: str, before: object, now: object) -> str:
    return (
        f"{folder.url} is a dataset with another {what}: {cut(json.dumps(before), 200)} in the dataset, "
        f"{cut(json.dumps(now), 200)} now; "
        "continue it with the same options, or choose another folder"
    )


_PART = re.compile(r"part-(\d{6,})\.parquet$")


def done_shards(folder: Folder) -> set[int]:
    """The numbers of the shards whose parts are all there."""
    return {int(match[1]) for name in folder.names(FILES_FOLDER) if (match := _PART.match(name))}


class DoneShard(NamedTuple):
    """Facts from the part of ``files`` of a shard: counts, the digest of the listing, and all parts of the shard.

    Datasets of earlier versions do not list parts.
    """

    report: CorpusReport
    plan: str | None
    parts: Mapping[str, Part] | None


def read_shards(folder: Folder, shards: Iterable[int]) -> tuple[dict[int, DoneShard], dict[int, dict[str, str]]]:
    """The complete shards by number; and the faults of other shards that have a part of ``files``.

    Raises :class:`DatasetError` for a part of ``files`` that cannot be read.
    """
    sizes = part_sizes(folder)
    whole: dict[int, DoneShard] = {}
    broken: dict[int, dict[str, str]] = {}
    for shard in sorted(shards):
        found = _read_shard(folder, shard)
        there = {name: sizes[name] for name in found.parts or () if name in sizes}
        if wrong := faults(found.parts or {}, there):
            broken[shard] = wrong
        else:
            whole[shard] = found
    return whole, broken


def _read_shard(folder: Folder, shard: int) -> DoneShard:
    import pyarrow as pa
    from pyarrow import parquet

    name = part_name(FILES_FOLDER, shard)
    content = folder.read(name)
    with work_file(folder, name, "remove it, and the same command makes it again, or remove the dataset"):
        metadata = parquet.read_metadata(pa.BufferReader(content))
        facts = metadata.metadata
        report = CorpusReport.from_dict(json.loads(facts[b"hlomap.report"]))
        if FACT.encode() not in facts:
            return DoneShard(report, None, None)
        parts = parts_of_json(json.loads(facts[FACT.encode()]))
        parts[name] = Part(metadata.num_rows, len(content), digest(content))
        return DoneShard(report, facts[PLAN_FACT.encode()].decode(), parts)


def part_sizes(folder: Folder) -> dict[str, int | None]:
    """The sizes of all files that readers take for parts; ``None`` for an entry that is not a regular file."""
    tables = (FILES_FOLDER, ROWS_FOLDER, MODULES_FOLDER)
    return {f"{t}/{name}": size for t in tables for name, size in folder.sizes(t).items() if is_part(name)}


def find_faults(folder: Folder, parts: Mapping[str, Part]) -> dict[str, str]:
    """Faults of the parts of a complete dataset, by name, from names, sizes and digests."""
    found = faults(parts, part_sizes(folder))
    for name in parts.keys() - found.keys():
        if digest(folder.read(name)) != parts[name].digest:
            found[name] = "its content has changed since it was written"
    return found


def read_columns(folder: Folder, columns: list[str]) -> Iterator[Iterator[tuple[Any, ...]]]:
    """The cells of some columns of ``files``, part by part."""
    import pyarrow as pa
    from pyarrow import parquet

    for shard in sorted(done_shards(folder)):
        content = pa.BufferReader(folder.read(part_name(FILES_FOLDER, shard)))
        part = parquet.ParquetFile(content).read(columns=columns)  # read_table imports pandas if it is installed
        yield zip(*(column.to_pylist() for column in part.columns), strict=True)


def count_compilations(folder: Folder) -> int:
    """The number of compilations with rows, told apart by the names of their files."""
    parts = read_columns(folder, ["file_compilation", "status"])
    return len({name for part in parts for name, status in part if status == "done" and name is not None})
