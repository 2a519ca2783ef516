"""Checks that the layouts and shardings of annotations fit the shape.

Read :func:`with_layout` and :func:`check_sharding`.
"""

from __future__ import annotations

from .._core import Layout, Shape, Sharding
from ..errors import HlomapError
from .arguments import described, invalid, shown, wrong_type
from .values import Value


def with_layout(operation: str, value: Value, layout: Layout | Shape | str) -> Shape:
    """The shape of a value with another layout; ``layout`` is a whole shape for a tuple."""
    try:
        if isinstance(layout, str):
            layout = Layout.parse(layout) if layout.startswith("{") else Shape.parse(layout)
        made = value.shape.with_layout(layout) if isinstance(layout, Layout) else layout
    except (HlomapError, ValueError) as error:
        raise invalid(operation, "layout", shown(layout), f"{described(value)}: {error}") from None
    if not isinstance(made, Shape):
        raise wrong_type(operation, "layout", made, "a Layout, a Shape or the text of one")
    if not made.equals(value.shape, layout="ignored"):
        raise invalid(operation, "layout", made, f"expected {value.shape.without_layout()} with layouts")
    return made


def check_sharding(operation: str, value: Value, sharding: Sharding) -> None:
    """Checks that a sharding fits a value; one that is not a tuple may apply to all elements of a tuple."""
    if sharding.kind == "tuple":
        leaves = _leaves(value.shape)
        if len(sharding.parts) != len(leaves):
            rule = f"expected {len(leaves)} parts, one per array of {value.shape}"
            raise invalid(operation, "sharding", sharding, rule)
        for part, leaf in zip(sharding.parts, leaves, strict=True):
            _check_rank(operation, part, leaf)
    elif value.shape.is_array:
        _check_rank(operation, sharding, value.shape)


def _check_rank(operation: str, sharding: Sharding, shape: Shape) -> None:
    n = None
    if sharding.tile_dimensions is not None:
        n_of_devices = max(len(sharding.last_dimensions), int(sharding.replicates_last_dimension))
        n = len(sharding.tile_dimensions) - n_of_devices
    elif sharding.kind == "named":
        n = len(sharding.dimension_axes)
    if n is not None and n != (shape.rank if shape.is_array else 0):
        raise invalid(operation, "sharding", sharding, f"partitions {n} dimensions; {shape} has {shape.rank}")


def _leaves(shape: Shape) -> list[Shape]:
    """The arrays and tokens of a tuple in order; an empty tuple counts as one leaf."""
    found: list[Shape] = []
    pending = [shape]
    while pending:
        here = pending.pop()
        inner = here.tuple_shapes if here.is_tuple else ()
        if inner:
            pending.extend(reversed(inner))
        else:
            found.append(here)
    return found
