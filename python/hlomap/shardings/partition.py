"""Communication that devices need to compute an instruction whose operands and output are sharded.

:func:`partitioned` is the entry point.  To compute its part of the output a device needs the elements that the indexing
maps read from there.  It must receive each element that it does not hold, or the part of the result that depends on
that element: see ``least_bytes.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, prod
from typing import Any, TypeAlias

from .._core import Count, Expr, Footprint, IndexingMap, Instruction, Mesh, Shape, Sharding
from ..analysis.queries import input_to_output, operand_maps
from ..analysis.questions import Questions
from ..base.answers import Unknown
from ..base.lazy import np
from ..base.types import ShapeIndex, instruction_of, read_only
from ..errors import HlomapError
from ..hlo.device_counts import device_counts
from ..maps.map_set import MapSet, union
from ..maps.variables import variables_of, with_conditions, with_variables
from .assignment import Assignment, assign
from .device_maps import maps_of, tile_positions
from .given import given_shardings
from .least_bytes import Box, Relation, extents, least_bytes, relate
from .meshes import mesh_of, sharding_text
from .orders import Ints
from .program import Program
from .tiles import Tiles

_MAX_CLASSES = 1 << 12
_EVERYWHERE = Sharding.parse("{replicated}")
_ASSUMED = "values without a sharding count as replicated: the module is after propagation"
_HINT = (
    'use the module before XLA\'s partitioner: hlomap.from_jax(..., stage="before_partitioning") returns it, and '
    'XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_pass_re=.*(spmd|shardy).*" dumps it'
)

_GIVEN_HINT = "give it a spec too, or let hlomap.shard choose the shardings of all values: see its plan's .module"


@dataclass(frozen=True, eq=False)
class RemoteReads:
    """The elements of one array that devices need and do not hold."""

    instruction: Instruction
    """The operand."""
    operands: tuple[int, ...]
    """The number of the operand, or numbers if it is an operand several times."""
    shape_index: ShapeIndex
    """The shape index of the array in the operand."""
    sharding: Sharding
    received: Ints
    """The bytes of these elements for each device; an upper bound unless ``exact``."""
    exact: bool
    reason: str | None
    """Why the bytes are not exact; None if they are."""
    _work: _Work = field(repr=False)
    _number: int = field(repr=False)

    @cached_property
    def maps(self) -> MapSet:
        """The map from a device to the elements."""
        return self._work.remote_maps(self._number)

    @property
    def bytes(self) -> int:
        """The bytes of the elements of all devices."""
        return sum(self.received.tolist())

    def __str__(self) -> str:
        most = "" if self.exact else "at most "
        sharding = sharding_text(self.sharding, mesh_of(self._work._instruction))
        text = f"{self.instruction.name} {sharding}: {most}{self.bytes:,} bytes from other devices"
        return text if self.exact or self.reason is None else f"{text} ({self.reason})"


@dataclass(frozen=True, eq=False)
class Partitioned:
    """The data that devices need from each other to compute their parts of an instruction."""

    instruction: Instruction
    reads: tuple[RemoteReads, ...]
    """A record for each array of the operands that the instruction reads."""
    devices: Ints
    least: Ints
    """The bytes that each of ``devices`` must receive, as whole elements of operands or of the result."""
    note: str | None
    """An assumption of the answer: that values without a sharding are replicated, since shardings are propagated."""
    _shardings: tuple[Sharding, ...] = field(repr=False)
    """Of the arrays of the instruction."""

    @property
    def least_bytes(self) -> int:
        """A lower bound for any partitioner: the least bytes that all devices receive, wherever elements are
        computed."""
        return sum(self.least.tolist())

    @property
    def remote_bytes(self) -> int:
        """An upper bound of the bytes of operands that move if each device computes all of its part of the output."""
        return sum(read.bytes for read in self.reads)

    @property
    def exact(self) -> bool:
        """Whether ``remote_bytes`` is the exact number, not a bound."""
        return all(read.exact for read in self.reads)

    def __str__(self) -> str:
        name = self.instruction.name
        mesh = mesh_of(self.instruction)
        texts = [sharding_text(one, mesh) for one in self._shardings]
        sharding = texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"
        lines = [f"{name} {sharding}: at least {self.least_bytes:,} bytes between devices"]
        if not self.remote_bytes:
            lines[0] = f"{name}: no communication"
        lines += [f"  {read}" for read in self.reads]
        return "\n".join(lines if self.note is None else [*lines, f"  {self.note}"])


def partitioned(
    instruction: Instruction,
    /,
    specs: Mapping[str, Any] | Mapping[Instruction, Any] | None = None,
    *,
    mesh: Mapping[str, int] | Mesh | None = None,
) -> Partitioned | Unknown:
    """The data that each device needs from others to compute its part of an instruction, by the module's shardings.

    ``specs`` gives shardings to values, in place of those in the module: to the instruction, its operands or the
    parameters of the program, by name, by the name of a parameter in the source program, or as instructions.  A spec is
    a ``PartitionSpec``, its text or its entries, a ``jax.sharding.NamedSharding`` or a :class:`hlomap.hlo.Sharding`;
    for a tuple it is a sequence of these.  ``mesh`` maps each axis to its size; by default it is the mesh of a
    ``NamedSharding`` or of the module.

    XLA's propagation omits shardings of values that every device has.  So in a module after propagation a value without
    a sharding counts as replicated, and ``.note`` says so.  The name of a dumped file gives the stage.  Without a name,
    a module is after propagation if an instruction that is neither parameter nor result has a sharding, and there are
    no attributes ``xla.sdy`` and no calls of ``Sharding``.

    The answer is ``Unknown``, with the reason, if the sharding of a value does not fit it or does not determine the
    places of elements.  Before propagation it is also ``Unknown`` if the instruction has no sharding, or if an operand
    has none but depends on split values.

    ``.reads`` has the elements of each operand that a device needs and does not hold, as maps and bytes.
    ``.least_bytes`` is a lower bound for any partitioner, over all devices.  The bound assumes that devices send only
    elements of operands and results, or partial sums of these.  Collectives send more if elements travel twice, as in
    an all-reduce.  An algorithm that sends other values, such as the end of a running sum, or computes the operand a
    second time, may need less.

    Raises :class:`~hlomap.errors.ShapeError` for specs that do not fit the mesh or the array, and
    :class:`~hlomap.errors.NotFoundError` for a name of ``specs`` that no value has.

    >>> module = hm.parse('''ENTRY e {
    ...   a = f32[16,32] parameter(0), sharding={devices=[1,4]<=[4]}
    ...   b = f32[32,8] parameter(1), sharding={devices=[4,1]<=[4]}
    ...   ROOT c = f32[16,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={replicated}
    ... }''')
    >>> found = partitioned(module["c"])
    >>> print(found)
    c {replicated}: at least 2,048 bytes between devices
      a {devices=[1,4]<=[4]}: 6,144 bytes from other devices
      b {devices=[4,1]<=[4]}: 3,072 bytes from other devices
    >>> assert isinstance(found, Partitioned)
    >>> print(found.reads[1].maps)
    (device)[s0, s1] -> (s1, s0), domain: device in [1, 3], s0 in [0, 7], s1 in [0, 23], device * 8 - s1 in [1, 24]
    (device)[s0, s1] -> (s1, s0), domain: device in [0, 2], s0 in [0, 7], s1 in [8, 31], device * 8 - s1 in [-31, -8]

    The same product with the summed dimension in one piece:

    >>> print(partitioned(module["c"], {"a": ("x",), "b": (), "c": ("x",)}, mesh={"x": 4}))
    c: no communication
      a {mesh['x'=4], [{'x'}, {}]}: 0 bytes from other devices
      b {mesh['x'=4], [{}, {}]}: 0 bytes from other devices
    """
    instruction_of(instruction, "partitioned")
    if specs is None and mesh is None:
        return partitioned_in(Program(instruction.module), instruction)
    given = given_shardings(instruction, specs, mesh, "partitioned")
    return partitioned_in(Program(instruction.module, given), instruction)


def partitioned_in(program: Program, instruction: Instruction) -> Partitioned | Unknown:
    """:func:`partitioned` for one of many instructions of a module."""
    try:
        return _partitioned(program, instruction)
    except HlomapError as error:
        return Unknown(f"{instruction.name}: {error}")


def _partitioned(program: Program, instruction: Instruction) -> Partitioned | Unknown:
    why_not = program.why_not_propagated
    hint = _GIVEN_HINT if program.is_given else _HINT
    if instruction.operands and why_not is not None and not program.has_sharding(instruction):
        return Unknown(f"{instruction.name} has no sharding: {why_not}; {hint}")
    reads = _reads(program, instruction)
    for operand in dict.fromkeys(operand for operand, _ in reads):
        source = None if why_not is None or program.written_shardings(operand) else program.split_source(operand)
        if source is not None:
            what = f"{operand.name} has none and comes from {source}, which is split"
            return Unknown(f"the shardings are not propagated yet: {what}; {hint}")
    arrays = _arrays_of(program, instruction, list(reads))
    if isinstance(arrays, Unknown):
        return arrays
    outputs, operands = arrays
    if not outputs:
        return Unknown(f"{instruction.name} has no array")
    tiles = list(dict.fromkeys(one.tiles for one in outputs))
    # Without `return_index` np.unique imports np.ma.
    devices, _ = np.unique(np.concatenate([one.devices for one in tiles]), return_index=True)
    work = _Work(instruction, outputs, operands, list(reads.values()))
    _, first, of_class = np.unique(work.geometry(devices), axis=0, return_index=True, return_inverse=True)
    if len(first) > _MAX_CLASSES:
        return Unknown(f"{len(first)} devices with different parts; at most {_MAX_CLASSES} are counted")
    counted = work.count(devices[first])
    of_class = of_class.reshape(-1)
    least = np.array([count.least for count in counted], np.int64)[of_class]
    records = []
    for k, one in enumerate(operands):
        received = read_only(np.array([count.received[k] for count in counted], np.int64)[of_class])
        reason = next((count.reasons[k] for count in counted if count.reasons[k] is not None), None)
        records.append(
            RemoteReads(
                one.value, one.operands, one.shape_index, one.sharding, received, reason is None, reason, work, k
            )
        )
    is_assumed = why_not is None and not all(
        program.written_shardings(value) for value in (instruction, *instruction.operands)
    )
    note = _ASSUMED if is_assumed else None
    shardings = tuple(one.sharding for one in outputs)
    return Partitioned(instruction, tuple(records), read_only(devices), read_only(least), note, shardings)


# ------------------------------------------------------------------------------------------------------------ arrays


@dataclass(frozen=True)
class _Array:
    """An array of an operand or of the output, with its tiles."""

    value: Instruction
    operands: tuple[int, ...]
    """The numbers of the operand; none for the output."""
    shape_index: ShapeIndex
    sharding: Sharding
    tiles: Tiles

    @property
    def shape(self) -> Shape:
        return self.tiles.assignment.shape

    @property
    def weight(self) -> Fraction:
        """The bytes of an element."""
        return Fraction(self.shape.element_bits, 8)


_Reads: TypeAlias = "dict[tuple[Instruction, ShapeIndex], dict[int, MapSet]]"
"""For each array of an operand that is read, the maps from the outputs that read it, by output number."""


def _reads(program: Program, instruction: Instruction) -> _Reads:
    """The reads by array, in the order of the operands; arrays that are certainly not read are left out."""
    given = instruction.operands
    if not given:
        return {}
    found: _Reads = {}
    questions = Questions(instruction.module)
    for o, index in enumerate(program.arrays(instruction)):
        sets: dict[Instruction, list[MapSet]] = {}
        for number, maps in operand_maps(questions, instruction, index).items():
            sets.setdefault(given[number], []).append(maps)
        for operand, own in sets.items():
            for at, maps in _by_array(union(own), program.arrays(operand)):
                found.setdefault((operand, at), {})[o] = maps
    first = {operand: k for k, operand in reversed(list(enumerate(given)))}
    return {key: found[key] for key in sorted(found, key=lambda key: (first[key[0]], program.place(*key)))}


def _arrays_of(
    program: Program, instruction: Instruction, read: Sequence[tuple[Instruction, ShapeIndex]]
) -> tuple[list[_Array], list[_Array]] | Unknown:
    """The arrays of the output and of the operands that it reads; a value without a sharding is on every device."""
    numbers: dict[Instruction, list[int]] = {}
    for k, operand in enumerate(instruction.operands):
        numbers.setdefault(operand, []).append(k)
    values: list[tuple[Instruction, ShapeIndex, tuple[int, ...]]]
    values = [(instruction, index, ()) for index in program.arrays(instruction)]
    values += [(operand, index, tuple(numbers[operand])) for operand, index in read]
    said = [program.written_shardings(value).get(index, _EVERYWHERE) for value, index, _ in values]
    shapes = [program.arrays(value)[index] for value, index, _ in values]
    n = _n_devices(instruction, set(zip(said, shapes, strict=True)))
    found = []
    tiles: dict[tuple[Sharding, Shape], Tiles] = {}
    for (value, index, operands), sharding, shape in zip(values, said, shapes, strict=True):
        key = (sharding, shape)
        if key not in tiles:
            assigned = assign(*key, n)
            reason = assigned.reason if isinstance(assigned, Unknown) else assigned.uncertain
            if isinstance(assigned, Unknown) or reason is not None:
                return Unknown(f"{value.name}: {reason}")
            tiles[key] = Tiles.of(assigned)
        found.append(_Array(value, operands, index, sharding, tiles[key]))
    n_outputs = len(values) - len(read)
    return found[:n_outputs], found[n_outputs:]


def _n_devices(instruction: Instruction, said: Iterable[tuple[Sharding, Shape]]) -> int:
    """The number of devices of the module, or the number that the shardings name."""
    _, largest = device_counts(instruction.module).grid
    for sharding, shape in said:
        found = assign(sharding, shape, 1)
        if isinstance(found, Assignment):
            largest = max(largest, 1 + found.last_device)
    return largest


# ------------------------------------------------------------------------------------------------------------- counts


@dataclass
class _Counted:
    """The counts of one device: by operand the most bytes and why they are a bound, and the least bytes in total."""

    received: list[int] = field(default_factory=list)
    reasons: list[str | None] = field(default_factory=list)
    least: int = 0


class _Work:
    """The maps of an instruction, and the counts of each device that follow from them."""

    def __init__(
        self,
        instruction: Instruction,
        outputs: Sequence[_Array],
        operands: Sequence[_Array],
        reads: Sequence[Mapping[int, MapSet]],
    ) -> None:
        """``reads`` has for each array of an operand the maps from the outputs that read it, by output number."""
        self._instruction, self.outputs, self.operands, self.reads = instruction, outputs, operands, reads
        self._users: dict[int, dict[ShapeIndex, list[IndexingMap]] | None] = {}

    def geometry(self, devices: Ints) -> Ints:
        """A row of numbers for each device that determines its counts: devices with equal rows have equal counts.

        Two devices with parts of equal sizes have equal counts if some move of elements takes the parts of one to the
        parts of the other and each map to itself.  If a result is a dim plus a constant, its dimension can move with
        the output dimension, so the distance between the two parts is in the row.  If a result is a range over the
        whole dimension, its elements can be permuted.  Along any other dimension the position of the part is in the
        row.
        """
        parts = {one: one.parts_of(devices) for one in {one.tiles for one in (*self.outputs, *self.operands)}}
        columns: dict[object, Ints] = {}
        for tiles, (low, high, has_part) in parts.items():
            columns[tiles] = has_part.astype(np.int64)
            columns |= {(tiles, i): extents for i, extents in enumerate((high - low).T)}
        for k, o, m in ((k, o, m) for k, sets in enumerate(self.reads) for o, maps in sets.items() for m in maps):
            output, operand = self.outputs[o].tiles, self.operands[k].tiles
            (output_low, _, has_part), (low, _, _) = parts[output], parts[operand]
            plain, moving = _moving(m, self.outputs[o].shape, self.operands[k].shape)
            for i in set(range(len(m.dims))) - moving:
                columns[output, "low", i] = output_low[:, i]
            for r, dim in enumerate(plain):
                if dim is None:
                    columns[operand, "low", r] = low[:, r]
                elif dim:
                    i, sign = dim
                    columns[output, i, operand, r, sign] = np.where(has_part, low[:, r] - sign * output_low[:, i], 0)
        return np.stack(list(columns.values()), axis=1)

    def count(self, devices: Ints) -> list[_Counted]:
        """The counts of each device."""
        arrays = (*self.outputs, *self.operands)
        sides = {tiles: _sides(tiles, devices) for tiles in {one.tiles for one in arrays}}
        of_device = ([sides[one.tiles][at] for one in arrays] for at in range(len(devices)))
        n = len(self.outputs)
        return [self._count(own[:n], own[n:]) for own in of_device]

    def _count(self, boxes: Sequence[Box | None], all_held: Sequence[Box | None]) -> _Counted:
        """The counts of a device that has these parts of the outputs and of the operands."""
        found = _Counted()
        relations: list[list[list[Relation]]] = [[] for _ in self.outputs]
        for k, (operand, held) in enumerate(zip(self.operands, all_held, strict=True)):
            needed: list[IndexingMap] = []
            reason: str | None = None
            for o, maps in self.reads[k].items():
                box = boxes[o]
                if box is None:
                    continue
                reason = reason or (None if maps.exact else maps.reason or "the maps may have more")
                pieces = [_remote(m, box, held, operand.shape) for m in maps]
                needed += [piece for group in pieces for piece in group]
                if maps.exact:
                    relations[o].append(list(self._relations(o, k, box, pieces)))
            count = self._distinct(needed, k, held)
            if reason is None and not count.exact:
                has_runtime = any(m.runtime for m in needed)
                reason = "reads depend on runtime values" if has_runtime else "the elements are not counted exactly"
            found.received.append(ceil(count.upper * operand.weight))
            found.reasons.append(reason)
        least = (least_bytes(own, one.weight) for own, one in zip(relations, self.outputs, strict=True))
        found.least = max(least, default=0)
        return found

    def _distinct(self, needed: Sequence[IndexingMap], k: int, held: Box | None) -> Count:
        """The number of elements of these maps; for an unknown set all elements that are not held."""
        n_held = 0 if held is None else prod(b - a for a, b in held)
        most = self.operands[k].shape.n_elements - n_held
        if any(maps.is_unknown for maps in self.reads[k].values()):
            return Count(0, most)
        has_runtime = any(m.runtime for m in needed)
        any_values = Footprint(((), m) for m in needed).for_any_runtime("the elements for all values together")
        count = MapSet(m for _, m in any_values.maps).count(distinct=True)
        return Count(0 if has_runtime else min(count.lower, most), min(count.upper, most))

    def _relations(self, o: int, k: int, box: Box, pieces: Sequence[Sequence[IndexingMap]]) -> Iterator[Relation]:
        if not any(pieces):
            return
        output, operand = self.outputs[o], self.operands[k]
        readers = self._most_readers(k, output.shape_index, box)
        for m, group in zip(self.reads[k][o], pieces, strict=True):
            if group and not m.runtime:
                yield relate(m, group, operand.weight, output.weight, readers)

    def _most_readers(self, k: int, index: ShapeIndex, box: Box) -> int:
        """The most elements of an output's box that read one element."""
        n = prod(b - a for a, b in box)
        if k not in self._users:
            self._users[k] = self._users_of(self.operands[k])
        users = self._users[k]
        if users is None:
            return n
        own = [m for at in {index, ()} for m in users.get(at, ())]
        total = sum(min(prod(v.upper - v.lower + 1 for v in m.ranges), extents(m, box)) for m in own if not m.runtime)
        return n if any(m.runtime for m in own) else min(n, total)

    def _users_of(self, operand: _Array) -> dict[ShapeIndex, list[IndexingMap]] | None:
        """The maps to the outputs, by index; None if some are unknown."""
        found: dict[ShapeIndex, list[IndexingMap]] = {}
        for number in operand.operands:
            for maps in input_to_output(self._instruction, (number, *operand.shape_index)):
                if maps.is_unknown:
                    return None
                for m in maps:
                    found.setdefault(m.shape_index, []).append(m)
        return found

    def remote_maps(self, k: int) -> MapSet:
        """The maps from a device to the elements of an array that it needs and does not hold."""
        operand = self.operands[k]
        found: list[IndexingMap] = []
        for o, reads in self.reads[k].items():
            output = self.outputs[o]
            if reads.is_unknown:
                return reads
            whole = maps_of(output.tiles.assignment).then(reads)
            held = operand.tiles.assignment
            runs = held.runs()
            if len(runs) == 1 and np.array_equal(operand.tiles.devices, output.tiles.devices):
                positions, _ = tile_positions(held, runs[0])
                for m in whole:
                    found += _not_held(m, positions, held)
            else:
                found += self._remote_one_by_one(o, k)
        loose = [reads for reads in self.reads[k].values() if not reads.exact]
        return MapSet(found, exact=not loose, reason=loose[0].reason if loose else None)

    def _remote_one_by_one(self, o: int, k: int) -> Iterator[IndexingMap]:
        """The remote maps of each device separately."""
        operand, output = self.operands[k], self.outputs[o]
        devices = output.tiles.devices
        boxes, all_held = _sides(output.tiles, devices), _sides(operand.tiles, devices)
        for device, box, held in zip(devices.tolist(), boxes, all_held, strict=True):
            if box is not None:
                for m in self.reads[k][o]:
                    for piece in _remote(m, box, held, operand.shape):
                        yield _from_device(piece, 0, ("device", device, device))


