"""Follows one element back through the program, to the parameters of the entry.

:func:`trace` is the entry point.  The maps are those of :func:`hlomap.indexing`; beyond a computation that is not the
entry, they are those of :func:`hlomap.backward_slice`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._core import Instruction
from ..analysis.queries import reached
from ..analysis.questions import Questions
from ..analysis.slices import backward_slice
from ..base.text import leaf_text, printable
from ..base.types import ShapeIndex, json_fields
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..ops._shapes import shape_at
from .names import Names
from .phrases import clauses, phrases
from .source import value_label

_MAX_LEAVES = 4
_MAX_VALUES = 10_000
_MAX_INDENTS = 40  # so that a long chain does not take quadratic space


@dataclass(frozen=True)
class Step:
    """A value on the way back, and its elements that the explained element depends on."""

    instruction: Instruction
    #: The least number of instructions from the explained instruction to this one; None beyond the computation.
    distance: int | None
    #: The elements, as maps without dims.
    maps: MapSet
    #: The elements in words.
    words: str
    #: The readers of these elements: the explained instruction, or values on the way.
    readers: tuple[Instruction, ...] = ()

    def __str__(self) -> str:
        status = "" if self.maps.exact else f"  ({'unknown' if self.maps.is_unknown else 'at most these'})"
        return f"{printable(self.instruction.opcode, 40)}  {self.words}{status}"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        about = "instruction computation:instruction.computation opcode:instruction.opcode distance readers words maps"
        return json_fields(self, about, "exact:maps.exact reason:maps.reason")


def trace(
    instruction: Instruction, shape_index: ShapeIndex, point: tuple[int, ...], depth: int | None, names: Names
) -> Iterator[Step]:
    """The values that an element depends on, users before operands, up to ``depth`` instructions back."""
    distances = _distances(instruction, depth)
    inside = [one for one, n in distances.items() if depth is None or n < depth]
    box = [(i, i) for i in point]
    found = reached(Questions(instruction.module), instruction, [shape_index], inside)
    for value, maps in found.items():
        if value != instruction and value in distances and maps:
            image = maps.image(box)
            used_by = {user for m in image for user, _ in image.uses(m)} if image else set(value.users)
            readers = tuple(user for user in value.users if user in used_by and user in found)
            yield _step(value, distances[value], image, names, readers)
    if depth is None and instruction.computation != instruction.module.entry:
        try:
            parameters: Mapping[Instruction, MapSet] = backward_slice(instruction, shape_index)
        except (HlomapError, OverflowError) as error:
            parameters = {p: MapSet.unknown(str(error)) for p in instruction.module.entry.parameters}
        for value, maps in parameters.items():
            yield _step(value, None, maps.image(box), names)


def _distances(start: Instruction, depth: int | None) -> dict[Instruction, int]:
    """The values within ``depth`` operands of the start, with their distances."""
    found = {start: 0}
    frontier = [start]
    while frontier and len(found) < _MAX_VALUES and (depth is None or found[frontier[0]] < depth):
        following: list[Instruction] = []
        for user in frontier:
            for operand in user.operands:
                if operand not in found:
                    found[operand] = found[user] + 1
                    following.append(operand)
        frontier = following
    return found


def tree_lines(root: Instruction, steps: Sequence[Step]) -> Iterator[str]:
    """The steps as a tree: each value below its first reader, and abbreviated below every other reader."""
    by_reader: defaultdict[Instruction, list[Step]] = defaultdict(list)
    for step in steps:
        for reader in step.readers:
            by_reader[reader].append(step)
    for reader, own in by_reader.items():
        own.sort(key=lambda step: reader.operands.index(step.instruction))
    shown: set[Instruction] = set()
    pending = [(step, 0) for step in reversed(by_reader[root])]
    while pending:
        step, depth = pending.pop()
        indent = "  " * min(depth, _MAX_INDENTS)
        if step.instruction in shown:
            yield f"{indent}{value_label(step.instruction)}, as above"
            continue
        shown.add(step.instruction)
        yield f"{indent}{step}"
        pending += [(inner, depth + 1) for inner in reversed(by_reader[step.instruction])]
    yield from (f"from {step}" for step in steps if step.instruction not in shown)


def _step(
    value: Instruction, distance: int | None, maps: MapSet, names: Names, readers: tuple[Instruction, ...] = ()
) -> Step:
    label = value_label(value)
    if maps.is_unknown:
        return Step(value, distance, maps, f"any elements of {label}: {printable(maps.reason)}", readers)
    found = []
    for shape_index in dict.fromkeys(m.shape_index for m in maps):
        own = [names.of(m, -1) for m in maps._at(shape_index)]
        found.append(phrases(own, label + leaf_text(shape_index), shape_at(value.shape, shape_index)))
    words = clauses(found[:_MAX_LEAVES] + ["more"] * (len(found) > _MAX_LEAVES))
    return Step(value, distance, maps, words, readers)
