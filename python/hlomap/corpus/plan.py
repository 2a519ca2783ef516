"""Cuts a corpus into shards.

Read :func:`make_plan` first.  Two laws make a shard independent of all others: every file is in exactly one shard, and
files with equal content are in the same one, since files of equal size and equal beginning stay together.  So
duplicates are found within a shard, without any index of all contents, and a shard can be analyzed anywhere, any number
of times, with the same result.

The plan depends on the files alone, not on engines or workers.  Memory does not grow with the corpus: the listing goes
to temporary files, one for each of 64 classes of sizes.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from itertools import groupby
from operator import index
from typing import IO

from .folder import Folder
from .manifest import work_file
from .sources import Reader, Source, head_digest

__all__ = ["WORK", "Plan", "Shard", "make_plan", "read_plan", "read_shard"]

WORK = "_work"
"""The folder of what is needed only until the dataset is complete."""

_ADVICE = "remove the dataset, or choose another folder"
_MAX_LINE = 1 << 20  # a path has less than 64 KiB
_N_BUCKETS = 64
_BUCKET_FILES = 50_000  # larger buckets are split by the files' beginnings
_FILE_WEIGHT = 1 << 12  # opening a file costs as much as this many bytes
_N_SHARDS = 32  # of a small corpus, so that all workers end at about the same time
_SHARD_BYTES = (1 << 19, 1 << 26)
_SHARD_FILES = 4096


@dataclass(frozen=True)
class Shard:
    """A shard: its number, the sum of its files' sizes, the number of its files."""

    number: int
    n_bytes: int
    n_files: int


@dataclass(frozen=True)
class Plan:
    """The shards, largest first: the last ones to end are small."""

    shards: tuple[Shard, ...]

    @property
    def n_files(self) -> int:
        return sum(shard.n_files for shard in self.shards)

    @property
    def n_bytes(self) -> int:
        return sum(shard.n_bytes for shard in self.shards)


def read_plan(folder: Folder) -> Plan | None:
    """The plan of a dataset, None before it is whole."""
    name = f"{WORK}/plan.json"
    try:
        content = folder.read(name)
    except FileNotFoundError:
        return None
    with work_file(folder, name, _ADVICE):
        shards = tuple(Shard(*map(index, cell)) for cell in json.loads(content))
        if len({shard.number for shard in shards}) < len(shards) or any(min(astuple(s)) < 0 for s in shards):
            raise ValueError("expected numbers of shards that differ, and counts")
        return Plan(shards)


def read_shard(folder: Folder, number: int, n_files: int | None = None) -> Iterator[Source]:
    """The files of a shard, in the order of the listing.

    Raises :class:`~hlomap.corpus.manifest.DatasetError` for anything else, also another number of files.
    """
    name = _shard_name(number)
    content = folder.read(name)
    n = 0
    with work_file(folder, name, _ADVICE):
        for line in _lines(content):
            n += 1
            yield Source.from_line(line)
        if n_files is not None and n != n_files:
            raise ValueError(f"expected {n_files:,} files, as in the plan, found {n:,}")


def _lines(packed: bytes) -> Iterator[bytes]:
    """The lines of compressed text; never all of them in memory, of which a few packed bytes may fill any amount."""
    unpacker, rest = zlib.decompressobj(), b""
    while not unpacker.eof:
        block = unpacker.decompress(packed, _MAX_LINE)
        packed = unpacker.unconsumed_tail
        if not block and not packed:
            raise ValueError("the text ends early")
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
        if len(rest) > _MAX_LINE:
            raise ValueError(f"a line of more than {_MAX_LINE:,} bytes")
    if rest:
        raise ValueError("the last line has no end")


def make_plan(sources: Iterable[Source], folder: Folder) -> Plan:
    """Writes the shards of a corpus, and last the plan itself."""
    with ExitStack() as stack:
        buckets = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(_N_BUCKETS)]
        counts = [0] * _N_BUCKETS
        weight = 0
        for source in sources:
            number = zlib.crc32(b"%d" % source.size) % _N_BUCKETS
            buckets[number].write(source.to_line())
            counts[number] += 1
            weight += _weight(source)
        low, high = _SHARD_BYTES
        packer = _Packer(folder, min(max(weight // _N_SHARDS, low), high))
        reader = stack.enter_context(Reader())
        for bucket, count in zip(buckets, counts, strict=True):
            for group in _groups(bucket, count, packer.limit, reader):
                packer.add(group)
        packer.flush()
    shards = sorted(packer.shards, key=lambda shard: (-shard.n_bytes, shard.number))
    cells = [[shard.number, shard.n_bytes, shard.n_files] for shard in shards]
    folder.write(f"{WORK}/plan.json", json.dumps(cells).encode())
    return Plan(tuple(shards))


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
        compressor = zlib.compressobj(1)
        blocks = [compressor.compress(source.to_line()) for source in files]
        self._folder.write(_shard_name(shard.number), b"".join([*blocks, compressor.flush()]))
        self.shards.append(shard)
        self._files, self._weight = [], 0


def _groups(bucket: IO[bytes], count: int, limit: int, reader: Reader) -> Iterator[list[Source]]:
    """The files of a bucket in groups that no two equal contents leave; a file that was listed twice comes once."""
    bucket.seek(0)
    if count > _BUCKET_FILES:
        yield from _split_groups(bucket, reader)
        return
    for _, same_size in groupby(sorted(_read(bucket), key=lambda s: (s.size, s.number)), key=lambda s: s.size):
        group = _distinct(same_size)
        if sum(map(_weight, group)) <= limit // 4 and len(group) <= _SHARD_FILES // 4:
            yield group
        else:
            yield from _by_head([(head_digest(source, reader), source) for source in group])


def _split_groups(bucket: IO[bytes], reader: Reader) -> Iterator[list[Source]]:
    with ExitStack() as stack:
        parts = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(_N_BUCKETS)]
        for source in _read(bucket):
            digest = head_digest(source, reader)
            parts[zlib.crc32(digest) % _N_BUCKETS].write(digest.hex().encode() + b" " + source.to_line())
        for part in parts:
            part.seek(0)
            pairs = (line.split(b" ", 1) for line in part)
            yield from _by_head([(bytes.fromhex(digest.decode()), Source.from_line(line)) for digest, line in pairs])


def _by_head(pairs: list[tuple[bytes, Source]]) -> Iterator[list[Source]]:
    pairs.sort(key=lambda pair: (pair[1].size, pair[0], pair[1].number))
    for _, same in groupby(pairs, key=lambda pair: (pair[1].size, pair[0])):
        yield _distinct(source for _, source in same)


def _distinct(sources: Iterable[Source]) -> list[Source]:
    return list({source.identity: source for source in reversed(list(sources))}.values())[::-1]


def _read(bucket: IO[bytes]) -> Iterator[Source]:
    return map(Source.from_line, bucket)


def _weight(source: Source) -> int:
    return min(source.size, _SHARD_BYTES[1]) + _FILE_WEIGHT


def _shard_name(number: int) -> str:
    return f"{WORK}/shards/{number:06}.json.zz"
