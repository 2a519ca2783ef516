"""The window of dynamic-slice and dynamic-update-slice as NumPy slices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._evaluation import Value


def window_slices(offsets: Sequence[Value], sizes: Sequence[int], window: Sequence[int]) -> tuple[slice, ...]:
    """The slices of a window at offsets, scalars or one vector, clamped so that the window fits."""
    values = [int(x) for offset in offsets for x in np.asarray(offset).reshape(-1)]
    starts = [min(max(x, 0), size - extent) for x, size, extent in zip(values, sizes, window, strict=True)]
    return tuple(slice(start, start + extent) for start, extent in zip(starts, window, strict=True))
