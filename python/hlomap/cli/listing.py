"""From a module to what a person reads: each instruction with the maps of its operands or outputs.

:func:`entries` lists instructions, :func:`inside` what is within one fusion.  The records hold plain texts and are
printed by :mod:`hlomap.cli.report`; like :mod:`hlomap.analysis.rows`, this asks for maps and
decides nothing about an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .._core import Computation, IndexingMap, Instruction
from ..analysis.queries import indexing, input_to_output, output_to_input
from ..analysis.rows import leaves
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..ops._shapes import n_outputs

__all__ = ["Direction", "Entry", "MapText", "Relation", "entries", "inside"]


Direction = Literal["output_to_input", "input_to_output"]


@dataclass(frozen=True)
class MapText:
    """One map: ``(d0)[s0] -> (s0, d0)``, its domain, and where its runtime variables come from."""

    formula: str
    domain: str
    runtime: tuple[str, ...]


@dataclass(frozen=True)
class Relation:
    """The maps between an output and an operand.  ``truth``: exact, over, unknown or error, with what to add to it."""

    source: str
    target: str
    truth: str
    detail: str
    maps: tuple[MapText, ...]


@dataclass(frozen=True)
class Entry:
    """An instruction: its name, shape, opcode with operands, and its relations."""

    name: str
    shape: str
    operation: str
    relations: tuple[Relation, ...]


def entries(computation: Computation, direction: Direction = "output_to_input") -> Iterator[Entry]:
    """Every instruction of a computation, in the order of the text."""
    relations = _per_output if direction == "output_to_input" else _per_operand
    for instruction in computation.instructions:
        yield _entry(instruction, tuple(relations(instruction)))


def inside(fusion: Instruction) -> Iterator[Entry]:
    """What is within a fusion: for each inner instruction and parameter, how each output of the fusion reads it."""
    found: dict[Instruction, list[Relation]] = {}
    for index, _ in leaves(fusion.shape):
        for instruction, maps in indexing(fusion, index).items():
            if instruction != fusion:
                relation = _relation(_place(fusion.name, index), instruction.name, maps)
                found.setdefault(instruction, []).append(relation)
    for instruction, relations in found.items():
        yield _entry(instruction, tuple(relations))


def _entry(instruction: Instruction, relations: tuple[Relation, ...]) -> Entry:
    operands = ", ".join(operand.name for operand in instruction.operands)
    number = instruction.parameter_number
    called = ", ".join(computation.name for computation in instruction.called_computations)
    operation = f"{instruction.opcode}({operands if number is None else number}){called and f', calls {called}'}"
    return Entry(instruction.name, str(instruction.shape), operation, relations)


def _per_output(instruction: Instruction) -> Iterator[Relation]:
    operands = instruction.operands
    if not operands:
        return
    for index, _ in leaves(instruction.shape):
        source = _place("output", index) if index else ""
        sets = _answer(lambda index=index: output_to_input(instruction, index), len(operands))  # type: ignore[misc]
        for operand, maps in zip(operands, sets, strict=True):
            # A tuple's leaf has nothing to do with most operands; only an array's operands are all worth a line.
            if maps or not index:
                yield _relation(source, operand.name, maps)


def _per_operand(instruction: Instruction) -> Iterator[Relation]:
    n = n_outputs(instruction.shape)
    for number, operand in enumerate(instruction.operands):
        for operand_index, _ in leaves(operand.shape):
            where = (number, *operand_index)
            sets = _answer(lambda where=where: input_to_output(instruction, where), n)  # type: ignore[misc]
            for output, maps in enumerate(sets):
                target = _place("output", (output,)) if instruction.shape.is_tuple else "output"
                if maps or not instruction.shape.is_tuple:
                    yield _relation(_place(operand.name, operand_index), target, maps)


def _answer(ask: Callable[[], Sequence[MapSet]], n: int) -> Sequence[MapSet | HlomapError]:
    try:
        return ask()
    except HlomapError as error:
        return [error] * n


def _relation(source: str, target: str, maps: MapSet | HlomapError) -> Relation:
    if isinstance(maps, HlomapError):
        return Relation(source, target, "error", str(maps), ())
    if maps.is_unknown:
        return Relation(source, target, "unknown", str(maps.reason), ())
    texts = tuple(_text(m) for m in maps)
    return Relation(source, target, "exact" if maps.exact else "over", "" if texts else "reads nothing", texts)


def _text(m: IndexingMap) -> MapText:
    formula, _, rest = str(m).partition(", domain: ")
    domain, _, _ = rest.partition("runtime: ")
    leaf = f" of {{{', '.join(map(str, m.index))}}}" if m.index else ""
    runtime = tuple(
        f"{variable.name} = {variable.supplier.name}[{', '.join(map(str, variable.index))}]"
        for variable in m.runtime
        if variable.supplier is not None
    )
    return MapText(formula + leaf, domain.rstrip(" ,;\n"), runtime)


def _place(name: str, index: tuple[int, ...]) -> str:
    return f"{name}{{{', '.join(map(str, index))}}}" if index else name
