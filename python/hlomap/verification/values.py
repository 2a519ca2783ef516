"""Values that a program gives to the operands of an instruction, for drawn parameters.

:class:`ProgramValues` is the entry point.  Values that the program computes are computed, so that an index or an offset
has a value that occurs in the program; parameters are drawn, and so are float arrays that maps cannot depend on.  A
value on which maps may depend is never drawn: if it cannot be computed, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import Instruction, Module, Shape
from ..analysis.questions import Questions
from ..analysis.structure import is_looked_through
from ..base.dtypes import is_integer, is_unsigned, max_rank, numpy_dtype
from ..base.types import ShapeIndex
from ..errors import HlomapError
from ..hlo.device_counts import device_counts
from ..hlo.order import callees, postorder, reachable
from ..interpreter.machine import Budget, Machine, OnValue
from ..interpreter.plan import Plan, Step, plan_instruction, plan_module
from ..ops import lookup, op_of
from ..ops._evaluation import DeviceGrid
from ..ops._known import Some, leaves as pieces_of
from ..ops._rule import ValidOperand

Value = Any
Functions = Mapping[str, Callable[..., Any]]
Grid = tuple[int, int]

MAX_VALUE = 1 << 22
"""The most elements of an array in a run."""
MAX_TOTAL = 1 << 24
"""The most elements of all operands of an instruction, of the values computed for them, and of all arrays that its
changed runs compute or copy."""
_MAX_ARGUMENT = 1 << 18
"""The most elements of an argument with which the entry is run."""
_BUDGET = Budget(max_steps=2_000, max_work=2_000)
GRIDS = ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4), (2, 2), (8, 1), (1, 8), (2, 4), (4, 2))
"""Numbers of replicas and partitions to try, in this order, until the instruction runs."""


class TooLargeError(HlomapError):
    """Raised for an array with too many elements or dimensions to run."""


class ProgramValues:
    """Values of a module's instructions on each device of a grid, for one draw of the parameters.

    An instruction has one value, from one call of its computation.  Values are cached.
    """

    def __init__(self, module: Module, grid: Grid, seed: int, functions: Functions) -> None:
        self.grid = grid
        self._module, self._seed, self._functions = module, seed, functions
        self._questions = Questions(module)
        self._values: dict[int, list[Value]] = {}
        self._varies: dict[int, bool] = {}
        self._readers: dict[int, _Reader] = {}

    def run_entry(self) -> None:
        """Run the entry if it is small enough, and keep its values; of each computation those of the first call.

        If the entry fails, the values computed until then are kept.
        """
        entry, n = self._module.entry, self.grid[0] * self.grid[1]
        recorded: dict[int, dict[int, Value]] = {}

        def record(instruction: Instruction, value: Value, device: int, calls: tuple[int, ...]) -> None:
            recorded.setdefault(instruction.number, {}).setdefault(device, value)

        try:
            check_sizes(entry.instructions)
            for p in entry.parameters:
                _check_size(p, _MAX_ARGUMENT)
            drawn = [self._drawn(p) for p in entry.parameters]
            arguments = [[value[device] for value in drawn] for device in range(n)]
            self.machine(self._seed, record).run(entry, arguments)
        except (HlomapError, MemoryError):
            pass
        for number, by_device in recorded.items():
            if len(by_device) == n:
                self._values[number] = [by_device[device] for device in range(n)]

    def machine(self, state: int = 0, on_value: OnValue | None = None) -> Machine:
        """The devices of the grid, for one run."""
        grid = DeviceGrid(*self.grid, custom_calls=self._functions)
        return Machine(plan_module(self._module), grid, _BUDGET, state, on_value)

    def of(self, instruction: Instruction) -> list[Value]:
        """The value on each device.

        Raises an :class:`~hlomap.errors.HlomapError` if something is known about a value that cannot be computed.
        """
        order = postorder([instruction], self._sources)
        new = [at for at in order if at.number not in self._values and not self._is_free(at)]
        if sum(n_elements(at.shape) for at in new) > MAX_TOTAL and instruction.number not in self._values:
            self._values[instruction.number] = self._draw_instead(
                instruction, TooLargeError(f"{instruction.name} is too large to compute for its users")
            )
            return self._values[instruction.number]
        for at in order:
            if at.number not in self._values:
                self._values[at.number] = self._drawn(at) if self._is_free(at) else self._computed(at)
        return self._values[instruction.number]

    def varies(self, instruction: Instruction) -> bool:
        """Whether the value depends on a drawn value."""
        for at in postorder([instruction], self._origins):
            if at.number not in self._varies:
                own = self._is_free(at) or (at.parameter_number is not None and not self._origins(at))
                self._varies[at.number] = own or any(self._varies.get(one.number, True) for one in self._origins(at))
        return self._varies[instruction.number]

    def _sources(self, at: Instruction) -> Sequence[Instruction]:
        """The values from which a value is computed; none if it is known or drawn."""
        return () if at.number in self._values or self._is_free(at) else self._origins(at)

    def _origins(self, at: Instruction) -> Sequence[Instruction]:
        passed = self._passed(at)
        return at.operands if passed is None else (passed,)

    def _passed(self, at: Instruction) -> Instruction | None:
        """The value that a parameter takes in the first call of its computation, and in the first iteration of a
        loop."""
        number, callers = at.parameter_number, at.computation.callers
        if number is None or not callers:
            return None
        caller = callers[0]
        op = op_of(caller)
        if op.calls.known_parameter is not None and len(caller.operands) == 1:
            return caller.operands[0]
        if op.calls.value_of_parameter is None or caller.inconsistency is not None:
            return None
        position = next(i for i, called in enumerate(caller.called_computations) if called == at.computation)
        found = op.calls.value_of_parameter(caller, position, number)
        return found if found is not None and n_elements(found.shape) == n_elements(at.shape) else None

    def _is_free(self, at: Instruction) -> bool:
        """Whether a value is drawn rather than computed, since any number of its type is valid."""
        if at.parameter_number is not None:
            return self._passed(at) is None
        if not at.operands or not at.shape.is_array or _is_copy_of_constant(at):
            return False
        to = numpy_dtype(at.shape.dtype)
        return to != np.bool_ and not is_integer(to) and not self._is_known(at)

    def _is_known(self, at: Instruction) -> bool:
        """Whether maps may depend on the value."""
        known = (self._questions.known_values(at), self._questions.known_integers(at))
        return any(Some.NUMBER not in piece.possible or piece.is_known for one in known for piece in pieces_of(one))

    def _computed(self, at: Instruction) -> list[Value]:
        passed = self._passed(at)
        if passed is not None:
            return self._values[passed.number]
        try:
            check_sizes([at])
            inputs = [self._values[operand.number] for operand in at.operands]
            arguments = [[value[device] for value in inputs] for device in range(self.grid[0] * self.grid[1])]
            values = self.machine().run(plan_instruction(at), arguments)
        except (HlomapError, MemoryError) as error:
            return self._draw_instead(at, error)
        valid = self.valid(at, self._seed)
        # A value computed from drawn numbers need not be valid, even if they are.
        return values if valid is None or not self.varies(at) or self._is_known(at) else valid

    def _draw_instead(self, at: Instruction, error: Exception) -> list[Value]:
        """Drawn numbers for a value that cannot be computed, if no map can depend on it."""
        if self._is_known(at):
            raise error
        self._varies[at.number] = True
        return self._drawn(at)

    def _drawn(self, at: Instruction) -> list[Value]:
        _check_size(at, MAX_VALUE)
        value = random_value(at.shape, np.random.default_rng([self._seed, at.number]))
        return self.valid(at, self._seed) or [value] * (self.grid[0] * self.grid[1])

    def valid(self, at: Instruction, seed: int) -> list[Value] | None:
        """Numbers on each device that all readers of the value accept; None if they accept any number."""
        for user, k in self._uses(at):
            valid = lookup(user.opcode).values.valid_operand
            values = [] if valid is None else self._on_devices(user, valid, k, seed)
            if values and all(value is not None for value in values):
                to, sizes = numpy_dtype(at.shape.dtype), at.shape.dimensions
                return [np.asarray(value).astype(to).reshape(sizes) for value in values]
        return None

    def _uses(self, at: Instruction) -> Iterator[tuple[Instruction, int]]:
        """Users with the number of a restricted operand that is this array or a reshape of it, through fusions and
        calls."""
        pending = [at] if at.shape.is_array else []
        for here in pending:
            for user in here.users:
                if user.number not in self._readers:
                    self._readers[user.number] = _Reader.of(user)
                reader = self._readers[user.number]
                if reader.is_reshape:
                    pending.append(user)
                for k in reader.numbers.get(here.number, ()):
                    yield user, k
                    if reader.enters:
                        pending.append(user.called_computations[0].parameters[k])

    def _on_devices(self, user: Instruction, valid: ValidOperand, k: int, seed: int) -> list[Value]:
        """The valid numbers of an operand on each device; nothing if the instruction cannot run there."""
        step = Step(user, lambda one, _, context: valid(one, k, context, seed), (), (), 0, None, (), False)
        try:
            return self.machine().run(Plan([step], 1, 0), [[] for _ in range(self.grid[0] * self.grid[1])])
        except HlomapError:
            return []


class _Reader(NamedTuple):
    """How an instruction restricts its operands, or passes them on to an operation that does."""

    is_reshape: bool = False
    """The instruction moves all elements of its only operand to an array of as many elements."""
    enters: bool = False
    """The operands are parameters of the called computation."""
    numbers: Mapping[int, Sequence[int]] = {}
    """The positions of operands by the number of their instruction; empty if no operand matters."""

    @classmethod
    def of(cls, user: Instruction) -> _Reader:
        op, operands = op_of(user), user.operands
        if op.calls.inlines or lookup(user.opcode).values.valid_operand is not None:
            numbers: dict[int, list[int]] = {}
            for k, operand in enumerate(operands):
                numbers.setdefault(operand.number, []).append(k)
            enters = is_looked_through(user) and user.inconsistency is None
            return cls(enters=enters, numbers=numbers)
        moves = op.semantics.operations == "moves" and len(operands) == 1 and user.shape.is_array
        return cls(is_reshape=moves and n_elements(operands[0].shape) == user.shape.n_elements)


def declared_grid(module: Module) -> Grid | None:
    """The module's own numbers of replicas and partitions, if there are few."""
    grid = device_counts(module).grid
    return grid if grid in GRIDS else None


