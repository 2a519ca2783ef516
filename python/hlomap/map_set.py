"""A set of indexing maps whose union is the answer, together with how true it is.

Read :class:`MapSet` first.  The law: no maps and not unknown means that nothing is read.  Members are distinct as
(leaf, map) and keep the order in which they were found.  Nothing is composed or simplified here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ._core import IndexingMap, Instruction

__all__ = ["MapSet", "Use"]

Leaf: TypeAlias = tuple[int, ...]
Use: TypeAlias = tuple[Instruction, int]
"""A user and the number of the operand by which it uses a value."""


class MapSet:
    """Which elements of a value belong to the elements that were asked for: a union of indexing maps.

    Each member knows its tuple leaf (``.index``) and its first use in text order (``.use``).

    >>> import hlomap as hm
    >>> MapSet([hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")])
    MapSet(1 map, exact)
      (d0) -> (d0 + 1), domain: d0 in [0, 3]
    >>> MapSet.unknown("no rule for custom-call").is_unknown
    True
    """

    __slots__ = ("_exact", "_maps", "_reason", "_unknown", "_uses")

    def __init__(
        self,
        maps: Iterable[IndexingMap] = (),
        *,
        exact: bool = True,
        reason: str | None = None,
        uses: Mapping[tuple[Leaf, IndexingMap], Iterable[Use]] | None = None,
    ) -> None:
        kept: dict[tuple[Leaf, IndexingMap], IndexingMap] = {}
        own_uses: dict[tuple[Leaf, IndexingMap], tuple[Use, ...]] = {}
        for m in maps:
            key = (tuple(m.index), m)
            kept.setdefault(key, m)
            if uses is None and m.use is not None:
                own_uses[key] = (*own_uses.get(key, ()), m.use)
        if uses is not None:
            own_uses = {key: tuple(found) for key, found in uses.items() if key in kept}
        self._maps = tuple(kept.values())
        self._uses = own_uses
        self._exact = exact
        self._reason = reason
        self._unknown = False

    @classmethod
    def unknown(cls, reason: str) -> MapSet:
        """The set of which nothing is known, and why.

        >>> MapSet.unknown("no rule for sort").reason
        'no rule for sort'
        """
        made = cls(exact=False, reason=reason)
        made._unknown = True
        return made

    @property
    def exact(self) -> bool:
        """Whether the union is precisely what the operation's definition mentions; else it may contain more."""
        return self._exact

    @property
    def is_unknown(self) -> bool:
        """Whether nothing can be said; then there are no maps, and any element may be read."""
        return self._unknown

    @property
    def reason(self) -> str | None:
        """Why the set is unknown or not exact."""
        return self._reason

    def uses(self, member: IndexingMap) -> tuple[Use, ...]:
        """All uses through which a member was reached, in text order.

        >>> MapSet().uses
        <bound method MapSet.uses of MapSet(no map, exact)>
        """
        return self._uses.get((tuple(member.index), member), ())

    def union(self, *others: MapSet) -> MapSet:
        """The members of all; exact where all are, unknown where one is.

        >>> a, b = MapSet(), MapSet.unknown("no rule for sort")
        >>> a.union(b).is_unknown
        True
        """
        sets = (self, *others)
        for one in sets:
            if one._unknown:
                return one
        uses: dict[tuple[Leaf, IndexingMap], tuple[Use, ...]] = {}
        for one in sets:
            for key, found in one._uses.items():
                before = uses.get(key, ())
                uses[key] = before + tuple(use for use in found if use not in before)
        return MapSet(
            (m for one in sets for m in one._maps),
            exact=all(one._exact for one in sets),
            reason=next((one._reason for one in sets if one._reason), None),
            uses=uses,
        )

    __or__ = union

    def __iter__(self) -> Iterator[IndexingMap]:
        return iter(self._maps)

    def __len__(self) -> int:
        return len(self._maps)

    def __bool__(self) -> bool:
        """False only where it is known that nothing is read."""
        return self._unknown or bool(self._maps)

    def __getitem__(self, i: int) -> IndexingMap:
        return self._maps[i]

    def __contains__(self, member: object) -> bool:
        return member in self._maps

    def _key(self) -> tuple[object, ...]:
        return self._unknown, self._exact, frozenset((tuple(m.index), m) for m in self._maps)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, MapSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        if self._unknown:
            return f"UNKNOWN: {self._reason}"
        return "\n".join(f"{list(m.index)} {m}" if m.index else str(m) for m in self._maps)

    def __repr__(self) -> str:
        if self._unknown:
            return f"MapSet.unknown({self._reason!r})"
        n = len(self._maps)
        truth = "exact" if self._exact else "over"
        head = f"MapSet({n or 'no'} map{'s' if n > 1 else ''}, {truth})"
        return "\n  ".join([head, *str(self).splitlines()])
