"""pad: operand element d moves to low + (interior + 1) * d where that is inside; all other places hold the value.

low and high may be negative, and then remove elements, after interior places are put between them.
The places of the value are the complement, cut into disjoint maps: places whose first dimensions are data and whose
next one is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Expr, Instruction
from ._maps import full, reads
from ._op import NOTHING, Answer, Bounds, Context, ExprLike, Leaf, Op, Run, Value, register
from ._shapes import agree, must


@dataclass(frozen=True)
class _Dim:
    """One dimension: the operand's elements in ``kept`` lie in the output, ``step`` apart, the first at ``first``."""

    low: int
    step: int
    size: int
    kept: Bounds

    @property
    def first(self) -> int:
        return self.low + self.step * self.kept[0]

    @property
    def last(self) -> int:
        return self.low + self.step * self.kept[1]


def _dims(instruction: Instruction) -> list[_Dim]:
    dims = []
    sizes, lengths = instruction.shape.dimensions, instruction.operands[0].shape.dimensions
    for (low, high, interior), size, length in zip(instruction.attributes["padding"], sizes, lengths, strict=True):
        step = interior + 1
        must(interior >= 0, f"interior padding of {interior}")
        agree([size], [max(0, low + high + length + max(0, length - 1) * interior)], "an output")
        dims.append(_Dim(low, step, size, (max(0, -(low // step)), min(length - 1, (size - 1 - low) // step))))
    return dims


def _data(dims: Sequence[_Dim]) -> tuple[list[Bounds], list[tuple[ExprLike, int, int]]]:
    """The output places that hold data."""
    constraints = [((Expr.dim(i) - dim.low) % dim.step, 0, 0) for i, dim in enumerate(dims) if dim.step > 1]
    return [(dim.first, dim.last) for dim in dims], list(constraints)


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The inverse of a slice; the value exactly outside."""
    dims = _dims(instruction)
    bounds, constraints = _data(dims)
    results: list[ExprLike] = [(Expr.dim(i) - dim.low) // dim.step for i, dim in enumerate(dims)]
    value = NOTHING
    for outside, extra in _complement(dims):
        value = value + reads(outside, [], constraints=extra)
    return [reads(bounds, results, constraints=constraints), value]


def _complement(dims: Sequence[_Dim]) -> list[tuple[list[Bounds], list[tuple[ExprLike, int, int]]]]:
    pieces = []
    sizes = full(dim.size for dim in dims)
    for i, dim in enumerate(dims):
        before, constraints = _data(dims[:i])
        if dim.kept[0] > dim.kept[1]:
            pieces.append((before + sizes[i:], constraints))
            break
        for bounds in ((0, dim.first - 1), (dim.last + 1, dim.size - 1)):
            pieces.append(([*before, bounds, *sizes[i + 1 :]], constraints))
        if dim.step > 1:
            between = ((Expr.dim(i) - dim.low) % dim.step, 1, dim.step - 1)
            pieces.append(([*before, (dim.first, dim.last), *sizes[i + 1 :]], [*constraints, between]))
    return pieces


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """Data where it lands; the value on every padded place, as ranges over the output."""
    dims = _dims(instruction)
    if operand == 0:
        return [reads([dim.kept for dim in dims], [dim.low + dim.step * Expr.dim(i) for i, dim in enumerate(dims)])]
    everywhere = [Expr.range(i) for i in range(len(dims))]
    places = NOTHING
    for outside, extra in _complement(dims):
        over_ranges = [(_as_ranges(expr, everywhere), lower, upper) for expr, lower, upper in extra]
        places = places + reads([], everywhere, ranges=outside, constraints=over_ranges)
    return [places]


def _as_ranges(expr: ExprLike, ranges: Sequence[Expr]) -> ExprLike:
    return expr.substitute(dims=ranges) if isinstance(expr, Expr) else expr


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """Put places between the elements, then extend or cut both ends."""
    data, value = operands
    for axis, (low, high, interior) in enumerate(instruction.attributes["padding"]):
        length = data.shape[axis]
        spread_sizes = list(data.shape)
        spread_sizes[axis] = max(0, length + max(0, length - 1) * interior)
        spread = np.full(spread_sizes, value, data.dtype)
        spread[(slice(None),) * axis + (slice(None, None, interior + 1),)] = data
        ends = [(0, 0)] * data.ndim
        ends[axis] = (max(0, low), max(0, high))
        grown = np.pad(spread, ends, constant_values=value)
        cut = slice(max(0, -low), grown.shape[axis] - max(0, -high))
        data = grown[(slice(None),) * axis + (cut,)]
    return data


register(Op("pad", output_to_input, input_to_output, evaluate))
