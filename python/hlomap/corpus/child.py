"""The worker process: reads tasks from standard input, writes reports to standard output.

:mod:`hlomap.corpus.supervisor` is the other side.  The process ends with its parent, however the
parent ended, because standard input closes then.  A separate process limits the damage that a file can do, and keeps
the workers of an engine from waiting for the interpreter lock.
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
"""64-bit numbers that both sides share: the position of the file (-1: none), the index of the stage in ``STAGES``, the
start of the stage (ns), and the files and bytes of this task before the file."""

STAGES = ("read", "analyze", "write")
"""The stages of a file.  Time in ``write``, before the first file and after the last is charged to the worker."""

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
    """The shared numbers: in an open file, or in a named memory of Windows."""
    if sys.platform == "win32":
        return memoryview(mmap.mmap(-1, 8 * SLOTS, tagname=str(name))).cast("q")
    return memoryview(mmap.mmap(int(name), 8 * SLOTS)).cast("q")


def _read_command() -> bytes:
    line = sys.stdin.buffer.readline()
    if not line:
        raise EOFError
    return line


def _prepare() -> None:
    """Imports the modules that tasks need, once, and keeps libraries from starting threads: each core has a worker."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    from ..analysis.rows import analyze
    from ..hlo.load import parse

    # Triggers the late imports now, so that they do not count as the time of a file.
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
