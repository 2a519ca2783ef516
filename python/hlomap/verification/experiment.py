"""Runs of one instruction, each with one element of an operand changed.

:class:`Experiment` is the entry point: :meth:`Experiment.perturb` returns the effects of changes to one operand array.
It uses only those facts of the analysis that every run must respect; :mod:`.verify` compares maps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import Instruction, Module, Shape
from ..analysis.loops import fixed_leaves, stated_count
from ..base.dtypes import numpy_dtype
from ..base.text import plural
from ..base.types import ShapeIndex
from ..errors import HlomapError, ShapeError, UnsupportedError
from ..hlo.order import callees, reachable
from ..interpreter.machine import OnValue
from ..interpreter.plan import plan_instruction
from ..maps.enumerate_pairs import EnumerationLimitError, Ints
from ..ops import lookup
from ..ops._evaluation import on_arrays
from ..ops._shapes import shape_at
from .values import (
    GRIDS,
    Functions,
    Grid,
    ProgramValues,
    Value,
    at_leaf,
    changed_leaves,
    check_operands,
    declared_grid,
    differs,
    is_fixed,
    part_of,
    random_value,
    replace_leaf,
)

Array = tuple[int, ShapeIndex]
"""An array of an operand: the number of the operand and the shape index."""

_N_VALUES = 2  # drawn for one element


class Values:
    """The values of a program on each grid of devices."""

    def __init__(self, module: Module, seed: int, functions: Functions) -> None:
        self.seed = seed
        self.declared: Grid = declared_grid(module) or (1, 1)
        self._module, self._functions = module, functions
        self._on: dict[Grid, ProgramValues] = {}

    def on(self, grid: Grid) -> ProgramValues:
        """The values on a grid."""
        if grid not in self._on:
            self._on[grid] = ProgramValues(self._module, grid, self.seed, self._functions)
        return self._on[grid]

    def operands(self, instruction: Instruction, grid: Grid) -> list[list[Value]]:
        """The operands on each device; a single device takes those of the first device of the module's grid."""
        values = self.on(self.declared if grid == (1, 1) else grid)
        found = [values.of(operand) for operand in instruction.operands]
        for shape_index, number in fixed_leaves(instruction).items():
            operand, shape = instruction.operands[0], shape_at(instruction.operands[0].shape, shape_index)
            if values.varies(part_of(operand, shape_index)[0]):  # the program fixes the initial value of the counter
                new = np.full(shape.dimensions, number, numpy_dtype(shape.dtype))
                found[0] = [replace_leaf(value, shape_index, new) for value in found[0]]
        # In row-major order, like changed copies: the memory order of a sum affects its rounding.
        return [
            [on_arrays(lambda array: np.array(array, order="C"), value[device]) for value in found]
            for device in range(grid[0] * grid[1])
        ]


class Seen:
    """The effects of changes to elements of one operand array.  Elements are row-major numbers."""

    def __init__(self) -> None:
        self.changes: dict[int, dict[ShapeIndex, Ints]] = {}
        """For each changed element, the elements of each output array that changed with it."""
        self.arrivals: dict[ShapeIndex, set[tuple[int, int, int, int]]] = {}
        """For each output: tuples of operand element, output element, and their devices."""
        self.n_draws = 0
        """The drawn values with which the instruction ran, counted over these elements."""


Key = tuple[tuple[int, ...], int]
"""A value in one call: the calls that lead to it (only those of computations with several callers), and its
instruction."""
DID_NOT_RUN = object()


class Trace:
    """The values of one run that maps may refer to, by device."""

    def __init__(self, operands: Sequence[Instruction], values: Sequence[Sequence[Value]]) -> None:
        self.values: list[dict[Key, Value]] = [
            {((), operand.number): value for operand, value in zip(operands, own, strict=True)} for own in values
        ]
        self._ran: set[tuple[int, tuple[int, ...], int]] = set()

    def record(self, instruction: Instruction, value: Value, device: int, calls: tuple[int, ...]) -> None:
        """Keep a value; in a loop the value of the first iteration."""
        self.values[device].setdefault((calls, instruction.number), value)
        self._ran.add((device, calls, instruction.computation.number))

    def value(self, key: Key, supplier: Instruction, device: int) -> Value:
        """The value of an instruction, or :data:`DID_NOT_RUN` for one in a call that did not run."""
        if key in self.values[device]:
            return self.values[device][key]
        if (device, key[0], supplier.computation.number) in self._ran:
            raise EnumerationLimitError(f"the run did not compute {supplier.name}, which a runtime variable reads")
        return DID_NOT_RUN


