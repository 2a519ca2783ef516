"""Groups of one leaf of which every iteration writes another window: stacked arrays, and cumulative sums."""

from __future__ import annotations

from ...._core import Expr, IndexingMap
from ....types import ShapeIndex
from ..._rule import INT64_MAX, ExprLike
from ..maps import dim_exprs, full_bounds
from .parts import Edge, Group, Piece, Window
from .ranges import same_elements
from .timeline import Timeline
from .unions import covers, keep_time, tight, with_constraint

__all__ = ["close_window", "is_within", "iteration_of"]


def close_window(time: Timeline, group: Group, inside: list[Edge], window: Window | None) -> bool:
    """A leaf that keeps its elements but for a window, which is another one in every iteration."""
    (leaf,) = group.leaves
    if any(e.reason or e.map.runtime for e in inside):
        return False
    if window is None or not window.step or not window.disjoint or time.n < 1:
        return False
    outside = _outside(time, leaf, window)
    kept = [keep_time(e.map) for e in inside]
    if tight(kept) != tight(outside) and not same_elements(kept, outside):
        return _close_chain(time, group, window, kept, outside)
    group.window = window
    group.kind = "stacked"
    group.pieces[leaf, leaf] = _unwritten(time, leaf, window)
    return True


def _unwritten(time: Timeline, leaf: ShapeIndex, window: Window) -> list[Piece]:
    """The elements that no iteration between two clocks writes."""
    dims, own, p, q, passed = time.dims(leaf)
    at = own[window.dim]
    a, b, w = window.step, window.start, window.size
    low, high = (q, p) if time.backward else (p, q)
    size = time.sizes(leaf)[window.dim]
    far = size + abs(a) * time.n + abs(b) + w
    choices: list[tuple[ExprLike, int, int]] = []
    if a > 0:
        choices += [(at - high * a, b, far), (at - low * a, -far, b - 1)]
    else:
        choices += [(at - high * a, -far, b + w - 1), (at - low * a, b + w, far)]
    if w < abs(a):
        choices.append(((at - b) % abs(a), w, abs(a) - 1))
    for i, first, last in window.fixed:
        choices += [(own[i], 0, first - 1), (own[i], last + 1, time.sizes(leaf)[i] - 1)]
    return [
        Piece(IndexingMap(dims, [*own, q], constraints=[(passed, 0, time.n), choice]))
        for choice in choices
        if choice[1] <= choice[2]
    ]


def _close_chain(
    time: Timeline, group: Group, window: Window, kept: list[IndexingMap], outside: list[IndexingMap]
) -> bool:
    """A leaf of which every iteration writes one element from one at a constant distance, as a cumulative sum.

    The written element may also read itself.
    """
    (leaf,) = group.leaves
    sizes, n = time.sizes(leaf), len(time.sizes(leaf))
    identity = IndexingMap.identity([*full_bounds(sizes), (0, time.n - 1)])
    stays = [m for m in kept if m.results == identity.results]
    hops = [m for m in kept if m.results != identity.results and not covers([identity], [m])]
    distances = {_distance(time, m, window) for m in hops}
    distance = distances.pop() if len(distances) == 1 else None
    if window.size != 1 or window.fixed or not distance or any(m.ranges for m in kept):
        return False
    itself = covers(stays, [identity])
    if not itself and not (covers(stays, outside) and covers(outside, stays)):
        return False
    # Backward the first element is the written one, forward the last.
    at = Expr.dim(window.dim)
    move = distance if time.backward else -distance
    written = at if time.backward else at + move
    moved = [e + move if i == window.dim else e for i, e in enumerate(identity.results)]
    hop = IndexingMap(
        identity.dims,
        moved,
        constraints=[
            (written - Expr.dim(n) * window.step, window.start, window.start),
            (at + move, 0, sizes[window.dim] - 1),
        ],
    )
    if not (covers(hops, [hop]) and covers([hop], hops)):
        return False
    group.kind = "recurrence"
    group.pieces[leaf, leaf] = [
        *([time.whole(leaf)] if itself else _unwritten(time, leaf, window)),
        _hops(time, leaf, window, distance, itself=itself),
    ]
    return True


