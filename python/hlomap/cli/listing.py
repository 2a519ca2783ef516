"""The records that ``hlomap show`` lists: each instruction with the maps of its operands or outputs.

The records hold plain texts; a printed line is a list of pieces with their styles, which the printer maps to colours.
The maps come from :mod:`hlomap.analysis.queries`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from .._core import IndexingMap, Instruction
from ..analysis.queries import indexing, input_to_output, output_to_input
from ..analysis.structure import is_fusion
from ..base.text import one_line
from ..base.types import ShapeIndex, json_fields
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..ops._shapes import n_outputs

if TYPE_CHECKING:
    from ..memory.overview import Overview
    from .console import Line

Direction = Literal["output_to_input", "input_to_output"]

_CONSTANT = re.compile(r" constant\(((?:[^()]|\([^()]*\))*)\)")


@dataclass(frozen=True)
class MapText:
    """One map: ``(d0)[s0] -> (s0, d0)``, its domain, and the elements that its runtime variables read."""

    formula: str
    domain: str
    runtime: tuple[str, ...]


@dataclass(frozen=True)
class Relation:
    """The maps between an output and an operand.

    ``status`` is exact, over-approximate, unknown or error; ``detail`` is its reason or a note.
    """

    source: str
    target: str
    status: str
    detail: str
    maps: tuple[MapText, ...]


@dataclass(frozen=True)
class Entry:
    """An instruction: its name, shape, opcode with operands, its relations, and a remark."""

    name: str
    shape: str
    operation: str
    relations: tuple[Relation, ...]
    note: str = ""


@dataclass(frozen=True)
class Part:
    """Instructions under a heading; ``computation`` is empty if they are of several."""

    title: str
    computation: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Listing:
    """The listing of a module; ``left_out`` counts the computations that are not listed.  ``parts`` can be read
    once."""

    module: str
    parts: Iterable[Part]
    overview: Overview | None = None
    left_out: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The listing as JSON values."""
        return json_fields(self, "module overview parts")


def entries(
    instructions: Iterable[Instruction],
    direction: Direction = "output_to_input",
    note: Callable[[Instruction], str] = lambda instruction: "",
) -> tuple[Entry, ...]:
    """An entry for each instruction, with a remark."""
    return tuple(_entry(i, _relations(i, direction), note(i)) for i in instructions)


def instruction_entries(
    instruction: Instruction, direction: Direction = "output_to_input", index: ShapeIndex = ()
) -> Iterator[Entry]:
    """One instruction, and for a fusion the instructions inside it with the maps from the fusion's outputs.

    ``index`` restricts ``output_to_input`` maps to the outputs at or below a shape index.
    """
    yield _entry(instruction, _relations(instruction, direction, index))
    if is_fusion(instruction):
        yield from _fused_entries(instruction, index)


def _fused_entries(fusion: Instruction, below: ShapeIndex) -> Iterator[Entry]:
    relations: dict[Instruction, list[Relation]] = {}
    for index, _ in fusion.shape.leaves():
        if index[: len(below)] != below:
            continue
        for instruction, maps in indexing(fusion, index).items():
            if instruction != fusion:
                relation = _relation(_at_index(fusion.name, index), instruction.name, maps)
                relations.setdefault(instruction, []).append(relation)
    for instruction, found in relations.items():
        yield _entry(instruction, found)


def _entry(instruction: Instruction, relations: Iterable[Relation], note: str = "") -> Entry:
    operands = ", ".join(operand.name for operand in instruction.operands)
    number = instruction.parameter_number
    called = ", ".join(computation.name for computation in instruction.called_computations)
    inside = (operands or _value(instruction)) if number is None else number
    operation = f"{instruction.opcode}({inside}){called and f', calls {called}'}"
    return Entry(instruction.name, str(instruction.shape), operation, tuple(relations), note)


def _value(instruction: Instruction) -> str:
    """The value of a constant as in HLO text, ``{...}`` if it is long; empty for all other instructions."""
    if not instruction._has("literal"):
        return ""
    text = instruction.to_string(large_constants=False, metadata=False, layouts=False, backend_config=False)
    found = _CONSTANT.search(text)
    return one_line(found[1], 60) if found else ""


def _relations(instruction: Instruction, direction: Direction, index: ShapeIndex = ()) -> Iterator[Relation]:
    return _per_output(instruction, index) if direction == "output_to_input" else _per_operand(instruction)


