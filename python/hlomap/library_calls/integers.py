"""Integers as bits: halves of 64 for machines without them (``X64SplitLow``, ``X64SplitHigh``, ``X64Combine``), and
``cu_threefry2x32``, JAX's random bits on GPUs."""

from __future__ import annotations

from .._core import Shape
from .body import Call, Value, array_text, require


def split_low(call: Call) -> list[Value]:
    """The low 32 bits."""
    return _half(call, shift=0)


def split_high(call: Call) -> list[Value]:
    """The high 32 bits."""
    return _half(call, shift=32)


def combine(call: Call) -> list[Value]:
    """low, high -> the integer of 64 bits."""
    call.require_operands(2, "X64Combine has 2")
    output = _integers(call.instruction.shape, 64)
    halves = []
    for operand, shape in zip(call.operands, call.shapes, strict=True):
        _integers(shape, 32)
        halves.append(call.add("u32", operand.sizes, f"bitcast-convert({operand})").converted("u64"))
    whole = halves[0].two("or", halves[1].two("shift-left", 32))
    return [call.add(output.dtype, output.dimensions, f"bitcast-convert({whole})")]


def _half(call: Call, shift: int) -> list[Value]:
    call.require_operands(1, "a half has 1")
    operand, output = _integers(call.shapes[0], 64), _integers(call.instruction.shape, 32)
    bits = call.add("u64", operand.dimensions, f"bitcast-convert({call.operands[0]})")
    half = bits.two("shift-right-logical", shift).converted("u32")
    return [call.add(output.dtype, output.dimensions, f"bitcast-convert({half})")]


def _integers(shape: Shape, bits: int) -> Shape:
    fits = shape.is_array and shape.dtype in (f"s{bits}", f"u{bits}")
    require(fits, f"{shape} has no integers of {bits} bits")
    return shape


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(call: Call) -> list[Value]:
    """key 0, key 1, counter 0, counter 1 -> two arrays of random bits.

    The counter-based generator Threefry-2x32 with 20 rounds (J. Salmon et al., Parallel random numbers: as easy as
    1, 2, 3, 2011): the elements of two counters are mixed under the elements of two keys.
    """
    call.require_operands(4, "Threefry has 4")
    sizes = call.operands[0].sizes
    same = all((one.dtype, one.sizes) == ("u32", sizes) for one in call.operands)
    require(same, f"operands that are not all {array_text('u32', sizes)}")

    first, second, *counters = call.operands
    keys = [first, second, first.two("xor", second).two("xor", _PARITY)]
    x, y = (counter + key for counter, key in zip(counters, keys, strict=False))
    for injection in range(1, 6):
        for bits in _ROTATIONS[(injection - 1) % 2]:
            x += y
            left = y.two("shift-left", bits)
            y = x.two("xor", left.two("or", y.two("shift-right-logical", 32 - bits)))
        x += keys[injection % 3]
        y += keys[(injection + 1) % 3] + injection
    return [x, y]
