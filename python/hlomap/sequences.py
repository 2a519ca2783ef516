"""Sequences from callers: their lengths may lie, and they may have no end."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["MAX_ITEMS", "as_array", "bounded"]

T = TypeVar("T")

MAX_ITEMS = 1 << 20
"""The most items of a sequence that is no array, list or tuple."""

_SIZED = (memoryview, str, bytes, int, float, complex)
_SEQUENCES = (list, tuple)
_ARRAY_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")


def bounded(values: Iterable[T]) -> list[T]:
    """The items of a sequence; :class:`ValueError` if there are more than :data:`MAX_ITEMS`.

    >>> bounded(range(3))
    [0, 1, 2]
    """
    if type(values) in (list, tuple):  # a subclass may have other items, and no end
        return list(values)
    found = list(islice(values, MAX_ITEMS + 1))
    if len(found) > MAX_ITEMS:
        raise ValueError(f"expected at most {MAX_ITEMS} items, found more")
    return found


def as_array(values: Any) -> npt.NDArray[Any]:
    """The values as :func:`numpy.asarray` gives them; it would read a sequence without an end to the last item.

    >>> as_array(range(3)).tolist()
    [0, 1, 2]
    """
    import numpy as np  # which parsing a module does without: it takes five times as long to import as hlomap

    is_array = (
        type(values) in _SEQUENCES
        or isinstance(values, _SIZED)
        or any(hasattr(values, name) for name in _ARRAY_PROTOCOLS)
    )
    if not is_array and hasattr(values, "__len__") and hasattr(values, "__getitem__"):
        values = bounded(values)
    return np.asarray(values)
