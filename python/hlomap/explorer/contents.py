"""The data of one module in the page: columns of instructions, computations, and tables of what they share.

Instructions are numbered computation by computation, so that those of one computation follow each other; every other
list refers to these numbers.
"""

from __future__ import annotations

import re
from typing import Any

from .._core import Computation, Instruction, Module
from ..analysis.loops import loop
from ..answers import Unknown
from ..differences.diff import ModuleDiff
from ..differences.overview import executed_computations
from ..errors import HlomapError
from ..explanation.source import source_of, value_label
from ..ops import lookup
from ..text import plural, printable
from .reads import Interned, ReadTable

_MAX_CALLERS = 20
_MAX_LOOPS = 500
_NO_DETAIL = frozenset(["backend_config", "metadata", "calls", "to_apply", "body", "condition", "origin", "statistics"])
_CONSTANT = re.compile(r"constant\((.{1,120}?)\)")


def instruction_numbers(module: Module) -> dict[Instruction, int]:
    """The number of each instruction in the page."""
    found = (instruction for computation in module.computations for instruction in computation)
    return {instruction: number for number, instruction in enumerate(found)}


def module_contents(module: Module, numbers: dict[Instruction, int]) -> dict[str, Any]:
    """The data of a module as JSON values."""
    table, opcodes, sources, frames, details = ReadTable(module), Interned(), Interned(), Interned(), Interned()
    columns: dict[str, list[Any]] = {
        name: [] for name in ("name", "opcode", "shape", "operands", "outputs", "source", "detail")
    }
    calls: dict[int, list[int]] = {}
    labels: dict[int, str] = {}
    notes: dict[int, str] = {}
    loops: dict[int, str] = {}
    computations = {computation: number for number, computation in enumerate(module.computations)}
    for instruction, number in numbers.items():
        opcode = instruction.opcode
        columns["name"].append(printable(instruction.name))
        columns["opcode"].append(opcodes.add(opcode, [printable(opcode, 60), lookup(opcode).moves_nothing]))
        columns["shape"].append(table.shape(instruction.shape))
        columns["operands"].append([numbers[operand] for operand in instruction.operands])
        columns["outputs"].append(table.outputs(instruction))
        columns["source"].append(_source(instruction, sources, frames))
        detail = _detail(instruction)
        columns["detail"].append(details.add(detail, detail) if detail else -1)
        if called := instruction.called_computations:
            calls[number] = [computations[one] for one in called]
        if instruction.parameter_number is not None and (label := value_label(instruction)) != instruction.name:
            labels[number] = label
        if opcode == "while" and len(loops) < _MAX_LOOPS:
            loops[number] = _iterations(instruction)
        if note := instruction.inconsistency:
            notes[number] = printable(note)
    _renumber_suppliers(module, table, numbers)
    executed = set(executed_computations(module))
    return {
        "name": printable(module.name),
        "entry": computations[module.entry],
        "computations": [
            {
                "name": printable(computation.name),
                "kind": _kind(computation, executed),
                "first": numbers[computation.instructions[0]] if len(computation) else 0,
                "n": len(computation),
                "root": numbers[computation.root],
                "callers": [numbers[caller] for caller in computation.callers[:_MAX_CALLERS]],
            }
            for computation in module.computations
        ],
        "columns": columns,
        "calls": calls,
        "labels": labels,
        "notes": notes,
        "loops": loops,
        "opcodes": opcodes.values,
        "sources": sources.values,
        "frames": frames.values,
        "details": details.values,
        "shapes": table.shapes.values,
        "maps": table.maps.values,
        "records": table.records.values,
    }


def _kind(computation: Computation, executed: set[Computation]) -> str:
    """How a computation runs: by itself, inside a fusion, or applied to elements by a reduction or a sort."""
    if computation in executed:
        return "entry" if computation == computation.module.entry else "called"
    return "fusion" if computation.is_fusion else "applied"


def _iterations(instruction: Instruction) -> str:
    try:
        n = loop(instruction).trip_count
    except (HlomapError, OverflowError) as error:
        return printable(error)
    return "the number of iterations is not known" if isinstance(n, Unknown) else plural(n, "iteration")


def _source(instruction: Instruction, sources: Interned, frames: Interned) -> int:
    """The number of an instruction's origin; -1 without one."""
    found = source_of(instruction)
    if found is None:
        return -1
    stack = tuple(frames.add(frame, printable(frame)) for frame in found.stack[-12:])
    place = f"{found.file}:{found.line}" if found.file and found.line else found.file or ""
    values = [printable(found.op_name or "", 300), printable(place, 300), printable(found.function or ""), list(stack)]
    return sources.add((found.op_name, place, found.function, stack), values)


def _detail(instruction: Instruction) -> str:
    """The attributes that say what an operation does, or the value of a small constant."""
    if instruction.opcode == "constant":
        match = _CONSTANT.search(instruction.to_string(metadata=False, large_constants=False))
        return printable(match[1], 120) if match else ""
    number = instruction.parameter_number
    if number is not None:
        return f"parameter {number}"
    attributes = instruction.attributes
    try:
        found = [f"{name}={attributes.text(name)}" for name in attributes if name not in _NO_DETAIL]
    except HlomapError:
        return ""
    return printable(", ".join(found), 300)


def _renumber_suppliers(module: Module, table: ReadTable, numbers: dict[Instruction, int]) -> None:
    """The suppliers of runtime variables by their numbers in the page."""
    for record in table.records.values:
        for read in record["reads"]:
            if "runtime" in read:
                read["runtime"] = [
                    (name, numbers[module.instruction(number)], index) for name, number, index in read["runtime"]
                ]


_MAX_LINES = 200


def change_contents(found: ModuleDiff, old: dict[Instruction, int], new: dict[Instruction, int]) -> dict[str, Any]:
    """A diff as JSON values; ``old`` and ``new`` number the instructions of both sides."""
    how = list(dict.fromkeys(match.how for match in found.matches))
    return {
        "title": printable(found.title, 300),
        "how": how,
        "pairs": [[old[m.before], new[m.after], how.index(m.how)] for m in found.matches],
        "again": [[old[m.before], new[m.after]] for m in found.duplicates],
        "removed": [old[i] for i in found.removed],
        "added": [new[i] for i in found.added],
        "fusions": [
            {"fusion": new[f.fusion], "parts": [new[m.after] for m in f.parts], "new": [new[i] for i in f.new]}
            for f in found.fusions
        ],
        "sections": [
            {"heading": heading, "lines": [printable(line, 300) for line in lines[:_MAX_LINES]], "n": len(lines)}
            for heading, lines in found.sections()
            if lines
        ],
    }
