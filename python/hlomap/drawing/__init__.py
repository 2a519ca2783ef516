"""Draws pictures of layouts.

Read :func:`draw_shape` first.  ``layouts.py`` chooses the contents of a picture, ``svg.py`` and ``text.py`` render
it.  The positions of elements come from the maps of the shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Layout, Shape
from ..errors import HlomapError
from .layouts import Scene, build_scene, example_sizes
from .svg import render_svg
from .text import render_text

__all__ = ["Picture", "draw_layout", "draw_shape", "notebook_svg"]


class Picture:
    """A picture of a layout: the array with its tiles and positions, and memory in order with padding marked.

    >>> import hlomap as hm
    >>> picture = hm.Shape.parse("f32[3,5]{1,0:T(2,2)}").draw()
    >>> print(picture)
    f32[3,5]{1,0:T(2,2)}
    15 elements in 24 positions, 96 bytes, 60 % padding
    <BLANKLINE>
    array: the position of each element, · is padding
          0  1 │  2  3 │  4  5
       0  0  1 │  4  5 │  8  ·
       1  2  3 │  6  7 │ 10  ·
        ───────┼───────┼──────
       2 12 13 │ 16 17 │ 20  ·
       3  ·  · │  ·  · │  ·  ·
    <BLANKLINE>
    memory: the index of the element at each position
       0: 0,0 0,1 1,0 1,1 │ 0,2 0,3 1,2 1,3 │ 0,4  ·  1,4  ·
      12: 2,0 2,1  ·   ·  │ 2,2 2,3  ·   ·  │ 2,4  ·   ·   ·
    >>> picture.svg[:5]
    '<svg '
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @property
    def svg(self) -> str:
        """The image as SVG text."""
        return render_svg(self._scene)

    def __str__(self) -> str:
        return render_text(self._scene)

    def __repr__(self) -> str:
        return f"<Picture of {self._scene.title}>"

    def _repr_svg_(self) -> str:
        return self.svg


def draw_shape(shape: Shape) -> Picture:
    """The picture of an array; raises the errors of :func:`hlomap.linear_index`."""
    return Picture(build_scene(shape))


def draw_layout(layout: Layout, dimensions: Sequence[int] | None = None) -> Picture:
    """The picture of an array of bytes with this layout; without ``dimensions`` its sizes are examples."""
    return draw_shape(Shape("u8", example_sizes(layout) if dimensions is None else dimensions, layout))


def notebook_svg(value: Shape | Layout) -> str | None:
    """The SVG for a notebook; None where the value cannot be drawn."""
    try:
        return (draw_layout(value) if isinstance(value, Layout) else draw_shape(value)).svg
    except (HlomapError, OverflowError):
        return None
