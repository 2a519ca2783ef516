"""Names of a package that are imported on their first access (PEP 562), and NumPy, imported on its first use."""

from __future__ import annotations

import importlib
import os
import sys

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than the compiled module
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Lazy", "lazy_names", "np", "npt"]


def lazy_names(package: str, path: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of the module at a path: the names that its stub imports."""
    with open(f"{os.path.splitext(path)[0]}.pyi", encoding="utf-8") as stub:
        imports = f"\n{stub.read()}".split("\nfrom .")[1:]
    module_of: dict[str, str] = {}
    for module, _, names in (line.partition(" import ") for line in imports):
        listed = names.partition(")" if names[0] == "(" else "\n")[0].strip("(")
        module_of |= dict.fromkeys(listed.replace(",", "").split()[::3], module)  # each NAME as NAME

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, anchor = module_of[name], sys.modules[package].__package__
        if not module:
            return importlib.import_module(f".{name}", anchor)
        value = getattr(importlib.import_module(f".{module}", anchor), name)
        setattr(sys.modules[package], name, value)
        return value

    return list(module_of), load, lambda: list(module_of)


class Lazy:
    """A module that is imported when a name of it is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self._module), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    # Questions about maps need no arrays, and importing NumPy takes longer than the rest of the package.
    np, npt = Lazy("numpy"), Lazy("numpy.typing")
