"""Runs tasks in a child process that a file may kill.

Read :func:`run_task` first: it is what every engine maps over shards, in a thread of whatever process the engine gives.
A child that dies is replaced and the shard begun again; a file that does it repeatedly, or takes too long, gets a row
that tells so.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from dataclasses import asdict
from typing import Any

from .child import SLOTS
from .folder import OutputError
from .manifest import DatasetError
from .reports import Report
from .tasks import Task, Verdict, timeout_message

__all__ = ["Child", "Children", "run_task"]

_MAX_DEATHS = 3  # of a child killed from outside while it works on one file
_MAX_OWN_DEATHS = 2  # of a child that ended itself: a signal of the processor, or out of memory
_GRACE = 1.0  # seconds for the child to notice by itself that a file's time is over
_OUTSIDE = {"SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"}


class ChildDied(Exception):
    """The child ended in a task; ``position`` and ``stage`` are those of the file it worked on."""

    def __init__(self, message: str, position: int | None, stage: str, kind: str) -> None:
        super().__init__(message)
        self.position = position
        self.stage = stage
        self.kind = kind


def run_task(task: Task) -> Report:
    """Analyzes a shard in a child of this process and returns its counts; see :meth:`Children.run_task`."""
    return _children.run_task(task)


class Children:
    """The child processes of one process; each serves one thread at a time."""

    def __init__(self, n: int = 0) -> None:
        """Starts ``n`` children, which import what they need while the plan is made."""
        self._is_closed = False
        self.busy: set[Child] = set()
        self._idle = [Child() for _ in range(n)]

    def run_task(self, task: Task) -> Report:
        """Analyzes a shard in a child and returns its counts.

        Raises :class:`OutputError` or :class:`DatasetError` where the output fails.
        """
        verdicts: dict[int, Verdict] = {}
        deaths: Counter[tuple[int | None, str]] = Counter()
        while True:
            child = self._take()
            try:
                answer = child.run(task, verdicts)
            except ChildDied as death:
                child.kill()
                if self._is_closed:
                    raise RuntimeError("the run ended while its workers were busy") from None
                if death.kind == "timed out" and death.position is not None:
                    verdicts[death.position] = Verdict("timed out", str(death), death.stage)
                    continue
                kind = "outside" if death.kind in _OUTSIDE else "own"
                deaths[death.position, kind] += 1
                if deaths[death.position, kind] < (_MAX_DEATHS if kind == "outside" else _MAX_OWN_DEATHS):
                    continue
                if death.position is None:
                    raise OutputError(0, f"a worker cannot start: {death}") from None
                verdicts[death.position] = Verdict("crashed", _crash_message(death, task), death.stage)
            except BaseException:
                child.close()
                raise
            else:
                self._idle.append(child)
                if "report" in answer:
                    return Report.from_dict(answer["report"])
                if "dataset_error" in answer:
                    raise DatasetError(answer["dataset_error"])
                raise OutputError(*answer["output_error"])
            finally:
                self.busy.discard(child)

    def at_work(self) -> tuple[int, int]:
        """Files and bytes that children have done of the tasks they are at."""
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
    """A child process, and the memory in which it tells what it is doing."""

    def __init__(self) -> None:
        fd, path = tempfile.mkstemp(prefix="hlomap-")
        os.truncate(fd, 8 * SLOTS)
        self._memory = mmap.mmap(fd, 8 * SLOTS)
        self.state: memoryview[int] = memoryview(self._memory).cast("q")
        self.state[0] = -1
        os.close(fd)
        # sys.path as it is here: hlomap may be on it by the doing of the program that calls it.
        code = "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
        code += "from hlomap.corpus.child import main; main()"
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **single, "ARROW_DEFAULT_MEMORY_POOL": "system"},
            start_new_session=True,  # an interrupt from the terminal reaches the coordinator alone
        )
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._messages: deque[str] = deque(maxlen=5)
        self._readers = [
            threading.Thread(target=self._read_answers, daemon=True),
            threading.Thread(target=self._read_messages, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self._send(sys.path)
        self._send(path)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, task: Task, verdicts: dict[int, Verdict]) -> dict[str, Any]:
        """The answer to a task; raises :class:`ChildDied`."""
        cells = {position: [v.status, v.message, v.stage] for position, v in verdicts.items()}
        self.state[0], self.state[3], self.state[4] = -1, 0, 0
        self._send({"task": asdict(task), "verdicts": cells})
        while True:
            try:
                answer = self._answers.get(timeout=self._patience(task))
            except queue.Empty:
                position, stage = self.state[0], "analyze" if self.state[1] else "read"
                if position >= 0 and self._age(position) > (task.timeout or 0.0) + _GRACE:
                    self.kill()
                    raise ChildDied(timeout_message(task.timeout), position, stage, "timed out") from None
                continue
            if answer is None:
                raise self._death()
            found: dict[str, Any] = json.loads(answer)
            return found

    def close(self) -> None:
        """Ends the process; it removes its temporary files, if it can."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
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
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _patience(self, task: Task) -> float | None:
        if task.timeout is None:
            return None
        position = self.state[0]
        left = task.timeout + _GRACE - (self._age(position) if position >= 0 else 0.0)
        return max(left, 0.01)

    def _age(self, position: int) -> float:
        """Seconds since the current file began; 0 where it is another one by now."""
        age = (time.monotonic_ns() - self.state[2]) / 1e9
        return age if self.state[0] == position else 0.0

    def _death(self) -> ChildDied:
        code = self._process.wait()
        position = self.state[0] if self.state[0] >= 0 else None
        stage = "analyze" if self.state[1] else "read"
        for reader in self._readers:
            reader.join()
        kind = ""
        if code < 0:
            with contextlib.suppress(ValueError):
                kind = signal.Signals(-code).name
        message = f"the worker was killed by {kind}" if kind else f"the worker ended with exit code {code}"
        if self._messages and kind not in _OUTSIDE:
            message += f": {self._messages[-1]}"
        return ChildDied(message, position, stage, kind)

    def _send(self, value: object) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has died; the end of its answers tells
            self._process.stdin.write(json.dumps(value).encode() + b"\n")
            self._process.stdin.flush()

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _read_messages(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = line.decode("utf-8", "replace").strip()
            if text:
                self._messages.append(text[:300])


_children = Children()
