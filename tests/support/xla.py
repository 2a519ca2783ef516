"""XLA's own parser in a child process: bad input can abort it, and then only that input is lost.

Tests call :func:`reprint` and :func:`serialized`; run as a program, this file is the child.  ``HLOMAP_XLA_PYTHON``
names the Python with another jaxlib than that of the tests.  Cases marked ``// xla 2026-08`` need :func:`reads_recent`.
"""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
from typing import Any


def reprint(sources: list[str | bytes]) -> list[str | None]:
    """XLA's text of each HLO text (str) or HloModuleProto (bytes); ``None`` where XLA rejects it or aborts."""
    return _run_child("text", sources)


def serialized(sources: list[str | bytes]) -> list[bytes | None]:
    """XLA's HloModuleProto of each; ``None`` where XLA rejects it or aborts."""
    return _run_child("proto", sources)


@functools.cache
def reads_recent() -> bool:
    """Whether this XLA reads what came in August 2026, such as ``order`` of a comparison."""
    text = "ENTRY e { p = s32[] parameter(0) ROOT r = pred[] compare(p, p), direction=LT, order=TOTAL }"
    return reprint([text]) != [None]


def readable(text: str) -> str:
    """A text without what this XLA cannot read: ``is_stable`` of a topk, which a proto leaves out if it is false."""
    return text if reads_recent() else text.replace(", is_stable=false", "")


def _run_child(form: str, sources: list[str | bytes]) -> list[Any]:
    results: list[Any] = []
    while len(results) < len(sources):
        rest = sources[len(results) :]
        command = [os.environ.get("HLOMAP_XLA_PYTHON", sys.executable), __file__, form]
        child = subprocess.run(command, input=pickle.dumps(rest), capture_output=True, timeout=600)
        decoded = _decode_results(child.stdout)
        if child.returncode == 0:
            assert len(decoded) == len(rest), child.stderr[-2000:]
        elif len(decoded) < len(rest):
            if b"ImportError" in child.stderr or b"ModuleNotFoundError" in child.stderr:
                raise AssertionError(child.stderr.decode(errors="replace")[-2000:])
            decoded.append(None)
        results += decoded
    return results


def _decode_results(data: bytes) -> list[Any]:
    found: list[Any] = []
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        found.append(pickle.loads(data[at + 8 : at + 8 + size]))
        at += 8 + size
    return found


def _reader() -> Any:
    """The compiled module of jaxlib with the parser; its name depends on the version."""
    try:
        from jaxlib import _hlo

        return _hlo
    except ImportError:
        from jaxlib.xla_client import _xla

        return _xla


def main() -> None:
    sources = pickle.load(sys.stdin.buffer)
    # XLA may write to standard output, so the results use a duplicate of the descriptor.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    xla = _reader()
    options = xla.HloPrintOptions()
    options.print_large_constants = True
    for source in sources:
        try:
            if isinstance(source, str):
                module = xla.hlo_module_from_text(source)
            else:
                module = xla.HloModule.from_serialized_hlo_module_proto(source)
            proto = sys.argv[1] == "proto"
            result = module.as_serialized_hlo_module_proto() if proto else module.to_string(options)
        except Exception:
            result = None
        data = pickle.dumps(result)
        out.write(len(data).to_bytes(8, "little") + data)
        out.flush()


if __name__ == "__main__":
    main()