def _by_array(maps: MapSet, arrays: Mapping[ShapeIndex, Shape]) -> Iterator[tuple[ShapeIndex, MapSet]]:
    """The maps to each array, by index; arrays that are certainly not read are left out."""
    if maps.is_unknown:
        yield from ((index, maps) for index in arrays)
        return
    found: dict[ShapeIndex, list[IndexingMap]] = {} if maps.exact else {index: [] for index in arrays}
    for m in maps:
        found.setdefault(m.shape_index, []).append(m)
    yield from ((index, maps._select(own)) for index, own in found.items())


def _sides(tiles: Tiles, devices: Ints) -> list[Box | None]:
    """The box of elements that each device holds; None for a device without any."""
    low, high, has_part = tiles.parts_of(devices)
    boxes = (list(zip(*box, strict=True)) for box in zip(low.tolist(), high.tolist(), strict=True))
    return [box if has_any else None for box, has_any in zip(boxes, has_part.tolist(), strict=True)]


def _moving(m: IndexingMap, output: Shape, operand: Shape) -> tuple[list[tuple[int, int] | tuple[()] | None], set[int]]:
    """How each result moves with the dims, and the dims that may move.

    A result that is plus or minus a dim plus a constant moves with that dim: the item is the dim and 1 or -1.  The item
    is ``()`` for a result that always covers its whole dimension, and None for a result that cannot move.
    """
    others = [c.expr for c in m.constraints] + [e for v in m.runtime for e in v.element]
    used = [variables_of(e) for e in m.results]
    of_others = {variable for e in others for variable in variables_of(e)}
    found: list[tuple[int, int] | tuple[()] | None] = []
    for r, (e, variables) in enumerate(zip(m.results, used, strict=True)):
        kind, number = variables[0] if len(variables) == 1 else ("", 0)
        sign = next((sign for sign in (1, -1) if (e - Expr.dim(number) * sign).kind == "constant"), 0)
        if kind == "dim" and sign:
            found.append((number, sign))
        elif (
            e == Expr.range(number)
            and kind == "range"
            and (m.ranges[number].lower, m.ranges[number].upper) == (0, operand.dimensions[r] - 1)
            and sum(variables[0] in own for own in used) == 1
            and variables[0] not in of_others
        ):
            found.append(())
        else:
            found.append(None)
    is_whole = ((v.lower, v.upper) == (0, size - 1) for v, size in zip(m.dims, output.dimensions, strict=True))
    moving = {i for i, whole in enumerate(is_whole) if whole and ("dim", i) not in of_others}
    moving -= {n for own, at in zip(used, found, strict=True) if not at for kind, n in own if kind == "dim"}
    return found, moving


