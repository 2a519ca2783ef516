"""What notebooks show of values: the methods ``_repr_html_`` and ``_repr_svg_`` of classes ask here.

The pages lie in :mod:`hlomap.pictures`, above all values, and are imported when a notebook asks for one.
"""

from __future__ import annotations


def html(value: object) -> str | None:
    """The page of a value; None where it cannot be made."""
    from .pictures import notebook_html

    return notebook_html(value)


def svg(value: object) -> str | None:
    """The image of a value; None where it cannot be drawn."""
    from .pictures import notebook_svg

    return notebook_svg(value)  # type: ignore[arg-type]
