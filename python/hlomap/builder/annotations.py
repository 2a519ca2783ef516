"""Layouts and shardings that are given to values: whether they fit the shape.

Read :func:`laid_out` and :func:`check_sharding`.
"""

from __future__ import annotations

from .._core import Layout, Shape, Sharding
from ..errors import HlomapError
from .values import Value, refuse, shown

__all__ = ["check_sharding", "laid_out"]


def laid_out(operation: str, value: Value, layout: Layout | Shape | str) -> Shape:
    """The shape of a value with another layout, of a tuple with those of a shape that is the same otherwise."""
    try:
        if isinstance(layout, str):
            layout = Layout.parse(layout) if layout.startswith("{") else Shape.parse(layout)
        made = value.shape.with_layout(layout) if isinstance(layout, Layout) else layout
    except (HlomapError, ValueError) as error:
        raise refuse(operation, "layout", shown(layout), f"{value.name} {value.shape}: {error}") from None
    if not isinstance(made, Shape):
        raise refuse(operation, "layout", shown(made), "expected a layout or a shape, or the text of one")
    if not made.equals(value.shape, layout="ignored"):
        raise refuse(operation, "layout", made, f"expected {value.shape.without_layout()} with layouts")
    return made


def check_sharding(operation: str, value: Value, sharding: Sharding) -> None:
    """Whether a sharding can be that of a value; one that is no tuple may stand for all parts of a tuple."""
    if sharding.kind == "tuple":
        leaves = _leaves(value.shape)
        if len(sharding.parts) != len(leaves):
            rule = f"expected {len(leaves)} parts, one for each array in {value.shape}"
            raise refuse(operation, "sharding", sharding, rule)
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
        raise refuse(operation, "sharding", sharding, f"cuts {n} dimensions, {shape} has {shape.rank}")


def _leaves(shape: Shape) -> list[Shape]:
    """The arrays and tokens in a tuple; of an empty one the tuple itself."""
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
