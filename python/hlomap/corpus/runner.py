"""Many files: find the modules in files and folders, analyse them on all cores, write one file of rows.

Read :func:`analyze_files` first.  The rows depend on the paths alone, never on the number of workers: results are
written in the order of the files.  What fails becomes a row or a count, and the run goes on; a run that ends early
leaves no output.  How a module becomes rows is in :mod:`hlomap.analysis.rows`, how rows reach a file in
:mod:`hlomap.corpus.storage`.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ..errors import HlomapError
from ..io.discover import Candidate, candidates, content_kind
from .worker_pool import Pool

__all__ = ["Summary", "analyze_files"]

_BYTES_PER_WORKER = 1 << 20  # starting a worker costs about what analysing this much text does
_MAX_WAITING_BYTES = 1 << 28  # results that wait for an earlier file


@dataclass
class Summary:
    """What a run met.  ``seconds`` is the clock's time, ``worker_seconds`` the processors' for the modules."""

    files: int = 0
    modules: int = 0
    instructions: int = 0
    rows: int = 0
    duplicates: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    file_errors: list[tuple[str, str]] = field(default_factory=list)
    error_rows: int = 0
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0
    worker_seconds: float = 0.0

    @property
    def has_errors(self) -> bool:
        """Whether any row tells of an error."""
        return self.error_rows > 0


@dataclass(frozen=True)
class _Result:
    """What one file gave; ``rows`` is an Arrow stream, so that it is cheap to send and cheap to hold."""

    rows: bytes
    n_modules: int = 0
    n_instructions: int = 0
    error: str | None = None
    n_error_rows: int = 0
    unknown: tuple[tuple[tuple[str, str], int], ...] = ()
    seconds: float = 0.0


Progress = Callable[[int, int], None]
"""Called with the number of files done and of all files, after each file, in the order of the files."""


def analyze_files(
    paths: Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Analyses every module below ``paths`` and writes the rows of :func:`hlomap.analyze` to ``output``.

    ``paths`` are files and folders; folders are walked in the order of their names.  A file counts as HLO by its
    content.  Of files with equal content the first one counts.  ``output`` ends in ``.parquet``, ``.csv`` or
    ``.jsonl``; its columns are ``file`` and those of :data:`hlomap.analysis.table.COLUMNS`.  ``jobs`` is the number of
    worker processes, by default one for each core that the work is worth.  Raises ``FileNotFoundError`` for a
    path that is not there and :class:`hlomap.errors.UnsupportedError` for an extension that cannot be written, both
    before any work.

    With more than one worker the caller's main module must be importable, as for :mod:`multiprocessing`.
    """
    from . import storage

    began = time.perf_counter()
    summary = Summary()
    writer = storage.Writer(output)
    files = list(candidates(paths))
    with writer, Pool(_analyze_file, _n_workers(jobs, files)) as pool:
        for result in _in_order(files, pool, summary):
            summary.files += 1
            if result is not None:
                rows = storage.from_bytes(result.rows)
                writer.write(rows)
                summary.modules += result.n_modules
                summary.instructions += result.n_instructions
                summary.rows += rows.num_rows
                summary.error_rows += result.n_error_rows
                summary.unknown.update(dict(result.unknown))
                summary.worker_seconds += result.seconds
                if result.error is not None:
                    summary.file_errors.append((files[summary.files - 1].label, result.error))
            if progress is not None:
                progress(summary.files, len(files))
    summary.seconds = time.perf_counter() - began
    return summary


def _n_workers(jobs: int | None, files: list[Candidate]) -> int:
    """How many worker processes; 0 means to work in this process."""
    if jobs is not None:
        if jobs < 1:
            raise ValueError(f"jobs must be at least 1, not {jobs}")
        return 0 if jobs == 1 else jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    worth = min(cores, len(files), sum(file.size for file in files) // _BYTES_PER_WORKER)
    return worth if worth > 1 else 0


def _in_order(files: list[Candidate], pool: Pool[Candidate, _Result], summary: Summary) -> Iterator[_Result | None]:
    """A result for each file in order; ``None`` for one that has no rows: no HLO, or the content of an earlier one."""
    seen: set[bytes] = set()
    done: dict[int, _Result | None] = {}
    waiting_bytes = 0
    asked = 0
    for emitted in range(len(files)):
        while emitted not in done:
            while asked < len(files) and pool.has_room and (waiting_bytes < _MAX_WAITING_BYTES or asked == emitted):
                file = files[asked]
                kind_or_result = _triage(file, seen)
                if kind_or_result is None:
                    pool.submit(asked, file)
                elif isinstance(kind_or_result, _Result):
                    done[asked] = kind_or_result
                else:
                    done[asked] = None
                    if kind_or_result == _DUPLICATE:
                        summary.duplicates += 1
                    else:
                        summary.skipped[kind_or_result] += 1
                asked += 1
            if emitted in done:
                break
            for number, result, death in pool.wait():
                if result is None:
                    result = _failed(files[number].label, death or "the worker ended without a result")
                done[number] = result
                waiting_bytes += len(result.rows)
        ready = done.pop(emitted)
        waiting_bytes -= len(ready.rows) if ready is not None else 0
        yield ready


_DUPLICATE = "duplicate"


def _triage(file: Candidate, seen: set[bytes]) -> str | _Result | None:
    """Why a file is left out, or its error; ``None`` when it is to be analysed."""
    try:
        kind = content_kind(file)
        if kind != "HLO":
            return kind
        with open(file.path, "rb") as stream:
            key = _digest(stream)
    except OSError as error:
        return _failed(file.label, f"{type(error).__name__}: {error.strerror or error}")
    if key in seen:
        return _DUPLICATE
    seen.add(key)
    return None


def _digest(stream: BinaryIO) -> bytes:
    whole = hashlib.blake2b(digest_size=16)
    while block := stream.read(1 << 20):
        whole.update(block)
    return whole.digest()


def _failed(label: str, error: str) -> _Result:
    from . import storage

    return _Result(storage.to_bytes(storage.error_row(label, error)), error=error, n_error_rows=1)


def _analyze_file(file: Candidate) -> _Result:
    """Runs in a worker.  Whatever goes wrong with a file is that file's result."""
    from ..analysis.rows import analyze
    from ..io.load import parse_all
    from . import storage

    began = time.process_time()
    try:
        modules = parse_all(Path(file.path).read_bytes(), name=file.label)
        analysed = [analyze(module) for module in modules]
    except (KeyboardInterrupt, SystemExit):
        raise
    except HlomapError as error:
        return _failed(file.label, str(error))
    except BaseException as error:  # a panic of the compiled core is no Exception
        return _failed(file.label, f"{type(error).__name__}: {error}")
    unknown = Counter(
        (opcode, reason)
        for table in analysed
        for opcode, reason in zip(table["opcode"], table["unknown"], strict=True)
        if reason is not None
    )
    return _Result(
        rows=storage.to_bytes(storage.file_rows(file.label, analysed)),
        n_modules=len(modules),
        n_instructions=sum(len(computation) for module in modules for computation in module.computations),
        n_error_rows=sum(error is not None for table in analysed for error in table["error"]),
        unknown=tuple(sorted(unknown.items())),
        seconds=time.process_time() - began,
    )
