"""Map sets against the executor: an element whose change changes an output must be mentioned.

Read :func:`verify` first.  The law: evidence is one-sided.  A change that arrives where no map leads proves a set
UNSOUND; a change that arrives nowhere proves nothing, since max, select or a clamp may hide it.  Nothing is taken from
the walks but the sets themselves.  Where devices exchange elements several are run, and the devices count, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._core import IndexingMap, Instruction, Module, Shape
from ..analysis.queries import input_to_output, output_to_input
from ..dtypes import is_integer, is_unsigned, numpy_dtype
from ..errors import HlomapError, ShapeError
from ..interpreter.machine import Machine
from ..interpreter.plan import plans_of, single
from ..maps.device_indexing import DeviceIndexing, said_of_devices
from ..maps.enumerate_pairs import Ints, TooMany, enumerate_pairs
from ..maps.map_set import MapSet
from ..ops import lookup
from ..ops._evaluation import DeviceGrid
from ..ops._shapes import array_leaves, shape_at
from ..types import ShapeIndex, expect

__all__ = ["CheckResult", "verify"]

Value = Any
Functions = Mapping[str, Callable[..., Any]]
Direction = Literal["output_to_input", "input_to_output"]
Status = Literal["exact", "over", "UNSOUND", "unknown", "unchecked"]

MAX_CHANGES = 32
"""Elements of each operand leaf that are changed, one at a time."""

_MAX_ELEMENTS = 1 << 18
_MAX_VALUE = 1 << 22
_MAX_POINTS = 1 << 19
_MAX_ROWS = 256
_MAX_STEPS = 300
_MAX_ALL_CHANGES = 128  # of one instruction
_GRIDS = ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4), (2, 2), (8, 1), (1, 8), (2, 4), (4, 2))
"""DeviceIndexing and partitions that are tried; a change on any of the devices that arrives on any counts."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What was found about the map set between one output leaf and one operand leaf, in one direction.

    ``status``: ``exact`` - every pair that the set mentions was seen to matter, and no other; ``over`` - some
    mentioned pair was not seen to matter, which contradicts nothing; ``UNSOUND`` - ``witness`` is the smallest
    operand element, with the smallest output element, whose change arrived without being mentioned; ``unknown`` - the
    set says nothing; ``unchecked`` - nothing could be run, or it would have taken too long.  ``claims_exact`` is what
    the set says of itself, ``n_changes`` the number of operand elements that were changed.
    """

    instruction: Instruction
    direction: Direction
    output: ShapeIndex
    operand: int
    index: ShapeIndex
    status: Status
    claims_exact: bool
    n_changes: int = 0
    witness: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    reason: str | None = None

    def __str__(self) -> str:
        said = f"{self.instruction.name}: output {list(self.output)} and operand {self.operand} {list(self.index)}"
        tail = (
            f", operand element {list(self.witness[0])} changes output {list(self.witness[1])}" if self.witness else ""
        )
        reason = f" ({self.reason})" if self.reason else ""
        return f"{said}, {self.direction}: {self.status}{tail}{reason}"


def verify(
    target: Instruction | Module,
    *,
    max_changes: int = MAX_CHANGES,
    seed: int = 0,
    custom_calls: Mapping[str, Callable[..., Any]] | None = None,
) -> list[CheckResult]:
    """The executor's evidence for every map set of an instruction, or of all instructions of a module.

    Operands get random values, or, in a module's entry, what the module computes from random arguments.  Then elements
    of one operand leaf after the other are changed, all of them where there are at most ``max_changes``.  Constants and
    iotas keep their values, which may be part of a map.  In a module, instructions that are alike count once.
    ``custom_calls`` has by target the function that stands for it, as in :func:`hlomap.interpreter`.

    >>> import hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[2,3] parameter(0)
    ...   ROOT t = f32[3,2] transpose(p), dimensions={1,0}
    ... }''')
    >>> for verdict in verify(module):
    ...     print(verdict)
    t: output [] and operand 0 [], output_to_input: exact
    t: output [] and operand 0 [], input_to_output: exact
    """
    takes = "an hlomap.Instruction or hlomap.Module"
    expect((Instruction, Module), target, "verify", takes, "read a file with hlomap.load(path)")
    if isinstance(target, Instruction):
        return list(_verdicts(target, None, max_changes, seed, custom_calls or {}))
    found: list[CheckResult] = []
    known: set[bytes] = set()
    functions = custom_calls or {}
    entry = _entry_values(target, seed, functions)
    for computation in target.computations:
        if computation.is_fusion:
            continue
        for instruction in computation.instructions:
            if not instruction.operands or lookup(instruction.opcode).structural:
                continue
            key = instruction.signature(tuple(range(len(instruction.operands))))
            if key not in known:
                known.add(key)
                found += _verdicts(instruction, entry, max_changes, seed, functions)
    return found


def _entry_values(module: Module, seed: int, functions: Functions) -> dict[int, Value]:
    """What every instruction of the entry has at random arguments; nothing where that cannot be run."""
    rng = np.random.default_rng(seed)
    found: dict[int, Value] = {}

    def keep(instruction: Instruction, value: Value) -> None:
        found[instruction.number] = value

    try:
        _must_be_small(module.entry.instructions)
        arguments = [_random(p.shape, rng) for p in module.entry.parameters]
        _machine(module, seed, functions, keep).run(module.entry, [arguments])
    except (HlomapError, MemoryError):
        pass
    return found


def _machine(
    module: Module, seed: int, functions: Functions, keep: Any = None, grid: tuple[int, int] = (1, 1)
) -> Machine:
    return Machine(plans_of(module), DeviceGrid(*grid, custom_calls=functions), _MAX_STEPS, seed, keep)


def _random(shape: Shape, rng: np.random.Generator) -> Value:
    """A value of that shape."""
    for leaf in array_leaves(shape):
        if shape_at(shape, leaf).n_elements > _MAX_ELEMENTS:
            raise TooLarge(f"{shape}")
    if shape.is_tuple:
        return tuple(_random(inner, rng) for inner in shape.tuple_shapes)
    return _drawn(shape.dtype, shape.dimensions, rng) if shape.is_array else None


def _drawn(dtype: str, sizes: Sequence[int], rng: np.random.Generator) -> npt.NDArray[Any]:
    """Small numbers that differ where the type allows."""
    to = numpy_dtype(dtype)
    if to == np.bool_:
        return rng.integers(0, 2, sizes).astype(to)
    if is_integer(to):
        return rng.integers(0 if is_unsigned(to) else -7, 8, sizes).astype(np.int64).astype(to)
    drawn = rng.uniform(0.1, 0.9, sizes)
    return (drawn + 1j * rng.uniform(0.1, 0.9, sizes) if to.kind == "c" else drawn).astype(to)


def _must_be_small(instructions: Sequence[Instruction]) -> None:
    """No value that is made on the way, in called computations either, has too many elements."""
    seen: set[int] = set()
    waiting = [instructions]
    while waiting:
        for instruction in waiting.pop():
            for leaf in array_leaves(instruction.shape):
                if shape_at(instruction.shape, leaf).n_elements > _MAX_VALUE:
                    raise TooLarge(f"{instruction.name} is {instruction.shape}")
            for computation in instruction.called_computations:
                if computation.number not in seen:
                    seen.add(computation.number)
                    waiting.append(computation.instructions)


class TooLarge(HlomapError):
    """More elements than are worth a try."""


# ----------------------------------------------------------------------------------------------------- one instruction


def _verdicts(
    instruction: Instruction, known: Mapping[int, Value] | None, max_changes: int, seed: int, functions: Functions
) -> Iterator[CheckResult]:
    rng = np.random.default_rng(seed)
    outputs = list(array_leaves(instruction.shape))
    places = [(k, leaf) for k, operand in enumerate(instruction.operands) for leaf in array_leaves(operand.shape)]
    try:
        trial: _Trial | str = _Trial(instruction, known, rng, functions)
    except (HlomapError, MemoryError) as error:
        trial = str(error)
    backward = {out: output_to_input(instruction, out) for out in outputs}
    share = max(1, min(max_changes, _MAX_ALL_CHANGES // max(1, len(places))))
    for k, leaf in places:
        forward = input_to_output(instruction, (k, *leaf))
        seen = {} if isinstance(trial, str) else trial.seen(k, leaf, share)
        for out in outputs:
            sets: dict[Direction, MapSet] = {
                "output_to_input": backward[out][k],
                "input_to_output": forward[out[0] if out else 0],
            }
            for direction, maps in sets.items():
                place = (instruction, direction, out, k, leaf)
                if maps.is_unknown:
                    yield CheckResult(*place, "unknown", False, reason=maps.reason)
                elif isinstance(trial, str) or not seen:
                    reason = trial if isinstance(trial, str) else "a constant, or nothing to change"
                    yield CheckResult(*place, "unchecked", maps.exact, reason=reason)
                else:
                    verdict = _judged(place, maps, seen, trial)
                    if verdict.status in ("exact", "over") and maps.devices is not None:
                        verdict = _with_devices(verdict, maps.devices, seen, trial)
                    yield verdict


class _Trial:
    """Runs one instruction again and again with one element changed."""

    def __init__(
        self,
        instruction: Instruction,
        known: Mapping[int, Value] | None,
        rng: np.random.Generator,
        functions: Functions,
    ) -> None:
        self._functions = functions
        _must_be_small([instruction])
        self._instruction = instruction
        self._exchanges = lookup(instruction.opcode).collective is not None
        self._rng = rng
        self._operands: list[Value] = []
        self.values: list[dict[int, Value]] = []
        """By device, the values that runtime sources may be."""
        given: dict[int, Value] = {}
        for operand in instruction.operands:
            if operand.number not in given:
                given[operand.number] = self._value(operand, known)
            self._operands.append(_in_order(given[operand.number]))
        self._given = given
        self._plan = single(instruction)
        self.arrivals: dict[ShapeIndex, set[tuple[int, int, int, int]]] = {}
        """By output, for the operand leaf tried last: operand element, its device, output element, its device."""
        self.grid, self._before = self._first_run()
        for value in self._before:
            _must_have_shape(value, instruction.shape)

    def _first_run(self) -> tuple[tuple[int, int], list[Value]]:
        """The smallest grid of devices on which it runs, and what each of them has then."""
        first: HlomapError | None = None
        for grid in (*self._own_grid(), *_GRIDS):
            self.values = [dict(self._given) for _ in range(grid[0] * grid[1])]
            try:
                return grid, self._run(grid, None, self._operands, self._keep)
            except HlomapError as error:
                first = first or error
                if "groups" not in str(error) and "device" not in str(error):
                    break
        assert first is not None, "there is a grid"
        raise first

    def _own_grid(self) -> list[tuple[int, int]]:
        """As many devices as the module says, where groups may be all of them."""
        attributes = self._instruction.module.attributes
        grid = int(attributes.get("replica_count", 1)), int(attributes.get("num_partitions", 1))
        return [grid] if self._exchanges and grid in _GRIDS else []

    def _value(self, operand: Instruction, known: Mapping[int, Value] | None) -> Value:
        if known is not None and operand.number in known:
            return known[operand.number]
        if _is_fixed(operand):
            return _machine(operand.module, 0, self._functions).run(single(operand), [[]])[0]
        return _random(operand.shape, self._rng)

    def _keep(self, instruction: Instruction, value: Value, device: int = 0) -> None:
        self.values[device].setdefault(instruction.number, value)

    def _run(self, grid: tuple[int, int], device: int | None, moved: Sequence[Value], keep: Any = None) -> list[Value]:
        """The value on each device where one of them has other operands."""
        n = grid[0] * grid[1]
        operands = [list(moved if i == device or device is None else self._operands) for i in range(n)]
        return _machine(self._instruction.module, 0, self._functions, keep, grid).run(self._plan, operands)

    def seen(self, k: int, leaf: ShapeIndex, max_changes: int) -> dict[int, dict[ShapeIndex, Ints]]:
        """For each operand element that was changed, by its number, the outputs that changed then, by their leaves."""
        operand = self._instruction.operands[k]
        given = np.asarray(at_leaf(self._operands[k], leaf))
        if _is_fixed(operand) or not given.size or given.size > _MAX_ELEMENTS:
            return {}
        chosen = list(range(given.size))
        if given.size > max_changes:
            drawn = self._rng.choice(given.size, max(0, max_changes - 2), replace=False)
            chosen = sorted({0, given.size - 1, *drawn.tolist()})[:max_changes]
        found: dict[int, dict[ShapeIndex, Ints]] = {}
        self.arrivals = {}
        numbers = _at_bounds(np.array(chosen), given.shape, shape_at(operand.shape, leaf).dimensions)
        for number, i in zip(numbers.tolist(), chosen, strict=True):
            changes: dict[ShapeIndex, Ints] = {}
            for other in _others(given.reshape(-1)[i], operand, leaf, self._rng):
                changed = given.reshape(-1).copy()
                changed[i] = other
                moved = list(self._operands)
                moved[k] = _replaced(moved[k], leaf, changed.reshape(given.shape))
                for out, where, device, arrives in self._arrived(moved):
                    changes[out] = np.union1d(changes[out], where) if out in changes else where
                    if self._exchanges or len(self._before) > 1:
                        self.arrivals.setdefault(out, set()).update(
                            (number, device, o, arrives) for o in where.tolist()
                        )
            if changes:
                found[number] = changes
        return found

    def _arrived(self, moved: Sequence[Value]) -> Iterator[tuple[ShapeIndex, Ints, int, int]]:
        """Which outputs change on some device where one device after the other has those operands; on which devices."""
        for device in range(len(self._before)):
            try:
                after = self._run(self.grid, device, moved)
            except HlomapError:
                continue
            for out in array_leaves(self._instruction.shape):
                bounds = shape_at(self._instruction.shape, out).dimensions
                for arrives, (a, b) in enumerate(zip(self._before, after, strict=True)):
                    yield out, _changed(at_leaf(a, out), at_leaf(b, out), bounds), device, arrives

    def sizes(self, k: int, leaf: ShapeIndex) -> tuple[int, ...]:
        return tuple(shape_at(self._instruction.operands[k].shape, leaf).dimensions)


def _must_have_shape(value: Value, shape: Shape) -> None:
    """What was computed, as the text says it is; sizes in use may be less than the bounds of dynamic ones."""
    for leaf in array_leaves(shape):
        bounds, dynamic = shape_at(shape, leaf).dimensions, shape_at(shape, leaf).dynamic
        try:
            found = at_leaf(value, leaf)
        except (IndexError, TypeError):
            found = ()
        if isinstance(found, tuple):
            raise ShapeError(f"its value has no array at {list(leaf)}")
        if found is None:  # the state of something that was started says nothing
            continue
        sizes = np.shape(found)
        sized = len(sizes) == len(bounds) and all(
            n == bound or (n < bound and may_be_less)
            for n, bound, may_be_less in zip(sizes, bounds, dynamic, strict=True)
        )
        if not sized:
            raise ShapeError(f"its value has sizes {list(sizes)} at {list(leaf)} where {list(bounds)} are written")


def _is_fixed(operand: Instruction) -> bool:
    """Whether its content may be part of a map."""
    return not operand.operands and operand.parameter_number is None and not operand.called_computations


def _others(element: Any, operand: Instruction, leaf: ShapeIndex, rng: np.random.Generator) -> list[Any]:
    """Two other values of the element's type."""
    shape = shape_at(operand.shape, leaf)
    drawn = _drawn(shape.dtype, [8], rng)
    if drawn.dtype == np.bool_:
        return [not element]
    other = [x for x in drawn if x != element]
    return other[:2]


def _judged(
    place: tuple[Instruction, Direction, ShapeIndex, int, ShapeIndex],
    maps: MapSet,
    seen: Mapping[int, Mapping[ShapeIndex, Ints]],
    trial: _Trial,
) -> CheckResult:
    """Compares what was seen with what the set says of the same elements."""
    instruction, direction, out, k, leaf = place
    made, given = tuple(shape_at(instruction.shape, out).dimensions), trial.sizes(k, leaf)
    columns = np.array(sorted(seen), np.int64)
    changed = {(i, int(o)) for i in seen for o in seen[i][out]}
    try:
        if direction == "output_to_input":
            rows = _rows(changed, int(np.prod(made, dtype=np.int64)))
            said = _said(maps, leaf, made, given, trial, rows)
            said = {(i, o) for o, i in said if i in seen}
            changed = {(i, o) for i, o in changed if o in set(rows.tolist())}
        else:
            said = _said(maps, out, given, made, trial, columns)
    except TooMany as error:
        return CheckResult(*place, "unchecked", maps.exact, len(seen), reason=str(error))
    except ValueError as error:
        return CheckResult(*place, "UNSOUND", maps.exact, len(seen), reason=str(error))
    if changed - said:
        i, o = min(changed - said)
        witness = (_index(i, given), _index(o, made))
        return CheckResult(*place, "UNSOUND", maps.exact, len(seen), witness)
    return CheckResult(*place, "exact" if changed == said else "over", maps.exact, len(seen))


def _rows(changed: set[tuple[int, int]], n: int) -> Ints:
    """The outputs that are looked at: some that changed of every operand element, and the first and last ones."""
    kept = {0, n - 1}
    by_element: dict[int, list[int]] = {}
    for i, o in sorted(changed):
        by_element.setdefault(i, []).append(o)
    share = max(1, _MAX_ROWS // max(1, len(by_element)))
    for found in by_element.values():
        kept |= set(found[:share]) | set(found[-share:])
    kept |= set(range(min(n, _MAX_ROWS)))
    return np.array(sorted(kept), np.int64)


def _said(
    maps: MapSet, leaf: ShapeIndex, source: Sequence[int], target: Sequence[int], trial: _Trial, rows: Ints
) -> set[tuple[int, int]]:
    """The pairs in a set; a runtime value is what it is on any of the devices."""
    found: set[tuple[int, int]] = set()
    for m in maps:
        if m.index == leaf:
            for values in _values_of(m, trial.values):
                a, b = enumerate_pairs(m, source, target, values, _MAX_POINTS, rows)
                found |= set(zip(a.tolist(), b.tolist(), strict=True))
    return found


def _values_of(m: IndexingMap, by_device: Sequence[Mapping[int, Value]]) -> Iterator[Mapping[int, Value]]:
    """What the sources of a map may hold: those of one device; what another device has goes by another number."""
    if not m.runtime:
        yield {}
        return
    elsewhere = {
        v.source: v.supplier.number
        for v in m.runtime
        if v.source is not None and v.supplier is not None and v.source != v.supplier.number
    }
    if len(by_device) ** (1 + len(elsewhere)) > _MAX_ROWS:
        raise TooMany("runtime values of many devices")
    for here, *others in product(by_device, repeat=1 + len(elsewhere)):
        there = zip(elsewhere.items(), others, strict=True)
        yield {**here, **{source: of[number] for (source, number), of in there if number in of}}


def _with_devices(
    verdict: CheckResult, there: DeviceIndexing, seen: Mapping[int, Mapping[ShapeIndex, Ints]], trial: _Trial
) -> CheckResult:
    """The same with what the set says of devices: what arrives on another one than it says is unsound."""
    if there.maps.is_unknown:
        return verdict
    made = tuple(shape_at(verdict.instruction.shape, verdict.output).dimensions)
    given = trial.sizes(verdict.operand, verdict.index)
    arrived = trial.arrivals.get(verdict.output, set())
    backward = verdict.direction == "output_to_input"
    rows = np.array(sorted(seen), np.int64)
    if backward:
        rows = _rows({(i, o) for i, _, o, _ in arrived}, int(np.prod(made, dtype=np.int64)))
        constant_operands = set(rows.tolist())
        arrived = {x for x in arrived if x[2] in constant_operands}
    leaf, ends = (verdict.index, (made, given)) if backward else (verdict.output, (given, made))
    try:
        said, known = said_of_devices(there, leaf, *ends, trial.values, trial.grid, rows, _MAX_POINTS)
    except TooMany:
        return verdict
    except ValueError as error:
        return replace(verdict, status="UNSOUND", reason=str(error))
    ordered = {(to, at) if backward else (at, to) for at, to in said}
    mentioned = {(*first, *last) for first, last in ordered if first[0] in seen}
    # A device in no group keeps its elements to itself.
    arrived = {x for x in arrived if x[1] != x[3] or x[1] in known}
    if arrived - mentioned:
        i, device, o, arrives = min(arrived - mentioned)
        witness = (_index(i, given), _index(o, made))
        return replace(verdict, status="UNSOUND", witness=witness, reason=f"from device {device} to device {arrives}")
    return verdict if arrived == mentioned else replace(verdict, status="over")


def _index(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(number, tuple(sizes))) if sizes else ()


# --------------------------------------------------------------------------------------------------------------- values


def at_leaf(value: Value, leaf: ShapeIndex) -> Value:
    """The part of a value that a shape index leads to."""
    for i in leaf:
        value = value[i]
    return value


def _in_order(value: Value) -> Value:
    """The same arrays in row-major order, as changed ones are: sums must be taken alike."""
    if isinstance(value, tuple):
        return tuple(map(_in_order, value))
    return None if value is None else np.array(value, order="C")


def _replaced(value: Value, leaf: ShapeIndex, new: Value) -> Value:
    if not leaf:
        return new
    return tuple(_replaced(x, leaf[1:], new) if i == leaf[0] else x for i, x in enumerate(value))


def _changed(a: npt.ArrayLike, b: npt.ArrayLike, bounds: Sequence[int]) -> Ints:
    """Row-major numbers, at the bounds, of the elements that differ; the sizes in use may be smaller."""
    a, b = np.asarray(a), np.asarray(b)
    where = np.flatnonzero(differs(a, b))
    return _at_bounds(where, a.shape if a.size >= b.size else b.shape, bounds)


def _at_bounds(numbers: Ints, sizes: Sequence[int], bounds: Sequence[int]) -> Ints:
    if tuple(sizes) == tuple(bounds) or not len(numbers):
        return numbers
    return np.ravel_multi_index(np.unravel_index(numbers, tuple(sizes)), tuple(bounds)).astype(np.int64)


def differs(a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Where two arrays differ, flat; NaN equals NaN.  Arrays of other sizes differ everywhere."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return np.ones(max(a.size, b.size), np.bool_)
    moved: npt.NDArray[np.bool_] = (a != b) & ~((a != a) & (b != b))
    return moved.reshape(-1)
