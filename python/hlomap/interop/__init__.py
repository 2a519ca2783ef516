"""Conversions to and from other packages; the only package that imports optional dependencies.

>>> hm.interop.jax.watch.__name__
'watch'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import jax as jax

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "jax":
            return import_module(".jax", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
