"""Finds the elements that change an element of the output by running the program: observed, not proved.

If changing a group of elements changes the value, the halves of the group are tried until its elements are found.  If
few elements matter, few runs are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import Computation, Instruction, Module, Shape
from ..analysis.queries import output_index
from ..base.dtypes import is_integer, is_unsigned, numpy_dtype
from ..base.text import leaf_text, one_line, plural
from ..base.types import (
    ReadOnlyDict,
    ShapeIndex,
    expect_index,
    expect_ints,
    expect_items,
    expect_numbers,
    json_fields,
    json_value,
    read_only,
    subject_of,
)
from ..errors import HlomapError, NotFoundError, ShapeError
from ..interpreter import evaluate_one, execute
from ..ops._evaluation import on_arrays
from ..ops._shapes import shape_at
from .values import at_leaf, differs, is_fixed, random_value, replace_leaf

Ints = npt.NDArray[np.int64]
_MAX_RUNS = 1000
_N_GROUPS = 8  # at the start: the changes of some elements may cancel those of others


@dataclass(frozen=True)
class ObservedReads:
    """The elements of each parameter that changed an element of the output in a run.

    Observed, not proved: an element in ``observed`` does change the value for some inputs; of any other element it is
    only known that no run showed an effect.
    """

    subject: Computation | Instruction
    output: ShapeIndex
    element: tuple[int, ...]
    observed: Mapping[Instruction, Any]
    """For each parameter, or operand of an instruction, an array of bool in its shape; a tuple for a tuple."""
    n_runs: int
    is_complete: bool
    """Whether every search finished within ``max_runs``."""

    @property
    def not_observed_within_budget(self) -> Mapping[Instruction, Any]:
        """The elements that no run showed, in the form of ``observed``."""
        return ReadOnlyDict({parameter: on_arrays(np.logical_not, mask) for parameter, mask in self.observed.items()})

    def elements(self, parameter: str | Instruction, shape_index: ShapeIndex = ()) -> Ints:
        """The observed elements of a parameter, one index per row, in row-major order.

        Raises :class:`~hlomap.errors.NotFoundError` for anything but a parameter or its name.
        """
        for found, mask in self.observed.items():
            if parameter in (found, found.name):
                return np.argwhere(at_leaf(mask, shape_index)).astype(np.int64)
        names = ", ".join(f"`{one_line(one.name, 60)}`" for one in self.observed)
        raise NotFoundError(f"no parameter {one_line(str(parameter), 60)!r}; there are {names}")

    def __str__(self) -> str:
        subject = one_line(self.subject.name, 80)
        at = f"{list(self.element)}" if self.element else ""
        output = f" output {list(self.output)}" if self.output else ""
        short = "" if self.is_complete else ", too few to try all elements: raise max_runs"
        lines = [f"Observed, not proved: elements that change {subject}{output}{at}, in {self.n_runs:,} runs{short}"]
        for parameter, mask in self.observed.items():
            for shape_index in _arrays(parameter.shape):
                own = at_leaf(mask, shape_index)
                name = one_line(parameter.name, 80) + (f"{{{','.join(map(str, shape_index))}}}" if shape_index else "")
                lines.append(f"  {name}: {_words(own)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        n = sum(int(at_leaf(mask, at).sum()) for p, mask in self.observed.items() for at in _arrays(p.shape))
        found = f"{n} elements in {self.n_runs} runs, not proved" + ("" if self.is_complete else ", incomplete")
        return f"<ObservedReads of {one_line(self.subject.name, 60)}: {found}>"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        observed = [
            {"parameter": parameter, "shape_index": shape_index, "elements": self.elements(parameter, shape_index)}
            for parameter in self.observed
            for shape_index in _arrays(parameter.shape)
        ]
        about = json_fields(self, "subject output element") | {"observed": json_value(observed)}
        return about | json_fields(self, "n_runs is_complete")


def observed_reads(
    subject: Instruction | Computation | Module,
    /,
    element: Sequence[int],
    *,
    output: int | ShapeIndex = 0,
    inputs: Sequence[npt.ArrayLike] | None = None,
    seeds: int = 3,
    max_runs: int = _MAX_RUNS,
) -> ObservedReads:
    """Find the elements of each parameter that change an output element, by running the program: observed, not proved.

    ``subject`` is a computation, a module for its entry, or an instruction, whose operands are then the parameters.
    Elements are changed in groups, and groups that change the value are halved, so the number of runs grows with the
    number of elements that matter times the logarithm of all.  NaN equals NaN.

    The output does depend on every observed element.  It may depend on others for other inputs, or only by rounding: a
    branch that no input took, an index that no input reached, changes that cancel.  More ``seeds`` find more.

    Args:
        subject: what to run.
        element: the index of the element of the output.
        output: the number of an output, or a shape index, if the result is a tuple.
        inputs: an array for each parameter to begin with; random ones for each seed if None.
        seeds: the number of searches, each with other changes: random values, then increasing ones, then decreasing
            ones, which pass through a maximum or minimum.
        max_runs: the most runs of the program, shared between the seeds.

    Raises:
        ShapeError: the element or the output does not exist, or an input does not fit its parameter.
        TypeError: an argument is of another kind.
        UnsupportedError: the program cannot be run.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   x = f32[6] parameter(0)
    ...   at = s32[6] iota(), iota_dimension=0
    ...   two = s32[] constant(2)
    ...   limit = s32[6] broadcast(two), dimensions={}
    ...   mask = pred[6] compare(at, limit), direction=LE
    ...   zero = f32[] constant(0)
    ...   zeros = f32[6] broadcast(zero), dimensions={}
    ...   kept = f32[6] select(mask, x, zeros)
    ...   ROOT sum = f32[] reduce(kept, zero), dimensions={0}, to_apply=add
    ... }
    ... add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }''')
    >>> print(observed_reads(module, ()))
    Observed, not proved: elements that change e, in 15 runs
      x: 3 of 6 elements: [0], [1], [2]
    """
    program = subject_of(subject, "observed_reads")
    expect_index(output, "observed_reads", "output")
    expect_ints("observed_reads", seeds=seeds, max_runs=max_runs)
    for name, number in (("seeds", seeds), ("max_runs", max_runs)):
        if number < 1:
            raise ValueError(f"hm.observed_reads: expected at least 1 as `{name}`, found {number}")
    shape = program.shape if isinstance(program, Instruction) else program.root.shape
    shape_index = output_index(shape, output)
    at = _checked_element(element, shape_at(shape, shape_index), f"{program.name}{leaf_text(shape_index)}")
    search = _Search(program, shape_index, at, inputs, max_runs)
    for seed in range(min(seeds, max_runs)):
        search.look(seed, seeds - seed)
    return ObservedReads(program, shape_index, at, search.masks(), search.n_runs, search.is_complete)


class _Search:
    """The elements of all arrays of the parameters, numbered consecutively, and which of them were observed."""

    def __init__(
        self,
        program: Computation | Instruction,
        output: ShapeIndex,
        element: tuple[int, ...],
        inputs: Sequence[npt.ArrayLike] | None,
        max_runs: int,
    ) -> None:
        self._program, self._output, self._element = program, output, element
        self._parameters = list(program.operands if isinstance(program, Instruction) else program.parameters)
        self._inputs = None if inputs is None else self._given(inputs)
        self._leaves = [
            (k, shape_index)
            for k, parameter in enumerate(self._parameters)
            for shape_index in _arrays(parameter.shape)
            if (isinstance(program, Computation) or not is_fixed(parameter))
        ]
        shapes = [shape_at(self._parameters[k].shape, shape_index) for k, shape_index in self._leaves]
        self._ends = np.cumsum([shape.n_elements for shape in shapes], dtype=np.int64)
        self._found = np.zeros(int(self._ends[-1]) if len(shapes) else 0, np.bool_)
        self._max_runs, self.n_runs, self.is_complete = max_runs, 0, True

    def look(self, seed: int, n_left: int) -> None:
        """Finds elements that change the value among those not observed yet.

        State ``k`` has ``order[:k]`` changed: between two states with different values there is an element that makes
        the difference.
        """
        rng = np.random.default_rng(seed)
        before = list(self._inputs or ()) or [self._value(parameter, rng) for parameter in self._parameters]
        flat = [np.asarray(at_leaf(before[k], shape_index)) for k, shape_index in self._leaves]
        after = [_changed(array, seed, rng) for array in flat]
        if seed % 2:
            # In reverse order, too: a factor of a zero matters only after the zero has changed.
            is_real = [array.dtype != np.bool_ and not is_integer(array.dtype) for array in flat]
            flat, after = (
                [new if swaps else old for old, new, swaps in zip(one, other, is_real, strict=True)]
                for one, other in ((flat, after), (after, flat))
            )
            for (number, shape_index), array in zip(self._leaves, flat, strict=True):
                before[number] = replace_leaf(before[number], shape_index, array)
        order = np.flatnonzero(~self._found)
        if seed % 3 == 0:
            rng.shuffle(order)  # the other changes grow with the number of the element
        limit = self.n_runs + (self._max_runs - self.n_runs) // n_left

        def value(k: int) -> Any:
            self.n_runs += 1
            mask = np.zeros(len(self._found), np.bool_)
            mask[order[:k]] = True
            arguments = list(before)
            parts = self._split(mask)
            for (number, shape_index), old, new, part in zip(self._leaves, flat, after, parts, strict=True):
                if part.any():
                    array = np.where(part.reshape(old.shape), new, old)
                    arguments[number] = replace_leaf(arguments[number], shape_index, array)
            return self._run(arguments, is_first=not seed and not k)

        cuts = sorted({len(order) * k // _N_GROUPS for k in range(_N_GROUPS + 1)})
        if limit - self.n_runs < len(cuts):
            self.is_complete = False
            return
        values = [value(k) for k in cuts]
        pending = list(zip(cuts, cuts[1:], values, values[1:], strict=False))
        while pending:
            start, end, first, last = pending.pop()
            if end == start or _same(first, last):
                continue
            if end - start == 1:
                self._found[order[start]] |= first is not None and last is not None
                continue
            if self.n_runs >= limit:
                self.is_complete = False
                return
            middle = (start + end) // 2
            between = value(middle)
            pending += [(middle, end, between, last), (start, middle, first, between)]

    def masks(self) -> ReadOnlyDict[Instruction, Any]:
        """The observed elements of each parameter."""
        masks = [_shaped(p.shape, lambda shape: np.zeros(shape.dimensions, np.bool_)) for p in self._parameters]
        for (k, shape_index), part in zip(self._leaves, self._split(self._found), strict=True):
            sizes = shape_at(self._parameters[k].shape, shape_index).dimensions
            masks[k] = replace_leaf(masks[k], shape_index, read_only(part.reshape(sizes)))
        found: dict[Instruction, Any] = {}
        for parameter, mask in zip(self._parameters, masks, strict=True):
            found[parameter] = on_arrays(np.logical_or, found[parameter], mask) if parameter in found else mask
        return ReadOnlyDict(found)

    def _split(self, mask: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.bool_]]:
        """The part of the mask for each array."""
        return np.split(mask, self._ends[:-1]) if self._leaves else []

    def _run(self, arguments: list[Any], is_first: bool) -> Any:
        """The element of the output; None if the program fails for the changed inputs, or the output gets smaller."""
        try:
            if isinstance(self._program, Instruction):
                found = evaluate_one(self._program, arguments)
            else:
                found = execute(self._program, *arguments)
        except (HlomapError, MemoryError):
            if is_first:
                raise
            return None
        array = np.asarray(at_leaf(found, self._output))
        inside = all(i < size for i, size in zip(self._element, array.shape, strict=True))
        return array[self._element] if inside else None

    def _value(self, parameter: Instruction, rng: np.random.Generator) -> Any:
        if isinstance(self._program, Instruction) and is_fixed(parameter):
            return evaluate_one(parameter, [self._value(operand, rng) for operand in parameter.operands])
        return random_value(parameter.shape, rng)

    def _given(self, inputs: Sequence[npt.ArrayLike]) -> list[Any]:
        given = expect_items(object, inputs, "observed_reads", "a sequence of arrays as `inputs`")
        if len(given) != len(self._parameters):
            n = len(self._parameters)
            raise ShapeError(f"hm.observed_reads: expected an input for each of {n} parameters, found {len(given)}")
        return [_fitting(value, p.shape, p.name) for value, p in zip(given, self._parameters, strict=True)]


def _fitting(value: Any, shape: Shape, name: str) -> Any:
    if shape.is_tuple:
        parts = shape.tuple_shapes
        if not isinstance(value, (tuple, list)) or len(value) != len(parts):
            raise ShapeError(f"hm.observed_reads: input {name} is {shape}: expected {len(parts)} arrays")
        return tuple(_fitting(one, part, name) for one, part in zip(value, parts, strict=True))
    if not shape.is_array:
        return None
    try:
        array = np.asarray(value).astype(numpy_dtype(shape.dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise ShapeError(f"hm.observed_reads: input {name} is {shape}: {error}") from None
    if array.shape != shape.dimensions:
        raise ShapeError(f"hm.observed_reads: input {name} is {shape}, found an array of sizes {list(array.shape)}")
    return array


def _changed(array: npt.NDArray[Any], seed: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Other values, one for each element: random, or by turns larger and smaller than all values of the array.

    Larger values grow and smaller values fall with the number of the element, so that each becomes the new maximum or
    minimum when the elements change in turn.  Changing all bits would cancel in a parity, so some bits stay.
    """
    turn, sizes = seed % 3, array.shape
    if array.dtype == np.bool_:
        kept = np.random.default_rng(seed // 3).random(sizes) < 0.5
        return ~array if turn == 0 else array ^ (kept if turn == 1 else ~kept)
    steps = np.arange(1, array.size + 1).reshape(sizes)
    if is_integer(array.dtype):
        floor = 0 if is_unsigned(array.dtype) else -8
        numbers = array.astype(np.int64)
        step = rng.integers(1, 16, sizes) if turn == 0 else steps % 16
        low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
        other = (numbers - floor + step) % 16 + floor if turn == 0 else high + step if turn == 1 else low - step
        found = other.astype(array.dtype)
        return np.where(found == array, array + np.ones((), array.dtype), found)
    wide = array.real.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    least, most = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    span = max(1.0, most - least, abs(most) / 8, abs(least) / 8)
    if turn == 0:
        real = np.where(np.isfinite(wide), wide, least) + span * rng.uniform(0.25, 1.0, sizes)
    else:
        by = span * (0.25 + steps / max(1, array.size))
        real = most + by if turn == 1 else least - by
    return (real + 1j * rng.uniform(0.1, 0.9, sizes) if array.dtype.kind == "c" else real).astype(array.dtype)


def _arrays(shape: Shape) -> list[ShapeIndex]:
    return [shape_index for shape_index, array in shape.leaves() if array.is_array]


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return not differs(a, b).any()


def _shaped(shape: Shape, make: Callable[[Shape], Any]) -> Any:
    if shape.is_tuple:
        return tuple(_shaped(part, make) for part in shape.tuple_shapes)
    return make(shape) if shape.is_array else None


def _words(mask: npt.NDArray[np.bool_]) -> str:
    n = int(mask.sum())
    shown: Iterable[Any] = np.argwhere(mask)[:8].tolist() if mask.ndim and n < mask.size else ()
    places = ", ".join(map(str, shown)) + (", …" if n > 8 else "")
    which = f": {places}" if places and shown else ""
    return f"{n:,} of {plural(mask.size, 'element')}{which}"


def _checked_element(element: object, shape: Shape, what: str) -> tuple[int, ...]:
    point = tuple(expect_numbers(element, "observed_reads", "element"))
    sizes = shape.dimensions if shape.is_array else ()
    if not shape.is_array or len(point) != len(sizes) or not all(0 <= i < n for i, n in zip(point, sizes, strict=True)):
        raise ShapeError(f"hm.observed_reads: {what} is {shape} and has no element {list(point)}")
    return point
