"""``_hlomap.json``: what a dataset is made of and with.

Read :func:`open_dataset` first.  A dataset has one set of options for good; another set is an error that names the
option that differs.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._core import __version__
from ..analysis.table import SCHEMA_VERSION
from ..errors import DatasetError, HlomapError
from ..text import cut, error_text
from .folder import Folder
from .reports import CorpusReport

MANIFEST = "_hlomap.json"


@contextlib.contextmanager
def work_file(folder: Folder, name: str, advice: str) -> Iterator[None]:
    """Raises :class:`DatasetError`, which names the file, where the block cannot make sense of what it holds."""
    try:
        yield
    except (HlomapError, OSError):
        raise
    except Exception as error:  # of JSON, zlib and Parquet, for content of any kind
        raise DatasetError(f"{folder.url}/{name} is damaged ({error_text(error, 200)}): {advice}") from error


@dataclass(frozen=True)
class Manifest:
    """``dataset`` identifies this dataset; ``summary`` is set once it is complete."""

    dataset: str
    options: Mapping[str, Any]
    schema_version: int
    hlomap_version: str
    summary: Mapping[str, Any] | None = None

    def write(self, folder: Folder) -> None:
        """Creates or replaces the file in a folder."""
        cells = {
            "schema_version": self.schema_version,
            "hlomap_version": self.hlomap_version,
            "dataset": self.dataset,
            "options": self.options,
            "complete": self.summary is not None,
            "summary": self.summary,
        }
        folder.write(MANIFEST, (json.dumps(cells, indent=1) + "\n").encode())

    def completed(self, summary: Mapping[str, Any]) -> Manifest:
        """The manifest of the complete dataset."""
        return replace(self, summary=summary)


def read_manifest(folder: Folder) -> Manifest | None:
    """The manifest in a folder, None without one.  Raises :class:`DatasetError` where it cannot be read."""
    try:
        content = folder.read(MANIFEST)
    except FileNotFoundError:
        return None
    with work_file(folder, MANIFEST, "it is not the manifest of a dataset; choose another folder, or remove this one"):
        cells = json.loads(content)
        found = Manifest(
            cells["dataset"], cells["options"], cells["schema_version"], cells["hlomap_version"], cells["summary"]
        )
        if not isinstance(found.dataset, str) or not isinstance(found.options, dict):
            raise ValueError("expected a text as dataset, an object as options")
        if found.summary is not None:
            CorpusReport.from_dict(found.summary)
        return found


def open_dataset(folder: Folder, options: Mapping[str, Any]) -> Manifest:
    """The manifest of the dataset in a folder; begins one where there is none.

    Raises :class:`DatasetError` where the folder has other files, or a dataset of other options or another version.
    """
    found = read_manifest(folder)
    if found is None:
        parts = [f"{kind}/{name}" for kind in ("files", "rows", "modules") for name in folder.names(kind)]
        if parts:
            raise DatasetError(f"{folder.url} has {parts[0]} but no {MANIFEST}: choose another folder, or remove it")
        found = Manifest(uuid.uuid4().hex, dict(options), SCHEMA_VERSION, __version__)
        found.write(folder)
        return read_manifest(folder) or found  # nothing locks a folder at a URL: the last of two runs counts
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
        f"{folder.url} is a dataset with another {what}: {cut(json.dumps(before), 200)} there, "
        f"{cut(json.dumps(now), 200)} now; "
        "continue it with the same options, or choose another folder"
    )
