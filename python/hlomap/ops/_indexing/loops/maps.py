"""Maps through all iterations of a counted loop, without unrolling it.

Read :class:`LoopMaps`.  One iteration relates the leaves of the state after it to those before it: edges between
leaves, whose maps may depend on the iteration ``t``.  A path through the loop stays at a leaf, or in a group of leaves
that depend on each other, for some iterations, and leaves it in one iteration by an edge to another group.  The groups
have no cycle, and the relation of a group over any number of iterations has a closed form where it is exact; so paths
are compositions of few maps, with the iterations in which they change groups as range variables.

A clock counts the iterations that are done: backward a path begins at clock ``T`` and ends at 0, forward the reverse.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache

from ...._core import Expr, IndexingMap, Instruction
from ....types import ShapeIndex, Unknown
from ..._rule import Footprint
from ..maps import dim_exprs, full_bounds
from .counter import CountedLoop
from .edges import Edges, Step
from .forms import FindWindow, close, moved_by, pieces_of
from .parts import Edge, Group, Piece, Reached, Window
from .ranges import count_up, drop_ranges, join_ranges, region_of, tighten
from .stacked import is_within, iteration_of
from .timeline import Timeline
from .unions import MAX_MAPS, by_clock, joined, without_last_result

__all__ = ["LoopMaps"]

_MAX_WAITING = 50


class LoopMaps:
    """The maps through all iterations of one loop in one direction.

    ``step`` gives the maps of one iteration from a leaf, ``written`` the window of a leaf that the body updates.
    ``branch`` is a conditional of which the iteration alone decides the branch: its maps mention all of them.
    """

    def __init__(
        self, loop: CountedLoop, step: Step, written: FindWindow, branch: Instruction | None, *, backward: bool
    ) -> None:
        assert loop.trip_count is not None, "the loop is counted"
        self._time = Timeline(loop.instruction.shape, loop.trip_count, backward=backward)
        self._edges = Edges(loop, step, branch)
        self._written = written
        self._groups: dict[ShapeIndex, Group] = {}
        self._within: dict[tuple[Edge, Window], bool] = {}
        self._clocked: dict[Edge, IndexingMap] = {}
        self._any: dict[ShapeIndex, IndexingMap] = {}
        self._n_waiting = 0
        self._through: dict[tuple[ShapeIndex, bool], dict[ShapeIndex, list[Reached]]] = {}
        """From (element, clock) of a leaf to the end of all paths.  True, forward: the elements were written by the
        iteration before the clock, and are not written again."""

    # ---------------------------------------------------------------------------------------------------------- answers

    def maps(self, start: ShapeIndex, *, anywhere: bool = False) -> Footprint | Unknown:
        """The maps from a leaf to all leaves, each with its leaf.

        Backward they begin at the leaf after all iterations, or with ``anywhere`` after any number of them.
        """
        sizes = self._time.sizes(start)
        if 0 in sizes:
            return Footprint()
        problem = self._find_groups(start)
        if problem is not None:
            return problem
        clock = Expr.range(0) if anywhere else self._time.n if self._time.backward else 0
        ranges = [(0, self._time.n)] if anywhere else []
        begin = IndexingMap(full_bounds(sizes), [*dim_exprs(len(sizes)), clock], ranges=ranges)
        found = {leaf: self._followed(begin, None, reached) for leaf, reached in self._from(start, False).items()}
        return self._footprint(found, self._edges.cross(start))

    def group(self, leaf: ShapeIndex) -> Group | Unknown:
        """The group of a leaf."""
        problem = self._find_groups(leaf)
        return problem if problem is not None else self._groups[leaf]

    def moves(self, leaf: ShapeIndex) -> tuple[int | None, ...]:
        """By how much one iteration moves each dimension of a leaf; None where that is not one number."""
        found: list[int | None] | None = None
        for e in self._groups[leaf].edges[leaf]:
            if e.target == leaf:
                own = [
                    moved_by(expr, i, size)
                    for i, (expr, size) in enumerate(zip(e.map.results, self._time.sizes(leaf), strict=True))
                ]
                found = own if found is None else [a if a == b else None for a, b in zip(found, own, strict=True)]
        return tuple(found if found is not None else [0] * len(self._time.sizes(leaf)))

    def _footprint(self, found: dict[ShapeIndex, list[Reached]], crosses_devices: bool) -> Footprint:
        maps: list[tuple[ShapeIndex, IndexingMap]] = []
        reasons: list[str] = []
        for leaf in sorted(found):
            reached = self._few(found[leaf], leaf)
            reasons += [r.reason for r in reached if r.reason is not None]
            maps += [(leaf, m) for m in _fewest(tuple(r.map for r in reached))]
        if crosses_devices:
            reasons.append("iterations exchange elements between devices")
        return Footprint(tuple(maps), not reasons, reasons[0] if reasons else None, crosses_devices)

    # ----------------------------------------------------------------------------------------------------- compositions

    def _find_paths(self, group: Group) -> None:
        """The maps from (element, clock) of each leaf of a group to all leaves at the end of the paths.

        Those of the groups to which its edges lead are known.  A large group waits until it is asked for.
        """
        if group.common is not None and self._n_waiting < _MAX_WAITING:
            self._n_waiting += 1
            return
        for leaf in group.leaves:
            self._through[leaf, False] = self._paths(group, leaf, written=False)
            if group.window is not None and not self._time.backward:
                self._through[leaf, True] = self._paths(group, leaf, written=True)

    def _from(self, leaf: ShapeIndex, written: bool) -> dict[ShapeIndex, list[Reached]]:
        if (leaf, written) not in self._through:
            self._through[leaf, written] = self._paths(self._groups[leaf], leaf, written=written)
        return self._through[leaf, written]

    def _paths(self, group: Group, start: ShapeIndex, *, written: bool) -> dict[ShapeIndex, list[Reached]]:
        found: dict[ShapeIndex, list[Reached]] = {}
        edges: dict[tuple[ShapeIndex, bool], list[Reached]] = {}
        for leaf in group.leaves:
            for piece in [self._time.whole(leaf)] if written else pieces_of(self._time, group, start, leaf):
                found.setdefault(leaf, []).extend(self._to_end(start, piece))
                for edge in group.edges[leaf]:
                    if self._groups[edge.target] is not group:
                        along = self._along(start, piece, edge, group.window)
                        arrives_written = self._arrives_written(edge)
                        edges.setdefault((edge.target, arrives_written), []).extend(along)
        for arrival, reached in edges.items():
            firsts = _without_contained(reached)
            for leaf, following in self._from(*arrival).items():
                for first in firsts:
                    found.setdefault(leaf, []).extend(self._followed(first.map, first.reason, following))
        return {leaf: self._few(reached, leaf) for leaf, reached in found.items() if reached}

    def _followed(self, first: IndexingMap, reason: str | None, following: list[Reached]) -> list[Reached]:
        return [r for second in following for r in _reached(_then(first, second.map), reason or second.reason)]

    def _to_end(self, start: ShapeIndex, piece: Piece) -> list[Reached]:
        """From (element, clock) by some iterations in a group to the end of the path."""
        sizes = self._time.sizes(start)
        own, p = dim_exprs(len(sizes)), Expr.dim(len(sizes))
        end = 0 if self._time.backward else self._time.n
        m = IndexingMap([*full_bounds(sizes), (0, self._time.n)], [*own, p, end]).then(piece.map)
        return _reached(_simplest(without_last_result(m)), piece.reason)

    def _along(self, start: ShapeIndex, piece: Piece, edge: Edge, window: Window | None) -> list[Reached]:
        """From (element, clock) by some iterations in a group, and one along an edge, to (element, clock)."""
        if window is not None and self._time.backward and self._inside(edge, window):
            # The one iteration that writes the element; later ones do not.
            sizes = self._time.sizes(start)
            own, p = dim_exprs(len(sizes)), Expr.dim(len(sizes))
            t = iteration_of(window, own[window.dim])
            dims = [*full_bounds(sizes), (0, self._time.n)]
            then = IndexingMap(dims, [*own, p, t + 1], constraints=[(t, 0, self._time.n - 1), (p - t, 1, self._time.n)])
            piece = self._time.whole(start)
        else:
            then = self._before_any(start)
        before = _then(then, piece.map)
        return _reached(_then(before, self._edge_by_clock(edge)), piece.reason or edge.reason)

    def _before_any(self, start: ShapeIndex) -> IndexingMap:
        """From (element, clock) to (element, clock, the clock before any iteration)."""
        if start not in self._any:
            sizes = self._time.sizes(start)
            before = Expr.range(0) + 1 if self._time.backward else Expr.range(0)
            dims = [*full_bounds(sizes), (0, self._time.n)]
            results = [*dim_exprs(len(sizes) + 1), before]
            self._any[start] = IndexingMap(dims, results, ranges=[(0, self._time.n - 1)])
        return self._any[start]

    def _arrives_written(self, edge: Edge) -> bool:
        """Whether an edge leads to elements that the same iteration writes, and no later one."""
        window = self._groups[edge.target].window
        return not self._time.backward and window is not None and self._inside(edge, window)

    def _edge_by_clock(self, edge: Edge) -> IndexingMap:
        """The map of an edge from (element, clock before) to (element, clock after)."""
        if edge not in self._clocked:
            self._clocked[edge] = by_clock(edge.map, 1 if self._time.backward else 0)
        return self._clocked[edge]

    def _few(self, entries: list[Reached], leaf: ShapeIndex) -> list[Reached]:
        """Distinct entries; too many become one."""
        distinct = _without_contained(list(dict.fromkeys(entries)))
        if len(distinct) <= MAX_MAPS:
            return distinct
        sizes = self._time.sizes(leaf)
        dims = [
            (min(e.map.dims[i].lower for e in distinct), max(e.map.dims[i].upper for e in distinct))
            for i in range(len(distinct[0].map.dims))
        ]
        whole = IndexingMap(dims, [Expr.range(i) for i in range(len(sizes))], ranges=full_bounds(sizes))
        return [Reached(whole, f"more than {MAX_MAPS} maps to leaf {list(leaf)}")]

    # ----------------------------------------------------------------------------------------------------------- groups

    def _find_groups(self, start: ShapeIndex) -> Unknown | None:
        """Finds the groups that are reached from a leaf: strongly connected components, the last ones first."""
        if start in self._groups:
            return None
        number: dict[ShapeIndex, int] = {}
        low: dict[ShapeIndex, int] = {}
        stack: list[ShapeIndex] = []
        on_stack: set[ShapeIndex] = set()
        path: list[tuple[ShapeIndex, Iterator[ShapeIndex]]] = []

        def enter(leaf: ShapeIndex) -> Unknown | None:
            edges = self._edges.find(leaf)
            if isinstance(edges, Unknown):
                return edges
            number[leaf] = low[leaf] = len(number)
            stack.append(leaf)
            on_stack.add(leaf)
            path.append((leaf, iter(dict.fromkeys(e.target for e in edges))))
            return None

        problem = enter(start)
        while path and problem is None:
            leaf, targets = path[-1]
            following = next(targets, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[leaf])
                if low[leaf] == number[leaf]:
                    at = len(stack) - 1
                    while stack[at] != leaf:
                        at -= 1
                    self._close(sorted(stack[at:]))
                    on_stack -= set(stack[at:])
                    del stack[at:]
            elif following in self._groups:
                continue
            elif following not in number:
                problem = enter(following)
            elif following in on_stack:
                low[leaf] = min(low[leaf], number[following])
        return problem

    def _close(self, leaves: list[ShapeIndex]) -> None:
        """Makes a group, with its relation over any number of iterations."""
        group = Group(leaves, {leaf: self._edges[leaf] for leaf in leaves})
        for leaf in leaves:
            self._groups[leaf] = group
        close(self._time, group, self._written)
        self._find_paths(group)

    def _inside(self, edge: Edge, window: Window) -> bool:
        """Whether an edge relates only elements of the window: backward its first elements, forward the last ones."""
        if (edge, window) not in self._within:
            self._within[edge, window] = is_within(self._time, edge.map, window)
        return self._within[edge, window]


# ------------------------------------------------------------------------------------------------- maps to a leaf


def _without_contained(entries: list[Reached]) -> list[Reached]:
    """The entries without those that another one plainly contains."""
    if len(entries) < 2:
        return entries
    kept: dict[int, Reached] = {}
    regions = [region_of(e.map) for e in entries]
    alike: dict[Hashable, list[int]] = {}
    for i, (e, own) in enumerate(zip(entries, regions, strict=True)):
        others = alike.setdefault(own.form, [])
        if any(_stands_for(kept[k], e) and regions[k].contains(own) for k in others):
            continue
        for k in [k for k in others if _stands_for(e, kept[k]) and own.contains(regions[k])]:
            del kept[k]
            others.remove(k)
        others.append(i)
        kept[i] = e
    return list(kept.values())


def _stands_for(a: Reached, b: Reached) -> bool:
    return a.reason is None or b.reason is not None


def _reached(m: IndexingMap, reason: str | None) -> list[Reached]:
    return [] if m.is_known_empty else [Reached(m, reason)]


# The leaves of a loop have few maps that differ: about one in eight.


@lru_cache(maxsize=1 << 13)
def _then(first: IndexingMap, second: IndexingMap) -> IndexingMap:
    return _simplest(first.then(second))


@lru_cache(maxsize=1 << 13)
def _simplest(m: IndexingMap) -> IndexingMap:
    return drop_ranges(m.simplify(drop_unused=True))


@lru_cache(maxsize=1 << 11)
def _fewest(maps: tuple[IndexingMap, ...]) -> tuple[IndexingMap, ...]:
    """The same union in few maps, as one would write them."""
    return tuple(tighten(m) for m in join_ranges(joined([count_up(m) for m in maps])))
