"""The table of many files, all in memory: what :func:`hlomap.analyze` does with paths and dumps.

A file that cannot be read is a row with its error, as in what ``hlomap analyze`` writes; :mod:`hlomap.corpus` is for
more files than fit into memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Any

from ..errors import HlomapError
from ..hlo.discover import SourceFile, detect_kind, kind_and_form, kind_of_name, label_of, list_files
from ..hlo.dump_directory import DumpedModule, name_columns
from ..hlo.load import parse_all, read_source
from ..hlo.stablehlo import can_convert
from .rows import analyze
from .table import COLUMNS, Table

_Rows = tuple[dict[str, Any], Table]


def analyze_file(path: str) -> Table:
    """The rows of one file; raises the errors of :func:`hlomap.load`."""
    return Table._of_files(_rows(path, read_source(path)))


def analyze_dump(modules: Iterable[DumpedModule]) -> Table:
    """The rows of each module of a dump, of the file that says most of it."""
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
    """None for what is not a program, and for content that was ``seen``."""
    try:
        kind = detect_kind(SourceFile(path, label_of(path), 0))
        if kind != "HLO" and not (kind == "StableHLO" and can_convert()):
            return []
        content = read_source(path)
        if seen is not None:
            digest = hashlib.blake2b(content, digest_size=16).digest()
            if digest in seen:
                return []
            seen.add(digest)
        return _rows(path, content)
    except (HlomapError, OSError) as error:
        message = str(error) if isinstance(error, HlomapError) else f"{type(error).__name__}: {error.strerror or error}"
        row = {name: [message if name == "error" else None] for name in COLUMNS}
        return [(_facts(path), Table._of_values(row))]


def _rows(path: str, content: bytes) -> list[_Rows]:
    facts = _facts(path) | {"form": kind_and_form(content[: 1 << 16])[1]}
    return [(facts, analyze(module)) for module in parse_all(content, name=path)]


def _facts(path: str) -> dict[str, Any]:
    label = label_of(path)
    return {"file": label, **name_columns(label)}
