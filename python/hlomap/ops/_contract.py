"""Products of arrays whose dimensions have labels: which elements meet, and their sums as XLA accumulates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core import Expr
from ._numeric import converted, is_float, widened
from ._op import Array, Bounds, ExprLike


def linked(
    source: Sequence[str],
    target: Sequence[str],
    sizes: Mapping[str, int],
    *,
    source_blocks: Mapping[str, int] | None = None,
    target_blocks: Mapping[str, int] | None = None,
) -> tuple[list[Bounds], list[ExprLike], list[Bounds]]:
    """Dimensions, results and ranges of the map between arrays where equal labels have equal indices.

    Along a label with a block length, an array has one element for each block.
    """
    own, theirs = source_blocks or {}, target_blocks or {}
    ranges: list[Bounds] = []

    def any_of(n: int) -> Expr:
        ranges.append((0, n - 1))
        return Expr.range(len(ranges) - 1)

    results: list[ExprLike] = []
    for label in target:
        block = theirs.get(label, 1)
        if label not in source:
            results.append(any_of(sizes[label] // block))
            continue
        index: Expr = Expr.dim(source.index(label))
        if own.get(label, 1) > 1:
            index = index * own[label] + any_of(own[label])
        results.append(index // block if block > 1 else index)
    return [(0, sizes[label] // own.get(label, 1) - 1) for label in source], results, ranges


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
