"""The shardings that a module gives to its values.

:func:`sharding_of` is the entry point.  :class:`Program` answers many questions about one module.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._core import Computation, Instruction, Module, Shape, Sharding
from ..analysis.queries import shape_indices
from ..base.types import ShapeIndex, expect_index, subject_of
from ..hlo.annotations import is_whole, leaf_shardings


def sharding_of(subject: Instruction | Computation | Module, /, output: int | ShapeIndex = 0) -> Sharding | None:
    """The sharding of one output as written in the module; ``None`` if the module gives none.

    A computation stands for its root, a module for the root of its entry.  ``output`` is the number of an output or a
    shape index into a tuple.  A single sharding of a tuple applies to every array in it.  For a nested tuple the answer
    is the tuple of the shardings of its arrays.

    A module that XLA has partitioned keeps the shardings of its parameters, but has the shapes of their parts.

    Raises :class:`~hlomap.errors.ShapeError` if the output does not exist, or if a tuple of shardings has
    another number of items than the value has arrays.

    >>> module = hm.parse('''ENTRY e {
    ...   p = (f32[8], f32[6]) parameter(0), sharding={{devices=[2]<=[2]}, {replicated}}
    ...   ROOT n = f32[8] get-tuple-element(p), index=0
    ... }''')
    >>> str(sharding_of(module["p"], 1)), sharding_of(module["n"])
    ('{replicated}', None)
    """
    found = subject_of(subject, "sharding_of")
    instruction = found.root if isinstance(found, Computation) else found
    expect_index(output, "sharding_of", "output")
    wanted = shape_indices(instruction.shape, output, "output")
    said = instruction.attributes.get("sharding")
    if not isinstance(said, Sharding) or said.kind != "tuple":
        return said if isinstance(said, Sharding) else None
    parts = leaf_shardings(instruction)
    if len(wanted) == 1:
        return parts[wanted[0]]
    return Sharding.parse("{" + ", ".join(str(parts[index]) for index in wanted) + "}")


class Program:
    """The shardings of a module's values, each read once.

    ``given`` has shardings that take the place of those in the module.
    """

    def __init__(self, module: Module, given: Mapping[Instruction, dict[ShapeIndex, Sharding]] | None = None) -> None:
        self.why_not_propagated: str | None = module._why_not_propagated
        """Why a value without a sharding may be split; None if it is on every device."""
        self._entry = module.entry
        self._given = given or {}
        self._said: dict[Instruction, dict[ShapeIndex, Sharding]] = dict(self._given)
        self._arrays: dict[Instruction, dict[ShapeIndex, Shape]] = {}
        self._places: dict[Instruction, dict[ShapeIndex, int]] = {}
        self._sources: dict[Instruction, str | None] = {}

    @property
    def is_given(self) -> bool:
        """Whether any sharding is given."""
        return bool(self._given)

    def has_sharding(self, value: Instruction) -> bool:
        """Whether a sharding is given or written, also one that cannot be read."""
        return value in self._given or value.attributes.get("sharding") is not None

    def written_shardings(self, value: Instruction) -> dict[ShapeIndex, Sharding]:
        """:func:`leaf_shardings`, or the shardings that were given."""
        if value not in self._said:
            self._said[value] = leaf_shardings(value)
        return self._said[value]

    def arrays(self, value: Instruction) -> dict[ShapeIndex, Shape]:
        """The arrays of a value by index."""
        if value not in self._arrays:
            self._arrays[value] = {index: shape for index, shape in value.shape.leaves() if shape.is_array}
        return self._arrays[value]

    def place(self, value: Instruction, index: ShapeIndex) -> int:
        """The position of an array among the arrays of a value."""
        if value not in self._places:
            self._places[value] = {at: k for k, at in enumerate(self.arrays(value))}
        return self._places[value][index]

    def split_source(self, value: Instruction) -> str | None:
        """The split value from which a value without a sharding comes, through others without one; None if nothing is
        split.

        XLA's propagation would give the value a sharding.  A parameter without one in a computation other than the
        entry has the sharding of an argument, which may be split.
        """
        pending = [value]
        while pending:
            here = pending[-1]
            said = self.written_shardings(here).values()
            operands = () if said else here.operands
            unknown = [one for one in operands if one not in self._sources]
            if unknown and here not in self._sources:
                pending += unknown
                continue
            pending.pop()
            source = next((self._sources[one] for one in operands if self._sources[one] is not None), None)
            if not all(map(is_whole, said)):
                source = here.name
            elif not said and here.parameter_number is not None and here.computation != self._entry:
                source = f"an argument of {here.computation.name}"
            self._sources[here] = source
        return self._sources[value]
