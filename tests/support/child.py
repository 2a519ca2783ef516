"""A program of this folder as a child process: a request that ends it loses only its own answer.

Tests have a :class:`Child`; the program calls :func:`serve`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from threading import Timer
from typing import Any, NamedTuple

SECONDS = 600


class Ended(NamedTuple):
    """Takes the place of the answer to a request that has ended the child."""

    code: int
    errors: str


class Child:
    """A child that begins with the first request, and again after one that has ended it."""

    def __init__(self, *command: str, **environment: str) -> None:
        self._command, self._environment = command, environment
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self._close)

    def ask(self, request: object) -> Any:
        """The answer to a request, or :class:`Ended`, also where it takes longer than :data:`SECONDS`."""
        process = self._process or self._begin()
        assert process.stdin and process.stdout
        timer = Timer(SECONDS, process.kill)
        timer.start()
        try:
            pickle.dump(request, process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            code = process.wait()
            self._errors.seek(0)
            errors = self._errors.read().decode(errors="replace")
            self._close()
            assert "ImportError" not in errors and "ModuleNotFoundError" not in errors, errors[-2000:]
            return Ended(code, errors)
        finally:
            timer.cancel()

    def _begin(self) -> subprocess.Popen[bytes]:
        self._errors = tempfile.TemporaryFile()
        pipe, environment = subprocess.PIPE, {**os.environ, **self._environment}
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=self._errors, env=environment)
        return self._process

    def _close(self) -> None:
        process, self._process = self._process, None
        if process:
            with contextlib.suppress(BrokenPipeError), self._errors, process:
                assert process.stdin
                process.stdin.close()


def serve(answer: Callable[[Any], object]) -> None:
    """Answers requests until there are no more."""
    # XLA may write to standard output, so the answers use a duplicate of the descriptor.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(answer(request), out)
        out.flush()
