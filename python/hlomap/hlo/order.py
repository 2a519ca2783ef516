"""Traversals of what follows from what, and topological order.

Nothing here recurses, so the length of a program does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from .._core import Computation, Instruction

_Numbered = TypeVar("_Numbered", Instruction, Computation)


def reachable(starts: Iterable[_Numbered], following: Callable[[_Numbered], Iterable[_Numbered]]) -> list[_Numbered]:
    """The nodes that can be reached from some, themselves included, the nearest first."""
    found = dict.fromkeys(starts)
    order = list(found)
    for node in order:
        new = [value for value in dict.fromkeys(following(node)) if value not in found]
        found.update(dict.fromkeys(new))
        order += new
    return order


def postorder(starts: Iterable[_Numbered], following: Callable[[_Numbered], Iterable[_Numbered]]) -> list[_Numbered]:
    """The same nodes, each after those that follow it."""
    done: list[_Numbered] = []
    seen: set[int] = set()
    for start in starts:
        pending = [(start, iter(following(start)))] if start.number not in seen else []
        seen.add(start.number)
        while pending:
            here, rest = pending[-1]
            for value in rest:
                if value.number not in seen:
                    seen.add(value.number)
                    pending.append((value, iter(following(value))))
                    break
            else:
                done.append(here)
                pending.pop()
    return done


def reverse_postorder(start: _Numbered, following: Callable[[_Numbered], Iterable[_Numbered]]) -> list[_Numbered]:
    """The same nodes, each before those that follow it."""
    return postorder([start], following)[::-1]
