"""Pictures of values that already exist.

Read :func:`of_shape` first.  What is shown is worked out in ``layouts``, how it looks in ``svg`` and ``text``; nothing
here decides where an element lies, it asks the maps.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Layout, Shape
from ..errors import HlomapError
from .layouts import Scene, example_sizes, scene
from .svg import svg_of
from .text import text_of

__all__ = ["Picture", "notebook", "of_layout", "of_shape"]


class Picture:
    """A picture of a layout: the array with its tiles and positions, and memory in order with padding marked.

    >>> import hlomap as hm
    >>> picture = hm.Shape.parse("f32[3,5]{1,0:T(2,2)}").draw()
    >>> print(picture)
    f32[3,5]{1,0:T(2,2)}
    15 elements in 24 places, 96 bytes, 60 % padding
    <BLANKLINE>
    array: the position of each element, · is padding
          0  1 │  2  3 │  4  5
       0  0  1 │  4  5 │  8  ·
       1  2  3 │  6  7 │ 10  ·
        ───────┼───────┼──────
       2 12 13 │ 16 17 │ 20  ·
       3  ·  · │  ·  · │  ·  ·
    <BLANKLINE>
    memory: the index of the element at each place
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
        return svg_of(self._scene)

    def __str__(self) -> str:
        return text_of(self._scene)

    def __repr__(self) -> str:
        return f"<Picture of {self._scene.title}>"

    def _repr_svg_(self) -> str:
        return self.svg


def of_shape(shape: Shape) -> Picture:
    """The picture of an array; raises what :func:`hlomap.linear_index` raises."""
    return Picture(scene(shape))


def of_layout(layout: Layout, dimensions: Sequence[int] | None = None) -> Picture:
    """The picture of an array of bytes with this layout; of example sizes where none are given."""
    return of_shape(Shape("u8", example_sizes(layout) if dimensions is None else dimensions, layout))


def notebook(value: Shape | Layout) -> str | None:
    """The image for a notebook, None where there is nothing to show."""
    try:
        return (of_layout(value) if isinstance(value, Layout) else of_shape(value)).svg
    except (HlomapError, OverflowError):
        return None
