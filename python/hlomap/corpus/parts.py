"""The parts of a dataset as the manifest lists them, to detect lost, truncated, replaced and foreign files.

A dataset is complete if its parts are exactly those listed: :func:`faults` compares names and sizes, which only takes a
listing of the folders, and :func:`digest` detects other content.  The part of ``files`` of a shard lists the shard's
other parts, so that an unfinished dataset is checked as well.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from ..base.text import plural

FACT: Final = "hlomap.parts"
"""The metadata of a part of ``files``: the other parts of its shard."""

PLAN_FACT: Final = "hlomap.plan"
"""The metadata of a part of ``files``: the digest of the listing of its shard."""

_PART = re.compile(r"part-.*\.parquet$")


class Part(NamedTuple):
    """A file of a dataset: its rows, its bytes, and the BLAKE2b-128 of its content, in hexadecimal."""

    rows: int
    size: int
    digest: str


def parts_of_json(cells: Any) -> dict[str, Part]:
    """The parts that a JSON object lists; ``ValueError`` and the like for anything else."""
    found = {name: Part(*cell) for name, cell in cells.items()}
    if not all(type(n) is int and n >= 0 for part in found.values() for n in part[:2]):
        raise ValueError("expected counts of rows and bytes")
    if not all(isinstance(part.digest, str) for part in found.values()):
        raise ValueError("expected digests")
    return found


def digest(content: bytes) -> str:
    """The digest of the content of a file."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def digest_of_file(path: str) -> tuple[int, str]:
    """The size of a file, and the digest of its content."""
    found = hashlib.blake2b(digest_size=16)
    n = 0
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            found.update(block)
            n += len(block)
    return n, found.hexdigest()


def is_part(name: str) -> bool:
    """Whether readers take a file for a part of a table.

    >>> is_part("part-000003.parquet"), is_part("notes.txt")
    (True, False)
    """
    return _PART.match(name) is not None


def faults(parts: Mapping[str, Part], sizes: Mapping[str, int | None]) -> dict[str, str]:
    """Faults of files, by their names: each part must be there with its size, and no other file.

    >>> faults({"rows/a": Part(1, 9, ""), "rows/b": Part(1, 9, "")}, {"rows/b": 8, "rows/c": 9})
    {'rows/a': 'lost', 'rows/b': '8 bytes, expected 9', 'rows/c': 'foreign'}
    """
    found = {}
    for name, part in parts.items():
        size = sizes.get(name, -1)
        if size is None:
            found[name] = "not a regular file"
        elif size < 0:
            found[name] = "lost"
        elif size != part.size:
            found[name] = f"{plural(size, 'byte')}, expected {part.size:,}"
    return found | dict.fromkeys(sizes.keys() - parts.keys(), "foreign")


def faults_text(found: Mapping[str, str]) -> str:
    """The first faults in words."""
    first = "; ".join(
        f"{name} is {what}" if what in ("lost", "foreign") else f"{name}: {what}" for name, what in _first(found)
    )
    return first + (f"; and {len(found) - 3} more" if len(found) > 3 else "")


def _first(found: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    return sorted(found.items())[:3]
