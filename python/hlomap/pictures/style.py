"""The colour scheme of all pictures, and the frame of every SVG document.

Lit cells have Okabe and Ito's orange (https://jfly.uni-koeln.de/color/), whose saturation stands out from neutral greys
for people with any kind of colour blindness, and an outline for print without colours.  Numbers are levels of grey,
from the paper to the ink.  Each rule is scoped to the class of the picture, so that a picture inside a page does not
restyle the page; the dark scheme follows ``prefers-color-scheme``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from ..base.text import cut, html

CHARACTER = 7.3
"""The width of a character at 12 px; all text is monospaced, so its width is known without a browser."""

TILE_COLOURS = ("#cfe3f7", "#fde2b8", "#d3efd0", "#f7d0d5", "#e2d5f3", "#f6f0b5", "#cdeeee", "#ecdccb")
"""The light colours of tiles, the classes ``t0``, ``t1``, …: neighbours differ in hue, and dark text is readable."""

_LIGHT = {
    "paper": "#ffffff",
    "ink": "#222222",
    "faint": "#5f5f5f",
    "line": "#c4c4c4",
    "greys": ("#e6e6e6", "#cccccc", "#ababab", "#858585", "#5c5c5c"),
    "lit": "#e69f00",
    "may": "#b36b00",
    "bar": "#0072b2",
    "tiles": TILE_COLOURS,
}
_DARK = {
    "paper": "#1c1e21",
    "ink": "#ececec",
    "faint": "#a8a8a8",
    "line": "#484b50",
    "greys": ("#35383c", "#4c5056", "#696e75", "#8d939b", "#b9bfc7"),
    "lit": "#e69f00",
    "may": "#f0b94a",
    "bar": "#56b4e9",
    "tiles": ("#23476b", "#6b4a14", "#2c5a2c", "#6b2f38", "#4a3a70", "#5c5618", "#1f5a5a", "#5a4531"),
}
_FONT = "DejaVu Sans Mono,Menlo,Consolas,monospace"


def wrap(value: str, width: int, most: int) -> list[str]:
    """The text wrapped into lines, at most ``most`` of them."""
    lines = textwrap.wrap(value, max(8, width), break_on_hyphens=False)
    return lines if len(lines) <= most else [*lines[: most - 1], cut(lines[most - 1], width - 2) + " …"]


def magnitude(n: int) -> str:
    """A count as text; of a huge count only the magnitude.

    >>> magnitude(1200), magnitude(10**30)
    ('1,200', 'about 10^30')
    """
    return f"{n:,}" if n < 10**15 else f"about 10^{round(n.bit_length() * 0.30103)}"


def edges(axis: Sequence[object], cell: float, gap: float, start: float = 0.0) -> list[float]:
    """The starts of the cells of an axis, and the end of the last one; None is a gap between cells."""
    return list(accumulate((gap if index is None else cell for index in axis), initial=start))


def text(x: float, y: float, value: object, kind: str) -> str:
    """A line of text, escaped."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{html(value, 400)}</text>'


def document(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """An SVG image with its title and description for screen readers."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    heading = html(title, 400)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hlomap" role="img" aria-label="{heading}" {size}>\n'
        f"<title>{heading}</title>\n<desc>{html(description, 4000)}</desc>\n"
        f"<style>{_STYLE}</style>\n"
        f'<rect width="{width:.0f}" height="{height:.0f}" class="paper"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _rules(scheme: Mapping[str, object]) -> str:
    greys, tiles = scheme["greys"], scheme["tiles"]
    assert isinstance(greys, tuple) and isinstance(tiles, tuple)
    rules = {
        "text": f"fill:{scheme['ink']}",
        ".note,.hlomap .label,.hlomap .pad": f"fill:{scheme['faint']}",
        ".paper": f"fill:{scheme['paper']}",
        ".rim": f"stroke:{scheme['paper']}",
        ".edge": f"stroke:{scheme['ink']}",
        ".line": f"stroke:{scheme['line']}",
        ".gap,.hlomap .dot": f"stroke:{scheme['faint']}",
        ".lit": f"fill:{scheme['lit']}",
        ".may": f"stroke:{scheme['may']}",
        ".bar": f"fill:{scheme['bar']}",
        ".bar2": f"fill:{scheme['lit']}",
        **{f".t{k}": f"fill:{colour}" for k, colour in enumerate(tiles)},
        **{f".g{k}": f"fill:{colour}" for k, colour in enumerate(greys, 1)},
    }
    return "".join(f".hlomap {selector}{{{rule}}}" for selector, rule in rules.items())


_STYLE = (
    f".hlomap text{{font-family:{_FONT};font-size:12px}}"
    ".hlomap .title{font-size:14px;font-weight:bold}.hlomap .name{font-weight:bold}.hlomap .label{font-size:11px}"
    ".hlomap .small{font-size:10px}"
    ".hlomap .middle,.hlomap .cell,.hlomap .pad{text-anchor:middle}.hlomap .right{text-anchor:end}"
    ".hlomap .edge,.hlomap .line,.hlomap .gap,.hlomap .may{fill:none}.hlomap .line{stroke-width:1}"
    ".hlomap .edge{stroke-width:2;stroke-linecap:square}.hlomap .thin{stroke-width:1}.hlomap .may{stroke-width:1.6}"
    ".hlomap .dot{fill:none;stroke-width:2.4;stroke-linecap:round}"
    + _rules(_LIGHT)
    + f"@media (prefers-color-scheme:dark){{{_rules(_DARK)}}}"
)
