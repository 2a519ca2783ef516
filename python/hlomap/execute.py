"""Runs a computation with NumPy by asking each op for its meaning.

Read :func:`execute` first.  The law: no value is taken from an indexing map, so that the two check each other.
Element types are as declared: every result is brought to the type of its instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._core import Computation, Instruction, Module, Shape
from .errors import ShapeError, UnsupportedError
from .ops import lookup

__all__ = ["evaluate_one", "execute", "values"]

Value = Any


def execute(program: Module | Computation, *arrays: npt.ArrayLike) -> Value:
    """The value of a module's entry, or of a computation, at one array for each parameter.

    Gives an array, or a list where the root is a tuple.  Raises :class:`ShapeError` where an argument does not fit its
    parameter, :class:`UnsupportedError` for an operation without a meaning here.

    >>> import hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[2,3] parameter(0)
    ...   ROOT t = f32[3,2] transpose(p), dimensions={1,0}
    ... }''')
    >>> execute(module, np.arange(6, dtype=np.float32).reshape(2, 3)).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    computation = program.entry if isinstance(program, Module) else program
    parameters = computation.parameters
    if len(arrays) != len(parameters):
        raise ShapeError(f"{computation.name} has {len(parameters)} parameters, {len(arrays)} arguments were given")
    arguments = [_argument(array, p.shape, p.name) for array, p in zip(arrays, parameters, strict=True)]
    try:
        return _listed(_Frame(arguments, pointwise=False).call(computation, arguments))
    except RecursionError:
        raise UnsupportedError("calls nest too deep to be run") from None


def values(computation: Computation, arguments: Sequence[Value]) -> dict[Instruction, Value]:
    """The value of every instruction that the root of a computation needs, by instruction.

    >>> import hlomap as hm
    >>> module = hm.parse("HloModule m\\nENTRY e { ROOT c = s32[] constant(7) }")
    >>> int(values(module.entry, [])[module.entry.root])
    7
    """
    return _Frame(arguments, pointwise=False).values(computation)


def evaluate_one(instruction: Instruction, operands: Sequence[Value]) -> Value:
    """The value of one instruction at values of its operands.

    >>> import hlomap as hm
    >>> module = hm.parse("HloModule m\\nENTRY e { p = s32[] parameter(0)\\n ROOT a = s32[] add(p, p) }")
    >>> int(evaluate_one(module.entry.root, [np.int32(2), np.int32(3)]))
    5
    """
    return _Frame((), pointwise=False).evaluated(instruction, operands)


def _dtype(shape: Shape) -> np.dtype[Any]:
    # The element types that NumPy lacks come from a package that takes a while to import, so it waits for a program.
    from .ops._numeric import numpy_dtype

    return numpy_dtype(shape.dtype)


def _argument(given: Any, shape: Shape, name: str) -> Value:
    if shape.is_tuple:
        if not isinstance(given, (tuple, list)) or len(given) != len(shape.tuple_shapes):
            raise ShapeError(f"{name} is {shape}, a tuple of {len(shape.tuple_shapes)} was expected")
        return tuple(_argument(x, inner, name) for x, inner in zip(given, shape.tuple_shapes, strict=True))
    if not shape.is_array:
        return None
    dtype = _dtype(shape)
    array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype)
    if array.dtype != dtype or array.shape != tuple(shape.dimensions):
        raise ShapeError(f"{name} is {shape}, an array {array.dtype}{list(array.shape)} was given")
    return array


def _listed(value: Value) -> Value:
    return [_listed(x) for x in value] if isinstance(value, tuple) else value


class _Frame:
    """One run of one computation; in a pointwise one the values are whole arrays where the text has scalars."""

    def __init__(self, arguments: Sequence[Value], *, pointwise: bool) -> None:
        self._arguments = arguments
        self._pointwise = pointwise

    def parameter(self, number: int) -> Value:
        return self._arguments[number]

    def call(self, computation: Computation, arguments: Sequence[Value]) -> Value:
        return _Frame(arguments, pointwise=self._pointwise).values(computation)[computation.root]

    def apply(self, computation: Computation, arguments: Sequence[Value]) -> Value:
        return _Frame(arguments, pointwise=True).values(computation)[computation.root]

    def values(self, computation: Computation) -> dict[Instruction, Value]:
        values: dict[Instruction, Value] = {}
        for instruction in _operands_first(computation.root):
            operands = [values[operand] for operand in instruction.operands]
            values[instruction] = self.evaluated(instruction, operands)
        return values

    def evaluated(self, instruction: Instruction, operands: Sequence[Value]) -> Value:
        op = lookup(instruction.opcode)
        if self._pointwise and not op.pointwise:
            raise UnsupportedError(f"{instruction.opcode} inside a computation that is applied to every element")
        with np.errstate(all="ignore"):
            value = op.evaluate(instruction, operands, self)
        shape = instruction.shape
        if not shape.is_array:
            return value
        array = np.asarray(value)
        dtype = _dtype(shape)
        if not self._pointwise and array.shape != tuple(shape.dimensions):
            raise ShapeError(f"{instruction.name} is {shape}, its operands make {list(array.shape)}")
        return array if array.dtype == dtype else array.astype(dtype)


def _operands_first(root: Instruction) -> list[Instruction]:
    """Everything that the root needs, each value after what it needs."""
    done: dict[Instruction, None] = {}
    pending: list[tuple[Instruction, bool]] = [(root, False)]
    while pending:
        here, ready = pending.pop()
        if here in done:
            continue
        if ready:
            done[here] = None
        else:
            pending.append((here, True))
            pending.extend((operand, False) for operand in here.operands if operand not in done)
    return list(done)
