"""The answer of ``hm.shard``: the sharding of each value, and the moves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, Literal, NamedTuple

from .._core import Instruction, Module, Sharding
from ..base.text import plural
from ..base.types import ReadOnlyDict, ShapeIndex, wrong_type
from ..builder.edits import edit
from ..errors import NotFoundError, ShapeError
from ..shardings.specs import Axes, Parts
from .graph import Graph
from .tables import Move, Moves, PlannedValue, PlannedValues

SHOWN_MOVES = 12


class Replicated(NamedTuple):
    """A value that every device has, although an axis could split it."""

    value: str
    instruction: Instruction
    shape_index: ShapeIndex
    bytes: int
    """On each device."""


class Uneven(NamedTuple):
    """A dimension that the axes along it do not divide; the largest block counts."""

    value: str
    instruction: Instruction
    shape_index: ShapeIndex
    dimension: int
    size: int
    n_blocks: int


class ShardPlan:
    """The shardings of all values of a program, and what devices send for them.

    A prediction: XLA's partitioner may choose otherwise where shardings conflict, and may send more.
    """

    rule: str
    """``"propagate"`` or ``"least"``."""
    mesh: Mapping[str, int]
    notes: tuple[str, ...]
    """Instructions that are assumed to need whole arrays, and why; trip counts that are not known."""

    def __init__(
        self,
        graph: Graph,
        axes: Axes,
        rule: str,
        numbers: Sequence[int],
        shardings: Sequence[Sequence[bytes]],
        moves: Sequence[tuple[Any, ...]],
        notes: Sequence[str],
        given: Mapping[int, Parts],
    ) -> None:
        self.rule, self.mesh = rule, ReadOnlyDict(axes.sizes)
        self.notes = tuple(notes)
        self._graph, self._axes, self._numbers, self._rows = graph, axes, numbers, moves
        self._given = given
        self._parts: list[Parts] = [tuple(tuple(own) for own in dims) for dims in shardings]

    @property
    def wire_bytes(self) -> int:
        """The bytes that the busiest device sends in one run of the program."""
        return sum(row[-2] * row[-1] for row in self._rows)

    @property
    def wire_bytes_by_kind(self) -> Mapping[str, int]:
        """``wire_bytes`` of each kind of collective, most first."""
        found: dict[str, int] = defaultdict(int)
        for row in self._rows:
            found[row[3]] += row[-2] * row[-1]
        return ReadOnlyDict(sorted(found.items(), key=lambda pair: -pair[1]))

    @cached_property
    def moves(self) -> Moves:
        """What devices send, in program order, as a table and as records."""
        return Moves(list(map(self._move, self._rows)))

    def _move(self, row: tuple[Any, ...]) -> Move:
        application, value, why, collective, parts, source, target, wire_bytes, times = row
        instruction = self._graph.sources[application]
        metadata = instruction.metadata
        axes = tuple(dict.fromkeys(self._axes.parts[p][0] for p in parts))
        before, after = (self._axes.text(self._parts[k]) for k in (source, target))
        file, line = metadata.source_file, metadata.source_line
        return Move(instruction, self._name(value), why, collective, axes, before, after, wire_bytes, times, file, line)

    def _name(self, v: int) -> str:
        value = self._graph.values[v]
        instruction = value.instruction
        name = instruction.name
        if instruction.parameter_number is not None and instruction.metadata.op_name:
            name = instruction.metadata.op_name
        return name + "".join(f".{k}" for k in value.shape_index)

    def table(self) -> PlannedValues:
        """The shardings of all values that instructions make, in program order."""
        rows: list[PlannedValue] = []
        for v, value in enumerate(self._graph.values):
            if value.shape.is_array and v not in self._results:
                parts = self.parts(v)
                n_replicas = self._axes.n_devices // prod(map(self._axes.ways, parts))
                texts = (str(value.shape.without_layout()), self._axes.text(parts))
                rows.append(
                    PlannedValue(value.instruction, value.shape_index, *texts, self._block_bytes(v), n_replicas)
                )
        return PlannedValues(rows)

    def parts(self, v: int) -> Parts:
        """The parts of axes that split a value of the graph; a given sharding also names axes of size 1."""
        return self._given.get(v) or self._parts[self._numbers[v]]

    def spec(self, value: Instruction | str, output: int | ShapeIndex = 0) -> tuple[str | tuple[str, ...] | None, ...]:
        """The sharding of a value as the entries of a ``PartitionSpec``; arguments as of :meth:`sharding`."""
        return self._axes.entries(self.parts(self._find(value, output)))

    def sharding(self, value: Instruction | str, output: int | ShapeIndex = 0) -> Sharding:
        """The sharding of a value, by axes of the mesh.

        ``value`` is an instruction, or the name of one or of a parameter in the source program; ``output`` is the
        number of an array in a tuple, or its shape index.

        Raises :class:`~hlomap.errors.NotFoundError` for an instruction that does not run, or a name of none, and
        :class:`~hlomap.errors.ShapeError` for an output that does not exist.
        """
        return self._axes.sharding(self.parts(self._find(value, output)))

    def _find(self, value: Instruction | str, output: int | ShapeIndex) -> int:
        if isinstance(value, str):
            named = [v for v in self._graph.parameters if self._name(v) == value]
            if named:
                return named[0]
            value = self._graph.module[value]
        if not isinstance(value, Instruction):
            raise wrong_type("shard", "an Instruction or its name", value)
        if value not in self._graph.of_instruction:
            raise NotFoundError(f"hm.shard: {value.name} is not run by {self._graph.module.name}")
        values = self._graph.of_instruction[value][0]
        leaves = [index for index, _ in value.shape.leaves()]
        index = (output,) if isinstance(output, int) else tuple(output)
        if index in leaves:
            return values[leaves.index(index)]
        if index in ((), (0,)) and leaves == [()]:
            return values[0]
        raise ShapeError(f"hm.shard: {value.name} has no output {output}")

    def outputs(self) -> list[Sharding]:
        """The shardings of the results of the program."""
        return [self._axes.sharding(self.parts(v)) for v in self._graph.outputs]

    def _block_bytes(self, v: int) -> int:
        value = self._graph.values[v]
        n = value.element_bits
        for size, own in zip(value.dimensions, self.parts(v), strict=True):
            n *= -(-size // self._axes.ways(own))
        return -(-n // 8)

    @property
    def peak_parameters(self) -> int:
        """The bytes of all parameters on the device with most."""
        return sum(map(self._block_bytes, self._graph.parameters))

    def _own_values(self) -> Iterator[int]:
        return iter(range(len(self._graph.values)))

    @cached_property
    def replicated(self) -> tuple[Replicated, ...]:
        """The values that every device has although an axis could split them, the largest first."""
        found = []
        for v in self._own_values():
            name, shape = self._graph.values[v], self._graph.values[v].shape
            if v in self._results or not shape.is_array or any(self._parts[self._numbers[v]]):
                continue
            if any(n > 1 and size % n == 0 for size in name.dimensions for n in self._axes.sizes.values()):
                found.append(Replicated(self._name(v), name.instruction, name.shape_index, self._block_bytes(v)))
        return tuple(sorted(found, key=lambda one: -one.bytes))

    @cached_property
    def _results(self) -> frozenset[int]:
        """Copies of the root's values in the shardings of the results."""
        return frozenset(self._graph.outputs)

    @cached_property
    def uneven(self) -> tuple[Uneven, ...]:
        """The dimensions that the axes along them do not divide."""
        found = []
        for v in self._own_values():
            value = self._graph.values[v]
            for k, own in enumerate(self.parts(v)):
                size, n = value.dimensions[k], self._axes.ways(own)
                if v not in self._results and size % n:
                    found.append(Uneven(self._name(v), value.instruction, value.shape_index, k, size, n))
        return tuple(found)

    @cached_property
    def module(self) -> Module:
        """The program with these shardings, as tiles: for :func:`hlomap.partitioned`, :func:`hlomap.explain` and XLA.

        An instruction that is called several times has the sharding of its first call.  Raises
        :class:`~hlomap.errors.UnsupportedError` for a program that :func:`hlomap.edit` cannot write.
        """
        b = edit(self._graph.module)
        for instruction, found in self._graph.of_instruction.items():
            parts = [self._axes.tiles_text(self.parts(v)) for v in found[0]]
            if parts:
                text = parts[0] if instruction.shape.is_array else "{" + ", ".join(parts) + "}"
                b._value_of(instruction).annotated(sharding=text, frontend_attributes=_without_shardy(instruction))
        return b.build()

    def to_dict(self) -> dict[str, Any]:
        """The plan for JSON."""
        return {
            "module": self._graph.module.name,
            "mesh": dict(self.mesh),
            "rule": self.rule,
            "wire_bytes": self.wire_bytes,
            "wire_bytes_by_kind": dict(self.wire_bytes_by_kind),
            "peak_parameters": self.peak_parameters,
            "moves": [move.to_dict() for move in self.moves.records],
            "shardings": {
                i.name: [self._axes.text(self.parts(v)) for v in found[0]]
                for i, found in self._graph.of_instruction.items()
                if found[0]
            },
            "outputs": [self._axes.text(self.parts(v)) for v in self._graph.outputs],
            "replicated": [{"value": one.value, "bytes": one.bytes} for one in self.replicated],
            "uneven": [
                {"value": one.value, "dimension": one.dimension, "size": one.size, "n_blocks": one.n_blocks}
                for one in self.uneven
            ],
            "notes": list(self.notes),
        }

    @property
    def title(self) -> str:
        """The module and the mesh."""
        return f"{self._graph.module.name} on mesh {self._axes}"

    def __repr__(self) -> str:
        return (
            f"<ShardPlan of {self._graph.module.name} on {self._axes}: {self.wire_bytes:,} bytes, "
            f"{plural(len(self._rows), 'move')}>"
        )

    def __str__(self) -> str:
        n = plural(len(self._rows), "move")
        lines = [f"{self.title}: {self.wire_bytes:,} bytes sent by a device, {n}"]
        ranked = sorted(self.moves.records, key=lambda move: -move.total_wire_bytes)
        lines += [f"{move.total_wire_bytes:>8,}  {move}" for move in ranked[:SHOWN_MOVES]]
        if len(ranked) > SHOWN_MOVES:
            rest = sum(move.total_wire_bytes for move in ranked[SHOWN_MOVES:])
            lines.append(f"{rest:>8,}  in {plural(len(ranked) - SHOWN_MOVES, 'more move')}")
        if self.uneven:
            lines.append(f"uneven: {plural(len(self.uneven), 'dimension')}, counted as the largest block")
        lines += [f"note: {note}" for note in self.notes[:4]]
        return "\n".join(lines)


def _without_shardy(instruction: Instruction) -> Mapping[str, str] | Literal[""] | None:
    """The frontend attributes without those of Shardy, which would contradict the sharding; None if there are none."""
    said = instruction.attributes.get("frontend_attributes")
    if not isinstance(said, Mapping) or not any(name.startswith("xla.sdy.") for name in said):
        return None
    return {name: str(value) for name, value in said.items() if not name.startswith("xla.sdy.")} or ""
