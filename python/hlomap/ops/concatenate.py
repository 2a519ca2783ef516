"""concatenate: the operands one after the other along one dimension; operand k starts where operand k - 1 ends.

Section Concatenate of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .._core import Expr, Instruction
from ..base.lazy import np
from ._indexing.maps import described, described_parts, dim_exprs, full_bounds, over_approximate, single_map
from ._op import EvalContext, RuleContext, RuleResult, ShapeIndex, Value, register_moving
from ._rule import Bounds, Footprint, OperandIndexing

_PLAIN = "[before + a={dimensions}, b] <- [a={dimensions}, b]... if static"


class _Starts(NamedTuple):
    """The starts of the operands along the dimension, and the end of the last one."""

    along: int
    starts: Sequence[int]
    least: Sequence[int]
    """Where they start if nothing is in use of the dynamic ones before them."""
    is_dynamic: Sequence[bool]
    """Whether fewer elements of an operand may be in use than it has."""


def _starts(instruction: Instruction, context: RuleContext) -> _Starts:
    (along,) = instruction.attributes["dimensions"]
    starts, least = [0], [0]
    is_dynamic: list[bool] = []
    for operand in instruction.operands:
        shape = operand.shape
        length = shape.dimensions[along]
        is_dynamic.append(shape.dynamic[along])
        starts.append(starts[-1] + length)
        least.append(least[-1] + (0 if is_dynamic[-1] else length))
    return _Starts(along, starts, least, is_dynamic)


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """Every possible start behind a dynamic operand.

    How many elements of a dynamic operand are in use moves all that follow them, and what decides that affects each of
    its elements: they all lead to it.
    """
    along, starts, leasts, is_dynamic = context.fact(instruction, _starts)
    parts: list[OperandIndexing] = [*described_parts(_PLAIN, instruction)]
    sizes = instruction.shape.dimensions
    for k, (varies, least, (start, end)) in enumerate(zip(is_dynamic, leasts, pairwise(starts), strict=False)):
        if varies:
            parts[k] = _mixed(sizes, along, (least, starts[-1] - 1), (0, end - start - 1))
        elif least < start:
            there = (0, end - start - 1)
            parts[k] = _shifted(sizes, along, (least, end - 1), there, (least, start))
    return parts


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """Every possible place in the output."""
    along, starts, leasts, is_dynamic = context.fact(instruction, _starts)
    start, least = starts[operand], leasts[operand]
    sizes = list(instruction.shape.dimensions)
    sizes[along] = starts[operand + 1] - start
    if is_dynamic[operand]:
        return [_mixed(sizes, along, (0, sizes[along] - 1), (least, starts[-1] - 1))]
    if least < start:
        ends = (least, start + sizes[along] - 1)
        return [_shifted(sizes, along, (0, sizes[along] - 1), ends, (-start, -least))]
    return described_parts(_PLAIN, instruction, shape_index, operand)


def _shifted(sizes: Sequence[int], along: int, here: Bounds, there: Bounds, difference: Bounds) -> Footprint:
    """From each index in ``here`` to all in ``there`` that are less by an amount within ``difference``."""
    dims, results = full_bounds(sizes), [*dim_exprs(len(sizes))]
    dims[along], results[along] = here, Expr.range(0)
    shift = (Expr.dim(along) - Expr.range(0), *difference)
    return over_approximate(single_map(dims, results, ranges=[there], constraints=[shift]))


def _mixed(sizes: Sequence[int], along: int, here: Bounds, there: Bounds) -> Footprint:
    """From each index in ``here`` to all in ``there``."""
    dims, results = full_bounds(sizes), [*dim_exprs(len(sizes))]
    dims[along], results[along] = here, Expr.range(0)
    return over_approximate(single_map(dims, results, ranges=[there]))


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.concatenate``."""
    return np.concatenate(operands, axis=instruction.attributes["dimensions"][0])


register_moving("concatenate", described(_PLAIN, output_to_input, input_to_output), evaluate)