_Piece: TypeAlias = "list[tuple[Expr, int, int]]"


def _outside(offsets: Sequence[Expr], widths: Sequence[int], sizes: Sequence[int]) -> Iterator[_Piece]:
    """The conditions of disjoint pieces that together are all elements outside a box.

    ``offsets`` is the position of an element relative to the first element of the box, which has these ``widths``.
    """
    inside: _Piece = []
    for offset, width, size in zip(offsets, widths, sizes, strict=True):
        if width < size:
            yield [*inside, (offset, -size, -1)]
            yield [*inside, (offset, width, size)]
            inside.append((offset, 0, width - 1))


def _remote(m: IndexingMap, box: Box, held: Box | None, shape: Shape) -> list[IndexingMap]:
    """The reads of a map from outputs in a box of elements that are not held, as disjoint maps."""
    dims = [(max(v.lower, a), min(v.upper, b - 1)) for v, (a, b) in zip(m.dims, box, strict=True)]
    if any(a > b for a, b in dims):
        return []
    pieces: Sequence[_Piece] = [[]]
    if held is not None:
        offsets = [result - a for result, (a, _) in zip(m.results, held, strict=True)]
        pieces = list(_outside(offsets, [b - a for a, b in held], shape.dimensions))
    found = (
        IndexingMap(dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=[*m.constraints, *piece])
        for piece in pieces
    )
    simplified = (one.simplify(keep_point_dims=True) for one in found)
    return [one for one in simplified if not one.is_known_empty]


