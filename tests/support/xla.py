"""XLA's own parser in a child process: bad input can abort it, and then only that input is lost.

Tests call :func:`reprint` and :func:`serialized`; run as a program, this file is the child.  ``HLOMAP_XLA_PYTHON``
names the Python with another jaxlib than that of the tests.  Cases marked ``// xla 2026-08`` need :func:`reads_recent`.
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from support.child import Child, Ended, serve

_CHILD = Child(os.environ.get("HLOMAP_XLA_PYTHON", sys.executable), __file__)


def reprint(sources: list[str | bytes]) -> list[str | None]:
    """XLA's text of each HLO text (str) or HloModuleProto (bytes); ``None`` where XLA rejects it or aborts."""
    return _asked("text", sources)


def serialized(sources: list[str | bytes]) -> list[bytes | None]:
    """XLA's HloModuleProto of each; ``None`` where XLA rejects it or aborts."""
    return _asked("proto", sources)


@functools.cache
def reads_recent() -> bool:
    """Whether this XLA reads what came in August 2026, such as ``order`` of a comparison."""
    text = "ENTRY e { p = s32[] parameter(0) ROOT r = pred[] compare(p, p), direction=LT, order=TOTAL }"
    return reprint([text]) != [None]


def readable(text: str) -> str:
    """A text without what this XLA cannot read: ``is_stable`` of a topk, which a proto leaves out if it is false."""
    return text if reads_recent() else text.replace(", is_stable=false", "")


def _asked(form: str, sources: list[str | bytes]) -> list[Any]:
    answers = [_CHILD.ask((form, source)) for source in sources]
    return [None if isinstance(answer, Ended) else answer for answer in answers]


def _reader() -> Any:
    """The compiled module of jaxlib with the parser; its name depends on the version."""
    try:
        from jaxlib import _hlo

        return _hlo
    except ImportError:
        from jaxlib.xla_client import _xla

        return _xla


def _answer(request: tuple[str, str | bytes]) -> str | bytes | None:
    form, source = request
    xla = _reader()
    options = xla.HloPrintOptions()
    options.print_large_constants = True
    try:
        if isinstance(source, str):
            module = xla.hlo_module_from_text(source)
        else:
            module = xla.HloModule.from_serialized_hlo_module_proto(source)
        return module.as_serialized_hlo_module_proto() if form == "proto" else module.to_string(options)  # type: ignore[no-any-return]
    except Exception:
        return None


if __name__ == "__main__":
    serve(_answer)
