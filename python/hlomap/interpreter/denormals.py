"""Flushes denormal numbers to zero, operands and results, as XLA does on CPU.

:func:`flush_denormals` sets the processor's mode for the current thread through the C library's floating-point
environment.  On other processors and C libraries arithmetic keeps denormals.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

_FLUSH_BITS = 0x8040
"""Bits of the SSE control word: flush denormal results to zero, and treat denormal operands as zero."""
_ENVIRONMENT_BYTES, _CONTROL_WORD = 32, 28


@cache
def _library() -> ctypes.CDLL | None:
    """The C library if its environment ends in the SSE control word and setting it takes effect, else None."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        return None
    try:
        library = ctypes.CDLL("libm.so.6")
        before = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
        library.fegetenv(before)
        library.fesetenv(_with_flush_bits(before))
        tiny = np.full(4, 1e-40, np.float32)
        works = not (tiny * np.float32(1)).any()
        library.fesetenv(before)
        return library if works else None
    except (OSError, AttributeError):
        return None


def _with_flush_bits(environment: ctypes.Array[ctypes.c_char]) -> ctypes.Array[ctypes.c_char]:
    word = int.from_bytes(environment.raw[_CONTROL_WORD:_ENVIRONMENT_BYTES], "little") | _FLUSH_BITS
    return ctypes.create_string_buffer(
        environment.raw[:_CONTROL_WORD] + word.to_bytes(_ENVIRONMENT_BYTES - _CONTROL_WORD, "little"),
        _ENVIRONMENT_BYTES,
    )


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treats denormals as zero in this thread until the end of the block."""
    library = _library()
    if library is None:
        yield
        return
    before = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
    library.fegetenv(before)
    library.fesetenv(_with_flush_bits(before))
    try:
        yield
    finally:
        library.fesetenv(before)
