"""What rules answered: each is asked once for a signature, and what goes wrong inside it is an answer, too.

Read :func:`guarded` first.  The law: a map has a dimension for each dimension of what was asked, and a result for each
dimension of the leaf that it indexes; anything else is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from ._core import IndexingMap, Shape
from .errors import HlomapError, ShapeError
from .node import Node
from .ops._op import NOTHING, Answer, Footprint, Leaf, Part, Unknown
from .ops._shapes import shape_at

__all__ = ["SILENT", "Answered", "Answers", "answers", "contents", "guarded"]

_CACHED_ANSWERS = 16384
_CACHED_CONTENTS = 4096
_WIDE = 256

Key: TypeAlias = tuple[bytes, Leaf, int]
"""A signature, a leaf of the output or of an operand, and the operand's number, -1 for the output."""

Link: TypeAlias = tuple[Leaf, IndexingMap, bool]
"""The leaf that a map's results index, the map, and whether it takes every element of what was asked to itself."""


class Answered:
    """The parts of an answer that say something, by number; a part that is left out reads nothing."""

    __slots__ = ("_links", "has_runtime", "parts", "sizes")

    def __init__(self, sizes: tuple[int, ...], parts: Mapping[int, Part]) -> None:
        self.sizes = sizes
        self.parts = parts
        self._links: tuple[tuple[int, Part, tuple[Link, ...]], ...] | None = None
        self.has_runtime = False
        for part in parts.values():
            if isinstance(part, Footprint):
                for _, m in part.maps:
                    if m.runtime:
                        self.has_runtime = True

    @property
    def links(self) -> tuple[tuple[int, Part, tuple[Link, ...]], ...]:
        """What a walk follows: number, part, and the maps of the part."""
        if self._links is None:
            self._links = tuple((k, part, _links(part, self.sizes)) for k, part in self.parts.items())
        return self._links


def _links(part: Part, sizes: tuple[int, ...]) -> tuple[Link, ...]:
    if isinstance(part, Unknown):
        return ()
    # An identity on a part of the elements only, as of a concatenate's first operand, does restrict what follows.
    return tuple((leaf, m, m == _identity(sizes)) for leaf, m in part.maps)


@lru_cache(maxsize=1024)
def _identity(sizes: tuple[int, ...]) -> IndexingMap:
    return IndexingMap.identity([(0, size - 1) for size in sizes])


SILENT = Answered((), {})
"""The answer that nothing is read."""


class Answers:
    """The latest answers of rules by instruction signature.

    Answers depend on the signature alone, so an entry becomes wrong only where a rule is replaced.  They are in two
    generations: what was not asked for during the whole of the younger one is dropped with the older.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: dict[Key, Answered] = {}
        self._old: dict[Key, Answered] = {}

    def find(self, key: Key) -> Answered | None:
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.keep(key, found)
        return found

    def keep(self, key: Key, answer: Answered) -> None:
        if len(answer.parts) > _WIDE:
            return
        if len(self._young) >= self._limit:
            self._young, self._old = {}, self._young
        self._young[key] = answer

    def forget(self) -> None:
        """Drop everything: rules have changed, and signatures do not know of that."""
        self._young, self._old = {}, {}


answers = Answers(_CACHED_ANSWERS)
contents = Answers(_CACHED_CONTENTS)
"""The same through whole computations, by their content; a runtime source is a position in the computation."""


def guarded(
    node: Node, sizes: tuple[int, ...], n: int, target: Callable[[int], Shape], rule: Callable[[], Answer]
) -> Answered:
    """A rule's answer of ``n`` parts; what does not fit in 64 bits, or attributes that do not fit, are unknown.

    A map has a dimension for each of ``sizes``, and a result for each dimension of the leaf of ``target(part)`` that
    it indexes.
    """
    if node.inconsistency is not None:
        return _unknown(sizes, f"{node.op.opcode}: {node.inconsistency}", n)
    try:
        said = rule()
        parts = dict(said) if isinstance(said, Mapping) else _numbered(said, n)
        for k, part in parts.items():
            if not 0 <= k < n:
                raise ShapeError(f"part {k} of {n}")
            for leaf, m in part.maps if isinstance(part, Footprint) else ():
                if len(m.dims) != len(sizes):
                    raise ShapeError(f"a map of {len(m.dims)} dimensions for {len(sizes)}")
                if len(m.results) != shape_at(target(k), leaf).rank:
                    raise ShapeError(f"a map of {len(m.results)} results to {target(k)}")
    except (HlomapError, OverflowError) as error:
        return _unknown(sizes, f"{node.op.opcode}: {error}", n)
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        StopIteration,
        TypeError,
        ValueError,
    ) as error:
        reason = f"attributes and shapes do not fit ({type(error).__name__}: {error})"
        return _unknown(sizes, f"{node.op.opcode}: {reason}", n)
    return Answered(sizes, parts)


def _numbered(said: Sequence[Part], n: int) -> dict[int, Part]:
    numbered = zip(range(n), said, strict=True)
    return {k: part for k, part in numbered if part is not NOTHING and part != NOTHING}


def _unknown(sizes: tuple[int, ...], reason: str, n: int) -> Answered:
    return Answered(sizes, dict.fromkeys(range(n), Unknown(reason)))
