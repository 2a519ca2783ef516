"""Names of a package that are imported on their first access (PEP 562)."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any


def lazy_names(package: str, path: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of the module at a path: the names that its stub imports."""
    with open(f"{os.path.splitext(path)[0]}.pyi", encoding="utf-8") as stub:
        imports = re.findall(r"^from \.(\S*) import ([^(\n]+|\([^)]*\))", stub.read(), re.M)
    module_of = {name: module for module, names in imports for name in re.findall(r"\w+ as (\w+)", names)}

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
