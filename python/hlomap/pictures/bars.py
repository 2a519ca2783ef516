"""Bar charts of named numbers, as an image and as text.

A bar has parts in two colours; its number is written after the bar, so that nobody has to read its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..base.text import printable
from .picture import Picture
from .style import CHARACTER, document, text

_EDGE = 16.0
_ROW = 22.0
_LENGTH = 300.0
_CELLS = 40
_LABEL = 40  # characters


@dataclass(frozen=True)
class Bar:
    """A name, the parts of its bar, and the text after the bar."""

    label: str
    parts: tuple[float, ...]
    note: str


def bar_picture(title: str, facts: str, bars: Sequence[Bar], legend: Sequence[str]) -> Picture:
    """The picture of bars with one scale; ``legend`` names the parts."""
    return Picture(title, lambda: _svg(title, facts, bars, legend), lambda: _text(title, facts, bars))


def _svg(title: str, facts: str, bars: Sequence[Bar], legend: Sequence[str]) -> str:
    most = max((sum(bar.parts) for bar in bars), default=0) or 1
    labels = [printable(bar.label, _LABEL) for bar in bars]
    left = _EDGE + max((len(label) for label in labels), default=0) * CHARACTER + 10
    y = _EDGE + 14
    parts = [text(_EDGE, y, title, "title"), text(_EDGE, y + 18, facts, "note")]
    right = _EDGE + max(len(title) * 8.6, len(facts) * CHARACTER)
    y += 34
    kinds = ("bar", "bar2")
    for bar, label in zip(bars, labels, strict=True):
        parts.append(text(left - 8, y + 12, label, "right"))
        x = left
        for value, kind in zip(bar.parts, kinds, strict=False):
            width = _LENGTH * value / most
            if width > 0:
                parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="16" class="{kind}"/>')
            x += width
        parts.append(text(x + 6, y + 12, bar.note, "note"))
        right = max(right, x + 6 + len(bar.note) * CHARACTER)
        y += _ROW
    if bars and len(legend) > 1:
        x = left
        for kind, words in zip(kinds, legend, strict=False):
            parts.append(f'<rect x="{x:.1f}" y="{y + 4:.1f}" width="12" height="12" class="{kind}"/>')
            parts.append(text(x + 18, y + 14, words, "note"))
            x += 18 + len(words) * CHARACTER + 16
        right = max(right, x)
        y += _ROW
    description = "; ".join(f"{label}: {bar.note}" for bar, label in zip(bars, labels, strict=True))
    return document(right + _EDGE, y + 10, title, f"{facts}. {description}", parts)


def _text(title: str, facts: str, bars: Sequence[Bar]) -> str:
    most = max((sum(bar.parts) for bar in bars), default=0) or 1
    labels = [printable(bar.label, _LABEL) for bar in bars]
    width = max((len(label) for label in labels), default=0)
    lines = [printable(title, 400), printable(facts, 400), ""]
    for bar, label in zip(bars, labels, strict=True):
        eighths = round(_CELLS * 8 * sum(bar.parts) / most)
        drawn = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        lines.append(f"{label:>{width}} {drawn} {printable(bar.note, 400)}".rstrip())
    return "\n".join(lines).rstrip()
