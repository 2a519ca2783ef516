"""The dictionaries of queries that have a set for each of many instructions: they explain keys that are missing.

:class:`ByInstruction` is a ``dict`` that stays as it is, and also finds an instruction by its name.  It holds where its
maps start, for those who draw it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from .._core import Instruction
from ..errors import NotFoundError
from ..maps.map_set import MapSet
from ..types import ReadOnlyDict, ShapeIndex, one_line

__all__ = ["ByInstruction"]

_MOST_NAMES = 20


class ByInstruction(ReadOnlyDict[Instruction, MapSet]):
    """A set of maps for each instruction; ``[name]`` also finds the instruction of a name.

    >>> import hlomap as hm
    >>> root = hm.parse("ENTRY e { x.1 = f32[3] parameter(0) ROOT n = f32[3] negate(x.1) }").entry.root
    >>> print(hm.backward_slice(root)["x.1"])
    (d0) -> (d0), domain: d0 in [0, 2]
    """

    __slots__ = ("indices", "relation", "start")

    def __init__(
        self,
        sets: Iterable[tuple[Instruction, MapSet]],
        start: Instruction,
        indices: Sequence[ShapeIndex],
        relation: Literal["read", "reached"] = "read",
    ) -> None:
        super().__init__(sets)
        self.start: Instruction = start
        """The instruction at whose elements all maps start."""
        self.indices: tuple[ShapeIndex, ...] = tuple(indices)
        """The shape indices of its arrays that were asked for."""
        self.relation: Literal["read", "reached"] = relation
        """Whether the elements of a value are read by those of the start, or are reached by them."""

    def __missing__(self, key: object) -> MapSet:
        if not isinstance(key, (str, Instruction)):
            raise KeyError(key)
        name = key.removeprefix("%") if isinstance(key, str) else key.name
        found = [instruction for instruction in self if instruction.name == name] if isinstance(key, str) else []
        if len(found) == 1:
            return self[found[0]]
        if found:
            places = ", ".join(instruction.computation.name for instruction in found[:_MOST_NAMES])
            message = f"several instructions are named `{name}`, in {places}: use the instruction as the key"
        elif self:
            names = ", ".join(f"`{instruction.name}`" for instruction in list(self)[:_MOST_NAMES])
            more = f" and {len(self) - _MOST_NAMES} more" if len(self) > _MOST_NAMES else ""
            message = f"no instruction `{one_line(name, 100)}` here; there are {names}{more}"
        else:
            message = f"no instruction `{one_line(name, 100)}` here; {self.start.name} needs no elements of any"
        raise NotFoundError(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self.items()), self.start, self.indices, self.relation)