def random_value(
    shape: Shape,
    rng: np.random.Generator,
    integers: tuple[int, int] = (-7, 8),
    floats: tuple[float, float] = (0.1, 0.9),
) -> Value:
    """Small numbers that differ if the type allows, from the first of a pair up to and excluding the second."""
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


# ---------------------------------------------------------------------------------------------------------------- sizes


def check_sizes(instructions: Sequence[Instruction]) -> None:
    """Raises if a value, in called computations too, has too many elements to compute."""
    called = (c for instruction in instructions for c in instruction.called_computations)
    below = reachable(called, callees)
    for instruction in (*instructions, *(i for computation in below for i in computation)):
        _check_size(instruction, MAX_VALUE)


def check_operands(instruction: Instruction) -> None:
    """Raises if the instruction, or its operands together, are too large to run."""
    check_sizes([instruction])
    for operand in instruction.operands:
        _check_size(operand, MAX_VALUE)
    total = sum(n_elements(operand.shape) for operand in instruction.operands)
    if total > MAX_TOTAL:
        raise TooLargeError(
            f"the operands are too large to run: {total:,} elements together, at most {MAX_TOTAL:,} are run"
        )


def _check_size(instruction: Instruction, most: int) -> None:
    for _, array in instruction.shape.leaves():
        if not array.is_array:
            continue
        if array.n_elements > most:
            raise TooLargeError(
                f"{instruction.name} is too large to run: {array.n_elements:,} elements, at most {most:,} are run"
            )
        if len(array.dimensions) > max_rank():
            raise TooLargeError(f"{instruction.name} has {array.rank} dimensions: NumPy has up to {max_rank()}")


