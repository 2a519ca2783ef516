"""The variables of an expression, and the instructions that supply the runtime variables of a map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._core import Expr, IndexingMap, Instruction, Variable

_KINDS = frozenset(["dim", "range", "runtime"])


def variables_of(e: Expr) -> list[tuple[str, int]]:
    """The kind and number of each variable, once; shared subexpressions are visited once.

    >>> variables_of(Expr.parse("d0 * 4 + s1 mod d0"))
    [('dim', 0), ('range', 1)]
    """
    found: dict[tuple[str, int], None] = {}
    pending, seen = [e], {e}
    while pending:
        here = pending.pop()
        if here.kind in _KINDS:
            found[here.kind, here.value or 0] = None
        new = [operand for operand in here.operands if operand not in seen]
        seen.update(new)
        pending += new
    return list(found)


def numbers_of(e: Expr, kind: str) -> list[int]:
    """The numbers of the variables of one kind: ``"dim"``, ``"range"`` or ``"runtime"``."""
    return [number for own, number in variables_of(e) if own == kind]


def suppliers_of(m: IndexingMap) -> dict[int, Instruction]:
    """The instructions that supply the runtime variables of a map, by source."""
    return {v.source: v.supplier for v in m.runtime if v.source is not None and v.supplier is not None}


def with_variables(
    m: IndexingMap,
    dims: Sequence[int | tuple[int, int] | tuple[str, int, int] | Variable],
    ranges: Sequence[tuple[int, int] | Variable],
    at: tuple[Sequence[Expr | int], ...],
    runtime: Sequence[Variable] | None = None,
    conditions: Iterable[tuple[Expr, int, int]] = (),
) -> IndexingMap:
    """A map with other dims and ranges; ``at`` has the values of the old dims, ranges and runtime variables.

    An empty sequence in ``at`` keeps the variables of that kind.  ``runtime`` are the runtime variables to keep, by
    default all.  ``conditions`` bound further expressions in the old variables.

    >>> m = IndexingMap.parse("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [0, 1]")
    >>> print(with_variables(m, [2, 4], [], ([Expr.dim(1)], [Expr.dim(0)])))
    (d0, d1) -> (d0 + d1), domain: d0 in [0, 1], d1 in [0, 3]
    """

    values = dict(zip(("dims", "ranges", "runtime"), at, strict=False))

    def substitute(e: Expr) -> Expr:
        return e.substitute(**values)

    return IndexingMap(
        dims,
        [substitute(e) for e in m.results],
        ranges=ranges,
        runtime=[
            Variable(v.name or None, v.lower, v.upper, source=v.source, element=[substitute(e) for e in v.element])
            for v in (m.runtime if runtime is None else runtime)
        ],
        constraints=[
            (substitute(e), lower, upper)
            for e, lower, upper in (*conditions, *((c.expr, c.lower, c.upper) for c in m.constraints))
        ],
    )


def with_conditions(m: IndexingMap, conditions: Iterable[tuple[Expr, int, int]]) -> IndexingMap:
    """A map with bounds on further expressions as constraints."""
    constraints = [*((c.expr, c.lower, c.upper) for c in m.constraints), *conditions]
    return IndexingMap(m.dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=constraints)


def with_dims(m: IndexingMap, n: int) -> IndexingMap:
    """A map with its last ``n`` dims as further results."""
    dims = [Expr.dim(k) for k in range(len(m.dims) - n, len(m.dims))]
    return IndexingMap(m.dims, [*m.results, *dims], ranges=m.ranges, runtime=m.runtime, constraints=m.constraints)