class _Watch:
    """Checks in each run the assumptions of maps, and hidden state that no map mentions.

    Maps assume that a loop iterates as often as the program states, so a run with another number of iterations is
    discarded.  A run that draws other random numbers than the first one proves nothing either.
    """

    def __init__(self, instruction: Instruction) -> None:
        self._loops: dict[int, tuple[int, int]] = {}
        """For each loop the root of its body and the stated number of iterations."""
        self._random: set[int] = set()
        for at in (instruction, *(i for c in reachable(instruction.called_computations, callees) for i in c)):
            stated = stated_count(at)
            if stated is not None:
                self._loops[at.number] = (stated[0].root.number, stated[1])
            if at._has("varies") and lookup(at.opcode).maps.collective is None:
                self._random.add(at.number)
        self._bodies = {root for root, _ in self._loops.values()}

    def observer(self, record: OnValue | None = None) -> tuple[OnValue | None, list[tuple[int, int]]]:
        """A function to call with the values of one run, and a list of the instructions that draw random numbers.

        The function adds the instructions to the list, each with its device.  It raises :class:`UnsupportedError` at a
        loop with another number of iterations than the program states.
        """
        drawn: list[tuple[int, int]] = []
        counts: Counter[tuple[int, int]] = Counter()
        if not self._loops and not self._random:
            return record, drawn

        def observe(instruction: Instruction, value: Value, device: int, calls: tuple[int, ...]) -> None:
            number = instruction.number
            if number in self._bodies:
                counts[device, number] += 1
            if number in self._random:
                drawn.append((device, number))
            if number in self._loops:
                root, stated = self._loops[number]
                n = counts.pop((device, root), 0)
                if n != stated:
                    found = f"{plural(n, 'iteration')}, the program states {stated}"
                    raise UnsupportedError(f"{instruction.name} runs {found}")
            if record is not None:
                record(instruction, value, device, calls)

        return observe, drawn


class Experiment:
    """Runs one instruction repeatedly, each time with one operand element changed."""

    def __init__(self, instruction: Instruction, values: Values) -> None:
        check_operands(instruction)
        self.instruction = instruction
        self._values = values
        self._operand_instructions = instruction.operands
        self._shape: Shape = instruction.shape
        self._fixed_leaves = fixed_leaves(instruction)
        """The operand arrays whose values maps may contain, as they do constants."""
        self._rng = np.random.default_rng(values.seed)
        self._plan = plan_instruction(instruction)
        self._watch = _Watch(instruction)
        self._drawn: list[tuple[int, int]] = []
        """Where the first run draws random numbers."""
        self._operands: list[list[Value]] = []
        """On each device."""
        inside = (i for c in reachable(instruction.called_computations, callees) for i in c)
        self._has_collective = any(lookup(i.opcode).maps.collective is not None for i in (instruction, *inside))
        self.grid: Grid
        self._baseline: list[Value]
        self.grid, self._baseline = self._first_run()
        for value in self._baseline:
            _check_value_shape(value, self._shape)

    def _first_run(self) -> tuple[Grid, list[Value]]:
        """The first grid of devices on which the instruction runs, and its value on each device."""
        first: HlomapError | None = None
        for grid in (*([self._values.declared] if self._has_collective else []), *GRIDS):
            try:
                self._operands = self._values.operands(self.instruction, grid)
                self.trace: Trace = Trace(self._operand_instructions, self._operands)
                observer, self._drawn = self._watch.observer(self.trace.record)
                return grid, self._run(grid, self._operands, observer)
            except HlomapError as error:
                first = first or error
                if "groups" not in str(error) and "device" not in str(error):
                    break
        assert first is not None, "there is a grid"
        raise first

    def _run(self, grid: Grid, operands: Sequence[Sequence[Value]], on_value: OnValue | None) -> list[Value]:
        """The value on each device for these operands on each device."""
        machine = self._values.on(grid).machine(0, on_value)
        return machine.run(self._plan, [list(own) for own in operands])

    def perturb(self, k: int, shape_index: ShapeIndex, max_changes: int, first: Sequence[int] = ()) -> Seen:
        """Changes elements of an operand array, one at a time and on one device at a time, ``first`` before others."""
        seen, operand = Seen(), self._operand_instructions[k]
        sizes = np.shape(at_leaf(self._operands[0][k], shape_index))
        n = int(np.prod(sizes, dtype=np.int64))
        if is_fixed(part_of(operand, shape_index)[0]) or shape_index in self._fixed_leaves or not n:
            return seen
        chosen = list(range(n))
        if n > max_changes:
            sample = self._rng.choice(n, max(0, max_changes - 2), replace=False)
            wanted = first if sizes == shape_at(operand.shape, shape_index).dimensions else ()
            others = sorted({0, n - 1, *sample.tolist()})[:max_changes]
            chosen = sorted(list(dict.fromkeys([*wanted, *others]))[:max_changes])
        numbers = _number_at_bounds(np.array(chosen), sizes, shape_at(operand.shape, shape_index).dimensions)
        valid = [self._valid_arrays(k, shape_index, device) for device in range(len(self._operands))]
        shape = Shape(shape_at(operand.shape, shape_index).dtype, [8])
        for number, i in zip(numbers.tolist(), chosen, strict=True):
            others = [[*arrays, random_value(shape, self._rng)] for arrays in valid]
            for draw in range(_N_VALUES):
                runs = [self._changed_outputs(k, shape_index, at, i, own, draw) for at, own in enumerate(others)]
                if all(run is None for run in runs):
                    continue
                seen.n_draws += 1
                changes = seen.changes.setdefault(number, {})
                for source, run in enumerate(runs):
                    for out, elements, target in run or ():
                        changes[out] = np.union1d(changes[out], elements) if out in changes else elements
                        if len(others) > 1:
                            arrivals = seen.arrivals.setdefault(out, set())
                            arrivals.update((number, o, source, target) for o in elements.tolist())
        return seen

    def _valid_arrays(self, k: int, shape_index: ShapeIndex, device: int) -> list[npt.NDArray[Any]]:
        """Other arrays in place of an operand that the operation restricts."""
        values, operand = self._values.on(self.grid), self._operand_instructions[k]
        seeds = range(self._values.seed + 1, self._values.seed + 1 + 2 * _N_VALUES) if not shape_index else ()
        found = (values.valid(operand, seed) for seed in seeds)
        return [value[device] for value in found if value is not None]

    def _changed_outputs(
        self, k: int, shape_index: ShapeIndex, device: int, i: int, others: Sequence[npt.NDArray[Any]], draw: int
    ) -> list[tuple[ShapeIndex, Ints, int]] | None:
        """The output arrays, elements and devices that change with element ``i`` on a device.

        None if there is no other value to draw, or the instruction does not run with it.
        """
        original = np.asarray(at_leaf(self._operands[device][k], shape_index))
        other = _other_value(original.reshape(-1)[i], i, original.shape, others, draw)
        if other is None:
            return None
        array = original.reshape(-1).copy()
        array[i] = other
        own = list(self._operands[device])
        own[k] = replace_leaf(own[k], shape_index, array.reshape(original.shape))
        operands = [own if at == device else given for at, given in enumerate(self._operands)]
        observer, drawn = self._watch.observer()
        try:
            values = self._run(self.grid, operands, observer)
        except (HlomapError, MemoryError):
            return None
        if drawn != self._drawn:
            return None
        found = []
        for target, (before, after) in enumerate(zip(self._baseline, values, strict=True)):
            for out in changed_leaves(before, after):
                if out not in self.output_sizes:  # the state of an asynchronous operation
                    continue
                elements = _changed_elements(at_leaf(before, out), at_leaf(after, out), self.output_sizes[out])
                if len(elements):
                    found.append((out, elements, target))
        return found

    @cached_property
    def operand_sizes(self) -> dict[Array, tuple[int, ...]]:
        """The bounds of each operand array."""
        return {
            (k, shape_index): tuple(array.dimensions)
            for k, operand in enumerate(self._operand_instructions)
            for shape_index, array in operand.shape.leaves()
            if array.is_array
        }

    @cached_property
    def output_sizes(self) -> dict[ShapeIndex, tuple[int, ...]]:
        """The bounds of each array of the output."""
        return {shape_index: tuple(array.dimensions) for shape_index, array in self._shape.leaves() if array.is_array}


