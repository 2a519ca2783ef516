"""A picture of a value: an SVG image and a form for the terminal, each made on demand."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property

from ..base.answers import ReadOnly
from ..base.files import replacing, write_text
from ..base.text import printable
from .style import document


class Picture(ReadOnly):
    """A picture of a value, which notebooks show: ``.svg`` is the image, ``str()`` a form for the terminal.

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

    def __init__(self, title: str, svg: Callable[[], str], text: Callable[[], str]) -> None:
        self.title = title
        """The first line of the picture."""
        self._svg, self._text = svg, text

    @cached_property
    def svg(self) -> str:
        """The image as SVG text, with a title and a description for screen readers."""
        return self._svg()

    def png(self, *, scale: float = 2.0) -> bytes:
        """The image as PNG, in light colours, with ``scale`` pixels for each unit of the SVG.

        Raises :class:`~hlomap.errors.UnsupportedError` without CairoSVG: ``pip install 'hlomap[png]'``.
        """
        from ..interop.cairosvg import to_png

        return to_png(self.svg, scale)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the image to a file: as PNG (see :meth:`png`) if the name ends with ``.png``, else as SVG.

        Raises ``OSError`` if the file cannot be written.
        """
        if os.fspath(path).lower().endswith(".png"):
            content = self.png()
            with replacing(path) as temporary, open(temporary, "wb") as stream:
                stream.write(content)
        else:
            write_text(path, self.svg)

    def __reduce__(self) -> tuple[Callable[[str, str, str], Picture], tuple[str, str, str]]:
        return _of_texts, (self.title, self.svg, str(self))

    def __str__(self) -> str:
        return self._text()

    def __repr__(self) -> str:
        return f"<Picture of {printable(self.title, 180)}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """The image with its title as alternative text, for pages that embed it as a file."""
        return {"image/svg+xml": self.svg, "text/plain": repr(self)}, {"image/svg+xml": {"alt": self.title}}


def _of_texts(title: str, svg: str, text: str) -> Picture:
    return Picture(title, lambda: svg, lambda: text)


def stacked(pictures: Sequence[Picture]) -> Picture:
    """Several pictures, one below the other."""
    title = f"{len(pictures)} pictures"

    def svg() -> str:
        parts, right, bottom = [], 0, 0
        for picture in pictures:
            size = re.search(r'width="(\d+)" height="(\d+)"', picture.svg)
            assert size is not None
            parts.append(picture.svg.replace("<svg ", f'<svg y="{bottom}" ', 1))
            right, bottom = max(right, int(size[1])), bottom + int(size[2])
        return document(right, bottom, title, "; ".join(picture.title for picture in pictures) or title, parts)

    return Picture(title, svg, lambda: "\n\n".join(map(str, pictures)) or title)
