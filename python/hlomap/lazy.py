"""Names of a package that are imported on their first access (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, module_of: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package, for the module of hlomap that has each name.

    The names of the module ``""`` are modules themselves.
    """

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = module_of[name]
        if not module:
            return importlib.import_module(f"hlomap.{name}")
        value = getattr(importlib.import_module(f"hlomap.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return list(module_of), load, lambda: list(module_of)
