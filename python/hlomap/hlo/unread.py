"""Unread parts of a module, where no conclusion from its instructions is proved."""

from __future__ import annotations

from collections.abc import Container

from .._core import Computation, Instruction, Module
from ..base.text import joined, printable

_MAX_NAMES = 5


def unread_reason(module: Module, among: Container[Instruction | Computation] | None = None) -> str | None:
    """Why the instructions of a module, or some of them, are incomplete; None if all of its text was read.

    A computation stands for its instructions.

    >>> unread_reason(hm.parse("ENTRY e { p = f32[2] parameter(0)\\n x = f7[2] copy(p)\\n ROOT n = f32[2] negate(p) }"))
    'the text of x cannot be read'
    """
    unread = [i.name for i in module.unread if among is None or i in among or i.computation in among]
    if unread:
        names = [printable(name, 60) for name in unread[:_MAX_NAMES]]
        more = [f"{len(unread) - _MAX_NAMES:,} more"] if len(unread) > _MAX_NAMES else []
        return f"the text of {joined([*names, *more])} cannot be read"
    return "a part of the text cannot be read" if module.has_skipped_text else None
