"""Pictures of arrays in memory: ``layouts.py`` chooses the contents, ``svg.py`` and ``text.py`` render them."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Layout, Shape
from .layouts import Scene, build_scene, example_sizes
from .picture import Picture
from .svg import render_svg
from .text import render_text

__all__ = ["draw_layout", "draw_shape", "layout_picture"]


def layout_picture(scene: Scene) -> Picture:
    """The picture of an array as cells with texts, and of its memory."""
    return Picture(scene.title, lambda: render_svg(scene), lambda: render_text(scene))


def draw_shape(shape: Shape) -> Picture:
    """The picture of an array; raises the errors of :func:`hlomap.linear_index`."""
    return layout_picture(build_scene(shape))


def draw_layout(layout: Layout, dimensions: Sequence[int] | None = None) -> Picture:
    """The picture of an array of bytes with this layout; without ``dimensions`` its sizes are examples."""
    return draw_shape(Shape("u8", example_sizes(layout) if dimensions is None else dimensions, layout))
