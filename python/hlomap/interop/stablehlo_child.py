"""The process that converts StableHLO with the MLIR in jaxlib, which a damaged program can crash.

:func:`main` serves requests on standard input until it closes; :mod:`hlomap.hlo.stablehlo` is the other side.  Each
request has a limit of time and, on systems that support it, of memory.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import sys
from typing import Any

from ..base import children
from ..hlo.stablehlo import CONVERTED, MISSING, REFUSED, TEXT, read_message, time_limit, write_message

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
        # The timer's thread does not need the interpreter lock, which MLIR may hold.
        faulthandler.dump_traceback_later(time_limit(len(source)), exit=True)
        children.limit_memory(_MEMORY + _GROWTH * len(source))
        write_message(answers, *_answer(mlir, kind, source))
        faulthandler.cancel_dump_traceback_later()


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
