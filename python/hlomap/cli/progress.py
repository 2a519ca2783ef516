"""The words of ``hlomap analyze`` while it runs; :mod:`hlomap.corpus.summary` has those of its end.

On a terminal progress is a bar; elsewhere it is a line a minute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .console import say

if TYPE_CHECKING:
    from ..corpus.run import CorpusProgress

_LINE_SECONDS = 60.0


@contextmanager
def show_progress(quiet: bool) -> Iterator[Callable[[CorpusProgress], None]]:
    """A function that shows the progress it is given, until the block ends."""
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
