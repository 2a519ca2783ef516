"""The data of one module in the page: columns of instructions, computations, and tables that they share.

Instructions are numbered computation by computation, so that each computation is one range; every other list refers to
these numbers.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from math import prod
from typing import Any

from .._core import Computation, Count, IndexingMap, Instruction, Module, Shape, _extent, linear_index
from ..analysis.loops import loop
from ..analysis.queries import operand_maps
from ..analysis.questions import Questions
from ..analysis.reads import Reads, reads as count_reads, unknown as unknown_reads
from ..analysis.structure import executed_computations, is_loop
from ..base.answers import Unknown
from ..base.text import plural, printable
from ..base.types import ShapeIndex
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..ops import lookup
from ..ops._shapes import shape_at
from ..words.diff import ModuleDiff
from ..words.explain import bitcast_equivalence
from ..words.names import Names, name_dimensions
from ..words.phrases import phrases
from ..words.source import source_of, value_label

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
        columns["opcode"].append(opcodes.add(opcode, [printable(opcode, 60), lookup(opcode).memory.moves_nothing]))
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
        if is_loop(instruction) and len(loops) < _MAX_LOOPS:
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
    """The attributes that define an operation, or the value of a small constant."""
    if instruction._has("literal"):
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
    """Replaces the suppliers of runtime variables by their numbers in the page."""
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


# Reads of the arrays of an instruction's output, as JSON records.
#
# Programs repeat themselves, so instructions with the same maps, shapes and names share one record, whose words have
# ``{}`` in place of the operand's name.


_MAX_ARRAYS = 64  # of the output of one instruction
_MAX_READS = 64  # of one array
_MAX_MAPS = 32  # of one operand
_LONGEST_MAP = 4000
_EXACT = 1 << 53  # integers below are exact as numbers of JavaScript


def big(n: int | None) -> int | str | None:
    """A number for JSON: as text if JavaScript would round it."""
    return n if n is None or -_EXACT < n < _EXACT else str(n)


def _number(n: int | Unknown) -> int | str | None:
    return None if isinstance(n, Unknown) else big(n)


def _bounds(n: Count | Unknown) -> list[int | str | None]:
    """The bounds of a number; the upper one is None if it is not known."""
    return [0, None] if isinstance(n, Unknown) else [big(n.lower), big(n.upper)]


class Interned:
    """Numbers distinct values in the order of their first use."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Hashable, int] = {}

    def add(self, key: Hashable, value: Any) -> int:
        """The number of the value for a key; if the value is a function, it is called only for a new key."""
        if key not in self._numbers:
            self.values.append(value() if callable(value) else value)
            self._numbers[key] = len(self.values) - 1
        return self._numbers[key]


