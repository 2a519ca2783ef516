"""Closed forms of the relation of a group over any number of iterations; read :func:`close`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...._core import Expr, IndexingMap
from ....types import ShapeIndex
from ..._rule import Bounds, ExprLike
from ..maps import dim_exprs, full_bounds
from .counter import linear
from .parts import Edge, Group, Piece, Window
from .ranges import drop_ranges, uses
from .stacked import close_window
from .timeline import Timeline
from .unions import MAX_MAPS, covers, joined, keep_time, reduced, without_last_dim

__all__ = ["FindWindow", "close", "moved_by", "pieces_of"]

FindWindow = Callable[[ShapeIndex], Window | None]

MAX_POWERS = 8
"""Iterations after which the relation of a group has to repeat."""

MAX_GROUP = 12
"""Leaves of a group whose relation is computed."""


def close(time: Timeline, group: Group, written: FindWindow) -> None:
    """Finds the relation of a group over any number of iterations; ``written`` gives the window of a leaf."""
    leaves, members = group.leaves, set(group.leaves)
    inside = [e for leaf in leaves for e in group.edges[leaf] if e.target in members]
    if not inside:
        (leaf,) = leaves
        group.kind = "forwarded"
        group.pieces[leaf, leaf] = [time.none(leaf)]
    elif not (
        _close_identity(time, group, inside)
        or _close_powers(time, group, inside)
        or (len(leaves) == 1 and close_window(time, group, inside, written(leaves[0])))
    ):
        _close_general(time, group, inside)


def pieces_of(time: Timeline, group: Group, start: ShapeIndex, leaf: ShapeIndex) -> list[Piece]:
    """The relation of a group, from one leaf to another."""
    if group.common is None:
        return group.pieces.get((start, leaf), [])
    kept = tuple(i if i in group.common else None for i in range(len(time.sizes(leaf))))
    return _dimwise(time, group, start, leaf, kept)


def _close_identity(time: Timeline, group: Group, inside: list[Edge]) -> bool:
    if len(group.leaves) > 1 or any(e.reason for e in inside):
        return False
    (leaf,) = group.leaves
    identity = IndexingMap.identity([*full_bounds(time.sizes(leaf)), (0, max(time.n - 1, 0))])
    n = len(time.sizes(leaf))
    maps = [keep_time(e.map) for e in inside]
    if any(m.ranges or m.runtime for m in maps):
        return False
    stays = [m for m in maps if list(m.results) == [*dim_exprs(n), Expr.dim(n)]]
    others = [m for m in maps if m not in stays]
    unchanged = joined(stays)
    if len(unchanged) != 1 or unchanged[0].simplify(keep_point_dims=True) != identity.simplify(keep_point_dims=True):
        return False
    if others and not covers([identity], others):
        return False
    group.kind = "kept"
    group.pieces[leaf, leaf] = [time.whole(leaf)]
    return True


def _close_powers(time: Timeline, group: Group, inside: list[Edge]) -> bool:
    """A relation that does not depend on the iteration: its powers repeat, or one map moves every dimension."""
    leaves = group.leaves
    if len(leaves) > MAX_GROUP or any(e.map.runtime or not _is_timeless(time, e.map) for e in inside):
        return False
    reason = next((e.reason for e in inside if e.reason), None)
    once: Relation = {}
    for leaf in leaves:
        for e in group.edges[leaf]:
            if e.target in leaves:
                once.setdefault((leaf, e.target), []).append(without_last_dim(e.map))
    once = {pair: reduced(maps) for pair, maps in once.items()}
    if len(leaves) == 1 and _close_moves(time, group, once[leaves[0], leaves[0]], reason):
        return True
    powers = [once]
    repeats = 0
    while len(powers) < min(MAX_POWERS, max(time.n, 1)):
        following = _composed(powers[-1], once, leaves)
        if following is None:
            return False
        repeats = next((k + 1 for k, power in enumerate(powers) if _same(power, following)), 0)
        if repeats:
            break
        powers.append(following)
    if not repeats and len(powers) < time.n:
        return False
    period = len(powers) + 1 - repeats if repeats else 0
    for leaf in leaves:
        group.pieces.setdefault((leaf, leaf), []).append(time.none(leaf))
    for k, power in enumerate(powers, start=1):
        again = period if repeats and k >= repeats else 0
        for (source, target), maps in power.items():
            pieces = group.pieces.setdefault((source, target), [])
            pieces += [Piece(_after(time, source, m, k, again), reason) for m in maps]
    group.kind, group.reason = "recurrence", reason
    return True


def _after(time: Timeline, source: ShapeIndex, m: IndexingMap, k: int, period: int) -> IndexingMap:
    """The map of ``k`` iterations, or of ``k + i * period`` for all i, as one from (element, p, q)."""
    dims, _, _, q, passed = time.dims(source)
    dims[: len(m.dims)] = [(v.lower, v.upper) for v in m.dims]
    constraints: list[tuple[ExprLike, int, int]] = [(c.expr, c.lower, c.upper) for c in m.constraints]
    constraints.append((passed, k, time.n if period else k))
    if period > 1:
        constraints.append((passed % period, k % period, k % period))
    return IndexingMap(dims, [*m.results, q], ranges=m.ranges, constraints=constraints)


def _close_moves(time: Timeline, group: Group, maps: list[IndexingMap], reason: str | None) -> bool:
    """A single map that moves every dimension by a constant, around the end or not."""
    (leaf,) = group.leaves
    if len(maps) != 1 or maps[0].ranges or maps[0].constraints:
        return False
    (m,) = maps
    dims, _, _, q, passed = time.dims(leaf)
    constraints: list[tuple[ExprLike, int, int]] = [(passed, 1, time.n)]
    results: list[ExprLike] = []
    for i, (expr, size) in enumerate(zip(m.results, time.sizes(leaf), strict=True)):
        bounds = (m.dims[i].lower, m.dims[i].upper)
        move, around = moved_by(expr, i, size), expr.kind == "mod"
        if move is None or (around and bounds != (0, size - 1)):
            return False
        moved = Expr.dim(i) + passed * move
        results.append(moved % size if around else moved)
        if not around:
            # Before the first iteration and before the last one; those between lie between.
            constraints += [(Expr.dim(i), *bounds), (moved - move, *bounds)]
    once = IndexingMap(dims, [*results, q], constraints=constraints)
    group.pieces[leaf, leaf] = [time.none(leaf), Piece(once, reason)]
    group.kind, group.reason = "recurrence", reason
    return True


def _is_timeless(time: Timeline, m: IndexingMap) -> bool:
    n = len(m.dims) - 1
    if (m.dims[n].lower, m.dims[n].upper) != (0, max(time.n - 1, 0)):
        return False
    exprs = [*m.results, *(c.expr for c in m.constraints)]
    return not any(uses(e, "dim", n) for e in exprs)


def _close_general(time: Timeline, group: Group, inside: list[Edge]) -> bool:
    """Dimension by dimension: one that every path keeps stays, any other is the whole range."""
    leaves = group.leaves
    why = next((e.reason for e in inside if e.reason), None)
    names = ", ".join(str(list(leaf)) for leaf in leaves[:4])
    what = f"leaf {names} of the loop" if len(leaves) == 1 else f"leaves {names} of the loop depend on each other"
    group.reason = f"{what}: {why or 'its maps change from iteration to iteration'}"
    if len(leaves) > MAX_GROUP:
        group.common = _common_dims(time, leaves, inside)
        return True
    kept: dict[tuple[ShapeIndex, ShapeIndex], tuple[int | None, ...]] = {}
    for leaf in leaves:
        kept[leaf, leaf] = tuple(range(len(time.sizes(leaf))))
        for e in group.edges[leaf]:
            if e.target in leaves:
                _meet(kept, (leaf, e.target), _kept_dims(e.map, time.sizes(leaf)))
    changed = True
    while changed:
        changed = False
        for (a, b), first in list(kept.items()):
            for c in leaves:
                second = kept.get((b, c))
                if second is not None:
                    changed |= _meet(kept, (a, c), tuple(None if i is None else first[i] for i in second))
    for (a, b), dims_of in kept.items():
        group.pieces[a, b] = _dimwise(time, group, a, b, dims_of)
    return True


def _common_dims(time: Timeline, leaves: list[ShapeIndex], inside: list[Edge]) -> frozenset[int]:
    """The dimensions that every edge inside a group keeps, where all leaves have the same sizes."""
    sizes = {time.sizes(leaf) for leaf in leaves}
    common = frozenset(range(len(next(iter(sizes))))) if len(sizes) == 1 else frozenset()
    for e in inside if common else ():
        common &= {i for i, kept in enumerate(_kept_dims(e.map, *sizes)) if kept == i}
    return common


def _dimwise(time: Timeline, group: Group, a: ShapeIndex, b: ShapeIndex, kept: tuple[int | None, ...]) -> list[Piece]:
    """From a leaf to another, after any number of iterations; dimensions without a kept one are whole."""
    dims, own, _, q, passed = time.dims(a)
    ranges: list[Bounds] = []
    results: list[ExprLike] = []
    for i, size in zip(kept, time.sizes(b), strict=True):
        results.append(own[i] if i is not None else Expr.range(len(ranges)))
        ranges += [(0, size - 1)] if i is None else []
    least = 0 if a == b else 1
    if least > time.n or 0 in time.sizes(b):
        return []
    m = IndexingMap(dims, [*results, q], ranges=ranges, constraints=[(passed, least, time.n)])
    return [Piece(m, group.reason)]


# ------------------------------------------------------------------------------------------------------------ relations

Relation = dict[tuple[ShapeIndex, ShapeIndex], list[IndexingMap]]


def _composed(first: Relation, second: Relation, leaves: Sequence[ShapeIndex]) -> Relation | None:
    found: Relation = {}
    for (a, b), maps in first.items():
        for c in leaves:
            for m in maps:
                for k in second.get((b, c), ()):
                    both = m.then(k).simplify(keep_point_dims=True, drop_unused=True)
                    if not both.is_known_empty:
                        found.setdefault((a, c), []).append(drop_ranges(both))
    found = {pair: reduced(maps) for pair, maps in found.items()}
    return found if all(len(maps) <= MAX_MAPS for maps in found.values()) else None


def _same(a: Relation, b: Relation) -> bool:
    return {k: frozenset(v) for k, v in a.items() if v} == {k: frozenset(v) for k, v in b.items() if v}


def _meet(
    kept: dict[tuple[ShapeIndex, ShapeIndex], tuple[int | None, ...]],
    pair: tuple[ShapeIndex, ShapeIndex],
    new: tuple[int | None, ...],
) -> bool:
    """Keeps the dimensions on which both agree; whether that changes anything."""
    before = kept.get(pair)
    kept[pair] = new if before is None else tuple(i if i == j else None for i, j in zip(before, new, strict=True))
    return kept[pair] != before


def moved_by(expr: Expr, dim: int, size: int) -> int | None:
    """The constant by which a result differs from a dim, around the end of the dimension or not."""
    if expr.kind == "mod" and expr.operands[1].value == size:
        expr = expr.operands[0]
    found = linear(expr, dim)
    return found[0] if found is not None and found[1] == 1 else None


def _kept_dims(m: IndexingMap, source: Sequence[int]) -> tuple[int | None, ...]:
    return tuple(e.value if e.kind == "dim" and (e.value or 0) < len(source) else None for e in m.results)
