"""Child processes that may crash on their input: starting them, serving requests, and limiting their memory.

The parent calls :func:`start`; the child calls :func:`answers` and :func:`requests`.  A child ends when its standard
input closes, however its parent ended.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any, TypeVar

_T = TypeVar("_T")
_own_limits: set[int] = set()


def start(module: str, stderr: int | IO[bytes], **more: Any) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
    """A process that runs ``main()`` of a module, its standard input and its standard output."""
    # The child gets this process's sys.path, which the calling program may have modified.
    code = f"import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); from {module} import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        # An interrupt from the terminal is for this process, which then ends the child.
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        **more,
    )
    assert process.stdin is not None and process.stdout is not None
    send(process.stdin, json.dumps(sys.path).encode() + b"\n")
    return process, process.stdin, process.stdout


def send(stream: IO[bytes], message: bytes) -> None:
    """Sends a message to a process that may have ended; the reader of its answers notices that."""
    with suppress(OSError):
        stream.write(message)
        stream.flush()


def signal_name(code: int) -> str:
    """The signal that ended a process with this exit code, such as ``SIGKILL``; empty for none."""
    return next((s.name for s in signal.Signals if s == -code), "")


def answers() -> IO[bytes]:
    """The standard output of this child, reserved for answers: ``print`` goes to standard error."""
    found = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return found


def requests(read: Callable[[], _T], idle: float, at_end: Callable[[], object]) -> Iterator[_T]:
    """Results of ``read`` until it raises ``EOFError``; the process ends then, or after ``idle`` seconds without
    one."""
    waiting: queue.SimpleQueue[_T] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                waiting.put(read())
        except (EOFError, OSError):
            at_end()
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        try:
            yield waiting.get(timeout=idle)
        except queue.Empty:
            os._exit(0)


def limit_memory(n_bytes: int | None) -> None:
    """Limits the memory of this process, if the system can; a lower limit from the start of the process remains."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = hard if n_bytes is None else n_bytes if hard == resource.RLIM_INFINITY else min(n_bytes, hard)
    if soft == resource.RLIM_INFINITY or soft in _own_limits or soft > limit != resource.RLIM_INFINITY:
        _own_limits.add(limit)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