def n_elements(shape: Shape) -> int:
    """The number of elements of all arrays."""
    return sum(part.n_elements for _, part in shape.leaves() if part.is_array)


# ------------------------------------------------------------------------------------------------------ parts of values


def at_leaf(value: Value, shape_index: ShapeIndex) -> Value:
    """The part of a value at a shape index."""
    for i in shape_index:
        value = value[i]
    return value


def replace_leaf(value: Value, shape_index: ShapeIndex, new: Value) -> Value:
    """The value with another part at a shape index."""
    if not shape_index:
        return new
    i = shape_index[0]
    return (*value[:i], replace_leaf(value[i], shape_index[1:], new), *value[i + 1 :])


def changed_leaves(before: Value, after: Value, shape_index: ShapeIndex = ()) -> Iterator[ShapeIndex]:
    """The arrays of two values of one shape that are not the same object."""
    if before is after:
        return
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            if a is not b:
                yield from changed_leaves(a, b, (*shape_index, i))
    else:
        yield shape_index


def differs(a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """The elements that differ, as a flat mask; NaN equals NaN.  Arrays of unequal shapes differ everywhere."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return np.ones(max(a.size, b.size), np.bool_)
    mask: npt.NDArray[np.bool_] = (a != b) & ~((a != a) & (b != b))
    return mask.reshape(-1)


def is_fixed(operand: Instruction) -> bool:
    """Whether the operand's values may be part of a map: constants, iotas, tuples of them, and copies of one number."""
    if not operand.operands:
        return operand.parameter_number is None and not operand.called_computations
    return (_is_copy(operand) or is_tuple(operand)) and all(is_fixed(x) for x in operand.operands)


def _is_copy(operand: Instruction) -> bool:
    return operand.shape.is_array and operand.shape.n_elements == 1 and op_of(operand).semantics.operations == "moves"


def _is_copy_of_constant(operand: Instruction) -> bool:
    return _is_copy(operand) and is_fixed(operand)


def is_tuple(operand: Instruction) -> bool:
    """Whether the instruction makes a tuple of its operands."""
    parts = [x.shape for x in operand.operands]
    return op_of(operand).maps.structural and operand.shape.is_tuple and list(operand.shape.tuple_shapes) == parts


def part_of(operand: Instruction, shape_index: ShapeIndex) -> tuple[Instruction, ShapeIndex]:
    """The instruction that makes an array of a tuple, and the array's index in it, seen through tuple operations."""
    while shape_index and is_tuple(operand):
        operand, shape_index = operand.operands[shape_index[0]], shape_index[1:]
    return operand, shape_index
