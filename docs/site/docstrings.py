"""Docstrings as Markdown: examples in fences, roles as links."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> (?:.+\n?)+", re.M)
_ROLE = re.compile(r":(?:class|func|mod|meth|attr|data|exc):`~?([^`]+)`")


class Markdown(griffe.Extension):
    """Rewrites every docstring before it is rendered."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """The docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """A docstring with its examples and roles as Markdown writes them."""
    pieces, at = [], 0
    for example in _EXAMPLE.finditer(text):
        pieces += [_with_links(text[at : example.start()]), "```pycon\n", example.group().rstrip(), "\n```\n"]
        at = example.end()
    return "".join([*pieces, _with_links(text[at:])])


def _with_links(text: str) -> str:
    text = _ROLE.sub(lambda role: f"`{role.group(1).removeprefix('hlomap.')}`", text)
    return text.replace("``", "`")
