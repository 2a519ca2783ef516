"""Compares map sets with the interpreter: an operand element that changes an output must be mentioned by the map set.

The check is one-sided.  A change that reaches an output element which no map relates to the changed element proves the
set unsound; a change that reaches nothing proves nothing, since max, select or a clamp may hide it.  Of the analysis
only the map sets are used; everything else is computed by running the instruction.  Collectives run on several devices,
and the device indexing is checked as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import hooks
from .._core import Computation, IndexingMap, Instruction, Module, Shape
from ..analysis.loops import fixed_leaves
from ..analysis.queries import input_to_output, output_to_input
from ..dtypes import is_integer, is_unsigned, max_rank, numpy_dtype
from ..errors import HlomapError, ShapeError, UndecidedError
from ..hlo.order import callees, reachable
from ..interpreter.library import CALLS
from ..interpreter.machine import Budget, Machine
from ..interpreter.plan import plan_instruction, plan_module
from ..maps.device_groups import DeviceIndexing
from ..maps.enumerate_pairs import EnumerationLimitError, Ints, enumerate_pairs
from ..maps.map_set import MapSet
from ..ops import lookup, op_of
from ..ops._evaluation import DeviceGrid, on_arrays
from ..ops._shapes import array_leaves, shape_at
from ..text import one_line
from ..types import ShapeIndex, expect, expect_ints, subject_of, wrong_type
from .device_pairs import enumerate_device_pairs

Value = Any
Functions = Mapping[str, Callable[..., Any]]
Direction = Literal["output_to_input", "input_to_output"]

MAX_CHANGES = 32
"""Elements of each operand array that are changed, one at a time."""

_MAX_ARGUMENT = 1 << 18
"""Elements of an array of the entry's arguments, beyond which the entry is not run."""
_MAX_VALUE = 1 << 22
"""Elements of an array in a run."""
_MAX_TOTAL = 1 << 24
"""Elements of all operands of an instruction, and of all arrays that its changed runs compute or copy."""
_MAX_POINTS = 1 << 19
_MAX_ROWS = 256
_BUDGET = Budget(max_steps=2_000, max_work=2_000)
_MAX_ALL_CHANGES = 128  # of one instruction
_GRIDS = ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4), (2, 2), (8, 1), (1, 8), (2, 4), (4, 2))
"""Numbers of replicas and partitions to try, in this order, until the instruction runs."""


class CheckStatus(str, Enum):
    """The outcome of one check.  Members are strings: ``result.status == "exact"`` holds.

    >>> str(CheckStatus.UNSOUND), CheckStatus("exact") is CheckStatus.EXACT
    ('unsound', True)
    """

    EXACT = "exact"
    """The observed pairs of elements and the pairs that the map set mentions are the same."""
    OVERAPPROXIMATE = "overapproximate"
    """Every observed pair is mentioned; some mentioned pair was not observed, which contradicts nothing."""
    UNSOUND = "unsound"
    """A pair was observed that the map set does not mention, or a map leaves the arrays."""
    UNKNOWN = "unknown"
    """The map set is unknown."""
    UNCHECKED = "unchecked"
    """The instruction could not be run, or checking it would take too long."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of checking the map set between one output array and one operand array, in one direction.

    ``output`` and ``shape_index`` are the shape indices of the two arrays, ``operand`` is the operand's number.
    ``claims_exact`` is the map set's own ``exact``; ``n_changes`` counts the operand elements that were changed.
    ``witness`` of an unsound result is the smallest operand element, with the smallest output element it changes, that
    the set does not mention.  ``reason`` explains a result without a witness, and names the devices of one that crosses
    devices.

    ``bool(result)`` is True for ``exact`` and ``overapproximate`` and False for ``unsound``; for ``unknown`` and
    ``unchecked`` it raises :class:`hlomap.errors.UndecidedError`.
    """

    instruction: Instruction
    direction: Direction
    output: ShapeIndex
    operand: int
    shape_index: ShapeIndex
    status: CheckStatus
    claims_exact: bool
    n_changes: int = 0
    witness: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    reason: str | None = None

    def __bool__(self) -> bool:
        if self.status in (CheckStatus.UNKNOWN, CheckStatus.UNCHECKED):
            raise UndecidedError(f"the truth of a CheckResult that is {self.status} is not decided: use .status")
        return self.status != CheckStatus.UNSOUND

    def _repr_html_(self) -> str | None:
        return hooks.html(self)

    def __repr__(self) -> str:
        return f"<CheckResult {one_line(str(self), 140)}>"

    def __str__(self) -> str:
        output, index = (",".join(map(str, leaf)) for leaf in (self.output, self.shape_index))
        arrays = f"{self.instruction.name}: output {{{output}}} and operand {self.operand} {{{index}}}"
        witness = ""
        if self.witness is not None:
            operand_element, output_element = map(list, self.witness)
            witness = f", operand element {operand_element} changes output {output_element}"
        reason = f" ({self.reason})" if self.reason else ""
        return f"{arrays}, {self.direction}: {self.status}{witness}{reason}"


