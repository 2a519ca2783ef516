"""Op rules: for each operation its indexing rules and its semantics in NumPy.

Every module of this package whose name has no leading underscore registers the rules of one operation, or of a family
of operations.  A short op rule is one file; a long one is a folder with ``indexing.py``, ``evaluate.py`` and, if both
need them, ``attributes.py`` (the checked attributes, as integers and shapes).  Indexing rules and semantics check each
other, so neither is written in terms of the other: shared code is in ``_indexing`` and ``_numpy``, which do not import
each other; only ``_shapes`` and ``_attributes`` serve both.

To add an operation ``my-op``, write two files and edit no list:

1. ``python/hlomap/ops/my_op.py``, with ``transpose.py`` as a model: the functions ``output_to_input``,
   ``input_to_output`` and ``evaluate`` (see :class:`OpRule`), then
   ``register(OpRule("my-op", output_to_input, input_to_output, evaluate))``.
2. ``tests/cases/ops/my_op.hlo``: small modules whose roots are the operation.  Run the tests with ``HLOMAP_BLESS=1`` to
   write the maps as comments, and read them.  Every case is also checked against the interpreter.

The modules are imported at the first lookup; importing the package imports none of them.
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
    for name in sorted(module.name for module in iter_modules(__path__)):
        if not name.startswith("_"):
            import_module(f"{__name__}.{name}")


def lookup(opcode: str) -> OpRule:
    """The op rule of an opcode; the rules of an opcode that is not registered return Unknown."""
    _load_rules()
    return _registry.lookup(opcode)


def op_of(instruction: Instruction) -> OpRule:
    """The op rule of an instruction; a custom rule for its opcode or custom call target takes precedence."""
    _load_rules()
    return _registry.op_of(instruction)


def registered() -> tuple[str, ...]:
    """The registered opcodes, sorted."""
    _load_rules()
    return _registry.registered()


def each(listener: Callable[[OpRule], None]) -> None:
    """Calls ``listener`` with every registered op rule, and with every op rule that is registered later."""
    _load_rules()
    _registry.each(listener)
