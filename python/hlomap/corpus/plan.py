"""Cuts a corpus into shards.

Start with :func:`make_plan`.  Two laws make a shard independent of all others: every file is in exactly one shard, and
files with equal content are in the same one, since files of equal size and equal beginning stay together.  So
duplicates are found within a shard, without any index of all contents, and a shard can be analyzed anywhere, any number
of times, with the same result.  The plan depends on the files alone, not on engines or workers.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Hashable, Iterable
from itertools import groupby
from operator import index
from typing import NamedTuple, TypeAlias

from .folder import Folder
from .manifest import work_file
from .parts import digest
from .sources import Reader, Source, head_digest

WORK = "_work"
"""The folder for files that are needed only until the dataset is complete."""

_ADVICE = "remove the dataset, or choose another folder"
_FILE_WEIGHT = 1 << 12  # opening a file costs as much as this many bytes
_N_SHARDS = 32  # of a small corpus, so that all workers end at about the same time
_SHARD_BYTES = (1 << 19, 1 << 26)
_SHARD_FILES = 4096


class Shard(NamedTuple):
    """A shard: its number, the sum of its files' sizes, the number of its files."""

    number: int
    n_bytes: int
    n_files: int


Plan: TypeAlias = tuple[Shard, ...]
"""The shards, largest first, so that the last ones are small."""


def read_plan(folder: Folder) -> Plan | None:
    """The plan of a dataset; None before it is complete."""
    name = f"{WORK}/plan.json"
    try:
        content = folder.read(name)
    except FileNotFoundError:
        return None
    with work_file(folder, name, _ADVICE):
        shards = tuple(Shard(*map(index, cell)) for cell in json.loads(content))
        if len({shard.number for shard in shards}) < len(shards) or any(min(shard) < 0 for shard in shards):
            raise ValueError("expected numbers of shards that differ, and counts")
        return shards


def read_shard(folder: Folder, number: int, n_files: int | None = None) -> list[Source]:
    """The files of a shard, in the order of the listing.

    Raises :class:`~hlomap.corpus.manifest.DatasetError` for other content or another number of files.
    """
    name = _shard_name(number)
    content = folder.read(name)
    with work_file(folder, name, _ADVICE):
        sources = [Source.from_line(line) for line in zlib.decompress(content).splitlines()]
        if n_files is not None and len(sources) != n_files:
            raise ValueError(f"expected {n_files:,} files, as in the plan, found {len(sources):,}")
        return sources


def listing_digest(sources: Iterable[Source]) -> str:
    """A digest of the files of a shard as they were listed: equal for shards of equal rows."""
    lines = (f"{s.number} {s.size} {s.offset} {s.label!r} {s.member!r}\n".encode() for s in sources)
    return digest(b"".join(lines))


def make_plan(sources: Iterable[Source], folder: Folder) -> Plan:
    """Writes the shards of a corpus, then the plan itself."""
    files = sorted(sources, key=lambda source: (source.size, source.number))
    low, high = _SHARD_BYTES
    packer = _Packer(folder, min(max(sum(map(_weight, files)) // _N_SHARDS, low), high))
    with Reader() as reader:
        for _, same_size in groupby(files, key=lambda source: source.size):
            distinct: dict[Hashable, Source] = {}
            for source in same_size:
                distinct.setdefault(source.identity, source)  # a file that is listed twice is kept once
            group = list(distinct.values())
            if sum(map(_weight, group)) <= packer.limit // 4 and len(group) <= _SHARD_FILES // 4:
                packer.add(group)
            else:
                for same_head in _by_head(group, reader):
                    packer.add(same_head)
    packer.flush()
    shards = sorted(packer.shards, key=lambda shard: (-shard.n_bytes, shard.number))
    folder.write(f"{WORK}/plan.json", json.dumps(shards).encode())
    return tuple(shards)


class _Packer:
    """Fills shards with groups of files that must stay together."""

    def __init__(self, folder: Folder, limit: int) -> None:
        self.limit = limit
        self.shards: list[Shard] = []
        self._folder = folder
        self._files: list[Source] = []
        self._weight = 0

    def add(self, group: list[Source]) -> None:
        weight = sum(map(_weight, group))
        if self._files and (self._weight + weight > self.limit or len(self._files) + len(group) > _SHARD_FILES):
            self.flush()
        self._files += group
        self._weight += weight

    def flush(self) -> None:
        if not self._files:
            return
        files = sorted(self._files, key=lambda source: source.number)
        shard = Shard(len(self.shards), sum(source.size for source in files), len(files))
        lines = b"".join(source.to_line() for source in files)
        self._folder.write(_shard_name(shard.number), zlib.compress(lines, 1))
        self.shards.append(shard)
        self._files, self._weight = [], 0


def _by_head(group: list[Source], reader: Reader) -> Iterable[list[Source]]:
    """Groups files of one size by their beginnings."""
    found: dict[bytes, list[Source]] = {}
    for source in group:
        found.setdefault(head_digest(source, reader), []).append(source)
    return found.values()


def _weight(source: Source) -> int:
    return min(source.size, _SHARD_BYTES[1]) + _FILE_WEIGHT


def _shard_name(number: int) -> str:
    return f"{WORK}/shards/{number:06}.json.zz"