def _per_output(instruction: Instruction, below: ShapeIndex) -> Iterator[Relation]:
    operands = instruction.operands
    if not operands:
        return
    for index, _ in instruction.shape.leaves():
        if index[: len(below)] != below:
            continue
        source = _at_index("output", index) if index else ""
        sets = _query(lambda index=index: output_to_input(instruction, index), len(operands))  # type: ignore[misc]
        for operand, maps in zip(operands, sets, strict=True):
            # An array in a tuple reads few of the operands; the others are left out.
            if maps or not index:
                yield _relation(source, operand.name, maps)


def _per_operand(instruction: Instruction) -> Iterator[Relation]:
    n = n_outputs(instruction.shape)
    for number, operand in enumerate(instruction.operands):
        for operand_index, _ in operand.shape.leaves():
            key = (number, *operand_index)
            sets = _query(lambda key=key: input_to_output(instruction, key), n)  # type: ignore[misc]
            for output, maps in enumerate(sets):
                target = _at_index("output", (output,)) if instruction.shape.is_tuple else "output"
                if maps or not instruction.shape.is_tuple:
                    yield _relation(_at_index(operand.name, operand_index), target, maps)


def _query(query: Callable[[], Sequence[MapSet]], n: int) -> Sequence[MapSet | HlomapError]:
    try:
        return query()
    except HlomapError as error:
        return [error] * n


def _relation(source: str, target: str, maps: MapSet | HlomapError) -> Relation:
    if isinstance(maps, HlomapError):
        return Relation(source, target, "error", str(maps), ())
    if maps.is_unknown:
        return Relation(source, target, "unknown", str(maps.reason), ())
    texts = tuple(_text(m) for m in maps)
    return Relation(
        source, target, "exact" if maps.exact else "over-approximate", "" if texts else "reads nothing", texts
    )


def _text(m: IndexingMap) -> MapText:
    formula, _, rest = str(m).partition(", domain: ")
    domain, _, _ = rest.partition("runtime: ")
    leaf = f" of {{{', '.join(map(str, m.shape_index))}}}" if m.shape_index else ""
    runtime = tuple(
        f"{variable.name} = {variable.supplier.name}[{', '.join(map(str, variable.element))}]"
        for variable in m.runtime
        if variable.supplier is not None
    )
    return MapText(formula + leaf, domain.rstrip(" ,;\n"), runtime)


def _at_index(name: str, index: ShapeIndex) -> str:
    return f"{name}{{{', '.join(map(str, index))}}}" if index else name


# The records as lines.


def listing_lines(listing: Listing) -> Iterator[list[Line]]:
    """The lines of a module, one part at a time."""
    found = listing.overview
    yield [
        [(f"HloModule {listing.module if found is None else found.title}", "head")],
        *([(f"  {line}", "")] for line in (() if found is None else found.lines())),
    ]
    is_empty = True
    for part in listing.parts:
        is_empty = False
        yield [[], [(part.title, "head")], *(line for entry in part.entries for line in _entry_lines(entry))]
    if is_empty:
        yield [[], [("nothing matches", "")]]
    if listing.left_out:
        yield [[], [(f"not listed: {listing.left_out} (--all)", "domain")]]


def _entry_lines(entry: Entry) -> Iterator[Line]:
    """The line of an instruction, then a block for every operand or output; those with equal maps share a block."""
    yield [("  ", ""), (entry.name, "name"), (" = ", ""), (entry.shape, "shape"), (f" {entry.operation}", "")]
    if entry.note:
        yield [(f"    {entry.note}", "domain")]
    alike: dict[Relation, dict[str, None]] = {}
    for relation in entry.relations:
        alike.setdefault(replace(relation, target=""), {})[relation.target] = None
    for relation, targets in alike.items():
        names = ", ".join(targets)
        arrow = f"{relation.source} -> {names}" if relation.source else names
        status = relation.status + (f": {relation.detail}" if relation.detail else "")
        yield [("    ", ""), (arrow, "operand"), ("  ", ""), (status, relation.status)]
        for m in relation.maps:
            yield [(f"      {m.formula}", "formula")]
            yield from ([(f"        {text}", "domain")] for text in (m.domain, *m.runtime) if text)
