"""Maps through all iterations of a counted loop, without unrolling it.

Read :class:`LoopMaps`.  One iteration relates the leaves of the state after it to those before it: edges between
leaves, whose maps may depend on the iteration ``t``.  A path through the loop stays at a leaf, or in a group of leaves
that depend on each other, for some iterations, and leaves it in one iteration by an edge to another group.  The groups
have no cycle, and the relation of a group over any number of iterations has a closed form where it is exact; so paths
are compositions of few maps, with the iterations in which they change groups as range variables.

A clock counts the iterations that are done: backward a path begins at clock ``T`` and ends at 0, forward the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

from ..._core import Constraint, Expr, IndexingMap, Instruction, Variable, _coalesce
from ...maps.map_set import MapSet
from ...types import ShapeIndex, Unknown
from .._rule import INT64_MAX, Bounds, ExprLike, Footprint, OperandIndexing
from .._shapes import shape_at
from .loop_counter import CountedLoop, linear
from .maps import dim_exprs, full_bounds
from .ranges import count_up, drop_ranges, join_ranges, region_of, same_elements, tighten, uses
from .scalar_values import Scalar, is_forwarded, is_invariant

MAX_MAPS = 64
"""Maps to one leaf; more become one map of the whole array."""

MAX_POWERS = 8
"""Iterations after which the relation of a group has to repeat."""

MAX_GROUP = 12
"""Leaves of a group whose relation is computed."""

_MAX_WAITING = 50

_CALLS = 2**62  # from here on, numbers of sources are those of values in nested calls


@dataclass(frozen=True, slots=True)
class Edge:
    """One iteration from a leaf to another: a map whose last dim is the iteration."""

    target: ShapeIndex
    map: IndexingMap
    reason: str | None = None
    """Why the map may contain too much."""

    @property
    def at_iteration(self) -> bool:
        """Whether each iteration reaches other elements."""
        n = len(self.map.dims) - 1
        return any(uses(e, "dim", n) for e in self.map.results)


@dataclass(frozen=True, slots=True)
class Reached:
    """A map from the leaf that was asked for to a leaf."""

    map: IndexingMap
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """What a dynamic-update-slice writes in iteration ``t``: a box, in one dimension from ``start + step * t``."""

    dim: int
    start: int
    step: int
    size: int
    fixed: tuple[tuple[int, int, int], ...]
    """The other dimensions that the box does not fill: (dimension, first, last)."""

    @property
    def disjoint(self) -> bool:
        """Whether iterations write different elements."""
        return abs(self.step) >= self.size


@dataclass(frozen=True, slots=True)
class Piece:
    """A relation of elements of a leaf at clock ``p`` to elements at clock ``q``: a map from (element, p, q)."""

    map: IndexingMap
    reason: str | None = None


@dataclass
class Group:
    """Leaves that depend on each other over iterations."""

    leaves: list[ShapeIndex]
    edges: dict[ShapeIndex, list[Edge]] = field(default_factory=dict)
    """To all leaves, inside the group and outside."""
    kind: str = "general"
    reason: str | None = None
    common: frozenset[int] | None = None
    """Of a large group: the dimensions that every edge in it keeps; a path in it may reach the whole of the others."""
    window: Window | None = None
    pieces: dict[tuple[ShapeIndex, ShapeIndex], list[Piece]] = field(default_factory=dict)


Step = Callable[[ShapeIndex], OperandIndexing]
FindWindow = Callable[[ShapeIndex], Window | None]


class LoopMaps:
    """The maps through all iterations of one loop in one direction.

    ``step`` gives the maps of one iteration from a leaf, ``written`` the window of a leaf that the body updates.
    ``branch`` is a conditional of which the iteration alone decides the branch: its maps mention all of them.
    """

    def __init__(
        self, loop: CountedLoop, step: Step, written: FindWindow, branch: Instruction | None, *, backward: bool
    ) -> None:
        assert loop.trip_count is not None, "the loop is counted"
        self._loop = loop
        self._step = step
        self._written = written
        self._branch = branch
        self._backward = backward
        self._n = loop.trip_count
        self._shape = loop.instruction.shape
        self._known_sizes: dict[ShapeIndex, tuple[int, ...]] = {}
        self._edges: dict[ShapeIndex, list[Edge]] = {}
        self._groups: dict[ShapeIndex, Group] = {}
        self._within: dict[tuple[Edge, Window], bool] = {}
        self._clocked: dict[Edge, IndexingMap] = {}
        self._any: dict[ShapeIndex, IndexingMap] = {}
        self._n_waiting = 0
        self._crossing: set[ShapeIndex] = set()
        """Leaves of which one iteration reaches elements on other devices."""
        self._through: dict[tuple[ShapeIndex, bool], dict[ShapeIndex, list[Reached]]] = {}
        """From (element, clock) of a leaf to the end of all paths.  True, forward: the elements were written by the
        iteration before the clock, and are not written again."""

    # ---------------------------------------------------------------------------------------------------------- answers

    def maps(self, start: ShapeIndex, *, anywhere: bool = False) -> Footprint | Unknown:
        """The maps from a leaf to all leaves, each with its leaf.

        Backward they begin at the leaf after all iterations, or with ``anywhere`` after any number of them.
        """
        sizes = self._sizes(start)
        if 0 in sizes:
            return Footprint()
        problem = self._find_groups(start)
        if problem is not None:
            return problem
        clock = Expr.range(0) if anywhere else self._n if self._backward else 0
        ranges = [(0, self._n)] if anywhere else []
        begin = IndexingMap(full_bounds(sizes), [*dim_exprs(len(sizes)), clock], ranges=ranges)
        found = {leaf: self._followed(begin, None, reached) for leaf, reached in self._from(start, False).items()}
        return self._footprint(found, self._crosses(start))

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
                    _move(expr, i, size)
                    for i, (expr, size) in enumerate(zip(e.map.results, self._sizes(leaf), strict=True))
                ]
                found = own if found is None else [a if a == b else None for a, b in zip(found, own, strict=True)]
        return tuple(found if found is not None else [0] * len(self._sizes(leaf)))

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

    def _crosses(self, start: ShapeIndex) -> bool:
        """Whether an iteration exchanges elements of a leaf that is reached."""
        pending, seen = [start], {start}
        while pending and self._crossing:
            leaf = pending.pop()
            if leaf in self._crossing:
                return True
            following = {e.target for e in self._edges[leaf]} - seen
            seen |= following
            pending += following
        return False

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
            if group.window is not None and not self._backward:
                self._through[leaf, True] = self._paths(group, leaf, written=True)

    def _from(self, leaf: ShapeIndex, written: bool) -> dict[ShapeIndex, list[Reached]]:
        if (leaf, written) not in self._through:
            self._through[leaf, written] = self._paths(self._groups[leaf], leaf, written=written)
        return self._through[leaf, written]

    def _pieces(self, group: Group, start: ShapeIndex, leaf: ShapeIndex) -> list[Piece]:
        if group.common is None:
            return group.pieces.get((start, leaf), [])
        kept = tuple(i if i in group.common else None for i in range(len(self._sizes(leaf))))
        return self._dimwise(group, start, leaf, kept)

    def _paths(self, group: Group, start: ShapeIndex, *, written: bool) -> dict[ShapeIndex, list[Reached]]:
        found: dict[ShapeIndex, list[Reached]] = {}
        edges: dict[tuple[ShapeIndex, bool], list[Reached]] = {}
        for leaf in group.leaves:
            for piece in [self._whole_time(leaf)] if written else self._pieces(group, start, leaf):
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
        sizes = self._sizes(start)
        own, p = dim_exprs(len(sizes)), Expr.dim(len(sizes))
        end = 0 if self._backward else self._n
        m = IndexingMap([*full_bounds(sizes), (0, self._n)], [*own, p, end]).then(piece.map)
        return _reached(_simplest(_without_last_result(m)), piece.reason)

    def _along(self, start: ShapeIndex, piece: Piece, edge: Edge, window: Window | None) -> list[Reached]:
        """From (element, clock) by some iterations in a group, and one along an edge, to (element, clock)."""
        if window is not None and self._backward and self._inside(edge, window):
            # The one iteration that writes the element; later ones do not.
            sizes = self._sizes(start)
            own, p = dim_exprs(len(sizes)), Expr.dim(len(sizes))
            t = _iteration_of(window, own[window.dim])
            dims = [*full_bounds(sizes), (0, self._n)]
            then = IndexingMap(dims, [*own, p, t + 1], constraints=[(t, 0, self._n - 1), (p - t, 1, self._n)])
            piece = self._whole_time(start)
        else:
            then = self._before_any(start)
        before = _then(then, piece.map)
        return _reached(_then(before, self._edge_by_clock(edge)), piece.reason or edge.reason)

    def _before_any(self, start: ShapeIndex) -> IndexingMap:
        """From (element, clock) to (element, clock, the clock before any iteration)."""
        if start not in self._any:
            sizes = self._sizes(start)
            before = Expr.range(0) + 1 if self._backward else Expr.range(0)
            dims = [*full_bounds(sizes), (0, self._n)]
            results = [*dim_exprs(len(sizes) + 1), before]
            self._any[start] = IndexingMap(dims, results, ranges=[(0, self._n - 1)])
        return self._any[start]

    def _arrives_written(self, edge: Edge) -> bool:
        """Whether an edge leads to elements that the same iteration writes, and no later one."""
        window = self._groups[edge.target].window
        return not self._backward and window is not None and self._inside(edge, window)

    def _edge_by_clock(self, edge: Edge) -> IndexingMap:
        """The map of an edge from (element, clock before) to (element, clock after)."""
        if edge not in self._clocked:
            self._clocked[edge] = _by_clock(edge.map, 1 if self._backward else 0)
        return self._clocked[edge]

    def _few(self, entries: list[Reached], leaf: ShapeIndex) -> list[Reached]:
        """Distinct entries; too many become one."""
        distinct = _without_contained(list(dict.fromkeys(entries)))
        if len(distinct) <= MAX_MAPS:
            return distinct
        sizes = self._sizes(leaf)
        dims = [
            (min(e.map.dims[i].lower for e in distinct), max(e.map.dims[i].upper for e in distinct))
            for i in range(len(distinct[0].map.dims))
        ]
        whole = IndexingMap(dims, [Expr.range(i) for i in range(len(sizes))], ranges=full_bounds(sizes))
        return [Reached(whole, f"more than {MAX_MAPS} maps to leaf {list(leaf)}")]

    # ------------------------------------------------------------------------------------------------------------ edges

    def _sizes(self, leaf: ShapeIndex) -> tuple[int, ...]:
        if leaf not in self._known_sizes:
            self._known_sizes[leaf] = shape_at(self._shape, leaf).dimensions
        return self._known_sizes[leaf]

    def _edges_of(self, leaf: ShapeIndex) -> list[Edge] | Unknown:
        if leaf not in self._edges:
            part = self._step(leaf)
            if isinstance(part, Unknown):
                return part
            if part.crosses_devices:
                self._crossing.add(leaf)
            reason = None if part.exact else part.reason or "the body is over-approximate"
            if self._branch is not None and not is_forwarded(self._loop.body, leaf):
                reason = reason or f"the iteration decides which branch of {self._branch.name} runs"
            self._edges[leaf] = [e for target, m in part.maps for e in self._timed(target, m, reason)]
        return self._edges[leaf]

    def _timed(self, target: ShapeIndex, m: IndexingMap, reason: str | None) -> Iterator[Edge]:
        """A map of one iteration with the iteration as its last dim, instead of offsets that depend on it."""
        if not self._n or m.is_known_empty:
            return
        time = Expr.dim(len(m.dims))
        ranges: list[Variable | Bounds] = [(v.lower, v.upper) for v in m.ranges]
        runtime: list[Variable] = []
        choices: list[list[tuple[Expr, list[tuple[ExprLike, int, int]]]]] = []
        for v in m.runtime:
            value = self._offset(v)
            if value is None and self._is_invariant(v):
                choices.append([(Expr.runtime(len(runtime)), [])])
                runtime.append(Variable(None, v.lower, v.upper, source=v.source, index=v.index))
            elif value is None:
                reason = reason or f"the offset {self._name(v)} depends on data"
                choices.append([(Expr.range(len(ranges)), [])])
                ranges.append((v.lower, v.upper))
            elif value.expr.kind == "dim" and value.expr.value:
                source = self._loop.symbols[value.expr.value - 1]
                choices.append([(Expr.runtime(len(runtime)), [])])
                runtime.append(Variable(None, v.lower, v.upper, source=source))
            elif any(uses(value.expr, "dim", k + 1) for k in range(len(self._loop.symbols))):
                reason = reason or f"the offset {self._name(v)} depends on data"
                choices.append([(Expr.range(len(ranges)), [])])
                ranges.append((v.lower, v.upper))
            else:
                choices.append(_clamped(value, v, time))
        for choice in product(*choices):
            values = [expr for expr, _ in choice]
            constraints: list[tuple[ExprLike, int, int]] = [
                (c.expr.substitute(runtime=values), c.lower, c.upper) for c in m.constraints
            ]
            constraints += [c for _, own in choice for c in own]
            timed = IndexingMap(
                [*((v.lower, v.upper) for v in m.dims), (0, self._n - 1)],
                [e.substitute(runtime=values) for e in m.results],
                ranges=ranges,
                runtime=runtime,
                constraints=constraints,
            )
            timed = timed.simplify(keep_point_dims=True, drop_unused=True)
            if not timed.is_known_empty:
                yield Edge(target, timed, reason)

    def _name(self, v: Variable) -> str:
        found = self._supplier(v)
        return "of a dynamic access" if found is None else found[0].name

    def _supplier(self, v: Variable) -> tuple[Instruction, tuple[Instruction, ...]] | None:
        """The instruction with the value of a runtime variable, and the calls that lead to it."""
        module = self._loop.instruction.module
        n, source = module.n_instructions, v.source
        if source is None or not 0 <= source < _CALLS:
            return None
        if source < n:
            return module.instruction(source), ()
        caller = source // n - 1
        return (module.instruction(source % n), (module.instruction(caller),)) if caller < n else None

    def _is_invariant(self, v: Variable) -> bool:
        """Whether a runtime variable has the same value in every iteration."""
        found = self._supplier(v)
        if found is None or any(e.kind != "constant" for e in v.index):
            return False
        return is_invariant(self._loop.body, *found, sum(e.value or 0 for e in v.index))

    def _offset(self, v: Variable) -> Scalar | None:
        """The value of a runtime variable as an expression over the iteration and symbols."""
        found = self._supplier(v)
        if found is None or self._loop.values is None or not found[0].shape.is_array:
            return None
        if any(e.kind != "constant" for e in v.index):
            return None
        # Of a vector at most one index is not 0.
        element = sum(e.value or 0 for e in v.index)
        value = self._loop.values.of(found[0], (), found[1], element=element)
        return value if isinstance(value, Scalar) else None

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
            edges = self._edges_of(leaf)
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
        inside = [e for leaf in leaves for e in group.edges[leaf] if self._groups.get(e.target) is group]
        if not inside:
            (leaf,) = leaves
            group.kind = "forwarded"
            group.pieces[leaf, leaf] = [self._no_time(leaf)]
        elif not (self._close_identity(group, inside) or self._close_powers(group, inside)):
            self._close_window(group, inside) or self._close_general(group, inside)
        self._find_paths(group)

    def _close_identity(self, group: Group, inside: list[Edge]) -> bool:
        if len(group.leaves) > 1 or any(e.reason for e in inside):
            return False
        (leaf,) = group.leaves
        identity = IndexingMap.identity([*full_bounds(self._sizes(leaf)), (0, max(self._n - 1, 0))])
        n = len(self._sizes(leaf))
        maps = [_keep_time(e.map) for e in inside]
        if any(m.ranges or m.runtime for m in maps):
            return False
        stays = [m for m in maps if list(m.results) == [*dim_exprs(n), Expr.dim(n)]]
        others = [m for m in maps if m not in stays]
        joined = _joined(stays)
        if len(joined) != 1 or joined[0].simplify(keep_point_dims=True) != identity.simplify(keep_point_dims=True):
            return False
        if others and not _covers([identity], others):
            return False
        group.kind = "kept"
        group.pieces[leaf, leaf] = [self._whole_time(leaf)]
        return True

    def _clock_dims(self, leaf: ShapeIndex) -> tuple[list[Bounds], list[Expr], Expr, Expr, Expr]:
        """The dims (element, p, q) of a piece: bounds, the element, p, q, and the number of iterations between."""
        n = len(self._sizes(leaf))
        p, q = Expr.dim(n), Expr.dim(n + 1)
        dims = [*full_bounds(self._sizes(leaf)), (0, self._n), (0, self._n)]
        return dims, dim_exprs(n), p, q, (p - q if self._backward else q - p)

    def _whole_time(self, leaf: ShapeIndex) -> Piece:
        """Every element stays where it is, for any number of iterations."""
        dims, own, _, q, passed = self._clock_dims(leaf)
        return Piece(IndexingMap(dims, [*own, q], constraints=[(passed, 0, self._n)]))

    def _no_time(self, leaf: ShapeIndex) -> Piece:
        """No iteration passes."""
        dims, own, _, q, passed = self._clock_dims(leaf)
        return Piece(IndexingMap(dims, [*own, q], constraints=[(passed, 0, 0)]))

    def _close_powers(self, group: Group, inside: list[Edge]) -> bool:
        """A relation that does not depend on the iteration: its powers repeat, or one map moves every dimension."""
        leaves = group.leaves
        if len(leaves) > MAX_GROUP or any(e.map.runtime or not self._is_timeless(e.map) for e in inside):
            return False
        reason = next((e.reason for e in inside if e.reason), None)
        once: Relation = {}
        for leaf in leaves:
            for e in group.edges[leaf]:
                if e.target in leaves:
                    once.setdefault((leaf, e.target), []).append(_without_last_dim(e.map))
        once = {pair: _reduced(maps) for pair, maps in once.items()}
        if len(leaves) == 1 and self._close_moves(group, once[leaves[0], leaves[0]], reason):
            return True
        powers = [once]
        repeats = 0
        while len(powers) < min(MAX_POWERS, max(self._n, 1)):
            following = _composed(powers[-1], once, leaves)
            if following is None:
                return False
            repeats = next((k + 1 for k, power in enumerate(powers) if _same(power, following)), 0)
            if repeats:
                break
            powers.append(following)
        if not repeats and len(powers) < self._n:
            return False
        period = len(powers) + 1 - repeats if repeats else 0
        for leaf in leaves:
            group.pieces.setdefault((leaf, leaf), []).append(self._no_time(leaf))
        for k, power in enumerate(powers, start=1):
            again = period if repeats and k >= repeats else 0
            for (source, target), maps in power.items():
                pieces = group.pieces.setdefault((source, target), [])
                pieces += [Piece(self._after(source, m, k, again), reason) for m in maps]
        group.kind, group.reason = "recurrence", reason
        return True

    def _after(self, source: ShapeIndex, m: IndexingMap, k: int, period: int) -> IndexingMap:
        """The map of ``k`` iterations, or of ``k + i * period`` for all i, as one from (element, p, q)."""
        dims, _, _, q, passed = self._clock_dims(source)
        dims[: len(m.dims)] = [(v.lower, v.upper) for v in m.dims]
        constraints: list[tuple[ExprLike, int, int]] = [(c.expr, c.lower, c.upper) for c in m.constraints]
        constraints.append((passed, k, self._n if period else k))
        if period > 1:
            constraints.append((passed % period, k % period, k % period))
        return IndexingMap(dims, [*m.results, q], ranges=m.ranges, constraints=constraints)

    def _close_moves(self, group: Group, maps: list[IndexingMap], reason: str | None) -> bool:
        """A single map that moves every dimension by a constant, around the end or not."""
        (leaf,) = group.leaves
        if len(maps) != 1 or maps[0].ranges or maps[0].constraints:
            return False
        (m,) = maps
        dims, _, _, q, passed = self._clock_dims(leaf)
        constraints: list[tuple[ExprLike, int, int]] = [(passed, 1, self._n)]
        results: list[ExprLike] = []
        for i, (expr, size) in enumerate(zip(m.results, self._sizes(leaf), strict=True)):
            bounds = (m.dims[i].lower, m.dims[i].upper)
            move, around = _move(expr, i, size), expr.kind == "mod"
            if move is None or (around and bounds != (0, size - 1)):
                return False
            moved = Expr.dim(i) + passed * move
            results.append(moved % size if around else moved)
            if not around:
                # Before the first iteration and before the last one; those between lie between.
                constraints += [(Expr.dim(i), *bounds), (moved - move, *bounds)]
        once = IndexingMap(dims, [*results, q], constraints=constraints)
        group.pieces[leaf, leaf] = [self._no_time(leaf), Piece(once, reason)]
        group.kind, group.reason = "recurrence", reason
        return True

    def _is_timeless(self, m: IndexingMap) -> bool:
        n = len(m.dims) - 1
        if (m.dims[n].lower, m.dims[n].upper) != (0, max(self._n - 1, 0)):
            return False
        exprs = [*m.results, *(c.expr for c in m.constraints)]
        return not any(uses(e, "dim", n) for e in exprs)

    def _close_window(self, group: Group, inside: list[Edge]) -> bool:
        """A leaf that keeps its elements but for a window, which is another one in every iteration."""
        if len(group.leaves) > 1 or any(e.reason or e.map.runtime for e in inside):
            return False
        (leaf,) = group.leaves
        window = self._written(leaf)
        if window is None or not window.step or not window.disjoint or self._n < 1:
            return False
        outside = self._outside(leaf, window)
        kept = [_keep_time(e.map) for e in inside]
        if _tight(kept) != _tight(outside) and not same_elements(kept, outside):
            return self._close_chain(group, window, kept, outside)
        group.window = window
        group.kind = "stacked"
        group.pieces[leaf, leaf] = self._unwritten(leaf, window)
        return True

    def _unwritten(self, leaf: ShapeIndex, window: Window) -> list[Piece]:
        """The elements that no iteration between two clocks writes."""
        dims, own, p, q, passed = self._clock_dims(leaf)
        at = own[window.dim]
        a, b, w = window.step, window.start, window.size
        low, high = (q, p) if self._backward else (p, q)
        size = self._sizes(leaf)[window.dim]
        far = size + abs(a) * self._n + abs(b) + w
        choices: list[tuple[ExprLike, int, int]] = []
        if a > 0:
            choices += [(at - high * a, b, far), (at - low * a, -far, b - 1)]
        else:
            choices += [(at - high * a, -far, b + w - 1), (at - low * a, b + w, far)]
        if w < abs(a):
            choices.append(((at - b) % abs(a), w, abs(a) - 1))
        for i, first, last in window.fixed:
            choices += [(own[i], 0, first - 1), (own[i], last + 1, self._sizes(leaf)[i] - 1)]
        return [
            Piece(IndexingMap(dims, [*own, q], constraints=[(passed, 0, self._n), choice]))
            for choice in choices
            if choice[1] <= choice[2]
        ]

    def _close_chain(self, group: Group, window: Window, kept: list[IndexingMap], outside: list[IndexingMap]) -> bool:
        """A leaf of which every iteration writes one element from one at a constant distance, as a cumulative sum.

        The written element may also read itself.
        """
        (leaf,) = group.leaves
        sizes, n = self._sizes(leaf), len(self._sizes(leaf))
        identity = IndexingMap.identity([*full_bounds(sizes), (0, self._n - 1)])
        stays = [m for m in kept if m.results == identity.results]
        hops = [m for m in kept if m.results != identity.results and not _covers([identity], [m])]
        distances = {self._distance(m, window) for m in hops}
        distance = distances.pop() if len(distances) == 1 else None
        if window.size != 1 or window.fixed or not distance or any(m.ranges for m in kept):
            return False
        itself = _covers(stays, [identity])
        if not itself and not (_covers(stays, outside) and _covers(outside, stays)):
            return False
        # Backward the first element is the written one, forward the last.
        at = Expr.dim(window.dim)
        move = distance if self._backward else -distance
        written = at if self._backward else at + move
        moved = [e + move if i == window.dim else e for i, e in enumerate(identity.results)]
        hop = IndexingMap(
            identity.dims,
            moved,
            constraints=[
                (written - Expr.dim(n) * window.step, window.start, window.start),
                (at + move, 0, sizes[window.dim] - 1),
            ],
        )
        if not (_covers(hops, [hop]) and _covers([hop], hops)):
            return False
        group.kind = "recurrence"
        group.pieces[leaf, leaf] = [
            *([self._whole_time(leaf)] if itself else self._unwritten(leaf, window)),
            self._hops(leaf, window, distance, itself=itself),
        ]
        return True

    def _distance(self, m: IndexingMap, window: Window) -> int | None:
        """How far from the element that an iteration writes the one is that it reads."""
        lower, upper = m.bounds(m.results[window.dim] - Expr.dim(window.dim))
        return None if lower != upper else lower if self._backward else -lower

    def _hops(self, leaf: ShapeIndex, window: Window, distance: int, *, itself: bool) -> Piece:
        """One or more iterations that each read the element at a distance from the one that they write."""
        dims, own, p, q, _ = self._clock_dims(leaf)
        a, size, k = window.step, self._sizes(leaf)[window.dim], Expr.range(0)
        on_lattice = distance % abs(a) == 0
        later = distance // a if on_lattice else 0  # from one such iteration to the next one backward
        several = on_lattice and later < 0
        # Backward the first of them writes the element, forward it reads it.
        at = own[window.dim] if self._backward else own[window.dim] - distance
        first = (at - window.start) // a if a > 0 else (-at + window.start) // -a
        last = first + (k - 1) * later if self._backward else first - (k - 1) * later
        moved = own[window.dim] + k * (distance if self._backward else -distance)
        far = 2 * self._n + size + abs(distance) + abs(window.start)
        constraints: list[tuple[ExprLike, int, int]] = [
            ((at - window.start) % abs(a), 0, 0),
            (first, 0, self._n - 1),
            (moved, 0, size - 1),
            (p - first, 1, self._n) if self._backward else (first - p, 0, self._n),
            (last - q, 0, self._n) if self._backward else (q - last, 1, self._n),
        ]
        if several and not itself:
            # The element that is not followed further is not written between the clocks.
            constraints.append((last + later - q, -far, -1) if self._backward else (first + later - p, -far, -1))
        results = [moved if i == window.dim else e for i, e in enumerate(own)]
        return Piece(IndexingMap(dims, [*results, q], ranges=[(1, self._n if several else 1)], constraints=constraints))

    def _outside(self, leaf: ShapeIndex, window: Window) -> list[IndexingMap]:
        """The identity on the elements that iteration t does not write; the last dim, and result, is t."""
        sizes = self._sizes(leaf)
        n = len(sizes)
        dims = [*full_bounds(sizes), (0, self._n - 1)]
        distance = Expr.dim(window.dim) - Expr.dim(n) * window.step - window.start
        far = sizes[window.dim] + abs(window.step) * self._n + abs(window.start)
        choices: list[tuple[ExprLike, int, int]] = [(distance, -far, -1), (distance, window.size, far)]
        for i, first, last in window.fixed:
            choices += [(Expr.dim(i), 0, first - 1), (Expr.dim(i), last + 1, sizes[i] - 1)]
        maps = [IndexingMap(dims, dim_exprs(n + 1), constraints=[c]) for c in choices if c[1] <= c[2]]
        return [m for m in (m.simplify(keep_point_dims=True) for m in maps) if not m.is_known_empty]

    def _inside(self, edge: Edge, window: Window) -> bool:
        """Whether an edge relates only elements of the window: backward its first elements, forward the last ones."""
        if (edge, window) not in self._within:
            self._within[edge, window] = self._is_within(edge.map, window)
        return self._within[edge, window]

    def _is_within(self, m: IndexingMap, window: Window) -> bool:
        n = len(m.dims) - 1
        at = dim_exprs(n) if self._backward else list(m.results)
        far = INT64_MAX // 4
        distance = at[window.dim] - Expr.dim(n) * window.step - window.start
        outside: list[tuple[ExprLike, int, int]] = [(distance, -far, -1), (distance, window.size, far)]
        for i, first, last in window.fixed:
            outside += [(at[i], -far, first - 1), (at[i], last + 1, far)]
        return all(_with_constraint(m, c).is_empty().equal is True for c in outside)

    def _close_general(self, group: Group, inside: list[Edge]) -> bool:
        """Dimension by dimension: one that every path keeps stays, any other is the whole range."""
        leaves = group.leaves
        why = next((e.reason for e in inside if e.reason), None)
        names = ", ".join(str(list(leaf)) for leaf in leaves[:4])
        what = f"leaf {names} of the loop" if len(leaves) == 1 else f"leaves {names} of the loop depend on each other"
        group.reason = f"{what}: {why or 'its maps change from iteration to iteration'}"
        if len(leaves) > MAX_GROUP:
            group.common = self._common_dims(leaves, inside)
            return True
        kept: dict[tuple[ShapeIndex, ShapeIndex], tuple[int | None, ...]] = {}
        for leaf in leaves:
            kept[leaf, leaf] = tuple(range(len(self._sizes(leaf))))
            for e in group.edges[leaf]:
                if e.target in leaves:
                    _meet(kept, (leaf, e.target), _kept_dims(e.map, self._sizes(leaf)))
        changed = True
        while changed:
            changed = False
            for (a, b), first in list(kept.items()):
                for c in leaves:
                    second = kept.get((b, c))
                    if second is not None:
                        changed |= _meet(kept, (a, c), tuple(None if i is None else first[i] for i in second))
        for (a, b), dims_of in kept.items():
            group.pieces[a, b] = self._dimwise(group, a, b, dims_of)
        return True

    def _common_dims(self, leaves: list[ShapeIndex], inside: list[Edge]) -> frozenset[int]:
        """The dimensions that every edge inside a group keeps, where all leaves have the same sizes."""
        sizes = {self._sizes(leaf) for leaf in leaves}
        common = frozenset(range(len(next(iter(sizes))))) if len(sizes) == 1 else frozenset()
        for e in inside if common else ():
            common &= {i for i, kept in enumerate(_kept_dims(e.map, *sizes)) if kept == i}
        return common

    def _dimwise(self, group: Group, a: ShapeIndex, b: ShapeIndex, kept: tuple[int | None, ...]) -> list[Piece]:
        """From a leaf to another, after any number of iterations; dimensions without a kept one are whole."""
        dims, own, _, q, passed = self._clock_dims(a)
        ranges: list[Bounds] = []
        results: list[ExprLike] = []
        for i, size in zip(kept, self._sizes(b), strict=True):
            results.append(own[i] if i is not None else Expr.range(len(ranges)))
            ranges += [(0, size - 1)] if i is None else []
        least = 0 if a == b else 1
        if least > self._n or 0 in self._sizes(b):
            return []
        m = IndexingMap(dims, [*results, q], ranges=ranges, constraints=[(passed, least, self._n)])
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
    found = {pair: _reduced(maps) for pair, maps in found.items()}
    return found if all(len(maps) <= MAX_MAPS for maps in found.values()) else None


def _reduced(maps: Iterable[IndexingMap]) -> list[IndexingMap]:
    """The same union in fewer maps."""
    distinct = list(dict.fromkeys(m.simplify(keep_point_dims=True, drop_unused=True) for m in maps))
    distinct = [m for m in distinct if not m.is_known_empty]
    return _joined(distinct)


def _joined(maps: list[IndexingMap]) -> list[IndexingMap]:
    maps = list(dict.fromkeys(maps))
    return [m for m, _ in _coalesce(maps)] if 1 < len(maps) <= MAX_MAPS else maps


def _tight(maps: Iterable[IndexingMap]) -> set[IndexingMap]:
    return {tighten(m) for m in _reduced(maps)}


def _same(a: Relation, b: Relation) -> bool:
    return {k: frozenset(v) for k, v in a.items() if v} == {k: frozenset(v) for k, v in b.items() if v}


def _covers(larger: Sequence[IndexingMap], smaller: Sequence[IndexingMap]) -> bool:
    return MapSet(larger).covers(MapSet(smaller)).equal is True


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
    return tuple(tighten(m) for m in join_ranges(_joined([count_up(m) for m in maps])))


def _meet(
    kept: dict[tuple[ShapeIndex, ShapeIndex], tuple[int | None, ...]],
    pair: tuple[ShapeIndex, ShapeIndex],
    new: tuple[int | None, ...],
) -> bool:
    """Keeps the dimensions on which both agree; whether that changes anything."""
    before = kept.get(pair)
    kept[pair] = new if before is None else tuple(i if i == j else None for i, j in zip(before, new, strict=True))
    return kept[pair] != before


def _move(expr: Expr, dim: int, size: int) -> int | None:
    """The constant by which a result differs from a dim, around the end of the dimension or not."""
    if expr.kind == "mod" and expr.operands[1].value == size:
        expr = expr.operands[0]
    found = linear(expr, dim)
    return found[0] if found is not None and found[1] == 1 else None


def _kept_dims(m: IndexingMap, source: Sequence[int]) -> tuple[int | None, ...]:
    return tuple(e.value if e.kind == "dim" and (e.value or 0) < len(source) else None for e in m.results)


# ---------------------------------------------------------------------------------------------------------- single maps


def _by_clock(m: IndexingMap, shift: int) -> IndexingMap:
    """The map of one iteration from (element, clock before) to (element, clock after); it counts down by ``shift``."""
    n = len(m.dims) - 1
    clock = Expr.dim(n)
    t, after = (clock - 1, clock - 1) if shift else (clock, clock + 1)
    dims = [*dim_exprs(n), t]
    return IndexingMap(
        [*((v.lower, v.upper) for v in m.dims[:n]), (m.dims[n].lower + shift, m.dims[n].upper + shift)],
        [*(e.substitute(dims=dims) for e in m.results), after],
        ranges=m.ranges,
        runtime=[
            Variable(None, v.lower, v.upper, source=v.source, index=[e.substitute(dims=dims) for e in v.index])
            for v in m.runtime
        ],
        constraints=[(c.expr.substitute(dims=dims), c.lower, c.upper) for c in m.constraints],
    )


def _iteration_of(window: Window, at: Expr) -> Expr:
    """The one iteration in whose window an index may lie."""
    if window.step > 0:
        return (at - window.start) // window.step
    return (-at + (window.start + window.size - 1)) // -window.step


def _clamped(value: Scalar, v: Variable, time: Expr) -> list[tuple[Expr, list[tuple[ExprLike, int, int]]]]:
    """An offset as an expression of the iteration, in pieces where it may be clamped."""
    expr = value.expr.substitute(dims=[time])
    if v.lower <= value.lower and value.upper <= v.upper:
        return [(expr, [])]
    pieces: list[tuple[Expr, list[tuple[ExprLike, int, int]]]] = [(expr, [(expr, v.lower, v.upper)])]
    if value.lower < v.lower:
        pieces.append((Expr.constant(v.lower), [(expr, value.lower, v.lower - 1)]))
    if value.upper > v.upper:
        pieces.append((Expr.constant(v.upper), [(expr, v.upper + 1, value.upper)]))
    return pieces


def _keep_time(m: IndexingMap) -> IndexingMap:
    """The same map with the iteration as a result, too."""
    return _changed(m, results=[*m.results, Expr.dim(len(m.dims) - 1)])


def _without_last_dim(m: IndexingMap) -> IndexingMap:
    """A map that does not depend on its last dim, without that dim."""
    return _changed(m, dims=m.dims[:-1])


def _without_last_result(m: IndexingMap) -> IndexingMap:
    return _changed(m, results=m.results[:-1])


def _with_constraint(m: IndexingMap, constraint: tuple[ExprLike, int, int]) -> IndexingMap:
    return _changed(m, constraints=[*m.constraints, constraint])


def _changed(
    m: IndexingMap,
    *,
    dims: Sequence[Variable] | None = None,
    results: Sequence[ExprLike] | None = None,
    constraints: Sequence[tuple[ExprLike, int, int] | Constraint] | None = None,
) -> IndexingMap:
    impossible: tuple[ExprLike, int, int] = (0, 1, 1)
    kept = m.constraints if constraints is None else constraints
    return IndexingMap(
        m.dims if dims is None else dims,
        m.results if results is None else results,
        ranges=m.ranges,
        runtime=m.runtime,
        constraints=[impossible] if m.is_known_empty else kept,
    )
