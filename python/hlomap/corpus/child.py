"""The process that analyzes: takes tasks on standard input, answers with reports on standard output.

:mod:`hlomap.corpus.supervisor` is the other side.  The process ends with its parent, whatever
ended that: standard input closes then.  It is a process of its own so that a file can only hurt this process, and so
that no engine's worker waits for the interpreter lock.
"""

from __future__ import annotations

import gc
import json
import mmap
import sys
import time
from typing import Any

from ..base import children
from ..base.files import remove_temporaries

SLOTS = 5
"""64-bit numbers that both sides see: the position of the file (-1: none), the index of the stage in ``STAGES``, since
when (ns), and the files and bytes of this task before the file."""

STAGES = ("read", "analyze", "write")
"""The stages of a file.  The time of ``write``, and that before the first file and after the last, is the worker's."""

_IDLE_SECONDS = 300.0


def main() -> None:
    """Serves tasks until standard input closes.  The first line names the shared memory."""
    answers = children.answers()
    state = map_memory(json.loads(_read_command()))
    commands = children.requests(_read_command, _IDLE_SECONDS, remove_temporaries)
    _prepare()
    for line in commands:
        answers.write(json.dumps(_answer(json.loads(line), state)).encode() + b"\n")
        answers.flush()


def map_memory(name: int | str) -> memoryview:
    """The numbers that both sides see: an open file, or a name among the memories of Windows."""
    if sys.platform == "win32":
        return memoryview(mmap.mmap(-1, 8 * SLOTS, tagname=str(name))).cast("q")
    return memoryview(mmap.mmap(int(name), 8 * SLOTS)).cast("q")


def _read_command() -> bytes:
    line = sys.stdin.buffer.readline()
    if not line:
        raise EOFError
    return line


def _prepare() -> None:
    """Imports what tasks need, once; every thread but ours stays idle, since the machine's cores have workers."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    from ..analysis.rows import analyze
    from ..hlo.load import parse

    # What is imported late is imported now, so that it does not count as the time of a file.
    analyze(parse("ENTRY e { p = f32[2] parameter(0)  ROOT r = f32[2] negate(p) }")).to_arrow()
    gc.collect()
    gc.freeze()


def _answer(command: dict[str, Any], state: memoryview) -> dict[str, Any]:
    from ..errors import DatasetError
    from .tasks import Task, Verdict
    from .work import analyze_shard

    task = Task(**command["task"])
    verdicts = {int(position): Verdict(*cells) for position, cells in command["verdicts"].items()}
    children.limit_memory(task.memory)

    def begin(position: int, stage: str, n_bytes: int) -> None:
        state[2] = time.monotonic_ns()
        state[1] = STAGES.index(stage)
        state[0] = position
        if stage == "read":
            state[3], state[4] = position, n_bytes

    try:
        report = analyze_shard(task, verdicts, begin)
    except DatasetError as error:
        return {"dataset_error": str(error)}
    except OSError as error:
        return {"output_error": [error.errno, error.strerror or str(error), error.filename]}
    finally:
        state[0] = -1
    return {"report": report.to_dict()}
