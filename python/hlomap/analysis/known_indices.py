"""Runtime variables whose values are known when the program is compiled, beyond the computation of the operation.

:func:`with_known_indices` is the entry point.  The rules of gathers and slices see the values in their own computation;
here a variable that is read from an operand of a fusion or call is replaced by what that holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import Expr, IndexingMap, Variable
from ..maps.map_set import MapSet
from ..ops._indexing.index_vectors import clamp, known_value, pieces_for_maps, within
from ..ops._known import Piece

if TYPE_CHECKING:
    from .rule_provider import RuleProvider

__all__ = ["with_known_indices"]


def with_known_indices(maps: MapSet, rules: RuleProvider) -> MapSet:
    """The set with expressions in place of runtime variables, where their sources are affine in the index."""
    if maps.is_unknown or not any(m.runtime for m in maps):
        return maps
    members = [found for m in maps for found in _known(m, rules)]
    if len(members) == len(maps) and all(a is b for a, b in zip(members, maps, strict=True)):
        return maps
    exact, reason = maps.exact, maps.reason
    return MapSet(members, exact=exact, reason=reason, devices=maps.devices, assumes=maps.assumes)


def _known(m: IndexingMap, rules: RuleProvider) -> list[IndexingMap]:
    for i, variable in enumerate(m.runtime):
        supplier = variable.supplier
        if supplier is None or supplier.module != rules.module or not supplier.shape.is_array:
            continue
        if len(variable.element) != supplier.shape.rank:
            continue  # it is an element of some device
        pieces = pieces_for_maps(rules.known_values(supplier))
        if pieces and all(known_value(piece) is not None for piece in pieces):
            replaced = [found for piece in pieces if not (found := _replaced(m, i, piece)).is_known_empty]
            return [each for found in replaced for each in _known(found, rules)]
    return [m]


def _replaced(m: IndexingMap, i: int, piece: Piece) -> IndexingMap:
    """The map where the element of a runtime variable is in a piece."""
    variable, value = m.runtime[i], known_value(piece)
    sizes = variable.supplier.shape.dimensions if variable.supplier is not None else ()
    bounds = (variable.lower, variable.upper)
    if isinstance(value, Expr):
        own = (piece.region or IndexingMap(list(sizes), [])).bounds(value)
        start = clamp(value.substitute(dims=variable.element), own, bounds)
    else:
        start = clamp(value or 0, (value or 0, value or 0), bounds)
    start = Expr.constant(start) if isinstance(start, int) else start
    others = [Expr.runtime(k - (k > i)) for k in range(len(m.runtime))]
    by_number = [*others[:i], start.substitute(runtime=others), *others[i + 1 :]]
    kept = [v for k, v in enumerate(m.runtime) if k != i]
    conditions = [*within(piece.region, sizes, variable.element)]
    conditions += [(c.expr, c.lower, c.upper) for c in m.constraints]
    found = IndexingMap(
        list(m.dims),
        [e.substitute(runtime=by_number) for e in m.results],
        ranges=list(m.ranges),
        runtime=[
            Variable(
                None, v.lower, v.upper, source=v.source, element=[e.substitute(runtime=by_number) for e in v.element]
            )
            for v in kept
        ],
        constraints=[(e.substitute(runtime=by_number), lower, upper) for e, lower, upper in conditions],
    ).simplify(keep_point_dims=True, drop_unused=True)
    suppliers = {v.source: v.supplier for v in kept if v.source is not None and v.supplier is not None}
    return found._placed(tuple(m.shape_index), m.use, suppliers)
