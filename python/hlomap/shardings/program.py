"""The shardings that a module gives to its values.

:func:`sharding_of` is the entry point.
"""

from __future__ import annotations

from .._core import Computation, Instruction, Module, Sharding
from ..analysis.queries import shape_indices
from ..errors import ShapeError
from ..types import ShapeIndex, expect_index, subject_of


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


def leaf_shardings(instruction: Instruction) -> dict[ShapeIndex, Sharding]:
    """The sharding of each array and token of a value; none where the module says nothing.  Errors as above."""
    said = instruction.attributes.get("sharding")
    if not isinstance(said, Sharding):
        return {}
    leaves = [index for index, _ in instruction.shape._leaves()]
    parts = said.parts if said.kind == "tuple" else (said,) * len(leaves)
    if len(parts) != len(leaves):
        raise ShapeError(f"{instruction.name} has {len(parts)} shardings for {len(leaves)} values")
    return dict(zip(leaves, parts, strict=True))
