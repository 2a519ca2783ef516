"""Integers as bits: halves of 64 for machines without them (``X64SplitLow``, ``X64SplitHigh``, ``X64Combine``), and
``cu_threefry2x32``, JAX's random bits on GPUs."""

from __future__ import annotations

from .._core import Instruction, Shape
from .body import Body, array_text, require


def split_low(instruction: Instruction) -> str:
    """The low 32 bits."""
    return _half(instruction, shift=0)


def split_high(instruction: Instruction) -> str:
    """The high 32 bits."""
    return _half(instruction, shift=32)


def combine(instruction: Instruction) -> str:
    """low, high -> the integer of 64 bits."""
    body = Body(instruction)
    body.require_operands(2, "X64Combine has 2")
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
    body.require_operands(1, "a half has 1")
    operand, output = _integers(body.operands[0], 64), _integers(instruction.shape, 32)
    bits = body.add("u64", operand.dimensions, "bitcast-convert(p0)")
    moved = body.two("shift-right-logical", bits, body.like(bits, shift))
    half = body.converted(moved, "u32")
    return body.finish(instruction.shape, [body.add(output.dtype, output.dimensions, f"bitcast-convert({half})")])


def _integers(shape: Shape, bits: int) -> Shape:
    fits = shape.is_array and shape.dtype in (f"s{bits}", f"u{bits}")
    require(fits, f"{shape} has no integers of {bits} bits")
    return shape


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(instruction: Instruction) -> str:
    """key 0, key 1, counter 0, counter 1 -> two arrays of random bits.

    The counter-based generator Threefry-2x32 with 20 rounds (J. Salmon et al., Parallel random numbers: as easy as
    1, 2, 3, 2011): the elements of two counters are mixed under the elements of two keys.
    """
    body = Body(instruction)
    body.require_operands(4, "Threefry has 4")
    sizes = body.operands[0].dimensions
    same = all((one.dtype, one.dimensions) == ("u32", sizes) for one in body.operands)
    require(same, f"operands that are not all {array_text('u32', sizes)}")

    first, second = "p0", "p1"
    keys = [first, second, body.two("xor", body.two("xor", first, second), body.like(first, _PARITY))]
    x, y = body.two("add", "p2", first), body.two("add", "p3", second)
    for injection in range(1, 6):
        for bits in _ROTATIONS[(injection - 1) % 2]:
            x = body.two("add", x, y)
            left = body.two("shift-left", y, body.like(y, bits))
            right = body.two("shift-right-logical", y, body.like(y, 32 - bits))
            y = body.two("xor", x, body.two("or", left, right))
        x = body.two("add", x, keys[injection % 3])
        y = body.two("add", y, body.two("add", keys[(injection + 1) % 3], body.like(y, injection)))
    return body.finish(instruction.shape, [x, y])
