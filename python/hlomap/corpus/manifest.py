"""``_hlomap.json``: what a dataset is made of and with.

Read :func:`open_dataset` first.  A dataset has one set of options for good; another set is an error that names the
option that differs.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

from ..errors import HlomapError
from .folder import Folder

__all__ = ["MANIFEST", "SCHEMA_VERSION", "DatasetError", "Manifest", "open_dataset", "read_manifest"]

MANIFEST = "_hlomap.json"
SCHEMA_VERSION = 1


class DatasetError(HlomapError, ValueError):
    """The folder holds something else than a dataset of these options."""


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
        cells = json.loads(folder.read(MANIFEST))
        return Manifest(
            cells["dataset"], cells["options"], cells["schema_version"], cells["hlomap_version"], cells["summary"]
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"{folder.url}/{MANIFEST} is not the manifest of a dataset: {error}") from error


def open_dataset(folder: Folder, options: Mapping[str, Any]) -> Manifest:
    """The manifest of the dataset in a folder; begins one where there is none.

    Raises :class:`DatasetError` where the folder has other files, or a dataset of other options or another version.
    """
    found = read_manifest(folder)
    version = metadata.version("hlomap")
    if found is None:
        parts = [f"{kind}/{name}" for kind in ("files", "rows", "modules") for name in folder.names(kind)]
        if parts:
            raise DatasetError(f"{folder.url} has {parts[0]} but no {MANIFEST}: choose another folder, or remove it")
        found = Manifest(uuid.uuid4().hex, dict(options), SCHEMA_VERSION, version)
        found.write(folder)
        return found
    if found.schema_version != SCHEMA_VERSION:
        raise DatasetError(_differs(folder, "schema version", found.schema_version, SCHEMA_VERSION))
    if found.hlomap_version != version:
        raise DatasetError(_differs(folder, "hlomap version", found.hlomap_version, version))
    for name in sorted({*found.options, *options}):
        before, now = found.options.get(name), options.get(name)
        if before != now:
            raise DatasetError(_differs(folder, f"value of {name}", before, now))
    return found


def _differs(folder: Folder, what: str, before: object, now: object) -> str:
    return (
        f"{folder.url} is a dataset with another {what}: {_short(before)} there, {_short(now)} now; "
        "continue it with the same options, or choose another folder"
    )


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 200 else text[:199] + "…"
