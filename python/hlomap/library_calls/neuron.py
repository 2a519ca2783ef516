"""Activations and normalizations of AWS Neuron: GELU, SiLU, softmax, and the division by the root of mean squares."""

from __future__ import annotations

import re

from .body import Array, Call
from .config import config_text, require


def gelu(call: Call) -> list[Array]:
    """``x / 2 * (1 + erf(x / sqrt(2)))``."""
    return [_operand(call).activated("gelu by erf")]


def silu(call: Call) -> list[Array]:
    """``x * logistic(x)``."""
    return [_operand(call).activated("silu")]


def softmax(call: Call) -> list[Array]:
    """Along the dimension that is the configuration."""
    return [_operand(call).softmax(_dimension(call))]


def rms_norm(call: Call) -> list[Array]:
    """x, scale, epsilon -> ``x * rsqrt(mean(x * x) + epsilon) * scale`` along the dimension of the configuration."""
    shapes, dim = call.shapes, _dimension(call)
    sizes = shapes[0].dimensions if shapes else ()
    fits = len(shapes) == 3 and tuple(shapes[1].dimensions) == (sizes[dim],) and shapes[2].rank == 0
    require(fits, f"operands {[str(one) for one in shapes]}, expected an array, its scale and an epsilon")
    others = [d for d in range(len(sizes)) if d != dim]
    x = call.operands[0].converted("f32")
    means = (x * x).reduced("add", {dim}) * (1 / max(sizes[dim], 1))
    epsilon = call.operands[2].converted("f32").broadcast(means.dimensions, ())
    factors = (means + epsilon).one("rsqrt").broadcast(sizes, others)
    scale = call.operands[1].converted("f32").broadcast(sizes, [dim])
    output = call.instruction.shape
    require(output.is_array and output.dimensions == sizes, f"a result {output} for {shapes[0]}")
    return [(x * factors * scale).converted(output.dtype)]


def _operand(call: Call) -> Array:
    """The only operand, which is like the result."""
    output = call.instruction.shape
    fits = len(call.operands) == 1 and output.is_array
    fits = fits and (call.shapes[0].dtype, call.shapes[0].dimensions) == (output.dtype, output.dimensions)
    operands = [str(one.shape) for one in call.operands]
    require(fits, f"operands {operands} for a result {output}")
    return call.operands[0]


def _dimension(call: Call) -> int:
    text = config_text(call.instruction)
    rank = call.operands[0].rank if call.operands else 0
    dim = int(text) if re.fullmatch(r"-?[0-9]{1,3}", text) else rank
    require(-rank <= dim < rank, f"its backend_config is {text[:80]!r}, expected a dimension")
    return dim % rank
