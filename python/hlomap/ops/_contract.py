"""Sums of products of arrays, as XLA accumulates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._numeric import converted, is_float, widened
from ._op import Array


def sum_of_products(
    a: Array, a_axes: Sequence[int], b: Array, b_axes: Sequence[int], out: Sequence[int], to: np.dtype[Any]
) -> Array:
    """``einsum`` with numbered axes; small floats accumulate in f32, integers in the result's type, pred as any-of."""
    if to == np.bool_:
        work: np.dtype[Any] = np.dtype(np.int64)
    else:
        work = widened(to)
        if is_float(to) or to.kind == "c":
            work = np.result_type(work, widened(a.dtype), widened(b.dtype))
            work = np.dtype(np.float32) if work == np.float16 else work
    with np.errstate(all="ignore"):
        total = np.einsum(a.astype(work), list(a_axes), b.astype(work), list(b_axes), list(out))
    return converted(np.asarray(total), to) if to == np.bool_ or is_float(to) else np.asarray(total).astype(to)
