"""Analyses all modules in files and folders on all cores and writes one table.

Read :func:`analyze_files` first.  The rows depend only on the files, never on the number of workers: results are
written in the order of the files.  A failure becomes a row or a count and the run continues; an interrupted run leaves
no output.  :mod:`hlomap.analysis.rows` turns a module into rows, :mod:`hlomap.corpus.storage` writes them.
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
from ..io.discover import SourceFile, detect_kind, list_files
from .worker_pool import Pool

__all__ = ["Summary", "analyze_files"]

_BYTES_PER_WORKER = 1 << 20  # starting a worker takes about as long as analysing this much text
_MAX_WAITING_BYTES = 1 << 28  # results held until an earlier file is written


@dataclass
class Summary:
    """Counts and times of a run.

    ``skipped`` counts files that are not HLO by kind, ``duplicates`` files with the content of an earlier one,
    ``file_errors`` has name and error of files that could not be analysed.  ``error_rows`` counts rows with an error,
    ``unknown`` unknown rows by opcode and reason.  ``seconds`` is wall-clock time, ``worker_seconds`` the CPU time of
    all workers.
    """

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
        """Whether any row has an error."""
        return self.error_rows > 0


@dataclass(frozen=True)
class _Result:
    """The result of one file; ``rows`` is an Arrow stream, which is cheap to send and to keep."""

    rows: bytes
    n_modules: int = 0
    n_instructions: int = 0
    error: str | None = None
    n_error_rows: int = 0
    unknown: tuple[tuple[tuple[str, str], int], ...] = ()
    seconds: float = 0.0


Progress = Callable[[int, int], None]
"""Called after each file, in order, with the number of finished files and the number of all files."""


def analyze_files(
    paths: Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Analyses every module below ``paths`` and writes the rows of :func:`hlomap.analyze` to ``output``.

    ``paths`` are files and folders, which are listed in the order of their names.  HLO files are detected by content;
    of files with equal content only the first is analysed.  ``output`` ends in ``.parquet``, ``.csv`` or ``.jsonl``;
    its columns are ``file`` and :data:`hlomap.analysis.table.COLUMNS`.  ``jobs`` is the number of worker processes
    (default: at most one per core, fewer for little input).  Raises ``FileNotFoundError`` for a path that does not
    exist and :class:`hlomap.errors.UnsupportedError` for an unknown extension, both before any work.

    With more than one worker the caller's main module must be importable, as for :mod:`multiprocessing`.
    """
    from . import storage

    began = time.perf_counter()
    summary = Summary()
    writer = storage.Writer(output)
    files = list(list_files(paths))
    with writer, Pool(_analyze_file, _n_workers(jobs, files)) as pool:
        for result in _results_in_order(files, pool, summary):
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


def _n_workers(jobs: int | None, files: list[SourceFile]) -> int:
    """The number of worker processes; 0 means to work in this process."""
    if jobs is not None:
        if jobs < 1:
            raise ValueError(f"jobs: expected at least 1, found {jobs}")
        return 0 if jobs == 1 else jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    n = min(cores, len(files), sum(file.size for file in files) // _BYTES_PER_WORKER)
    return n if n > 1 else 0


def _results_in_order(
    files: list[SourceFile], pool: Pool[SourceFile, _Result], summary: Summary
) -> Iterator[_Result | None]:
    """The result of each file in order; ``None`` for a file without rows: not HLO, or a duplicate."""
    digests: set[bytes] = set()
    done: dict[int, _Result | None] = {}
    waiting_bytes = 0
    submitted = 0
    for emitted in range(len(files)):
        while emitted not in done:
            while (
                submitted < len(files)
                and pool.has_room
                and (waiting_bytes < _MAX_WAITING_BYTES or submitted == emitted)
            ):
                file = files[submitted]
                outcome = _triage(file, digests)
                if outcome is None:
                    pool.submit(submitted, file)
                elif isinstance(outcome, _Result):
                    done[submitted] = outcome
                else:
                    done[submitted] = None
                    if outcome == _DUPLICATE:
                        summary.duplicates += 1
                    else:
                        summary.skipped[outcome] += 1
                submitted += 1
            if emitted in done:
                break
            for number, result, failure in pool.wait():
                if result is None:
                    result = _failure(files[number].label, failure or "the worker ended without a result")
                done[number] = result
                waiting_bytes += len(result.rows)
        ready = done.pop(emitted)
        waiting_bytes -= len(ready.rows) if ready is not None else 0
        yield ready


_DUPLICATE = "duplicate"


def _triage(file: SourceFile, digests: set[bytes]) -> str | _Result | None:
    """The kind of a file that is left out, or its error; ``None`` for a file to analyse."""
    try:
        kind = detect_kind(file)
        if kind != "HLO":
            return kind
        with open(file.path, "rb") as stream:
            key = _digest(stream)
    except OSError as error:
        return _failure(file.label, f"{type(error).__name__}: {error.strerror or error}")
    if key in digests:
        return _DUPLICATE
    digests.add(key)
    return None


def _digest(stream: BinaryIO) -> bytes:
    whole = hashlib.blake2b(digest_size=16)
    while block := stream.read(1 << 20):
        whole.update(block)
    return whole.digest()


def _failure(label: str, error: str) -> _Result:
    from . import storage

    return _Result(storage.to_bytes(storage.error_row(label, error)), error=error, n_error_rows=1)


def _analyze_file(file: SourceFile) -> _Result:
    """Runs in a worker; every failure becomes the result of the file."""
    from ..analysis.rows import analyze
    from ..io.load import parse_all
    from . import storage

    began = time.process_time()
    try:
        modules = parse_all(Path(file.path).read_bytes(), name=file.label)
        tables = [analyze(module) for module in modules]
    except (KeyboardInterrupt, SystemExit):
        raise
    except HlomapError as error:
        return _failure(file.label, str(error))
    except BaseException as error:  # a panic of the compiled core is a BaseException
        return _failure(file.label, f"{type(error).__name__}: {error}")
    unknown = Counter(
        (opcode, reason)
        for table in tables
        for opcode, reason in zip(table["opcode"], table["unknown"], strict=True)
        if reason is not None
    )
    return _Result(
        rows=storage.to_bytes(storage.file_rows(file.label, tables)),
        n_modules=len(modules),
        n_instructions=sum(len(computation) for module in modules for computation in module.computations),
        n_error_rows=sum(error is not None for table in tables for error in table["error"]),
        unknown=tuple(sorted(unknown.items())),
        seconds=time.process_time() - began,
    )
