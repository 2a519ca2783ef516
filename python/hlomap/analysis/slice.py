"""Results of a query for many instructions: a set of maps for each, from the elements of one value.

A slice is an immutable ``dict`` that records where its maps start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from .._core import Instruction
from ..base.answers import ReadOnly
from ..base.text import one_line
from ..base.types import ReadOnlyDict, ShapeIndex
from ..errors import NotFoundError
from ..hlo.order import reachable
from ..maps.map_set import MapSet

_MAX_NAMES = 20


class Slice(ReadOnly, ReadOnlyDict[Instruction, MapSet]):
    """The elements of each value that an element of the start reads, or that read it.

    ``[name]`` also finds a value, and a parameter by the name of its argument.

    >>> root = hm.parse('''ENTRY e {
    ...   x.1 = f32[3] parameter(0), metadata={op_name="x"}
    ...   ROOT n = f32[3] negate(x.1)
    ... }''').entry.root
    >>> found = hm.indexing(root)
    >>> found
    Slice(2 values read by n)
    >>> print(found)
    n negate: (d0) -> (d0), domain: d0 in [0, 2]
    x.1 parameter: (d0) -> (d0), domain: d0 in [0, 2]
    >>> print(found["x"])
    (d0) -> (d0), domain: d0 in [0, 2]
    """

    __slots__ = ("assumes", "indices", "relation", "start")

    def __init__(
        self,
        sets: Mapping[Instruction, MapSet],
        start: Instruction,
        indices: Sequence[ShapeIndex],
        relation: Literal["read", "reached"] = "read",
        assumes: str | None = None,
    ) -> None:
        super().__init__(sets)
        self.assumes: str | None = assumes
        """The assumption under which elements without influence are left out; None if the slice has all mentioned
        elements."""
        self.start: Instruction = start
        """The instruction at whose elements all maps start."""
        self.indices: tuple[ShapeIndex, ...] = tuple(indices)
        """The shape indices of the arrays in the query."""
        self.relation: Literal["read", "reached"] = relation
        """Whether elements of the start read the elements of a value, or reach them."""

    def lineage(self) -> tuple[tuple[Instruction, Instruction, int], ...]:
        """The uses on the way between the start and these values: operand, user and the number of the operand.

        In the computation of the start, users before operands where the start reads the values, and operands before
        users where it reaches them.  The way to values of other computations ends at the parameters.  A graph of
        networkx is ``networkx.MultiDiGraph(found.lineage())``.

        >>> text = 'ENTRY e { p = f32[3] parameter(0)  n = f32[3] negate(p)  ROOT m = f32[3] multiply(n, n) }'
        >>> found = hm.backward_slice(hm.parse(text).entry)
        >>> [(operand.name, user.name, number) for operand, user, number in found.lineage()]
        [('n', 'm', 0), ('n', 'm', 1), ('p', 'n', 0)]
        """
        inside = self.start.computation
        ends = {value for value in self if value.computation == inside} or set(inside.parameters)
        ahead, back = ("operands", "users") if self.relation == "read" else ("users", "operands")
        way = {*reachable([self.start], attrgetter(ahead))}.intersection(reachable(ends, attrgetter(back)))
        values = [value for value in inside.instructions if value in way]
        return tuple(
            (operand, user, number)
            for user in (values if self.relation == "reached" else reversed(values))
            for number, operand in enumerate(user.operands)
            if operand in way
        )

    def __str__(self) -> str:
        return "\n".join(f"{value.name} {value.opcode}: {maps}" for value, maps in self.items())

    def __repr__(self) -> str:
        n = len(self)
        relation = "read by" if self.relation == "read" else "reached from"
        return f"Slice({n or 'no'} value{'s' if n > 1 else ''} {relation} {one_line(self.start.name, 80)})"

    if TYPE_CHECKING:

        def __getitem__(self, key: Instruction | str, /) -> MapSet: ...

    def __missing__(self, key: object) -> MapSet:
        if not isinstance(key, (str, Instruction)):
            raise KeyError(key)
        name = key.removeprefix("%") if isinstance(key, str) else key.name
        found = [instruction for instruction in self if instruction.name == name] if isinstance(key, str) else []
        found = found or [i for i in self if i.parameter_number is not None and i.metadata.op_name == key]
        if len(found) == 1:
            return self[found[0]]
        if found:
            places = ", ".join(instruction.computation.name for instruction in found[:_MAX_NAMES])
            message = f"several instructions are named `{name}`, in {places}: use the instruction as the key"
        elif self:
            names = ", ".join(f"`{instruction.name}`" for instruction in list(self)[:_MAX_NAMES])
            more = f" and {len(self) - _MAX_NAMES} more" if len(self) > _MAX_NAMES else ""
            message = f"no instruction `{one_line(name, 100)}` here; there are {names}{more}"
        else:
            message = f"no instruction `{one_line(name, 100)}` here; {self.start.name} needs no elements of any"
        raise NotFoundError(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self.start, self.indices, self.relation, self.assumes)
