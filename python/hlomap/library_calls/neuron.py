"""Activations and normalizations of AWS Neuron: GELU, SiLU, softmax, and the division by the root of mean squares."""

from __future__ import annotations

import re

from .._core import Instruction
from .body import Body, array_text, require


def gelu(instruction: Instruction) -> str:
    """``x / 2 * (1 + erf(x / sqrt(2)))``."""
    body = _unary(instruction)
    return body.finish(instruction.shape, [body.activated("gelu by erf", "p0")])


def silu(instruction: Instruction) -> str:
    """``x * logistic(x)``."""
    body = _unary(instruction)
    return body.finish(instruction.shape, [body.activated("silu", "p0")])


def softmax(instruction: Instruction) -> str:
    """Along the dimension that is the configuration."""
    body = _unary(instruction)
    return body.finish(instruction.shape, [body.softmax("p0", _dimension(instruction))])


def rms_norm(instruction: Instruction) -> str:
    """x, scale, epsilon -> ``x * rsqrt(mean(x * x) + epsilon) * scale`` along the dimension of the configuration."""
    body = Body(instruction)
    shapes, dim = body.operands, _dimension(instruction)
    sizes = shapes[0].dimensions if shapes else ()
    fits = len(shapes) == 3 and tuple(shapes[1].dimensions) == (sizes[dim],) and shapes[2].rank == 0
    require(fits, f"operands {[str(one) for one in shapes]}, where there are an array, its scale and an epsilon")
    others = [d for d in range(len(sizes)) if d != dim]
    x = body.converted("p0", "f32")
    sums = body.reduced(body.two("multiply", x, x), "add", {dim})
    means = body.two("multiply", sums, body.like(sums, 1 / max(sizes[dim], 1)))
    epsilon = body.broadcast(body.converted("p2", "f32"), body.type_of(means)[1], ())
    factors = body.broadcast(body.one("rsqrt", body.two("add", means, epsilon)), sizes, others)
    scale = body.broadcast(body.converted("p1", "f32"), sizes, [dim])
    value = body.two("multiply", body.two("multiply", x, factors), scale)
    output = instruction.shape
    require(output.is_array and output.dimensions == sizes, f"a result {output} for {shapes[0]}")
    return body.finish(output, [body.converted(value, output.dtype)])


def _unary(instruction: Instruction) -> Body:
    body, output = Body(instruction), instruction.shape
    fits = len(body.operands) == 1 and output.is_array
    fits = fits and (body.operands[0].dtype, body.operands[0].dimensions) == (output.dtype, output.dimensions)
    operands = [array_text(one.dtype, one.dimensions) for one in body.operands]
    require(fits, f"operands {operands} for a result {output}")
    return body


def _dimension(instruction: Instruction) -> int:
    text = str(instruction.attributes.get("backend_config", ""))
    rank = instruction.operands[0].shape.rank if instruction.operands else 0
    dim = int(text) if re.fullmatch(r"-?[0-9]{1,3}", text) else rank
    require(-rank <= dim < rank, f"its backend_config is {text[:80]!r}, where there is a dimension")
    return dim % rank
