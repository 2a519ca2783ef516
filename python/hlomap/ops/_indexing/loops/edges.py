"""The edges of one iteration: the maps of a loop's body, with the iteration in place of offsets that depend on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TypeAlias

from ...._core import Expr, IndexingMap, Instruction, Variable
from ....types import ShapeIndex, Unknown
from ..._rule import Bounds, ExprLike, OperandIndexing
from .counter import CountedLoop
from .scalar_values import Scalar, is_forwarded, is_invariant

__all__ = ["Edges", "Step"]

_CALLS = 2**62  # from here on, numbers of sources are those of values in nested calls

Step: TypeAlias = Callable[[ShapeIndex], OperandIndexing]

Edge: TypeAlias = tuple[ShapeIndex, IndexingMap, bool, str | None]
"""The leaf that a map of one iteration leads to, the map, whether its last dim is the iteration, and why it may contain
too much.  A map without the iteration is that of every iteration."""


class Edges:
    """The edges from each leaf of a loop; ``step`` gives the maps of one iteration from a leaf.

    ``branch`` is a conditional of which the iteration alone decides the branch: its maps mention all of them.
    """

    def __init__(self, loop: CountedLoop, step: Step, branch: Instruction | None) -> None:
        assert loop.trip_count is not None, "the loop is counted"
        self._loop = loop
        self._n = loop.trip_count
        self._step = step
        self._branch = branch

    def find(self, leaf: ShapeIndex) -> tuple[list[Edge], bool] | Unknown:
        """The edges from a leaf, and whether an iteration reaches elements on other devices."""
        part = self._step(leaf)
        if isinstance(part, Unknown):
            return part
        reason = None if part.exact else part.reason or "the body is over-approximate"
        if self._branch is not None and not is_forwarded(self._loop.body, leaf):
            reason = reason or f"the iteration decides which branch of {self._branch.name} runs"
        edges: list[Edge] = []
        for target, m in part.maps:
            if m.runtime:
                edges += self._timed(target, m, reason)
            else:
                edges.append((target, m, False, reason))
        return edges, part.crosses_devices

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
            elif _uses_symbols(value.expr):
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
            yield target, timed, True, reason

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


def _uses_symbols(expr: Expr) -> bool:
    """Whether an expression depends on anything but the iteration."""
    pending = [expr]
    while pending:
        at = pending.pop()
        if at.kind == "dim" and at.value:
            return True
        pending.extend(at.operands)
    return False
