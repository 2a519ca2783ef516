"""Denormal numbers as XLA has them on CPU: they count as zero, in and out.

:func:`flushed` sets the processor's mode for the thread that runs, through the C library's floating-point environment.
Where that is not known (other processors, other libraries), arithmetic keeps denormals and nothing else changes.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

__all__ = ["flushed"]

_FLUSH = 0x8040
"""Of the SSE control word: results that are denormal become zero, and operands that are denormal count as zero."""
_ENVIRONMENT_BYTES, _CONTROL_WORD = 32, 28


@cache
def _library() -> ctypes.CDLL | None:
    """The C library, where its environment ends in the SSE control word and setting it takes effect."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        return None
    try:
        library = ctypes.CDLL("libm.so.6")
        before = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
        library.fegetenv(before)
        library.fesetenv(_flushing(before))
        tiny = np.full(4, 1e-40, np.float32)
        works = not (tiny * np.float32(1)).any()
        library.fesetenv(before)
        return library if works else None
    except (OSError, AttributeError):
        return None


def _flushing(environment: ctypes.Array[ctypes.c_char]) -> ctypes.Array[ctypes.c_char]:
    word = int.from_bytes(environment.raw[_CONTROL_WORD:_ENVIRONMENT_BYTES], "little") | _FLUSH
    return ctypes.create_string_buffer(
        environment.raw[:_CONTROL_WORD] + word.to_bytes(_ENVIRONMENT_BYTES - _CONTROL_WORD, "little"),
        _ENVIRONMENT_BYTES,
    )


@contextmanager
def flushed() -> Iterator[None]:
    """Denormals count as zero in this thread until the end of the block."""
    library = _library()
    if library is None:
        yield
        return
    before = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
    library.fegetenv(before)
    library.fesetenv(_flushing(before))
    try:
        yield
    finally:
        library.fesetenv(before)
