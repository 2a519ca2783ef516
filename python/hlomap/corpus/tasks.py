"""Tasks for workers, which hold names, never rows.

A :class:`Task` is all that a worker needs for a shard; the worker finds the files' names in the plan and answers with
a :class:`hlomap.corpus.reports.CorpusReport`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from ..hlo.load import MAX_BYTES

Form = Literal["parquet", "arrow"]
"""The form of the rows of a shard: a part of a dataset, or a stream that is merged into one file."""

FILES_FOLDER: Final = "files"
ROWS_FOLDER: Final = "rows"
MODULES_FOLDER: Final = "modules"


LEAST_MEMORY: Final = 200_000_000
"""The least limit of memory, in bytes, most of which Python and Arrow take."""


@dataclass(frozen=True)
class Task:
    """One shard of ``n_files``: ``output`` is the folder of the dataset with the identity ``dataset``.

    Limits are for one file: ``timeout`` is in seconds, ``memory`` in bytes; ``max_bytes`` is the largest file that is
    read.  ``program`` selects programs of traces.
    """

    output: str
    dataset: str
    shard: int
    n_files: int | None = None
    form: Form = "parquet"
    modules: bool = False
    timeout: float | None = None
    memory: int | None = None
    max_bytes: int = MAX_BYTES
    program: str | None = None


class Verdict(NamedTuple):
    """The outcome of a file that ended its worker: the status and error of its row, and the stage."""

    status: str
    message: str
    stage: str


def part_name(folder: str, shard: int, form: Form = "parquet") -> str:
    """The name of a shard's part.

    >>> part_name("rows", 17)
    'rows/part-000017.parquet'
    """
    return f"{folder}/part-{shard:06}.{form}"


def timeout_message(seconds: float | None) -> str:
    """The error of a file that reached its time limit."""
    return f"took longer than the limit of {seconds:g} seconds"