def verify(
    subject: Instruction | Computation | Module,
    /,
    *,
    max_changes: int = MAX_CHANGES,
    seed: int = 0,
    custom_calls: Mapping[str, Callable[..., Any]] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[CheckResult]:
    """Check every map set of an instruction, or of all instructions of a computation or module, by running them.

    Operands get random values; in a module's entry they get the values that the module computes from random arguments.
    Then one element of an operand array is changed at a time, every element of arrays with at most ``max_changes`` and
    a sample of larger ones, a smaller one where arrays have hundreds of thousands of elements, and the output elements
    that change are compared with those that the map set mentions.
    Constants and iotas keep their values, since maps may depend on them.  In a module (outside its fusions) or a
    computation, instructions with equal signatures are checked once.  ``custom_calls`` maps custom call targets to
    functions, as in :func:`hlomap.execute`.  ``progress`` is called with the number of instructions of a module that
    are done and the number of all.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[2,3] parameter(0)
    ...   ROOT t = f32[3,2] transpose(p), dimensions={1,0}
    ... }''')
    >>> for result in verify(module):
    ...     print(result)
    t: output {} and operand 0 {}, output_to_input: exact
    t: output {} and operand 0 {}, input_to_output: exact
    """
    expect_ints("verify", max_changes=max_changes, seed=seed)
    if seed < 0:
        raise ValueError(f"hm.verify: expected an int of at least 0 as `seed`, got {seed}")
    expect((Mapping, type(None)), custom_calls, "verify", "a mapping from names to functions as `custom_calls`")
    if progress is not None and not callable(progress):
        raise wrong_type("verify", "a function or None as `progress`", progress)
    functions = {**CALLS, **(custom_calls or {})}
    if isinstance(subject, Module):
        computations = [computation for computation in subject.computations if not computation.is_fusion]
    else:
        found = subject_of(subject, "verify")
        if isinstance(found, Instruction):
            return list(_check(found, None, max_changes, seed, functions))
        computations = [found]
    results: list[CheckResult] = []
    entry = _entry_values(computations[0].module, seed, functions)
    checked = _different_instructions(computations)
    for number, instruction in enumerate(checked, 1):
        results += _check(instruction, entry, max_changes, seed, functions)
        if progress is not None:
            progress(number, len(checked))
    return results


def _different_instructions(computations: Sequence[Computation]) -> list[Instruction]:
    """The instructions that have operands and a semantics; of those with one signature the first."""
    found: dict[bytes, Instruction] = {}
    for computation in computations:
        for instruction in computation.instructions:
            if instruction.operands and not lookup(instruction.opcode).structural:
                found.setdefault(instruction.signature(tuple(range(len(instruction.operands)))), instruction)
    return list(found.values())


def _entry_values(module: Module, seed: int, functions: Functions) -> dict[int, Value]:
    """The value of every entry instruction on the first device, for random arguments that all devices have, by number;
    empty if the entry cannot be run.
    """
    rng = np.random.default_rng(seed)
    values: dict[int, Value] = {}

    def record(instruction: Instruction, value: Value, device: int = 0) -> None:
        if device == 0:
            values[instruction.number] = value

    try:
        _check_sizes(module.entry.instructions)
        for p in module.entry.parameters:
            _check_size(p, _MAX_ARGUMENT)
        arguments = [random_value(p.shape, rng) for p in module.entry.parameters]
        grid = _declared_grid(module) or (1, 1)
        _machine(module, seed, functions, record, grid).run(module.entry, [arguments] * (grid[0] * grid[1]))
    except (HlomapError, MemoryError):
        pass
    return values


def _declared_grid(module: Module) -> tuple[int, int] | None:
    """The module's own numbers of replicas and partitions, if there are few."""
    attributes = module.attributes
    grid = int(attributes.get("replica_count", 1)), int(attributes.get("num_partitions", 1))
    return grid if grid in _GRIDS else None


def _machine(
    module: Module, seed: int, functions: Functions, on_value: Any = None, grid: tuple[int, int] = (1, 1)
) -> Machine:
    return Machine(plan_module(module), DeviceGrid(*grid, custom_calls=functions), _BUDGET, seed, on_value)


def random_value(
    shape: Shape,
    rng: np.random.Generator,
    integers: tuple[int, int] = (-7, 8),
    floats: tuple[float, float] = (0.1, 0.9),
) -> Value:
    """Small numbers that differ where the type allows, from the first of a pair up to, excluding, the second."""
    if shape.is_tuple:
        return tuple(random_value(inner, rng, integers, floats) for inner in shape.tuple_shapes)
    if not shape.is_array:
        return None
    to, sizes = numpy_dtype(shape.dtype), shape.dimensions
    if to == np.bool_:
        return rng.integers(0, 2, sizes).astype(to)
    if is_integer(to):
        least = 0 if is_unsigned(to) else integers[0]
        return rng.integers(least, integers[1], sizes).astype(np.int64).astype(to)
    real = rng.uniform(*floats, sizes)
    if shape.dtype == "f8e8m0fnu":  # powers of 2
        real = np.abs(real)
    return (real + 1j * rng.uniform(*floats, sizes) if to.kind == "c" else real).astype(to)


def _check_sizes(instructions: Sequence[Instruction]) -> None:
    """Raises where some value, in called computations as well, has more elements than are worth computing."""
    called = (c for instruction in instructions for c in instruction.called_computations)
    below = reachable(called, callees)
    for instruction in (*instructions, *(i for computation in below for i in computation)):
        _check_size(instruction, _MAX_VALUE)


def _check_size(instruction: Instruction, most: int) -> None:
    for leaf in array_leaves(instruction.shape):
        array = shape_at(instruction.shape, leaf)
        if array.n_elements > most:
            raise TooLargeError(
                f"{instruction.name} is too large to run: {array.n_elements:,} elements, at most {most:,} are run"
            )
        if len(array.dimensions) > max_rank():
            raise TooLargeError(f"{instruction.name} has {array.rank} dimensions: NumPy has up to {max_rank()}")


def _n_elements(shape: Shape) -> int:
    return sum(part.n_elements for _, part in shape._leaves() if part.is_array)


class TooLargeError(HlomapError):
    """An array with more elements or dimensions than the check runs."""


# ----------------------------------------------------------------------------------------------------- one instruction


def _check(
    instruction: Instruction, known: Mapping[int, Value] | None, max_changes: int, seed: int, functions: Functions
) -> Iterator[CheckResult]:
    rng = np.random.default_rng(seed)
    outputs = array_leaves(instruction.shape)
    arrays = [(k, leaf) for k, operand in enumerate(instruction.operands) for leaf in array_leaves(operand.shape)]
    if not arrays:
        return
    try:
        experiment: _Experiment | str = _Experiment(instruction, known, rng, functions)
    except (HlomapError, MemoryError) as error:
        experiment = str(error)
    backward = {out: output_to_input(instruction, out) for out in outputs}
    n_touched = sum(_n_elements(each.shape) for each in (instruction, *instruction.operands))
    n_changes = max(1, min(max_changes, min(_MAX_ALL_CHANGES, _MAX_TOTAL // max(1, n_touched)) // max(1, len(arrays))))
    for k, leaf in arrays:
        forward = input_to_output(instruction, (k, *leaf))
        observed = {} if isinstance(experiment, str) else experiment.perturb(k, leaf, n_changes)
        for out in outputs:
            sets: dict[Direction, MapSet] = {
                "output_to_input": backward[out][k],
                "input_to_output": forward[out[0] if out else 0],
            }
            for direction, maps in sets.items():
                subject = (instruction, direction, out, k, leaf)
                if maps.is_unknown:
                    yield CheckResult(*subject, CheckStatus.UNKNOWN, False, reason=maps.reason)
                elif isinstance(experiment, str) or not observed:
                    reason = experiment if isinstance(experiment, str) else "a constant, or no change reached an output"
                    yield CheckResult(*subject, CheckStatus.UNCHECKED, maps.exact, reason=reason)
                else:
                    result = CheckResult(*subject, CheckStatus.EXACT, maps.exact, len(observed))
                    result = _compare(result, maps, observed, experiment)
                    is_sound = result.status in (CheckStatus.EXACT, CheckStatus.OVERAPPROXIMATE)
                    if is_sound and maps.devices is not None and not maps.devices.maps.is_unknown:
                        result = _compare(result, maps.devices, observed, experiment)
                    yield result


class _Experiment:
    """Runs one instruction repeatedly, each time with one operand element changed."""

    def __init__(
        self,
        instruction: Instruction,
        known: Mapping[int, Value] | None,
        rng: np.random.Generator,
        functions: Functions,
    ) -> None:
        self._functions = functions
        _check_sizes([instruction])
        for operand in instruction.operands:
            _check_size(operand, _MAX_VALUE)
        n_elements = sum(_n_elements(operand.shape) for operand in instruction.operands)
        if n_elements > _MAX_TOTAL:
            raise TooLargeError(
                f"the operands are too large to run: {n_elements:,} elements together, at most {_MAX_TOTAL:,} are run"
            )
        self._instruction = instruction
        self._fixed_leaves = fixed_leaves(instruction)
        """The numbers in the operand on which the maps rest, as they do on constants."""
        self._is_collective = lookup(instruction.opcode).collective is not None
        self._rng = rng
        self._operands: list[Value] = []
        self.values: list[dict[int, Value]] = []
        """For each device, the values of instructions that runtime variables may refer to, by number."""
        inputs: dict[int, Value] = {}
        for operand in instruction.operands:
            if operand.number not in inputs:
                inputs[operand.number] = self._operand_value(operand, known)
            # In row-major order, as changed copies are: the order of a sum affects its rounding.
            self._operands.append(on_arrays(lambda array: np.array(array, order="C"), inputs[operand.number]))
        self._inputs = inputs
        self._plan = plan_instruction(instruction)
        self.arrivals: dict[ShapeIndex, set[tuple[int, int, int, int]]] = {}
        """For each output, for the operand array perturbed last: operand element, output element, and their devices."""
        self.grid, self._baseline = self._first_run()
        for value in self._baseline:
            _check_value_shape(value, instruction.shape)

    def _first_run(self) -> tuple[tuple[int, int], list[Value]]:
        """The first grid of devices on which the instruction runs, and its value on each device."""
        first: HlomapError | None = None
        declared = _declared_grid(self._instruction.module) if self._is_collective else None
        for grid in (*([declared] if declared else []), *_GRIDS):
            self.values = [dict(self._inputs) for _ in range(grid[0] * grid[1])]
            try:
                return grid, self._run(grid, None, self._operands, self._record)
            except HlomapError as error:
                first = first or error
                if "groups" not in str(error) and "device" not in str(error):
                    break
        assert first is not None, "there is a grid"
        raise first

    def _operand_value(self, operand: Instruction, known: Mapping[int, Value] | None) -> Value:
        value = self._value(operand, known or {})
        if not is_fixed(operand) and operand.number not in (known or {}):
            for leaf, number in self._fixed_leaves.items():
                shape = shape_at(operand.shape, leaf)
                value = replace_leaf(value, leaf, np.full(shape.dimensions, number, numpy_dtype(shape.dtype)))
        return value

    def _value(self, value: Instruction, known: Mapping[int, Value]) -> Value:
        if value.number in known:
            return known[value.number]
        if not is_fixed(value) and not _is_tuple(value):
            return random_value(value.shape, self._rng)
        inner = [self._value(x, known) for x in value.operands]
        return _machine(value.module, 0, self._functions).run(plan_instruction(value), [inner])[0]

    def _record(self, instruction: Instruction, value: Value, device: int = 0) -> None:
        self.values[device].setdefault(instruction.number, value)

    def _run(
        self, grid: tuple[int, int], device: int | None, changed: Sequence[Value], on_value: Any = None
    ) -> list[Value]:
        """The value on each device where one device, or each one for None, has the changed operands."""
        n = grid[0] * grid[1]
        operands = [list(changed if i == device or device is None else self._operands) for i in range(n)]
        return _machine(self._instruction.module, 0, self._functions, on_value, grid).run(self._plan, operands)

    def perturb(self, k: int, leaf: ShapeIndex, max_changes: int) -> dict[int, dict[ShapeIndex, Ints]]:
        """For each changed operand element that changed an output, the changed elements of each output array.

        Elements are row-major numbers.
        """
        operand = self._instruction.operands[k]
        original = np.asarray(at_leaf(self._operands[k], leaf))
        if _is_fixed_part(operand, leaf) or leaf in self._fixed_leaves or not original.size:
            return {}
        chosen = list(range(original.size))
        if original.size > max_changes:
            sample = self._rng.choice(original.size, max(0, max_changes - 2), replace=False)
            chosen = sorted({0, original.size - 1, *sample.tolist()})[:max_changes]
        observed: dict[int, dict[ShapeIndex, Ints]] = {}
        self.arrivals = {}
        numbers = _number_at_bounds(np.array(chosen), original.shape, shape_at(operand.shape, leaf).dimensions)
        for number, i in zip(numbers.tolist(), chosen, strict=True):
            changes: dict[ShapeIndex, Ints] = {}
            for other in _other_values(original.reshape(-1)[i], operand, leaf, self._rng):
                array = original.reshape(-1).copy()
                array[i] = other
                operands = list(self._operands)
                operands[k] = replace_leaf(operands[k], leaf, array.reshape(original.shape))
                for out, elements, source, target in self._changed_outputs(operands):
                    changes[out] = np.union1d(changes[out], elements) if out in changes else elements
                    if self._is_collective or len(self._baseline) > 1:
                        self.arrivals.setdefault(out, set()).update(
                            (number, o, source, target) for o in elements.tolist()
                        )
            if changes:
                observed[number] = changes
        return observed

    def _changed_outputs(self, operands: Sequence[Value]) -> Iterator[tuple[ShapeIndex, Ints, int, int]]:
        """Runs once for each device that gets these operands: output, changed elements, that device, their device."""
        for source in range(len(self._baseline)):
            try:
                values = self._run(self.grid, source, operands)
            except HlomapError:
                continue
            for out in array_leaves(self._instruction.shape):
                bounds = shape_at(self._instruction.shape, out).dimensions
                for target, (before, after) in enumerate(zip(self._baseline, values, strict=True)):
                    yield out, _changed_elements(at_leaf(before, out), at_leaf(after, out), bounds), source, target

    def sizes(self, k: int, leaf: ShapeIndex) -> tuple[int, ...]:
        return tuple(shape_at(self._instruction.operands[k].shape, leaf).dimensions)


def _check_value_shape(value: Value, shape: Shape) -> None:
    """Raises where a computed value does not have the declared shape; dynamic sizes may be less than their bounds."""
    for leaf in array_leaves(shape):
        bounds, dynamic = shape_at(shape, leaf).dimensions, shape_at(shape, leaf).dynamic
        try:
            array = at_leaf(value, leaf)
        except (IndexError, TypeError):
            array = ()
        if isinstance(array, tuple):
            raise ShapeError(f"the computed value has no array at shape index {list(leaf)}")
        if array is None:  # the state of an asynchronous operation has no elements
            continue
        sizes = np.shape(array)
        fits = len(sizes) == len(bounds) and all(
            n == bound or (n < bound and is_dynamic)
            for n, bound, is_dynamic in zip(sizes, bounds, dynamic, strict=True)
        )
        if not fits:
            raise ShapeError(f"the computed value at {list(leaf)} has sizes {list(sizes)}, declared are {list(bounds)}")


def is_fixed(operand: Instruction) -> bool:
    """Whether the operand's values may be part of a map: constants, iotas, tuples of them, and copies of one number."""
    if not operand.operands:
        return operand.parameter_number is None and not operand.called_computations
    copies_one = operand.shape.is_array and operand.shape.n_elements == 1 and op_of(operand).operations == "moves"
    return (copies_one or _is_tuple(operand)) and all(is_fixed(x) for x in operand.operands)


def _is_tuple(operand: Instruction) -> bool:
    parts = [x.shape for x in operand.operands]
    return op_of(operand).structural and operand.shape.is_tuple and list(operand.shape.tuple_shapes) == parts


def _is_fixed_part(operand: Instruction, leaf: ShapeIndex) -> bool:
    while leaf and _is_tuple(operand):
        operand, leaf = operand.operands[leaf[0]], leaf[1:]
    return is_fixed(operand)


def _other_values(element: Any, operand: Instruction, leaf: ShapeIndex, rng: np.random.Generator) -> list[Any]:
    """At most two values of the element's type that differ from it."""
    shape = shape_at(operand.shape, leaf)
    sample = random_value(Shape(shape.dtype, [8]), rng)
    if sample.dtype == np.bool_:
        return [not element]
    return [x for x in sample if x != element][:2]


def _compare(
    result: CheckResult,
    maps: MapSet | DeviceIndexing,
    observed: Mapping[int, Mapping[ShapeIndex, Ints]],
    experiment: _Experiment,
) -> CheckResult:
    """The result after comparing the observed pairs with those that maps mention.

    A pair is an operand element and an output element; for maps between devices it has the devices of both, too.
    """
    is_backward = result.direction == "output_to_input"
    output_sizes = tuple(shape_at(result.instruction.shape, result.output).dimensions)
    operand_sizes = experiment.sizes(result.operand, result.shape_index)
    changed: set[tuple[int, ...]] = {(i, int(o)) for i in observed for o in observed[i][result.output]}
    if isinstance(maps, DeviceIndexing):
        changed = {*experiment.arrivals.get(result.output, ())}
    rows = np.array(sorted(observed), np.int64)
    if is_backward:
        rows = _sample_outputs({(i, o) for i, o, *_ in changed}, int(np.prod(output_sizes, dtype=np.int64)))
        sampled = set(rows.tolist())
        changed = {pair for pair in changed if pair[1] in sampled}
    leaf = result.shape_index if is_backward else result.output
    sizes = (output_sizes, operand_sizes) if is_backward else (operand_sizes, output_sizes)
    try:
        if isinstance(maps, MapSet):
            pairs: set[tuple[int, ...]] = {*_mentioned_pairs(maps, leaf, *sizes, experiment, rows)}
        else:
            values, grid = experiment.values, experiment.grid
            pairs, grouped = enumerate_device_pairs(maps, leaf, *sizes, values, grid, rows, _MAX_POINTS)
            # The device indexing does not list devices outside all groups, whose elements stay where they are.
            changed = {pair for pair in changed if pair[2] != pair[3] or pair[2] in grouped}
    except EnumerationLimitError as error:
        is_first = isinstance(maps, MapSet)
        return replace(result, status=CheckStatus.UNCHECKED, reason=str(error)) if is_first else result
    except ValueError as error:
        return replace(result, status=CheckStatus.UNSOUND, reason=str(error))
    if is_backward:
        pairs = {(i, o, *devices[::-1]) for o, i, *devices in pairs}
    mentioned = {pair for pair in pairs if pair[0] in observed}
    if changed - mentioned:
        i, o, *between = min(changed - mentioned)
        witness = (_index(i, operand_sizes), _index(o, output_sizes))
        reason = f"from device {between[0]} to device {between[1]}" if between else None
        return replace(result, status=CheckStatus.UNSOUND, witness=witness, reason=reason)
    return result if changed == mentioned else replace(result, status=CheckStatus.OVERAPPROXIMATE)


def _sample_outputs(changed: set[tuple[int, int]], n: int) -> Ints:
    """The output elements to compare: the first ``_MAX_ROWS``, the last, and some that each operand element changed."""
    kept = {0, n - 1}
    by_element: dict[int, list[int]] = {}
    for i, o in sorted(changed):
        by_element.setdefault(i, []).append(o)
    n_each = max(1, _MAX_ROWS // max(1, len(by_element)))
    for outputs in by_element.values():
        kept |= set(outputs[:n_each]) | set(outputs[-n_each:])
    kept |= set(range(min(n, _MAX_ROWS)))
    return np.array(sorted(kept), np.int64)


def _mentioned_pairs(
    maps: MapSet, leaf: ShapeIndex, source: Sequence[int], target: Sequence[int], experiment: _Experiment, rows: Ints
) -> set[tuple[int, int]]:
    """The pairs of a map set for the runtime values on any of the devices."""
    pairs: set[tuple[int, int]] = set()
    for m in maps:
        if m.shape_index == leaf:
            for values in _runtime_values(m, experiment.values):
                a, b = enumerate_pairs(m, source, target, values, _MAX_POINTS, rows)
                pairs |= set(zip(a.tolist(), b.tolist(), strict=True))
    return pairs


def _runtime_values(m: IndexingMap, by_device: Sequence[Mapping[int, Value]]) -> Iterator[Mapping[int, Value]]:
    """The values that a map's runtime sources may have.

    They come from one device; a source whose number is not that of its supplier is a value of another device.
    """
    if not m.runtime:
        yield {}
        return
    elsewhere = {
        v.source: v.supplier.number
        for v in m.runtime
        if v.source is not None and v.supplier is not None and v.source != v.supplier.number
    }
    if len(by_device) ** (1 + len(elsewhere)) > _MAX_ROWS:
        raise EnumerationLimitError("too many combinations of devices for the runtime values")
    for here, *others in product(by_device, repeat=1 + len(elsewhere)):
        there = zip(elsewhere.items(), others, strict=True)
        yield {**here, **{source: values[number] for (source, number), values in there if number in values}}


def _index(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(number, tuple(sizes))) if sizes else ()


# --------------------------------------------------------------------------------------------------------------- values


def at_leaf(value: Value, leaf: ShapeIndex) -> Value:
    """The part of a value at a shape index."""
    for i in leaf:
        value = value[i]
    return value


def replace_leaf(value: Value, leaf: ShapeIndex, new: Value) -> Value:
    if not leaf:
        return new
    return tuple(replace_leaf(x, leaf[1:], new) if i == leaf[0] else x for i, x in enumerate(value))


def _changed_elements(a: npt.ArrayLike, b: npt.ArrayLike, bounds: Sequence[int]) -> Ints:
    """Row-major numbers, within the bounds, of the elements that differ; the actual sizes may be smaller."""
    a, b = np.asarray(a), np.asarray(b)
    numbers = np.flatnonzero(differs(a, b))
    return _number_at_bounds(numbers, a.shape if a.size >= b.size else b.shape, bounds)


def _number_at_bounds(numbers: Ints, sizes: Sequence[int], bounds: Sequence[int]) -> Ints:
    """Row-major numbers of an array of these sizes as those of an array whose sizes are the bounds."""
    if tuple(sizes) == tuple(bounds) or not len(numbers):
        return numbers
    return np.ravel_multi_index(np.unravel_index(numbers, tuple(sizes)), tuple(bounds)).astype(np.int64)


def differs(a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """The elements that differ, as a flat mask; NaN equals NaN.  Arrays of unequal shapes differ everywhere."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return np.ones(max(a.size, b.size), np.bool_)
    mask: npt.NDArray[np.bool_] = (a != b) & ~((a != a) & (b != b))
    return mask.reshape(-1)