class ReadTable:
    """The shapes, maps and records of one module."""

    def __init__(self, module: Module) -> None:
        self._questions = Questions(module)
        self.shapes: Interned = Interned()
        self.maps: Interned = Interned()
        self.records: Interned = Interned()
        self._words: dict[Hashable, tuple[str, Reads]] = {}

    def shape(self, shape: Shape) -> int:
        """The number of a shape."""
        text = str(shape)
        return self.shapes.add(text, lambda: self._describe(shape))

    def _describe(self, shape: Shape) -> dict[str, Any]:
        leaves = [part for _, part in shape.leaves()]
        found: dict[str, Any] = {"text": printable(shape, 400), "bytes": big(_extent(leaves)[1])}
        if shape.is_tuple:
            return {**found, "n": len(leaves)}
        if not shape.is_array:
            return found
        found |= {"dims": [big(n) for n in shape.dimensions], "dtype": shape.dtype}
        try:
            found["elements"] = big(shape.n_elements)
            if shape.layout is not None:
                found["layout"] = _layout(shape)
        except (HlomapError, OverflowError) as error:
            found["problem"] = printable(error)
        return found

    def outputs(self, instruction: Instruction) -> list[int]:
        """The records of the arrays of an instruction's output, at most 64; none for a value without operands."""
        if not instruction.operands:
            return []
        leaves = instruction.shape.leaves()[:_MAX_ARRAYS]
        return [self._record(instruction, shape_index, shape) for shape_index, shape in leaves]

    def _record(self, instruction: Instruction, shape_index: ShapeIndex, shape: Shape) -> int:
        try:
            found = operand_maps(self._questions, instruction, shape_index)
        except (HlomapError, OverflowError) as error:
            record = {
                "leaf": shape_index,
                "shape": self.shape(shape),
                "names": (),
                "reads": (),
                "error": printable(error),
            }
            return self.records.add((shape_index, str(shape), printable(error)), record)
        operands = instruction.operands
        sets = [found.get(k, MapSet()) for k in range(len(operands))]
        key = (
            shape_index,
            str(shape),
            tuple(str(operand.shape) for operand in operands),
            tuple((s.exact, s.reason, *((m.shape_index, str(m)) for m in s)) for s in sets),
            _hints(instruction),
            any(m.runtime for s in sets for m in s) and instruction.number,  # its values come from instructions
        )
        return self.records.add(key, lambda: self._describe_reads(instruction, shape_index, shape, sets))

    def _describe_reads(
        self, instruction: Instruction, shape_index: ShapeIndex, shape: Shape, sets: Sequence[MapSet]
    ) -> dict[str, Any]:
        names = name_dimensions(instruction, shape, sets)
        reads = []
        for k, (operand, maps) in enumerate(zip(instruction.operands, sets, strict=True)):
            if maps.is_unknown:
                counts = unknown_reads(maps.reason or "unknown", [part for _, part in operand.shape.leaves()])
                record = {"operand": k, "leaf": (), "shape": self.shape(operand.shape), "maps": (), "status": "unknown"}
                record |= {"reason": printable(maps.reason or "unknown"), "bytes": _number(counts.distinct_bytes)}
                reads.append(record | {"words": "any elements of {}"})
                continue
            reads += [
                self._read(k, at, shape_at(operand.shape, at), maps, names)
                for at in dict.fromkeys(m.shape_index for m in maps)
            ]
        record = {
            "leaf": shape_index,
            "shape": self.shape(shape),
            "names": names.output,
            "reads": reads[:_MAX_READS],
            "written": big(_extent([shape])[1]),
        }
        if len(reads) > _MAX_READS:
            record["more"] = len(reads) - _MAX_READS
        if any(maps.devices is not None for maps in sets):
            record["devices"] = True
        memory = _memory(instruction, shape)
        return record | ({} if memory is None else {"memory": memory})

    def _read(self, k: int, shape_index: ShapeIndex, shape: Shape, maps: MapSet, names: Names) -> dict[str, Any]:
        """The record of the reads from one array of an operand."""
        own = [m for m in maps if m.shape_index == shape_index]
        named = [names.of(m, k) for m in own]
        texts = list(map(str, named))
        key = (tuple(texts), maps.exact, str(shape), names.sizes, names.operands.get(k))
        if key not in self._words:
            self._words[key] = phrases(named, "{}", shape), count_reads(own, maps.exact, shape)
        words, counts = self._words[key]
        fits = [text for text in texts if len(text) <= _LONGEST_MAP][:_MAX_MAPS]
        record: dict[str, Any] = {
            "operand": k,
            "leaf": shape_index,
            "shape": self.shape(shape),
            "maps": [self.maps.add(text, text) for text in fits],
            "status": "exact" if maps.exact else "over-approximate",
            "words": ("" if maps.exact else "at most ") + words,
            "bytes": _number(counts.distinct_bytes),
            "reads": _bounds(counts.reads),
            "distinct": _bounds(counts.distinct_elements),
        }
        if len(fits) < len(texts):
            record["left_out"] = len(texts) - len(fits)
        if maps.reason:
            record["reason"] = printable(maps.reason)
        runtime = dict.fromkeys(_suppliers(own, names, k))
        return record | ({"runtime": list(runtime)} if runtime else {})


def _suppliers(maps: Iterable[IndexingMap], names: Names, operand: int) -> Iterable[tuple[str, int, str]]:
    """For each runtime variable its name, the number of the supplying instruction, and the index of the value."""
    for m in maps:
        named = names.of(m, operand)
        for variable in m.runtime:
            if variable.supplier is not None:
                index = ", ".join(named.text(e) for e in variable.element)
                yield variable.name, variable.supplier.number, index


def _hints(instruction: Instruction) -> Hashable:
    """The facts on which the names of dimensions depend besides the maps."""
    metadata = instruction.metadata
    einsum = metadata.op_name if "->" in (metadata.op_name or "") else None
    function = metadata.function if "->" in (metadata.function or "") else None
    labels = instruction.attributes.text("dim_labels") if "dim_labels" in instruction.attributes else None
    return einsum, function, labels


def _memory(instruction: Instruction, shape: Shape) -> str | None:
    """Whether elements stay in place, for an instruction with one operand of equally many elements."""
    bitcast = bitcast_equivalence(instruction, shape)
    if bitcast is None:
        return None
    if bitcast.value is None:
        return "whether elements move is not decided"
    return "bitcast: elements stay at their positions" if bitcast.value else "elements move to other positions"


def _layout(shape: Shape) -> dict[str, Any]:
    """The positions of the elements in memory, by a map, with the size of a tile of the first level or of a row."""
    layout = shape.layout
    assert layout is not None
    tile = layout.tiles[0] if layout.tiles else ()
    block = prod(n or 1 for n in tile)
    if not tile and shape.rank:
        block = shape.dimensions[layout.minor_to_major[0]]
    text = str(linear_index(shape))
    along = dict(zip(layout.minor_to_major, reversed(tile), strict=False))
    return {
        "text": printable(layout, 200),
        "map": text if len(text) <= _LONGEST_MAP else None,
        "block": big(max(1, block)),
        "widths": [along.get(d) or 0 for d in (shape.rank - 2, shape.rank - 1)],
        "bytes": big(shape.buffer_bytes),
        "positions": big(shape.buffer_elements),
    }
