"""Functions of packages above, which those below and the compiled module call by name.

The root of the package has the module of each name, which is imported when the function is first needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["hook", "html", "svg"]


def hook(name: str) -> Any:
    """The function, or the class, of this name."""
    from . import _HOOKS

    return getattr(import_module(f"hlomap.{_HOOKS[name]}"), name)


def html(value: object) -> str | None:
    """The page of a value in a notebook; None where it cannot be made."""
    found: str | None = hook("notebook_html")(value)
    return found


def svg(value: object) -> str | None:
    """The image of a value in a notebook; None where it cannot be drawn."""
    found: str | None = hook("notebook_svg")(value)
    return found
