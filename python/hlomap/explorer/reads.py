"""Reads of the arrays of an instruction's output, as JSON records that instructions with the same maps share.

Programs repeat themselves: a record is made once for all instructions with the same maps, shapes and names, with ``{}``
in the place of the operand's name in its words.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from .._core import IndexingMap, Instruction, Module, Shape, _extent, linear_index
from ..analysis.queries import operand_maps
from ..analysis.reads import Reads, reads as count_reads, unknown as unknown_reads
from ..analysis.rows import leaf_shapes
from ..analysis.rule_provider import RuleProvider
from ..errors import HlomapError
from ..explanation.explain import bitcast_equivalence
from ..explanation.names import Names, name_dimensions
from ..explanation.words import phrases
from ..maps.map_set import MapSet
from ..ops._shapes import shape_at
from ..text import printable
from ..types import ShapeIndex

_MAX_ARRAYS = 64  # of the output of one instruction
_MAX_READS = 64  # of one array
_MAX_MAPS = 32  # of one operand
_LONGEST_MAP = 4000
_EXACT = 1 << 53  # integers below are exact as JavaScript's numbers


def big(n: int | None) -> int | str | None:
    """A number for JSON: as text where JavaScript would round it."""
    return n if n is None or -_EXACT < n < _EXACT else str(n)


class Interned:
    """Values with numbers, each once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Hashable, int] = {}

    def add(self, key: Hashable, value: Any) -> int:
        """The number of a value that this key stands for."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.values)
            self.values.append(value)
        return number

    def find(self, key: Hashable) -> int | None:
        """The number of the value of a key; None for a new one."""
        return self._numbers.get(key)


class ReadTable:
    """The shapes, maps and records of one module."""

    def __init__(self, module: Module) -> None:
        self._rules = RuleProvider(module)
        self.shapes: Interned = Interned()
        self.maps: Interned = Interned()
        self.records: Interned = Interned()
        self._words: dict[Hashable, tuple[str, Reads]] = {}

    # -------------------------------------------------------------------------------------------------------- shapes

    def shape(self, shape: Shape) -> int:
        """The number of a shape."""
        text = str(shape)
        number = self.shapes.find(text)
        return self.shapes.add(text, self._describe(shape)) if number is None else number

    def _describe(self, shape: Shape) -> dict[str, Any]:
        leaves = [part for _, part in leaf_shapes(shape)]
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

    # ------------------------------------------------------------------------------------------------------- records

    def outputs(self, instruction: Instruction) -> list[int]:
        """The records of the arrays of an instruction's output, at most 64; none for a value without operands."""
        if not instruction.operands:
            return []
        found: list[int] = []
        for leaf, shape in leaf_shapes(instruction.shape):
            if len(found) == _MAX_ARRAYS:
                break
            found.append(self._record(instruction, leaf, shape))
        return found

    def _record(self, instruction: Instruction, leaf: ShapeIndex, shape: Shape) -> int:
        try:
            found = operand_maps(self._rules, instruction, leaf)
        except (HlomapError, OverflowError) as error:
            record = {"leaf": leaf, "shape": self.shape(shape), "names": (), "reads": (), "error": printable(error)}
            return self.records.add((leaf, str(shape), printable(error)), record)
        operands = instruction.operands
        sets = [found.get(k, MapSet()) for k in range(len(operands))]
        key = (
            leaf,
            str(shape),
            tuple(str(operand.shape) for operand in operands),
            tuple((s.exact, s.reason, *((m.shape_index, str(m)) for m in s)) for s in sets),
            _hints(instruction),
            any(m.runtime for s in sets for m in s) and instruction.number,  # its values come from instructions
        )
        number = self.records.find(key)
        if number is None:
            number = self.records.add(key, self._describe_reads(instruction, leaf, shape, sets))
        return number

    def _describe_reads(
        self, instruction: Instruction, leaf: ShapeIndex, shape: Shape, sets: Sequence[MapSet]
    ) -> dict[str, Any]:
        names = name_dimensions(instruction, shape, sets, None)
        reads = []
        for k, (operand, maps) in enumerate(zip(instruction.operands, sets, strict=True)):
            if maps.is_unknown:
                counts = unknown_reads(maps.reason or "unknown", [part for _, part in leaf_shapes(operand.shape)])
                record = {"operand": k, "leaf": (), "shape": self.shape(operand.shape), "maps": (), "status": "unknown"}
                record |= {"reason": printable(maps.reason or "unknown"), "bytes": big(counts.bytes)}
                reads.append(record | {"words": "any elements of {}"})
                continue
            reads += [
                self._read(k, at, shape_at(operand.shape, at), maps, names)
                for at in dict.fromkeys(m.shape_index for m in maps)
            ]
        record = {
            "leaf": leaf,
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

    def _read(self, k: int, leaf: ShapeIndex, shape: Shape, maps: MapSet, names: Names) -> dict[str, Any]:
        """One array of an operand."""
        own = [m for m in maps if m.shape_index == leaf]
        texts = [str(names.of(m, k)) for m in own]
        key = (tuple(texts), maps.exact, str(shape), names.sizes, names.operands.get(k))
        if key not in self._words:
            self._words[key] = phrases(own, "{}", shape, names, k), count_reads(own, maps.exact, shape)
        words, counts = self._words[key]
        fits = [text for text in texts if len(text) <= _LONGEST_MAP][:_MAX_MAPS]
        record: dict[str, Any] = {
            "operand": k,
            "leaf": leaf,
            "shape": self.shape(shape),
            "maps": [self.maps.add(text, text) for text in fits],
            "status": "exact" if maps.exact else "over-approximate",
            "words": ("" if maps.exact else "at most ") + words,
            "bytes": big(counts.bytes),
            "touched": [big(counts.touched_lower), big(counts.touched_upper)],
            "distinct": [big(counts.distinct_lower), big(counts.distinct_upper)],
        }
        if len(fits) < len(texts):
            record["left_out"] = len(texts) - len(fits)
        if maps.reason:
            record["reason"] = printable(maps.reason)
        runtime = dict.fromkeys(_suppliers(own, names, k))
        return record | ({"runtime": list(runtime)} if runtime else {})


def _suppliers(maps: Iterable[IndexingMap], names: Names, operand: int) -> Iterable[tuple[str, int, str]]:
    """For each runtime variable its name, the number of the instruction that has its value, and the index there."""
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
    """Whether elements stay where they are, for an instruction with one operand of as many elements."""
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
    block = 1
    for n in tile:
        block *= n or 1
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