def _not_held(m: IndexingMap, positions: Sequence[Expr], held: Assignment) -> Iterator[IndexingMap]:
    """The part of a map from a device and an element of its output that reads elements not held by the device."""
    widths = held.tile_sizes
    # Some devices have tiles beyond the end of the array.
    sizes = [max(size, n * s) for size, n, s in zip(held.shape.dimensions, held.tiles, widths, strict=True)]
    offsets = [result - c * s for result, c, s in zip(m.results, positions, widths, strict=True)]
    for piece in _outside(offsets, widths, sizes):
        one = _from_device(with_conditions(m, piece), 1).simplify(keep_point_dims=True, drop_unused=True)
        if not one.is_known_empty:
            yield one


def _from_device(m: IndexingMap, n_kept: int, *first: tuple[str, int, int]) -> IndexingMap:
    """The map with only its first ``n_kept`` dims, after the dims ``first``; the other dims become ranges."""
    n = len(m.dims) - n_kept
    dims = [Expr.dim(k + len(first)) for k in range(n_kept)] + [Expr.range(k) for k in range(n)]
    ranges = [Expr.range(n + k) for k in range(len(m.ranges))]
    return with_variables(
        m, [*first, *m.dims[:n_kept]], [(v.lower, v.upper) for v in (*m.dims[n_kept:], *m.ranges)], (dims, ranges)
    )
