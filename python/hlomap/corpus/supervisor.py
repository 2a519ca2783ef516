"""Runs tasks in a child process, which a file may crash.

Every engine maps :func:`run_task` over shards, in a thread of the engine's process.  A child that dies is replaced and
the shard begun again; a file that repeatedly kills its child, or takes too long, gets a row with that error.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter, deque
from dataclasses import asdict
from typing import Any

from ..base import children
from ..errors import DatasetError, OutputError
from .child import SLOTS, STAGES, map_memory
from .reports import CorpusReport
from .tasks import Task, Verdict, timeout_message

_MAX_DEATHS = 3  # of children killed from outside while they work on one file
_MAX_IDLE_DEATHS = 10  # of children killed from outside between files: a machine may kill the workers of several runs
_MAX_CRASHES = 2  # of a child that ended itself: a signal of the processor, or out of memory
_GRACE = 1.0  # seconds for the child to notice by itself that a file's time is up
_STALL_SECONDS = 600.0  # for a child to start, to read its list of files, or to write a part, on the slowest of disks
_OUTSIDE = {"SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"}


class ChildDied(Exception):
    """The child ended in a task; ``position`` and ``stage`` are those of the file it worked on."""

    def __init__(self, message: str, position: int | None, stage: str, kind: str) -> None:
        super().__init__(message)
        self.position = position
        self.stage = stage
        self.kind = kind


def run_task(task: Task) -> CorpusReport:
    """Analyzes a shard in a child of this process and returns its counts; see :meth:`Children.run_task`."""
    return _children.run_task(task)


class Children:
    """The child processes of one process; each serves one thread at a time."""

    def __init__(self, stall: float = _STALL_SECONDS) -> None:
        """A child that spends ``stall`` seconds on anything but a file is replaced."""
        self._is_closed = False
        self._stall = stall
        self.busy: set[Child] = set()
        self._idle: list[Child] = []

    def run_task(self, task: Task) -> CorpusReport:
        """Analyzes a shard in a child and returns its counts.

        Raises :class:`OutputError` or :class:`DatasetError` if the output fails.
        """
        verdicts: dict[int, Verdict] = {}
        deaths: Counter[tuple[int | None, str]] = Counter()
        while True:
            child = self._take()
            try:
                answer = child.run(task, verdicts, self._stall)
            except ChildDied as death:
                child.kill()
                if self._is_closed:
                    raise RuntimeError("the run ended while its workers were busy") from None
                if death.kind == "timed out" and death.position is not None:
                    verdicts[death.position] = Verdict("timed out", str(death), death.stage)
                    continue
                kind, most = "own", _MAX_CRASHES
                if death.kind in _OUTSIDE:
                    kind, most = "outside", _MAX_IDLE_DEATHS if death.position is None else _MAX_DEATHS
                deaths[death.position, kind] += 1
                if deaths[death.position, kind] < most:
                    continue
                if death.position is None:
                    problem = "hangs" if death.kind == "stalled" else "cannot start"
                    raise OutputError(0, f"a worker {problem}: {death}") from None
                verdicts[death.position] = Verdict("crashed", _crash_message(death, task), death.stage)
            except BaseException:
                child.close()
                raise
            else:
                self._idle.append(child)
                if "report" in answer:
                    return CorpusReport.from_dict(answer["report"])
                if "dataset_error" in answer:
                    raise DatasetError(answer["dataset_error"])
                raise OutputError(*answer["output_error"])
            finally:
                self.busy.discard(child)

    def at_work(self) -> tuple[int, int]:
        """Files and bytes that children have finished in their current tasks."""
        children = list(self.busy)
        return sum(child.state[3] for child in children), sum(child.state[4] for child in children)

    def close(self) -> None:
        """Ends all children; tasks that are running fail."""
        self._is_closed = True
        for child in [*self._idle, *self.busy]:
            child.close()
        self._idle.clear()

    def _take(self) -> Child:
        while True:
            try:
                child = self._idle.pop()
            except IndexError:
                child = Child()
            if child.is_alive:
                self.busy.add(child)
                return child
            child.close()


def _crash_message(death: ChildDied, task: Task) -> str:
    if task.memory is None or death.kind in _OUTSIDE:
        return str(death)
    return f"{death}; the limit of memory is {task.memory / 1e6:.0f} MB"


class Child:
    """A child process, and the shared memory in which it reports its progress."""

    def __init__(self) -> None:
        name, inherited = _name_of_memory()
        self.state: memoryview[int] = map_memory(name)
        self.state[0] = -1
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment = {**os.environ, **single, "ARROW_DEFAULT_MEMORY_POOL": "system"}
        found = children.start("hlomap.corpus.child", subprocess.PIPE, env=environment, pass_fds=inherited)
        self._process, self._commands, self._output = found
        for fd in inherited:
            os.close(fd)
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._messages: deque[str] = deque(maxlen=5)
        self._readers = [
            threading.Thread(target=self._read_answers, daemon=True),
            threading.Thread(target=self._read_messages, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self._send(name)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, task: Task, verdicts: dict[int, Verdict], stall: float) -> dict[str, Any]:
        """The answer to a task; raises :class:`ChildDied`."""
        self.state[0], self.state[3], self.state[4] = -1, 0, 0
        self.state[2] = time.monotonic_ns()
        self._send({"task": asdict(task), "verdicts": verdicts})
        left = min(stall, (task.timeout or stall) + _GRACE)
        while True:
            try:
                answer = self._answers.get(timeout=max(left, 0.01))
            except queue.Empty:
                left = self._time_left(task, stall)
                continue
            if answer is None:
                raise self._death()
            found: dict[str, Any] = json.loads(answer)
            return found

    def close(self) -> None:
        """Ends the process; it removes its temporary files, if it can."""
        with contextlib.suppress(OSError):
            self._commands.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        self.kill()

    def kill(self) -> None:
        """Ends the process at once."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self._commands, self._output, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _time_left(self, task: Task, stall: float) -> float:
        """Seconds until the next look; raises :class:`ChildDied` if the time of a file, or of the child, is over."""
        position, stage, since = self.state[0], self.state[1], self.state[2]
        is_file = position >= 0 and STAGES[stage] != "write"
        limit = stall if not is_file else None if task.timeout is None else task.timeout + _GRACE
        if limit is None:
            return stall
        left = limit - (time.monotonic_ns() - since) / 1e9
        if left > 0.0 or tuple(self.state[:3]) != (position, stage, since):  # it has moved on
            return min(left, stall, (task.timeout or stall) + _GRACE)
        self.kill()
        if is_file:
            raise ChildDied(timeout_message(task.timeout), position, STAGES[stage], "timed out")
        raise ChildDied(f"no progress for {stall:g} seconds", None, "read", "stalled")

    def _death(self) -> ChildDied:
        code = self._process.wait()
        position = self.state[0] if self.state[0] >= 0 else None
        stage = STAGES[min(self.state[1], 1)]
        for reader in self._readers:
            reader.join()
        kind = children.signal_name(code)
        message = f"the worker was killed by {kind}" if kind else f"the worker ended with exit code {code}"
        if self._messages and kind not in _OUTSIDE:
            message += f": {self._messages[-1]}"
        return ChildDied(message, position, stage, kind)

    def _send(self, value: object) -> None:
        children.send(self._commands, json.dumps(value).encode() + b"\n")

    def _read_answers(self) -> None:
        for line in self._output:
            self._answers.put(line)
        self._answers.put(None)

    def _read_messages(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = line.decode("utf-8", "replace").strip()
            if text:
                self._messages.append(text[:300])


def _name_of_memory() -> tuple[int | str, tuple[int, ...]]:
    """A name for :func:`map_memory`, and the open files that the child inherits.

    The memory never outlives the two processes, since no file has a name.
    """
    if sys.platform == "win32":
        return f"hlomap-{uuid.uuid4().hex}", ()
    if hasattr(os, "memfd_create"):  # independent of the temporary folder, which may be full
        fd = os.memfd_create("hlomap")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.truncate(fd, 8 * SLOTS)
    return fd, (fd,)


_children = Children()
