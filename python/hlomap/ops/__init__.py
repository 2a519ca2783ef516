"""The operations, one page each: every module of this folder registers the ops it describes.

:func:`lookup` is the only question asked from outside; an opcode without a page has rules that answer Unknown.
Pages are found by folder, so adding an op means adding one file.  Names with a leading underscore are shared
arithmetic, not pages.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ._op import Op, lookup, registered

for _page in sorted(module.name for module in iter_modules(__path__)):
    if not _page.startswith("_"):
        import_module(f"{__name__}.{_page}")

__all__ = ["Op", "lookup", "registered"]