def _check_value_shape(value: Value, shape: Shape) -> None:
    """Raises if a computed value does not have the declared shape; dynamic sizes may be less than their bounds."""
    for shape_index, part in shape.leaves():
        if not part.is_array:
            continue
        bounds, dynamic = part.dimensions, part.dynamic
        try:
            array = at_leaf(value, shape_index)
        except (IndexError, TypeError):
            array = ()
        if isinstance(array, tuple):
            raise ShapeError(f"the computed value has no array at shape index {list(shape_index)}")
        if array is None:  # the state of an asynchronous operation has no elements
            continue
        sizes = np.shape(array)
        fits = len(sizes) == len(bounds) and all(
            n == bound or (n < bound and is_dynamic)
            for n, bound, is_dynamic in zip(sizes, bounds, dynamic, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"the computed value at {list(shape_index)} has sizes {list(sizes)}, declared are {list(bounds)}"
            )


def _other_value(
    element: Any, i: int, sizes: tuple[int, ...], others: Sequence[npt.NDArray[Any]], draw: int
) -> Any | None:
    """The value number ``draw`` among the values that differ from an element; None if there are fewer."""
    if np.asarray(element).dtype == np.bool_:
        return None if draw else not element
    values = [x for other in others for x in (other.reshape(-1)[[i]] if other.shape == sizes else other)]
    found = [x for x in values if x != element]
    return found[draw] if draw < len(found) else None


def _changed_elements(a: npt.ArrayLike, b: npt.ArrayLike, bounds: Sequence[int]) -> Ints:
    """Row-major numbers, within the bounds, of the elements that differ; the actual sizes may be smaller.

    If sizes differ, only elements in both arrays are compared, since the presence of an element is not its value.
    """
    a, b = np.asarray(a), np.asarray(b)
    sizes = tuple(map(min, zip(a.shape, b.shape, strict=True)))
    common = tuple(slice(0, size) for size in sizes)
    return _number_at_bounds(np.flatnonzero(differs(a[common], b[common])), sizes, bounds)


def _number_at_bounds(numbers: Ints, sizes: Sequence[int], bounds: Sequence[int]) -> Ints:
    """Converts row-major numbers for ``sizes`` to row-major numbers for ``bounds``."""
    if tuple(sizes) == tuple(bounds) or not len(numbers):
        return numbers
    return np.ravel_multi_index(np.unravel_index(numbers, tuple(sizes)), tuple(bounds)).astype(np.int64)
