"""Layouts and element widths of a bitcast."""

from __future__ import annotations

from ..._core import Shape
from ...dtypes import bit_width
from .._shapes import n_elements


def major_to_minor(shape: Shape) -> tuple[int, ...]:
    """The dimensions in the order of the layout, by default that of the shape."""
    layout = shape.layout
    if layout is None or (not layout.minor_to_major and shape.rank):
        return tuple(range(shape.rank))
    return tuple(reversed(layout.minor_to_major))


def is_tiled(shape: Shape) -> bool:
    return shape.layout is not None and bool(shape.layout.tiles)


def width_of(shape: Shape) -> int:
    """The bits that an element takes in memory: whole bytes unless the layout packs elements."""
    packed = shape.layout.element_size_in_bits if shape.layout is not None else 0
    return packed or -(-bit_width(shape.dtype) // 8) * 8


def mismatch(a: Shape, b: Shape) -> str | None:
    """The reason why two shapes cannot be a bitcast of each other; None if they can."""
    if not a.is_array or not b.is_array:
        return "bitcast of a value that is not an array"
    for shape in (a, b):
        if len(major_to_minor(shape)) != shape.rank:
            return f"bitcast with a layout that does not fit its shape: {shape}"
    if max(width_of(a), width_of(b)) % min(width_of(a), width_of(b)):
        return f"bitcast between element types of widths that do not divide: {a} and {b}"
    if n_elements(a.dimensions) * width_of(a) != n_elements(b.dimensions) * width_of(b):
        return f"bitcast between different sizes in memory: {a} and {b}"
    return None
