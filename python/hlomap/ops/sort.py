"""sort: rows along one dimension in the order of a comparator; the operands are n arrays that are permuted together.

The comparator receives a pair of elements of each operand; operands that it does not compare have no influence on
others. The sort is stable even without ``is_stable``.  Section Sort of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from .._core import Instruction
from ..base.lazy import np
from ._folding import on_integers
from ._indexing.applied import inexact
from ._indexing.maps import map_keeping
from ._op import Array, EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, Values, register
from ._operations import sorted_along
from ._rule import Footprint

_REASON = "which elements change places depends on the comparator"


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The rows of the permuted operand, and of the operands that the comparator compares."""
    compared, output = _compared(instruction, context), shape_index[0] if shape_index else 0
    rows = _rows(instruction)
    return {k: compared.part(rows, k, output) for k in sorted({output, *compared.sometimes})}


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The rows of all outputs for an operand that the comparator compares, of its own output for another one."""
    compared, is_tuple = _compared(instruction, context), instruction.shape.is_tuple
    outputs = range(len(instruction.operands)) if operand in compared.sometimes else (operand,)
    rows = _rows(instruction)
    return {i: compared.part(rows, operand, i).at((i,) if is_tuple else ()) for i in outputs}


class _Compared(NamedTuple):
    """The operands of which the comparator reads elements: any, and always both of a pair."""

    sometimes: frozenset[int]
    always: frozenset[int]

    def part(self, rows: Footprint, operand: int, output: int) -> Footprint:
        """Any element may come to any place where two are compared."""
        is_certain = operand in self.always or (self.always and operand == output)
        return rows if is_certain else inexact(rows, _REASON)


def _compared(instruction: Instruction, context: RuleContext) -> _Compared:
    read = context.parameters_read(instruction.called_computations[0], ())
    always = frozenset(number // 2 for number in read if read[number] and read.get(number ^ 1))
    return _Compared(frozenset(number // 2 for number in read), always)


def _rows(instruction: Instruction) -> Footprint:
    """Each element with those of its row along the sorted dimension, in either direction."""
    (along,) = instruction.attributes["dimensions"]
    sizes = instruction.operands[0].shape.dimensions
    return map_keeping(sizes, sizes, {i: i for i in range(len(sizes)) if i != along})


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Sort indices by merging runs; the target of an element is found by binary search in the other run."""
    (along,) = instruction.attributes["dimensions"]
    rows = [np.moveaxis(np.asarray(x), along, -1) for x in operands]
    shape = rows[0].shape
    n = shape[-1]
    flat = [x.reshape(prod(shape[:-1]), n) for x in rows]
    order = np.broadcast_to(np.arange(n), flat[0].shape)

    def precedes(a: Array, b: Array) -> Array:
        """Whether the elements at indices ``a`` come before those at ``b``."""
        pairs = [np.take_along_axis(x, at, 1) for x in flat for at in (a, b)]
        return np.broadcast_to(context.apply(instruction.called_computations[0], pairs), a.shape).astype(np.bool_)

    width = 1
    while width < n:
        order = _merged(order, width, precedes)
        width *= 2
    results = tuple(np.moveaxis(np.take_along_axis(x, order, 1).reshape(shape), -1, along) for x in flat)
    return results if instruction.shape.is_tuple else results[0]


def _merged(order: Array, width: int, precedes: Callable[[Array, Array], Array]) -> Array:
    """Merge neighboring sorted runs of length ``width``."""
    n = order.shape[1]
    index = np.arange(n)
    run, own = index // width, index % width
    is_left = run % 2 == 0
    begin = np.where(is_left, run + 1, run - 1) * width
    low = np.broadcast_to(np.minimum(begin, n), order.shape)
    high = np.broadcast_to(np.minimum(begin + width, n), order.shape)
    # The number of elements of the other run that come before; of equal elements, those of the left run do.
    while (low < high).any():
        middle = (low + high) // 2
        other = np.take_along_axis(order, np.minimum(middle, n - 1), 1)
        comes_before = np.where(is_left, precedes(other, order), ~precedes(order, other))
        low, high = np.where((low < high) & comes_before, middle + 1, low), np.where(comes_before, high, middle)
        high = np.maximum(low, high)
    target = np.where(is_left, run, run - 1) * width + own + low - np.minimum(begin, n)
    # A comparator that is not an order may send two elements to the same target.
    merged = order.copy()
    np.put_along_axis(merged, target, order, 1)
    return merged


register(
    "sort",
    Maps(output_to_input, input_to_output),
    Semantics(evaluate, operations=sorted_along),
    values=Values(
        folds=on_integers(evaluate, lambda instruction: bool(instruction.attributes.get("is_stable", False)))
    ),
)
