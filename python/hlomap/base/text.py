"""Text for people: lists, numbers with their nouns, and text from programs, made safe to print and to put into HTML.

Names in an HLO file are data that anybody may have written: :func:`printable` is for terminals and :func:`html` for
pages.  Every text of an explanation goes through one of them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from functools import cache

TYPE_CHECKING = False  # `typing` takes longer to import than this module
if TYPE_CHECKING:
    from .answers import Unknown

_CONTROLS = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff"
"""Controls, line separators, lone surrogates, and characters that XML does not allow."""

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Marks that change the direction of text, and characters that Unicode calls default ignorable: they have no width, so
they can make two names look alike or hide text in a name."""

_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)


@cache
def _unsafe() -> re.Pattern[str]:
    """Controls and invisible characters; compiled when needed, which takes as long as importing all of hlomap."""
    return re.compile(
        f"[{_CONTROLS}{_INVISIBLE}]"
        # An emoji may be followed by the selector of its form, and joined to the next one.
        f"|(?<![{_PICTURE}])[\ufe0e\ufe0f](?!\u20e3)|(?<![{_PICTURE}\ufe0f])\u200d|\u200d(?![{_PICTURE}])"
    )


def safe(text: str) -> str:
    """A text whose controls and invisible characters are replaced.

    >>> safe("a\\x1b[31m")
    'a\ufffd[31m'
    """
    return _unsafe().sub("\ufffd", text)


def printable(text: object, limit: int = 200) -> str:
    """One line without controls and invisible characters, cut to ``limit``.

    >>> printable("a\\x1b[31m\\nb\\u200b")
    'a\ufffd[31m\ufffdb\ufffd'
    """
    return cut(safe(str(text)[: limit + 1]), limit)


def cut(text: str, limit: int) -> str:
    """The text, with an ellipsis if it is too long."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def one_line(text: str, limit: int = 160) -> str:
    """A text for a ``repr``: without line breaks, cut to ``limit``.

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
    """The text escaped for HTML and SVG, so that it never becomes an element or an attribute.

    >>> html("<script>")
    '&lt;script&gt;'
    """
    from html import escape  # with a table of all entities

    return escape(printable(text, limit))


def joined(phrases: Iterable[str]) -> str:
    """A list of phrases as part of a sentence.

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
    """A number with its noun, given a lower and an upper bound.

    >>> count_text(3, 3, "element"), count_text(0, 3, "element"), count_text(0, None, "element")
    ('3 elements', 'at most 3 elements', 'an unknown number of elements')
    """
    if upper is None:
        return f"an unknown number of {noun}s"
    return plural(upper, noun) if lower == upper else f"at most {plural(upper, noun)}"


def bytes_text(n: int | Unknown | None) -> str:
    """A number of bytes with its unit; ``?`` if unknown."""
    return plural(n, "byte") if isinstance(n, int) else "? bytes"


def table_lines(rows: Sequence[Sequence[str]], left: Container[int] = (0,)) -> list[str]:
    """The rows of a table as lines; the columns ``left`` are aligned to the left, all others to the right.

    >>> table_lines([["", "bytes"], ["in all", "12"]])
    ['        bytes', 'in all     12']
    """
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    align = [str.ljust if k in left else str.rjust for k in range(len(widths))]
    return ["  ".join(place(c, w) for place, c, w in zip(align, row, widths, strict=True)).rstrip() for row in rows]


def leaf_text(shape_index: Iterable[int]) -> str:
    """A shape index as a suffix to the name of a value; empty for an array.

    >>> "t" + leaf_text((0, 1))
    't{0, 1}'
    """
    found = ", ".join(map(str, shape_index))
    return f"{{{found}}}" if found else ""
