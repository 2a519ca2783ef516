"""Graph traversals and topological orders.

No function recurses, so programs of any length are safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from .._core import Computation, Instruction

_Numbered = TypeVar("_Numbered", Instruction, Computation)


def callees(computation: Computation) -> Iterator[Computation]:
    """The computations that the instructions of a computation call."""
    return (called for instruction in computation._calling for called in instruction.called_computations)


def callers(computation: Computation) -> Iterator[Computation]:
    """The computations whose instructions call a computation."""
    return (caller.computation for caller in computation.callers)


def reachable(
    starts: Iterable[_Numbered], following: Callable[[_Numbered], Iterable[_Numbered]]
) -> Iterator[_Numbered]:
    """The nodes reachable from some nodes, including these, nearest first."""
    order = list(dict.fromkeys(starts))
    found = set(order)
    for node in order:
        yield node
        for value in following(node):
            if value not in found:
                found.add(value)
                order.append(value)


def postorder(starts: Iterable[_Numbered], following: Callable[[_Numbered], Iterable[_Numbered]]) -> list[_Numbered]:
    """The reachable nodes, each after its successors."""
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
    """The reachable nodes, each before its successors."""
    return postorder([start], following)[::-1]
