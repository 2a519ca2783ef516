"""fft: the discrete Fourier transform of the last one to three dimensions; each output reads its whole signal.

RFFT and IRFFT, of a real signal, have half the spectrum along the last dimension.  Section Fft of XLA's operation
semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.dtypes import numpy_dtype
from ..base.lazy import np
from ._indexing.maps import rules_by_dims
from ._op import EvalContext, Maps, Semantics, Value, register
from ._operations import transformed
from ._shapes import require_sizes


def _batches(instruction: Instruction, operand: int, output: int) -> dict[int, int]:
    """The dimensions that are not transformed."""
    length, sizes = tuple(instruction.attributes["fft_length"]), instruction.shape.dimensions
    if instruction.attributes["fft_type"] in ("FFT", "IFFT"):  # of the others the reader has checked it
        require_sizes(sizes[-len(length) :], length, "a signal")
    return {i: i for i in range(len(sizes) - len(length))}


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.fft``, which does not accept empty signals."""
    length = instruction.attributes["fft_length"]
    dtype = numpy_dtype(instruction.shape.dtype)
    if 0 in instruction.shape.dimensions or 0 in length:
        return np.zeros(instruction.shape.dimensions, dtype)
    transform = getattr(np.fft, f"{str(instruction.attributes['fft_type']).lower()}n")  # fftn, ifftn, rfftn, irfftn
    return transform(operands[0], s=length, axes=range(-len(length), 0)).astype(dtype)


register("fft", Maps(*rules_by_dims(_batches)), Semantics(evaluate, operations=transformed))
