"""Images as PNG.  The function imports CairoSVG, an optional package."""

from __future__ import annotations

import re

from ..base.types import needs

_DARK_SCHEME = re.compile(r"@media \(prefers-color-scheme:dark\).*?</style>", re.DOTALL)


def to_png(svg: str, scale: float) -> bytes:
    """An image of :mod:`hlomap.pictures` as PNG, in light colours, with ``scale`` pixels for each unit.

    Raises :class:`~hlomap.errors.UnsupportedError` without CairoSVG.
    """
    with needs("png", "Picture.png"):
        import cairosvg

    # Converters that do not know media queries would read the rules of the dark scheme as well.
    light = _DARK_SCHEME.sub("</style>", svg)
    return bytes(cairosvg.svg2png(bytestring=light.encode(), scale=scale))
