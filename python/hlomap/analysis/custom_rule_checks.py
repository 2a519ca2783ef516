"""What a rule of a user may return: maps from elements of one array to elements of another, and of nothing else.

Read :func:`checked_result` first.  A rule may raise anything, and its maps may be wrong in any way; each becomes a
reason to know nothing.  A map that is within the arrays and names the wrong elements cannot be seen here:
:func:`hlomap.verify` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._core import Constraint, IndexingMap, Shape
from ..answers import Unknown
from ..errors import ShapeError, UnsupportedError
from ..ops._rule import OperandIndexing
from ..ops._shapes import shape_at
from ..text import error_text, plural

_FAR = 1 << 62


def checked_result(
    rule: Callable[[], Sequence[OperandIndexing]], start: Shape, ends: Sequence[Shape], sources: Sequence[Shape]
) -> list[OperandIndexing]:
    """The result of a rule from the array ``start`` to the values ``ends``.

    A part is unknown where a map leaves these arrays.  Raises :class:`~hlomap.errors.UnsupportedError` where the rule
    raises anything, and :class:`~hlomap.errors.ShapeError` where it returns another number of parts.
    """
    try:
        parts = list(rule())
    except Exception as error:
        raise UnsupportedError(f"the rule failed on these attributes and shapes ({error_text(error)})") from error
    if len(parts) != len(ends):
        raise ShapeError(f"the rule returned {len(parts)} items, expected {len(ends)}")
    return [_checked(part, start, end, sources) for part, end in zip(parts, ends, strict=True)]


def _checked(part: OperandIndexing, start: Shape, end: Shape, sources: Sequence[Shape]) -> OperandIndexing:
    if isinstance(part, Unknown):
        return part
    for index, m in part.maps:
        reason = _fault(m, start, shape_at(end, index), sources)
        if reason is not None:
            return Unknown(f"the rule returned a map {reason}")
    return part


def _fault(m: IndexingMap, start: Shape, end: Shape, sources: Sequence[Shape]) -> str | None:
    """In which way a map does not belong to these arrays, in words after "a map"."""
    if not end.is_array:
        return f"to {end}, which is not an array"
    if (len(m.dims), len(m.results)) != (len(start.dimensions), len(end.dimensions)):
        counts = f"{plural(len(m.dims), 'dim')} and {plural(len(m.results), 'result')}"
        return f"with {counts}, from {start} to {end}"
    for k, variable in enumerate(m.runtime):
        if variable.source is None or not 0 <= variable.source < len(sources):
            return f"whose rt{k} has the source {variable.source}; there are {len(sources)} operands"
        rank = len(sources[variable.source].dimensions) if sources[variable.source].is_array else 0
        if len(variable.element) != rank:
            return f"whose rt{k} has {len(variable.element)} indices of an operand of rank {rank}"
    if m.is_known_empty:
        return None
    for k, (dim, size) in enumerate(zip(m.dims, start.dimensions, strict=True)):
        if dim.lower < 0 or dim.upper >= size:
            return f"whose domain leaves the array: d{k} in [{dim.lower}, {dim.upper}] of {start}"
    for k, size in enumerate(end.dimensions):
        lower, upper = m.bounds(k)
        leaves = (lower < 0 and _may_be(m, k, -_FAR, -1)) or (upper >= size and _may_be(m, k, size, _FAR))
        if leaves:
            return f"whose image leaves the array: result {k} in [{lower}, {upper}] of {end}"
    return None


def _may_be(m: IndexingMap, k: int, lower: int, upper: int) -> bool:
    """Whether result ``k`` may be in these bounds: bounds ignore how the variables depend on each other."""
    beyond = [*m.constraints, Constraint(m.results[k], lower, upper)]
    within = IndexingMap(m.dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=beyond)
    return within.is_empty().value is not True
