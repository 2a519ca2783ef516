"""fft: the discrete Fourier transform of the last one to three dimensions, forward and back.

A real signal (RFFT, IRFFT) has half its spectrum along the last dimension, since the other half mirrors it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._core import Expr, Instruction
from ..dtypes import numpy_dtype
from ..types import ShapeIndex
from ._evaluation import Array, EvalContext, Value
from ._indexing.maps import dim_exprs, full_bounds, single_map
from ._registry import register
from ._rule import ExprLike, Footprint, OpRule, RuleContext, RuleResult
from ._shapes import require, require_sizes


def _transformed(instruction: Instruction) -> int:
    """How many dimensions are transformed."""
    length, kind = tuple(instruction.attributes["fft_length"]), instruction.attributes["fft_type"]
    given, made = instruction.operands[0].shape.dimensions, instruction.shape.dimensions
    require(1 <= len(length) <= min(3, len(given)), f"fft_length {length}")
    half = (*length[:-1], length[-1] // 2 + 1 if length[-1] else 0)
    batch = tuple(given[: -len(length)])
    require_sizes(given, batch + (half if kind == "IRFFT" else length), "an operand")
    require_sizes(made, batch + (half if kind == "RFFT" else length), "an output")
    return len(length)


def _signals(n: int, source: Sequence[int], target: Sequence[int]) -> Footprint:
    rank = len(source)
    results: list[ExprLike] = [*dim_exprs(rank - n), *(Expr.range(i) for i in range(n))]
    return single_map(full_bounds(source), results, ranges=full_bounds(target[rank - n :]))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole signal."""
    n = _transformed(instruction)
    return [_signals(n, instruction.shape.dimensions, instruction.operands[0].shape.dimensions)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole spectrum."""
    n = _transformed(instruction)
    return [_signals(n, instruction.operands[0].shape.dimensions, instruction.shape.dimensions)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """NumPy has the four by name; what it cannot do without elements has none."""
    length = instruction.attributes["fft_length"]
    dtype = numpy_dtype(instruction.shape.dtype)
    if 0 in instruction.shape.dimensions or 0 in length:
        return np.zeros(instruction.shape.dimensions, dtype)
    kinds: dict[str, Callable[..., Array]] = {
        "FFT": np.fft.fftn,
        "IFFT": np.fft.ifftn,
        "RFFT": np.fft.rfftn,
        "IRFFT": np.fft.irfftn,
    }
    axes = range(-len(length), 0)
    return kinds[str(instruction.attributes["fft_type"])](operands[0], s=length, axes=axes).astype(dtype)


register(OpRule("fft", output_to_input, input_to_output, evaluate))
