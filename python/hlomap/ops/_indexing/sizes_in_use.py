"""Dynamic dimensions: where an element lies may depend on how much of a dimension is in use, which only values say.

Maps are between positions below the bounds.  Where a position depends on the sizes in use, they are over-approximate.
"""

from __future__ import annotations

from ..._core import Shape
from .._rule import Footprint
from .._shapes import matched_dims


def is_dynamic(shape: Shape, dim: int) -> bool:
    """Whether fewer elements than the bound may be in use along a dimension."""
    return bool(shape.dynamic[dim])


def over_approximate(footprint: Footprint) -> Footprint:
    """Mark maps as having more elements than those that are read."""
    return Footprint(footprint.maps, False, "the sizes in use are values")


def keeps_linear_order(a: Shape, b: Shape) -> bool:
    """Whether the elements in use of two arrays are equal at equal linear indices below the bounds.

    The elements in use are numbered without gaps.  Of the dimensions that match each other only the most major one that
    is not 1 may be dynamic, since the others are strides.
    """
    if True not in a.dynamic and True not in b.dynamic:
        return True
    for ours, theirs in matched_dims(a.dimensions, b.dimensions):
        for shape, dims in ((a, ours), (b, theirs)):
            if any(shape.dynamic[k] for k in [k for k in dims if shape.dimensions[k] != 1][1:]):
                return False
    return True
