"""Semantics of elementwise operations: a function of whole arrays for each opcode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ... import dtypes
from ..._core import Instruction
from ...lazy import np
from .._evaluation import Array, EvalContext, Evaluate, Value
from .._numpy import numeric
from .table import BINARY, COMPARISONS, NARROW, UNARY


def semantics() -> Iterator[tuple[str, Evaluate]]:
    """Each opcode with its semantics."""
    for opcode, (function, *_) in (UNARY | BINARY).items():
        found = _of_numpy(function) if isinstance(function, str) else function
        yield opcode, _on_operands(found if opcode in NARROW else numeric.wide(found))
    yield from OTHERS.items()


def _compare(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    a, b = operands
    attributes = instruction.attributes
    if attributes.get("order", attributes.get("type")) in ("TOTAL", "TOTALORDER"):
        a, b = numeric.total_order_key(a), numeric.total_order_key(b)
    return np.asarray(getattr(np, COMPARISONS[str(attributes["direction"])][0])(a, b))


def _reduce_precision(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    attributes = instruction.attributes
    return numeric.reduce_precision(operands[0], int(attributes["exponent_bits"]), int(attributes["mantissa_bits"]))


def _stochastic_convert(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The value rounds away from zero where the random number is below the fraction."""
    x, random = operands
    whole = np.trunc(x)
    fraction = np.abs(x.astype(np.float64) - whole.astype(np.float64))
    up = random.astype(np.float64) < np.floor(np.ldexp(fraction, numeric.width_of(random.dtype)))
    rounded = np.where(up, whole + np.sign(x), whole)
    return numeric.convert(np.asarray(rounded, x.dtype), _dtype_of(instruction))


def _dtype_of(instruction: Instruction) -> np.dtype[Any]:
    return dtypes.numpy_dtype(instruction.shape.dtype)


def _of_numpy(name: str) -> Callable[..., Any]:
    return lambda *operands: getattr(np, name)(*operands)


def _on_operands(function: Callable[..., Array]) -> Callable[[Instruction, Sequence[Value], EvalContext], Value]:
    return lambda instruction, operands, context: function(*operands)


OTHERS: dict[str, Evaluate] = {
    "compare": _compare,
    "select": lambda instruction, operands, context: np.where(*operands),
    "clamp": _on_operands(numeric.wide(numeric.clamp)),
    "convert": lambda instruction, operands, context: numeric.convert(operands[0], _dtype_of(instruction)),
    "reduce-precision": _reduce_precision,
    "stochastic-convert": _stochastic_convert,
    "map": lambda instruction, operands, context: context.apply(instruction.called_computations[0], operands),
}
