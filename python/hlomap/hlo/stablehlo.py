"""Converts StableHLO text and bytecode to HLO modules with the MLIR in jaxlib.

MLIR runs in a child process, since a damaged program can crash it.  The child serves one program after another, which
saves its start-up time of a second, and ends after a minute without requests.  A program that crashes it is an error.
A message is one byte for its kind, eight bytes for the length of its data, little endian, and the data.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import tempfile
from typing import IO

from ..base import children
from ..errors import HloSyntaxError, UnsupportedError

TEXT, BYTECODE = b"t", b"b"
"""Requests: a program as text in UTF-8, or as bytecode."""

CONVERTED, REFUSED, MISSING = b"c", b"r", b"m"
"""Answers: a serialized HloModuleProto, MLIR's message, or that jaxlib cannot be imported."""

_SECONDS, _BYTES_PER_SECOND = 30.0, 50_000


def can_convert() -> bool:
    """Whether jaxlib is installed."""
    return importlib.util.find_spec("jaxlib") is not None


def to_hlo_proto(source: str | bytes, name: str | None) -> bytes:
    """The HloModuleProto of a StableHLO program: text, bytecode or a serialized ``jax.export`` artifact.

    ``name`` is the file name for messages.  Raises :class:`~hlomap.errors.HloSyntaxError` with MLIR's message if the
    program cannot be converted, and :class:`~hlomap.errors.UnsupportedError` if jaxlib is not installed.  The
    limits are 30 seconds plus one for each 50 kB, and on Linux 4 GiB of memory plus 200 bytes for each byte.
    """
    if not can_convert():
        raise _missing(name)
    request = (TEXT, source.encode("utf-8", "replace")) if isinstance(source, str) else (BYTECODE, source)
    while True:
        converter = _idle.pop() if _idle else _Converter()
        is_new = converter.is_new
        try:
            kind, data = converter.convert(*request)
        except _Ended as end:
            if is_new:
                raise _rejected(name, f"a program that crashes MLIR's converter: {end}") from None
            continue  # an earlier program may have damaged the child, or it ended because it was idle
        _idle.append(converter)
        if kind == CONVERTED:
            return data
        if kind == MISSING:
            raise _missing(name)
        raise _rejected(name, f"a program that MLIR cannot convert: {data.decode('utf-8', 'replace')}")


def time_limit(n_bytes: int) -> float:
    """The time limit for a program of ``n_bytes``, in seconds; MLIR converts a few megabytes per second."""
    return _SECONDS + n_bytes / _BYTES_PER_SECOND


def read_message(stream: IO[bytes]) -> tuple[bytes, bytes]:
    """The kind and the data of a message; raises ``EOFError``."""
    head = stream.read(9)
    n = int.from_bytes(head[1:], "little")
    data = stream.read(n) if len(head) == 9 else b""
    if len(head) < 9 or len(data) < n:
        raise EOFError
    return head[:1], data


def write_message(stream: IO[bytes], kind: bytes, data: bytes) -> None:
    """Sends a message."""
    stream.write(kind + len(data).to_bytes(8, "little"))
    stream.write(data)
    stream.flush()


def _missing(name: str | None) -> UnsupportedError:
    where = f"{name}: " if name else ""
    return UnsupportedError(f"{where}StableHLO needs jaxlib: pip install 'hlomap[jax]'")


def _rejected(name: str | None, found: str) -> HloSyntaxError:
    expected = "a StableHLO program"
    where = name or "<stablehlo>"
    return HloSyntaxError(f"{where}: expected {expected}, found {found}", filename=name, expected=expected)


class _Ended(Exception):
    """The child ended before it answered."""


class _Converter:
    """A child process that converts programs, one at a time."""

    def __init__(self) -> None:
        self.is_new = True
        self._messages = tempfile.TemporaryFile()
        found = children.start("hlomap.interop.stablehlo_child", self._messages)
        self._process, self._requests, self._answers = found

    def convert(self, kind: bytes, source: bytes) -> tuple[bytes, bytes]:
        """The answer to a request; raises :class:`_Ended`."""
        try:
            write_message(self._requests, kind, source)
            answer = read_message(self._answers)
        except (EOFError, OSError):
            reason = self._reason(len(source))
            self.close()
            raise _Ended(reason) from None
        except BaseException:  # after an interrupt the next request would read this answer
            self.close()
            raise
        self.is_new = False
        return answer

    def close(self) -> None:
        """Ends the process at once."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for stream in (self._requests, self._answers, self._messages):
            with contextlib.suppress(OSError):
                stream.close()

    def _reason(self, n_bytes: int) -> str:
        with contextlib.suppress(OSError):
            self._requests.close()
        code = self._process.wait()
        size = self._messages.seek(0, os.SEEK_END)
        self._messages.seek(max(0, size - 4096))
        lines = self._messages.read().decode("utf-8", "replace").splitlines()
        if any(line.startswith("Timeout (") for line in lines):
            return f"it takes more than {time_limit(n_bytes):.0f} seconds"
        reason = children.signal_name(code) or f"exit code {code}"
        said = next((line for line in lines if "ERROR" in line or "Error" in line), None)
        return f"{reason} ({said.strip()[:300]})" if said else reason


# Idle children, at most one for each thread that converted at the same time.
_idle: list[_Converter] = []


@atexit.register
def _close_idle() -> None:
    while _idle:
        _idle.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # they belong to the parent
