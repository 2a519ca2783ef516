"""Integers as bits: halves of 64 for machines without them (``X64SplitLow``, ``X64SplitHigh``, ``X64Combine``), and
``cu_threefry2x32``, JAX's random bits on GPUs."""

from __future__ import annotations

from .._core import Shape
from ..writing.arguments import array_shape
from .body import Array, Call
from .config import require


def split_low(call: Call) -> list[Array]:
    """The low 32 bits."""
    return _half(call, shift=0)


def split_high(call: Call) -> list[Array]:
    """The high 32 bits."""
    return _half(call, shift=32)


def combine(call: Call) -> list[Array]:
    """low, high -> the integer of 64 bits."""
    call.require_operands(2, "X64Combine has 2")
    output = _integers(call.instruction.shape, 64)
    halves = []
    for operand, shape in zip(call.operands, call.shapes, strict=True):
        _integers(shape, 32)
        halves.append(call.write("u32", operand.dimensions, "bitcast-convert", operand).converted("u64"))
    whole = halves[0] | halves[1] << 32
    return [call.write(output.dtype, output.dimensions, "bitcast-convert", whole)]


def _half(call: Call, shift: int) -> list[Array]:
    call.require_operands(1, "a half has 1")
    operand, output = _integers(call.shapes[0], 64), _integers(call.instruction.shape, 32)
    bits = call.write("u64", operand.dimensions, "bitcast-convert", call.operands[0])
    half = (bits >> shift).converted("u32")
    return [call.write(output.dtype, output.dimensions, "bitcast-convert", half)]


def _integers(shape: Shape, bits: int) -> Shape:
    fits = shape.is_array and shape.dtype in (f"s{bits}", f"u{bits}")
    require(fits, f"{shape} has no integers of {bits} bits")
    return shape


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(call: Call) -> list[Array]:
    """key 0, key 1, counter 0, counter 1 -> two arrays of random bits.

    The counter-based generator Threefry-2x32 with 20 rounds (J. Salmon et al., Parallel random numbers: as easy as
    1, 2, 3, 2011): the elements of two counters are mixed under the elements of two keys.
    """
    call.require_operands(4, "Threefry has 4")
    sizes = call.operands[0].dimensions
    same = all((one.dtype, one.dimensions) == ("u32", sizes) for one in call.operands)
    require(same, f"operands that are not all {array_shape('u32', sizes)}")

    first, second, *counters = call.operands
    keys = [first, second, first ^ second ^ _PARITY]
    x, y = (counter + key for counter, key in zip(counters, keys, strict=False))
    for injection in range(1, 6):
        for bits in _ROTATIONS[(injection - 1) % 2]:
            x += y
            y = x ^ (y << bits | y >> 32 - bits)
        x += keys[injection % 3]
        y += keys[(injection + 1) % 3] + injection
    return [x, y]
