"""Known values of elementwise operations: constants by their semantics, integers as expressions.

:func:`possible` gives the values of a result if the operands are partly known.  NumPy computes the result of
constants; a table gives the results for unknown numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from itertools import chain, product
from typing import Any, TypeAlias

from ..._core import Expr, IndexingMap, Instruction
from ...base.dtypes import numpy_dtype
from ...base.lazy import np
from .._evaluation import Evaluate
from .._known import (
    ANYTHING,
    MAX_PIECES,
    NUMBER,
    UNKNOWN,
    Known,
    KnownContext,
    Number,
    Parts,
    Piece,
    Some,
    ValueSet,
    constant_or_affine,
    is_constant,
    is_mask,
    is_plain,
    meet,
    merged,
    together,
    used_where,
)
from .._rule import OperandIndexing
from .._scalars import HOLDS, Comparison, Scalar, arithmetic, dtype_interval
from .._tables import numbers_of


def known_values(evaluate: Evaluate) -> Callable[[Instruction, Sequence[Known], KnownContext], Known]:
    """The hook of an operation with these semantics."""

    of = possible(evaluate)

    def known(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
        return _known(instruction, operands, lambda values: of(instruction, values, context.masks))

    return known


def known_of_map(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    """The values of the computation that a map applies."""
    (computation,) = instruction.called_computations
    return _known(instruction, operands, lambda values: context.apply(computation, values))


def _known(instruction: Instruction, operands: Sequence[Known], of: Callable[[Sequence[ValueSet]], ValueSet]) -> Known:
    if all(map(is_plain, operands)):
        return UNKNOWN
    if instruction.shape.is_tuple:  # the copy of a tuple
        return operands[0]
    arrays = [pieces for pieces in operands if not isinstance(pieces, Parts)]
    found: list[Piece] = []
    for region, pieces in together(arrays):
        found += _result(instruction, region, pieces, of)
    return merged(found, instruction.shape.dimensions)


def _result(
    instruction: Instruction,
    region: IndexingMap | None,
    pieces: Sequence[Piece],
    of: Callable[[Sequence[ValueSet]], ValueSet],
) -> list[Piece]:
    """The pieces of the result in a region where each operand has one piece."""
    values = [piece.values for piece in pieces]
    if instruction.opcode == "select" and isinstance(values[0], frozenset) and is_constant(values[0]):
        return [Piece(values[1] if True in values[0] else values[2], region)]
    if any(isinstance(value, Expr) for value in values) and region is not None:
        scalars = [scalar for value in values if (scalar := _scalar(value, region)) is not None]
        found = _of_integers(instruction, region, scalars) if len(scalars) == len(values) else None
        if found is not None:
            return found
    return [Piece(of([piece.possible for piece in pieces]), region)]


def _of_integers(instruction: Instruction, region: IndexingMap, operands: Sequence[Scalar]) -> list[Piece] | None:
    """The pieces of a result in a region where the operands are affine; None if it is not."""
    result = arithmetic(instruction, operands)
    if isinstance(result, Comparison):
        return [Piece(frozenset([holds]), part) for holds, part in _split(region, result)]
    if isinstance(result, Scalar):
        known = result.known
        is_truth = instruction.shape.dtype == "pred"
        return [Piece(result.expr if known is None else frozenset([bool(known) if is_truth else known]), region)]
    cases = _CASES.get(instruction.opcode)
    if cases is None:
        return None
    found: list[Piece] = []
    for conditions, value in cases(operands):
        parts = [region]
        for condition in conditions:
            parts = [part for before in parts for holds, part in _split(before, condition) if holds]
        found += [Piece(constant_or_affine(value), part) for part in parts]
    return found or None


_Cases = Callable[[Sequence[Scalar]], "list[tuple[list[Comparison], Expr]]"]
"""Conditions that cover all cases, each with its result."""

_ZERO = Scalar.constant(0)


def _cases_of_sign(operands: Sequence[Scalar]) -> list[tuple[list[Comparison], Expr]]:
    directions = ("LT", -1), ("EQ", 0), ("GT", 1)
    return [([Comparison(direction, operands[0], _ZERO)], Expr.constant(sign)) for direction, sign in directions]


def _odd(of: Callable[[Expr, int], Expr]) -> _Cases:
    """A function of a number and a positive constant; of a negative number it is the negative."""

    def cases(operands: Sequence[Scalar]) -> list[tuple[list[Comparison], Expr]]:
        number, divisor = operands
        if divisor.known is None or divisor.known <= 0:
            return []
        positive, negative = of(number.expr, divisor.known), -of(-number.expr, divisor.known)
        return [([Comparison("GE", number, _ZERO)], positive), ([Comparison("LT", number, _ZERO)], negative)]

    return cases


def _cases_of_abs(operands: Sequence[Scalar]) -> list[tuple[list[Comparison], Expr]]:
    (a,) = operands
    return [([Comparison("GE", a, _ZERO)], a.expr), ([Comparison("LT", a, _ZERO)], -a.expr)]


def _extreme(first: str, other: str) -> _Cases:
    def cases(operands: Sequence[Scalar]) -> list[tuple[list[Comparison], Expr]]:
        a, b = operands
        return [([Comparison(first, a, b)], a.expr), ([Comparison(other, a, b)], b.expr)]

    return cases


def _cases_of_clamp(operands: Sequence[Scalar]) -> list[tuple[list[Comparison], Expr]]:
    """The values of clamp; the upper bound wins if the bounds cross."""
    low, value, high = operands
    return [
        ([Comparison("GE", value, high)], high.expr),
        ([Comparison("LT", value, high), Comparison("GE", value, low)], value.expr),
        ([Comparison("LT", value, high), Comparison("LT", value, low), Comparison("LT", low, high)], low.expr),
        ([Comparison("LT", value, high), Comparison("LT", value, low), Comparison("GE", low, high)], high.expr),
    ]


_CASES: Mapping[str, _Cases] = {
    "abs": _cases_of_abs,
    "sign": _cases_of_sign,
    "divide": _odd(lambda number, divisor: number // divisor),
    "remainder": _odd(lambda number, divisor: number % divisor),
    "maximum": _extreme("GE", "LT"),
    "minimum": _extreme("LE", "GT"),
    "clamp": _cases_of_clamp,
}


def _scalar(value: ValueSet | Expr, region: IndexingMap) -> Scalar | None:
    if isinstance(value, Expr):
        return Scalar(value, *region.bounds(value))
    constant = next(iter(value)) if is_constant(value) else None
    return Scalar.constant(int(constant)) if isinstance(constant, int) else None


def _split(region: IndexingMap, comparison: Comparison) -> list[tuple[bool, IndexingMap]]:
    """The parts of a region in which a comparison holds, and in which it does not."""
    difference = comparison.left.expr - comparison.right.expr
    lower, upper = region.bounds(difference)
    below, equal, above = (HOLDS[comparison.direction](sign, 0) for sign in (-1, 0, 1))
    if below == equal or equal == above:
        start = 1 if below == equal else 0
        runs = [(below, lower, start - 1), (above, start, upper)]
    else:
        runs = [(below, lower, -1), (equal, 0, 0), (above, 1, upper)]
    found = []
    for holds, first, last in runs:
        first, last = max(first, lower), min(last, upper)
        if first <= last:
            part = meet(region, IndexingMap(list(region.dims), [], constraints=[(difference, first, last)]))
            if part is not None and not part.is_known_empty:
                found.append((holds, part))
    return found


def possible(evaluate: Evaluate) -> Callable[[Instruction, Sequence[ValueSet], bool], ValueSet]:
    """The values of a result, from the values of the operands."""

    def values(instruction: Instruction, operands: Sequence[ValueSet], masks: bool) -> ValueSet:
        if all(values == NUMBER for values in operands):
            return NUMBER
        if math.prod(map(len, operands)) > MAX_PIECES:
            return _anything(instruction)
        found: set[Number | Some] = set()
        constants: list[list[Number]] = []
        for chosen in product(*operands):
            special = _with_unknown(instruction, chosen, masks)
            if special is None:
                constants.append([0.0 if isinstance(value, Some) else value for value in chosen])
            else:
                found |= special
        if constants:
            found |= _of_constants(instruction, constants, evaluate)
        return frozenset(found)

    return values


def used(evaluate: Evaluate) -> Any:
    """The maps to the operands without elements whose values do not affect the result."""
    of = possible(evaluate)

    def maps(
        instruction: Instruction, operands: Sequence[Known], plain: Mapping[int, OperandIndexing], context: KnownContext
    ) -> Mapping[int, OperandIndexing]:
        if instruction.shape.is_tuple:
            return plain
        arrays = [pieces for pieces in operands if not isinstance(pieces, Parts)]
        return used_where(
            plain,
            arrays,
            lambda k, values: _matters(instruction, k, values, lambda chosen: of(instruction, chosen, context.masks)),
        )

    return maps


def used_by_map(
    instruction: Instruction, operands: Sequence[Known], plain: Mapping[int, OperandIndexing], context: KnownContext
) -> Mapping[int, OperandIndexing]:
    """The maps to the operands without elements that the computation does not use, given the other operands."""
    (computation,) = instruction.called_computations
    arrays = [pieces for pieces in operands if not isinstance(pieces, Parts)]
    return used_where(plain, arrays, lambda k, values: k in context.parameters_read(computation, (), values))


def _matters(
    instruction: Instruction, k: int, values: Sequence[ValueSet], of: Callable[[Sequence[ValueSet]], ValueSet]
) -> bool:
    """Whether the value of operand k may change the result."""
    if instruction.opcode == "select" and k > 0 and is_constant(values[0]) and (True in values[0]) != (k == 1):
        return False
    others = [[frozenset([value]) for value in values[i]] for i in range(len(values)) if i != k]
    return any(not is_constant(of([*chosen[:k], values[k], *chosen[k:]])) for chosen in product(*others))


# ------------------------------------------------------------------------------------------- values of one element


_Set: TypeAlias = "AbstractSet[Number | Some]"


def _with_unknown(instruction: Instruction, operands: Sequence[Number | Some], masks: bool) -> _Set | None:
    """The values of a result if some operand is any number; None if they are the same as for the number 0."""
    if not any(isinstance(value, Some) for value in operands):
        return None
    rule = _WITH_UNKNOWN.get(instruction.opcode)
    found = rule(operands, masks) if rule is not None else None
    if found is not None:
        return found
    if all(map(_is_finite, operands)):
        return NUMBER
    # Every finite number is on the same side of an infinite one.
    return None if instruction.opcode == "compare" else _anything(instruction)


def _of_constants(instruction: Instruction, rows: Sequence[Sequence[Number]], evaluate: Evaluate) -> _Set:
    """The results of rows of constants, one for each operand; of a zero both signs count."""
    signed = [product(*((0.0, -0.0) if isinstance(x, float) and x == 0 else (x,) for x in row)) for row in rows]
    columns = zip(instruction.operands, zip(*chain.from_iterable(signed), strict=True), strict=True)
    with np.errstate(all="ignore"):
        arrays = [np.asarray(column).astype(numpy_dtype(operand.shape.dtype)) for operand, column in columns]
        result = np.asarray(evaluate(instruction, arrays, None))  # type: ignore[arg-type]
    return ANYTHING if result.dtype.kind == "c" else {*numbers_of(result)}


def _anything(instruction: Instruction) -> ValueSet:
    return NUMBER if dtype_interval(instruction.shape.dtype) is not None else ANYTHING


def _is_finite(value: Number | Some) -> bool:
    return isinstance(value, Some) or math.isfinite(value)


def _is_nan(value: Number | Some) -> bool:
    return value is math.nan


_Rule = Callable[[Sequence["Number | Some"], bool], "_Set | None"]
"""The values if some operand is not known; None without a special case."""


def _add(operands: Sequence[Number | Some], masks: bool) -> _Set | None:
    special = [value for value in operands if not _is_finite(value)]
    if special:
        return {special[0] if len(set(special)) == 1 else math.nan}
    return {Some.MASK} if masks and any(map(is_mask, operands)) else None


def _subtract(operands: Sequence[Number | Some], masks: bool) -> _Set | None:
    a, b = operands
    if not isinstance(b, Some) and not math.isfinite(b):
        return {math.nan if _is_nan(b) else -b}
    if not _is_finite(a):
        return {a}
    return {Some.MASK} if masks and is_mask(a) and not is_mask(b) else None


def _multiply(operands: Sequence[Number | Some], masks: bool) -> _Set | None:
    known = [value for value in operands if not isinstance(value, Some)]
    for value in known:
        if value == 0 or _is_nan(value):
            return {value}
        if masks and Some.MASK in operands and 1 <= value < math.inf:
            return {Some.MASK}
    return None


def _divide(operands: Sequence[Number | Some], masks: bool) -> _Set | None:
    a, b = operands
    if isinstance(a, int) or isinstance(b, int):
        return None  # divided by zero, integers give -1
    if _is_nan(a) or _is_nan(b):
        return {math.nan}
    if b == 0:
        return ANYTHING
    if a == 0 or (not isinstance(b, Some) and math.isinf(b)):
        return {a if a == 0 else 0.0}
    if a is Some.MASK and masks and not isinstance(b, Some) and 0 < b <= 1:
        return {Some.MASK}
    return None


def _maximum(operands: Sequence[Number | Some], masks: bool) -> _Set | None:
    a, b = operands
    for value, other in ((a, b), (b, a)):
        if _is_nan(value) or value == math.inf:
            return {value}
        if value == -math.inf or (masks and is_mask(value) and not is_mask(other)):
            return {other}
    return {Some.MASK} if masks and is_mask(a) and is_mask(b) else None


def _minimum(operands: Sequence[Number | Some], masks: bool) -> _Set | None:
    a, b = operands
    for value, other in ((a, b), (b, a)):
        if _is_nan(value) or value == -math.inf:
            return {value}
        if value == math.inf:
            return {other}
    return {Some.MASK} if masks and (is_mask(a) or is_mask(b)) else None


def _of_mask(result: Number | Some) -> _Rule:
    return lambda operands, masks: {result} if masks and operands[0] is Some.MASK else None


def _select(operands: Sequence[Number | Some], masks: bool) -> _Set | None:
    which, on_true, on_false = operands
    return {on_true, on_false} if isinstance(which, Some) else {on_true if which else on_false}


def _clamp(operands: Sequence[Number | Some], masks: bool) -> _Set | None:
    low, value, high = operands
    raised = _maximum((low, value), masks) or NUMBER
    return {found for each in raised for found in _minimum((each, high), masks) or NUMBER}


_WITH_UNKNOWN: Mapping[str, _Rule] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "maximum": _maximum,
    "minimum": _minimum,
    "and": lambda operands, masks: next(({value} for value in operands if value == 0), None),
    "or": lambda operands, masks: next(({value} for value in operands if value is True or value == -1), None),
    "select": _select,
    "clamp": _clamp,
    "is-finite": lambda operands, masks: {True},
    "exponential": _of_mask(0.0),
    "exp2": _of_mask(0.0),
    "logistic": _of_mask(0.0),
    "exponential-minus-one": _of_mask(-1.0),
    "convert": _of_mask(Some.MASK),
    "copy": _of_mask(Some.MASK),
    "reduce-precision": _of_mask(Some.MASK),
}
