"""What rules answered: each is asked once for a signature, and what goes wrong inside it is an answer, too.

Read :func:`guarded` first.  The law: a map has a dimension for each dimension of what was asked, and a result for each
dimension of the leaf that it indexes; anything else is unknown.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ._core import Instruction, Shape
from .errors import HlomapError
from .ops._op import Answer, Footprint, Leaf, Unknown, must, shape_at

__all__ = ["answers", "guarded", "has_runtime"]

_CACHED_ANSWERS = 8192

Key: TypeAlias = tuple[bytes, Leaf, int]
"""A signature, a leaf of the output or of an operand, and the operand's number, -1 for the output."""


class Answers:
    """The latest answers of rules by instruction signature, each with whether it has runtime variables.

    Answers depend on the signature alone, so an entry never becomes wrong; the oldest are dropped.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Answer, bool]] = OrderedDict()

    def find(self, key: Key) -> tuple[Answer, bool] | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: Key, answer: tuple[Answer, bool]) -> None:
        with self._lock:
            self._kept[key] = answer
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)


answers = Answers(_CACHED_ANSWERS)


def guarded(instruction: Instruction, rank: int, targets: Sequence[Shape], rule: Callable[[], Answer]) -> Answer:
    """A rule's answer; what does not fit in 64 bits, or attributes that do not fit the shapes, are unknown.

    A map has a dimension for each of what was asked, and a result for each of the leaf that it indexes.
    """
    n = len(targets)
    if instruction.inconsistency is not None:
        return (Unknown(f"{instruction.opcode}: {instruction.inconsistency}"),) * n
    try:
        answer = tuple(rule())
        for part, target in zip(answer, targets, strict=True):
            for leaf, m in part.maps if isinstance(part, Footprint) else ():
                must(len(m.dims) == rank, f"a map of {len(m.dims)} dimensions for {rank}")
                must(len(m.results) == shape_at(target, leaf).rank, f"a map of {len(m.results)} results to {target}")
    except (HlomapError, OverflowError) as error:
        return (Unknown(f"{instruction.opcode}: {error}"),) * n
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        StopIteration,
        TypeError,
        ValueError,
    ) as error:
        reason = f"{instruction.opcode}: attributes and shapes do not fit ({type(error).__name__}: {error})"
        return (Unknown(reason),) * n
    return answer


def has_runtime(answer: Answer) -> bool:
    return any(isinstance(part, Footprint) and any(m.runtime for _, m in part.maps) for part in answer)
