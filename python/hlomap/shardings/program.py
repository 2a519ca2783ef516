"""The shardings that a module gives to its values.

:func:`sharding_of` is the entry point.  :class:`Program` answers many questions about one module.
"""

from __future__ import annotations

from .._core import Computation, Instruction, Module, Shape, Sharding
from ..analysis.queries import shape_indices
from ..base.types import ShapeIndex, expect_index, subject_of
from ..hlo.annotations import is_whole, leaf_shardings


def sharding_of(subject: Instruction | Computation | Module, /, output: int | ShapeIndex = 0) -> Sharding | None:
    """The sharding of one output as the module says it; ``None`` if it says nothing.

    A computation stands for its root, a module for that of its entry.  ``output`` is the number of an output or a shape
    index into a tuple.  A single sharding of a tuple is that of every
    array in it.  At an index of a tuple the answer is the tuple of the shardings of its arrays.

    A module that XLA has partitioned keeps the shardings of its parameters, but has the shapes of their parts.

    Raises :class:`~hlomap.errors.ShapeError` where the output does not exist, or where a tuple of shardings has
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
    """The shardings of a module's values, each read once."""

    def __init__(self, module: Module) -> None:
        self.why_not_propagated: str | None = module._why_not_propagated
        """Why a value without a sharding may be split; None where it is on every device."""
        self._entry = module.entry
        self._said: dict[Instruction, dict[ShapeIndex, Sharding]] = {}
        self._arrays: dict[Instruction, dict[ShapeIndex, Shape]] = {}
        self._places: dict[Instruction, dict[ShapeIndex, int]] = {}
        self._sources: dict[Instruction, str | None] = {}

    def said(self, value: Instruction) -> dict[ShapeIndex, Sharding]:
        """:func:`leaf_shardings`."""
        if value not in self._said:
            self._said[value] = leaf_shardings(value)
        return self._said[value]

    def arrays(self, value: Instruction) -> dict[ShapeIndex, Shape]:
        """The arrays of a value by index."""
        if value not in self._arrays:
            self._arrays[value] = {index: shape for index, shape in value.shape.leaves() if shape.is_array}
        return self._arrays[value]

    def place(self, value: Instruction, index: ShapeIndex) -> int:
        """The place of an array among those of a value."""
        if value not in self._places:
            self._places[value] = {at: k for k, at in enumerate(self.arrays(value))}
        return self._places[value][index]

    def split_source(self, value: Instruction) -> str | None:
        """The split source of a value without a sharding, through others without one; None where nothing is split.

        XLA's propagation would give the value a sharding.  A parameter without one that is not the module's has the
        sharding of an argument, which may be split.
        """
        pending = [value]
        while pending:
            here = pending[-1]
            said = self.said(here).values()
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
