"""The files of the test corpus."""

from __future__ import annotations

import functools
import tarfile

from conftest import CASES


@functools.cache
def read_corpus(folder: str) -> dict[str, bytes]:
    """The files of one folder of the corpus, by name."""
    with tarfile.open(CASES / "corpus.tar.xz") as archive:
        members = [m for m in archive.getmembers() if m.isfile() and m.name.startswith(folder + "/")]
        streams = {m.name.removeprefix(folder + "/"): archive.extractfile(m) for m in members}
        return {name: stream.read() for name, stream in streams.items() if stream is not None}
