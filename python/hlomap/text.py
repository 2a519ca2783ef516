"""Text for people: lists, numbers with their nouns, and text from programs, made safe to print and to put into HTML.

Names in an HLO file are data that anybody may have written: :func:`printable` is for terminals and :func:`html` for
pages.  Every text of an explanation goes through one of them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Controls, marks that change the direction of text, lone surrogates, and what XML does not allow."""


def printable(text: object, limit: int = 200) -> str:
    """One line without control characters, cut where it is long.

    >>> printable("a\\x1b[31m\\nb")
    'a\ufffd[31m\ufffdb'
    """
    return cut(UNSAFE.sub("\ufffd", str(text)[: limit + 1]), limit)


def cut(text: str, limit: int) -> str:
    """The text, with an ellipsis where it is too long."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def one_line(text: str, limit: int = 160) -> str:
    """A text for a ``repr``: without line breaks, cut where it is long.

    >>> one_line("a\\nb" * 3, 5)
    'a ba…'
    """
    return cut(" ".join(text[: 2 * limit].split()), limit)


def error_text(error: BaseException, limit: int = 1000) -> str:
    """The kind of an error and the beginning of its message.

    >>> error_text(ValueError("no such dim"))
    'ValueError: no such dim'
    """
    return f"{type(error).__name__}: {str(error)[:limit]}".encode("utf-8", "backslashreplace").decode()


def html(text: object, limit: int = 2000) -> str:
    """The text for HTML and SVG, where it never becomes an element or an attribute.

    >>> html("<script>")
    '&lt;script&gt;'
    """
    from html import escape  # with a table of all entities

    return escape(printable(text, limit))


def joined(phrases: Iterable[str]) -> str:
    """A list in a sentence.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    items = list(phrases)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""


def plural(n: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "element"), plural(1200, "element")
    ('1 element', '1,200 elements')
    """
    return f"{n:,} {noun}" + "s" * (n != 1)


def count_text(lower: int, upper: int | None, noun: str) -> str:
    """A number that is known within bounds.

    >>> count_text(3, 3, "element"), count_text(0, 3, "element"), count_text(0, None, "element")
    ('3 elements', 'at most 3 elements', 'an unknown number of elements')
    """
    if upper is None:
        return f"an unknown number of {noun}s"
    return plural(upper, noun) if lower == upper else f"at most {plural(upper, noun)}"


def bytes_text(n: int | None) -> str:
    """A number of bytes with its unit; ``?`` where it is unknown."""
    return "? bytes" if n is None else plural(n, "byte")


def table_lines(rows: Sequence[Sequence[str]], left: Container[int] = (0,)) -> list[str]:
    """The rows of a table as lines, with the cells of the columns ``left`` to the left, and all others to the right.

    >>> table_lines([["", "bytes"], ["in all", "12"]])
    ['        bytes', 'in all     12']
    """
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    align = [str.ljust if k in left else str.rjust for k in range(len(widths))]
    return ["  ".join(place(c, w) for place, c, w in zip(align, row, widths, strict=True)).rstrip() for row in rows]


def leaf_text(leaf: Iterable[int]) -> str:
    """A shape index after the name of a value; nothing for an array.

    >>> "t" + leaf_text((0, 1))
    't{0, 1}'
    """
    found = ", ".join(map(str, leaf))
    return f"{{{found}}}" if found else ""
