"""fft: the discrete Fourier transform of the last one to three dimensions; each output reads its whole signal.

RFFT and IRFFT, of a real signal, have half the spectrum along the last dimension.  Section Fft of XLA's operation
semantics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._core import Expr, Instruction
from ..dtypes import numpy_dtype
from ..lazy import np
from ..types import ShapeIndex
from ._evaluation import Array, EvalContext, Value
from ._indexing.maps import dim_exprs, full_bounds, single_map
from ._operations import transformed
from ._registry import register
from ._rule import ExprLike, Footprint, OpRule, RuleContext, RuleResult
from ._shapes import require, require_sizes


def _n_transformed(instruction: Instruction) -> int:
    """The number of transformed dimensions."""
    length, kind = tuple(instruction.attributes["fft_length"]), instruction.attributes["fft_type"]
    sizes, output = instruction.operands[0].shape.dimensions, instruction.shape.dimensions
    require(1 <= len(length) <= min(3, len(sizes)), f"fft_length {list(length)} has no or too many dimensions")
    half = (*length[:-1], length[-1] // 2 + 1 if length[-1] else 0)
    batch = tuple(sizes[: -len(length)])
    require_sizes(sizes, batch + (half if kind == "IRFFT" else length), "an operand")
    require_sizes(output, batch + (half if kind == "RFFT" else length), "an output")
    return len(length)


def _whole_signal(n: int, source: Sequence[int], target: Sequence[int]) -> Footprint:
    rank = len(source)
    results: list[ExprLike] = [*dim_exprs(rank - n), *(Expr.range(i) for i in range(n))]
    return single_map(full_bounds(source), results, ranges=full_bounds(target[rank - n :]))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole signal."""
    n = _n_transformed(instruction)
    return [_whole_signal(n, instruction.shape.dimensions, instruction.operands[0].shape.dimensions)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole spectrum."""
    n = _n_transformed(instruction)
    return [_whole_signal(n, instruction.operands[0].shape.dimensions, instruction.shape.dimensions)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.fft``, which does not accept empty signals."""
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


register(OpRule("fft", output_to_input, input_to_output, evaluate, operations=transformed))
