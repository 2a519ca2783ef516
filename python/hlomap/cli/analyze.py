"""``hlomap analyze``: arguments, progress, the summary and exit codes of a run over a corpus.

:func:`hlomap.analyze_corpus` does the work, and :mod:`hlomap.corpus.reports` writes the summary.  Progress is a bar on
a terminal, and elsewhere one line a minute.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ..errors import DatasetError, EngineError, LockedError, OutputError, UnsupportedError
from .console import fail, max_bytes, number, prefix_with_file, say

if TYPE_CHECKING:
    from ..corpus.run import CorpusProgress


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNFINISHED = 3


def _parse_shard(context: click.Context, option: click.Parameter, text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise click.BadParameter(f"expected i/n with 0 <= i < n, such as 0/3, found {text!r}")
    return int(match[1]), int(match[2])


def _parse_size(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", text.strip(), re.IGNORECASE)
    if match is None:
        raise click.BadParameter(f"expected a size such as 500MB or 2GB, found {text!r}")
    n_bytes = int(float(match[1]) * _UNITS[match[2].lower()])
    from ..corpus.tasks import LEAST_MEMORY

    if n_bytes < LEAST_MEMORY:
        raise click.BadParameter(f"expected at least {LEAST_MEMORY // 10**6}MB, which Python and Arrow take")
    return n_bytes


@click.command(
    epilog="Exit codes: 0 success, 1 a file or a row has an error, 2 wrong arguments, 3 the run ended early (the same "
    "command continues it), 130 interrupted."
)
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, help="Folder or URL of the dataset; or a file: .parquet, .csv or .jsonl."
)
@number("-j", "--jobs", least=1, help="Worker processes (default: one per core).")
@click.option("--engine", metavar="ENGINE", default="local", show_default=True, help="local or dask:ADDRESS.")
@click.option(
    "--shard",
    metavar="I/N",
    default="0/1",
    callback=_parse_shard,
    help="Do the I-th of N shares; N such runs make one dataset.",
)
@click.option(
    "--resume/--no-resume",
    default=True,
    show_default=True,
    help="Continue an unfinished output with the same options, or fail if the output exists.",
)
@click.option("--modules", is_flag=True, help="Keep the content of the files in the dataset.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), help="Time limit for each file."
)
@click.option("--memory", metavar="SIZE", callback=_parse_size, help="Memory limit for each worker, such as 2GB.")
@click.option("--program", metavar="ID|NAME", help="Only this program of traces (default: all).")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as a JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="Print no progress and no summary.")
def analyze(paths: tuple[str, ...], output: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Write a dataset of the maps in all modules below PATHS.

    The dataset has a row for each instruction, output and operand.  PATHS are files, folders, globs, archives (tar,
    zip), URLs, @FILE for a list of names, or - for such a list on standard input (not for a module).  StableHLO is
    converted if jaxlib is installed; other files that are not HLO are skipped (detected by content).  Equal content is
    analyzed once, and each file has a row in the table of files, with its error if there is one.  After a run that was
    killed, the same command continues.

    \b
    Examples:
      hlomap analyze module.hlo -o maps.parquet
      hlomap analyze . -o dataset --jobs 2
      hlomap analyze . -o shared --shard 0/3 --timeout 60
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start idle threads
    from ..corpus.run import analyze_corpus
    from ..interop.row_files import SUFFIXES

    signal.signal(signal.SIGTERM, _exit_on_signal)
    is_file = output.endswith(SUFFIXES)
    try:
        with show_progress(quiet) as progress:
            summary = analyze_corpus(paths, output, **options, max_bytes=max_bytes(), progress=progress)
    except (OutputError, LockedError, EngineError) as error:
        _stop(output, error)
    except (UnsupportedError, DatasetError) as error:
        raise click.BadParameter(str(error)) from error
    except FileNotFoundError as error:
        raise click.BadParameter(f"{error.filename} does not exist") from error
    except OSError as error:
        fail(Path(error.filename or output), error.strerror or str(error))
    except KeyboardInterrupt:
        state = "was not written" if is_file else "is unfinished; the same command continues"
        say(f"interrupted: {output} {state}", err=True)
        sys.exit(130)

    for file, message in summary.report.errors:
        say(prefix_with_file(file, message), err=True)
    if as_json:
        say(json.dumps(summary.to_dict()))
    elif not quiet:
        say(str(summary))
    if summary.has_errors:
        sys.exit(1)


def _stop(output: str, error: Exception) -> NoReturn:
    strerror, filename = getattr(error, "strerror", None), getattr(error, "filename", None)
    message = f"{strerror}: {filename}" if strerror and filename else strerror or str(error)
    say(f"{output}: {message}; the same command continues", err=True)
    sys.exit(_UNFINISHED)


def _exit_on_signal(number: int, frame: FrameType | None) -> NoReturn:
    """Raises SystemExit, so that temporary files are removed on the way out."""
    sys.exit(128 + number)


_LINE_SECONDS = 60.0


@contextmanager
def show_progress(quiet: bool) -> Iterator[Callable[[CorpusProgress], None]]:
    """A function that shows progress, until the block ends."""
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Bar, TextColumn

        stderr = Console(stderr=True, highlight=False, markup=False)
        with Bar(TextColumn("{task.description}"), BarColumn(), console=stderr, transient=True) as bar:
            task = bar.add_task("", total=None)

            def update(progress: CorpusProgress) -> None:
                total = progress.n_bytes if progress.stage == "analyze" else None
                bar.update(task, description=progress_line(progress), total=total, completed=progress.bytes_done)

            yield update
    else:
        last = time.monotonic()

        def print_line(progress: CorpusProgress) -> None:
            nonlocal last
            if time.monotonic() - last >= _LINE_SECONDS:
                last = time.monotonic()
                say(progress_line(progress), err=True)

        yield print_line


def progress_line(progress: CorpusProgress) -> str:
    """Files, MB/s, instructions/s, errors so far and the time left."""
    if progress.stage == "list":
        return f"list: {progress.files:,} files, {progress.n_bytes / 1e6:,.1f} MB"
    if progress.stage == "merge":
        return f"merge: {progress.report.rows:,} rows"
    seconds = max(progress.seconds, 1e-6)
    n_bytes = progress.bytes_done - progress.began.n_bytes
    instructions = progress.report.instructions - progress.began.instructions
    text = (
        f"analyze: {progress.files_done:,} of {progress.files:,} files, {n_bytes / 1e6 / seconds:,.1f} MB/s, "
        f"{instructions / seconds:,.0f} instructions/s, {progress.report.failed:,} errors"
    )
    if n_bytes:
        left = (progress.n_bytes - progress.bytes_done) / n_bytes * seconds
        text += f", {_duration(left)} left"
    return text


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
