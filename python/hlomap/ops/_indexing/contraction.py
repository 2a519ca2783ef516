"""Maps between arrays whose dimensions have labels: dimensions with equal labels have equal indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._core import Expr
from .._rule import Bounds, ExprLike


def map_by_labels(
    source: Sequence[str],
    target: Sequence[str],
    sizes: Mapping[str, int],
    *,
    source_blocks: Mapping[str, int] | None = None,
    target_blocks: Mapping[str, int] | None = None,
) -> tuple[list[Bounds], list[ExprLike], list[Bounds]]:
    """Dimensions, results and ranges of the map from an array with labels ``source`` to one with labels ``target``.

    ``source_blocks`` and ``target_blocks`` give block lengths by label: along such a dimension the array has one
    element for each block of ``sizes[label]`` elements.  A range counts elements, also where the target has blocks: so
    it is the range of the same label in a target without.
    """
    own, theirs = source_blocks or {}, target_blocks or {}
    ranges: list[Bounds] = []

    def new_range(n: int) -> Expr:
        ranges.append((0, n - 1))
        return Expr.range(len(ranges) - 1)

    results: list[ExprLike] = []
    for label in target:
        block = theirs.get(label, 1)
        if label not in source:
            results.append(new_range(sizes[label]) // block if block > 1 else new_range(sizes[label]))
            continue
        index: Expr = Expr.dim(source.index(label))
        if own.get(label, 1) > 1:
            index = index * own[label] + new_range(own[label])
        results.append(index // block if block > 1 else index)
    return [(0, sizes[label] // own.get(label, 1) - 1) for label in source], results, ranges