def _distance(time: Timeline, m: IndexingMap, window: Window) -> int | None:
    """How far from the element that an iteration writes the one is that it reads."""
    lower, upper = m.bounds(m.results[window.dim] - Expr.dim(window.dim))
    return None if lower != upper else lower if time.backward else -lower


def _hops(time: Timeline, leaf: ShapeIndex, window: Window, distance: int, *, itself: bool) -> Piece:
    """One or more iterations that each read the element at a distance from the one that they write."""
    dims, own, p, q, _ = time.dims(leaf)
    a, size, k = window.step, time.sizes(leaf)[window.dim], Expr.range(0)
    on_lattice = distance % abs(a) == 0
    later = distance // a if on_lattice else 0  # from one such iteration to the next one backward
    several = on_lattice and later < 0
    # Backward the first of them writes the element, forward it reads it.
    at = own[window.dim] if time.backward else own[window.dim] - distance
    first = (at - window.start) // a if a > 0 else (-at + window.start) // -a
    last = first + (k - 1) * later if time.backward else first - (k - 1) * later
    moved = own[window.dim] + k * (distance if time.backward else -distance)
    far = 2 * time.n + size + abs(distance) + abs(window.start)
    constraints: list[tuple[ExprLike, int, int]] = [
        ((at - window.start) % abs(a), 0, 0),
        (first, 0, time.n - 1),
        (moved, 0, size - 1),
        (p - first, 1, time.n) if time.backward else (first - p, 0, time.n),
        (last - q, 0, time.n) if time.backward else (q - last, 1, time.n),
    ]
    if several and not itself:
        # The element that is not followed further is not written between the clocks.
        constraints.append((last + later - q, -far, -1) if time.backward else (first + later - p, -far, -1))
    results = [moved if i == window.dim else e for i, e in enumerate(own)]
    return Piece(IndexingMap(dims, [*results, q], ranges=[(1, time.n if several else 1)], constraints=constraints))


def _outside(time: Timeline, leaf: ShapeIndex, window: Window) -> list[IndexingMap]:
    """The identity on the elements that iteration t does not write; the last dim, and result, is t."""
    sizes = time.sizes(leaf)
    n = len(sizes)
    dims = [*full_bounds(sizes), (0, time.n - 1)]
    distance = Expr.dim(window.dim) - Expr.dim(n) * window.step - window.start
    far = sizes[window.dim] + abs(window.step) * time.n + abs(window.start)
    choices: list[tuple[ExprLike, int, int]] = [(distance, -far, -1), (distance, window.size, far)]
    for i, first, last in window.fixed:
        choices += [(Expr.dim(i), 0, first - 1), (Expr.dim(i), last + 1, sizes[i] - 1)]
    maps = [IndexingMap(dims, dim_exprs(n + 1), constraints=[c]) for c in choices if c[1] <= c[2]]
    return [m for m in (m.simplify(keep_point_dims=True) for m in maps) if not m.is_known_empty]


def is_within(time: Timeline, m: IndexingMap, window: Window) -> bool:
    """Whether an edge relates only elements of the window: backward its first elements, forward the last ones."""
    n = len(m.dims) - 1
    at = dim_exprs(n) if time.backward else list(m.results)
    far = INT64_MAX // 4
    distance = at[window.dim] - Expr.dim(n) * window.step - window.start
    outside: list[tuple[ExprLike, int, int]] = [(distance, -far, -1), (distance, window.size, far)]
    for i, first, last in window.fixed:
        outside += [(at[i], -far, first - 1), (at[i], last + 1, far)]
    return all(with_constraint(m, c).is_empty().equal is True for c in outside)


def iteration_of(window: Window, at: Expr) -> Expr:
    """The one iteration in whose window an index may lie."""
    if window.step > 0:
        return (at - window.start) // window.step
    return (-at + (window.start + window.size - 1)) // -window.step
