"""The words of ``hlomap analyze``: progress while it runs, and its summary.

On a terminal progress is a bar; elsewhere it is a line a minute.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .console import say

if TYPE_CHECKING:
    from ..corpus.run import Progress, Summary

__all__ = ["progress_line", "show_progress", "summary_rows"]

_LINE_SECONDS = 60.0
_HINTS = {
    "Riegeli": "Riegeli (dump with --xla_dump_hlo_as_text or --xla_dump_hlo_as_proto)",
    "StableHLO": "StableHLO (pip install jax jaxlib to convert it)",
}
_MOST_COMMON = 8  # reasons that a summary lists; the others are summed up


@contextmanager
def show_progress(quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A function that shows the progress it is given, until the block ends."""
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Bar, TextColumn

        stderr = Console(stderr=True, highlight=False, markup=False)
        with Bar(TextColumn("{task.description}"), BarColumn(), console=stderr, transient=True) as bar:
            task = bar.add_task("", total=None)

            def update(progress: Progress) -> None:
                total = progress.n_bytes if progress.stage == "analyze" else None
                bar.update(task, description=progress_line(progress), total=total, completed=progress.bytes_done)

            yield update
    else:
        last = time.monotonic()

        def print_line(progress: Progress) -> None:
            nonlocal last
            if time.monotonic() - last >= _LINE_SECONDS:
                last = time.monotonic()
                say(progress_line(progress), err=True)

        yield print_line


def progress_line(progress: Progress) -> str:
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


def summary_rows(summary: Summary) -> list[tuple[str, str]]:
    """The summary as labels and texts; a label that starts with a space is part of the label before it."""
    report = summary.report
    rows = [("files", f"{report.files}")]
    if report.status["duplicate"]:
        rows.append((" duplicates", f"{report.status['duplicate']}"))
    rows += _reason_rows(" skipped", Counter({_HINTS.get(kind, kind): n for kind, n in report.skipped.items()}))
    rows += _reason_rows(" converted", +report.converted)
    for status, label in (("error", " failed"), ("timed out", " timed out"), ("crashed", " crashed")):
        if report.status[status]:
            rows.append((label, f"{report.status[status]}"))
    rows += [
        ("modules", f"{report.modules}"),
        ("instructions", f"{report.instructions}"),
        ("rows", f"{report.rows}"),
        (" with errors", f"{report.error_rows}"),
    ]
    by_reason: Counter[str] = Counter()
    for (opcode, reason), count in report.unknown.items():
        by_reason[reason if opcode in reason else f"{opcode}: {reason}"] += count
    rows += _reason_rows(" unknown", by_reason)
    workers = sum(report.seconds.values())
    each = workers / max(report.instructions, 1) * 1e6
    shares = ", ".join(f"{stage} {seconds / workers:.0%}" for stage, seconds in report.seconds.items() if workers)
    text = f"{summary.seconds:.2f} s, {each:.0f} us of CPU time per instruction"
    rows.append(("time", f"{text} ({shares})" if shares else text))
    return rows


def _reason_rows(label: str, reasons: Counter[str]) -> list[tuple[str, str]]:
    if not reasons:
        return []
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    rows = [(label, f"{sum(reasons.values())}")]
    rows += [("", f"{count} {reason}") for reason, count in ordered[:_MOST_COMMON]]
    if len(ordered) > _MOST_COMMON:
        rest = ordered[_MOST_COMMON:]
        rows.append(("", f"{sum(count for _, count in rest)} with {len(rest)} other reasons"))
    return rows
