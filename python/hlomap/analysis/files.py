"""The table of many files in memory, for :func:`hlomap.analyze` with paths and dumps.

A file that cannot be read becomes a row with its error, as in datasets of ``hlomap analyze``; :mod:`hlomap.corpus` is
for more files than fit into memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Any

from ..errors import HlomapError
from ..hlo.content import content_of, content_of_file, kind_of_name
from ..hlo.discover import label_of, list_files
from ..hlo.dump_directory import DumpedModule, name_columns
from ..hlo.load import parse_all, read_source
from ..hlo.stablehlo import can_convert
from .rows import analyze
from .table import COLUMNS, Table

_Rows = tuple[dict[str, Any], Table]


def analyze_file(path: str) -> Table:
    """The rows of one file; raises the errors of :func:`hlomap.load`."""
    content = read_source(path)
    return Table._of_files(_rows(path, content, content_of(content).form))


def analyze_dump(modules: Iterable[DumpedModule]) -> Table:
    """The rows of each module of a dump, from its most complete file."""
    paths = [os.fspath(module.path) for module in modules]
    return Table._of_files([rows for path in paths for rows in _rows_or_error(path)])


def analyze_paths(paths: list[str]) -> Table:
    """The rows of every program at and below paths: other files are skipped, equal content counts once."""
    found: list[_Rows] = []
    named, seen = set(paths), set[bytes]()
    for file in list_files(paths):
        if file.path in named or kind_of_name(file.label) is None:
            found += _rows_or_error(file.path, seen)
    return Table._of_files(found)


def _rows_or_error(path: str, seen: set[bytes] | None = None) -> list[_Rows]:
    """The table of a file; None if it is not a program, or its content was ``seen``."""
    try:
        found = content_of_file(path)
        if not found.is_program or (found.kind == "StableHLO" and not can_convert()):
            return []
        content = read_source(path)
        if seen is not None:
            digest = hashlib.blake2b(content, digest_size=16).digest()
            if digest in seen:
                return []
            seen.add(digest)
        return _rows(path, content, found.form)
    except (HlomapError, OSError) as error:
        message = str(error) if isinstance(error, HlomapError) else f"{type(error).__name__}: {error.strerror or error}"
        row = {name: [message if name == "error" else None] for name in COLUMNS}
        return [(_facts(path), Table._of_values(row))]


def _rows(path: str, content: bytes, form: str | None) -> list[_Rows]:
    facts = _facts(path) | {"form": form}
    return [(facts, analyze(module)) for module in parse_all(content, name=path)]


def _facts(path: str) -> dict[str, Any]:
    label = label_of(path)
    return {"file": label, **name_columns(label)}
