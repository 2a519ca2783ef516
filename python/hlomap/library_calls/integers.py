"""The halves of 64-bit integers, for machines without them: ``X64SplitLow``, ``X64SplitHigh``, ``X64Combine``."""

from __future__ import annotations

from .._core import Instruction, Shape
from .body import Body, require


def split_low(instruction: Instruction) -> str:
    """The low 32 bits."""
    return _half(instruction, shift=0)


def split_high(instruction: Instruction) -> str:
    """The high 32 bits."""
    return _half(instruction, shift=32)


def combine(instruction: Instruction) -> str:
    """low, high -> the integer of 64 bits."""
    body = Body(instruction)
    require(len(body.operands) == 2, f"{len(body.operands)} operands, where X64Combine has 2")
    output = _integers(instruction.shape, 64)
    halves = []
    for k, operand in enumerate(body.operands):
        _integers(operand, 32)
        bits = body.add("u32", operand.dimensions, f"bitcast-convert(p{k})")
        halves.append(body.converted(bits, "u64"))
    high = body.two("shift-left", halves[1], body.like(halves[1], 32))
    whole = body.two("or", halves[0], high)
    return body.finish(instruction.shape, [body.add(output.dtype, output.dimensions, f"bitcast-convert({whole})")])


def _half(instruction: Instruction, shift: int) -> str:
    body = Body(instruction)
    require(len(body.operands) == 1, f"{len(body.operands)} operands, where a half has 1")
    operand, output = _integers(body.operands[0], 64), _integers(instruction.shape, 32)
    bits = body.add("u64", operand.dimensions, "bitcast-convert(p0)")
    moved = body.two("shift-right-logical", bits, body.like(bits, shift))
    half = body.converted(moved, "u32")
    return body.finish(instruction.shape, [body.add(output.dtype, output.dimensions, f"bitcast-convert({half})")])


def _integers(shape: Shape, bits: int) -> Shape:
    fits = shape.is_array and shape.dtype in (f"s{bits}", f"u{bits}")
    require(fits, f"{shape} has no integers of {bits} bits")
    return shape
