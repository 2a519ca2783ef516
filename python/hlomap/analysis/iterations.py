"""Maps of a loop's body whose offsets are written with the iterations of the loops around it.

:func:`over_iterations` is the entry point.  A runtime variable whose value is an affine function of the iterations is
replaced by that function; the iterations become dimensions behind those of the output.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, IndexingMap, Variable
from ..maps.map_set import MapSet
from ..maps.variables import suppliers_of, with_variables
from ..ops._indexing.loops.scalar_values import Scalar, ScalarValues


def over_iterations(maps: MapSet, values: ScalarValues, trip_counts: Sequence[int]) -> MapSet:
    """The maps with dimensions t0, t1, ... for the iterations of a loop and of those around it.

    ``values`` has the integer scalars of the body as expressions over these iterations.
    """
    if maps.is_unknown:
        return maps
    members = [found for m in maps if not (found := _over_iterations(m, values, trip_counts)).is_known_empty]
    return MapSet(members, exact=maps.exact, reason=maps.reason)


def _over_iterations(m: IndexingMap, values: ScalarValues, trip_counts: Sequence[int]) -> IndexingMap:
    iterations = [Expr.dim(len(m.dims) + k) for k in range(len(trip_counts))]
    replaced: list[Expr] = []
    kept: list[Variable] = []
    for variable in m.runtime:
        value = _value(variable, values)
        if value is None:
            replaced.append(Expr.runtime(len(kept)))
            kept.append(variable)
        else:
            replaced.append(_clamped(value, variable).substitute(dims=iterations))
    dims = [*m.dims, *(Variable(f"t{k}", 0, max(n - 1, 0)) for k, n in enumerate(trip_counts))]
    found = with_variables(m, dims, m.ranges, ((), (), replaced), kept).simplify(keep_point_dims=True, drop_unused=True)
    return found._placed(m.shape_index, m.use, suppliers_of(m))


def _value(variable: Variable, values: ScalarValues) -> Scalar | None:
    if variable.supplier is None or variable.element:
        return None
    value = values.of(variable.supplier)
    return value if isinstance(value, Scalar) else None


def _clamped(value: Scalar, variable: Variable) -> Expr:
    """The value in the range of the variable, to which a dynamic-slice clamps its offsets."""
    expr = value.expr
    if value.lower < variable.lower:
        expr = Expr.maximum(expr, Expr.constant(variable.lower))
    if value.upper > variable.upper:
        expr = Expr.minimum(expr, Expr.constant(variable.upper))
    return expr
