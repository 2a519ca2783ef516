"""The process that converts StableHLO with the MLIR in jaxlib, which a damaged program can crash.

:func:`main` serves requests on standard input until it closes; :mod:`hlomap.interop.stablehlo` is the other side.  A
message is a kind of one byte, the length of its data in eight bytes, little endian, and the data.  Each request has a
limit of time and, where the system has them, of memory.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import sys
from typing import IO, Any

from .. import children

TEXT, BYTECODE = b"t", b"b"
"""Requests: a program as text in UTF-8, or as bytecode."""

CONVERTED, REFUSED, MISSING = b"c", b"r", b"m"
"""Answers: a serialized HloModuleProto, MLIR's message, or that jaxlib cannot be imported."""

_SECONDS, _BYTES_PER_SECOND = 30.0, 50_000
_MEMORY, _GROWTH = 4 << 30, 200  # bytes for a program, and for each of its bytes
_IDLE_SECONDS = 60.0


def main() -> None:
    """Serves requests until standard input closes or none has come for a minute."""
    answers = children.answers()
    requests = children.requests(lambda: read_message(sys.stdin.buffer), _IDLE_SECONDS, lambda: os._exit(0))
    try:
        mlir = _import_mlir()
    except ImportError:
        mlir = None
    for kind, source in requests:
        # Its thread does not need the interpreter lock, which MLIR may hold.
        faulthandler.dump_traceback_later(time_limit(len(source)), exit=True)
        children.limit_memory(_MEMORY + _GROWTH * len(source))
        write_message(answers, *_answer(mlir, kind, source))
        faulthandler.cancel_dump_traceback_later()


def time_limit(n_bytes: int) -> float:
    """Seconds for a program of so many bytes; MLIR converts a few megabytes per second."""
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


def _answer(mlir: Any, kind: bytes, source: bytes) -> tuple[bytes, bytes]:
    if mlir is None:
        return MISSING, b""
    try:
        program = source.decode() if kind == TEXT else source
        computation = mlir.mlir_module_to_xla_computation(program, False, False)
        return CONVERTED, computation.as_serialized_hlo_module_proto()
    except Exception as error:
        return REFUSED, str(error).strip().encode("utf-8", "replace")


def _import_mlir() -> Any:
    """The MLIR module of jaxlib, whose import path depends on the version."""
    try:
        from jaxlib import _jax

        return _jax.mlir
    except ImportError:
        return importlib.import_module("jaxlib.xla_extension").mlir
