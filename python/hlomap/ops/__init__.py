"""The operations, one page each: every module of this folder registers the ops it describes.

:func:`lookup` is the only question asked from outside; an opcode without a page has rules that answer Unknown.
Pages are found by folder, so adding an op means adding one file.  Names with a leading underscore are shared
arithmetic, not pages; a meaning that would make its page long is in :mod:`hlomap.ops.meaning` under the same name.
The pages are read at the first question: importing the package asks none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from .._core import Instruction
from . import _registry
from ._rule import OpRule

__all__ = ["OpRule", "each", "lookup", "op_of", "registered"]


@cache
def _load_rules() -> None:
    for page in sorted(module.name for module in iter_modules(__path__)):
        if not page.startswith("_"):
            import_module(f"{__name__}.{page}")


def lookup(opcode: str) -> OpRule:
    """The op of an opcode; an opcode without a page gets rules that answer Unknown."""
    _load_rules()
    return _registry.lookup(opcode)


def op_of(instruction: Instruction) -> OpRule:
    """The op of an instruction; a user's rule for its opcode or its target goes before its page's."""
    _load_rules()
    return _registry.op_of(instruction)


def registered() -> tuple[str, ...]:
    """The opcodes that have a page, sorted."""
    _load_rules()
    return _registry.registered()


def each(listener: Callable[[OpRule], None]) -> None:
    """Calls ``listener`` with the op of every page, and of every page to come."""
    _load_rules()
    _registry.each(listener)
