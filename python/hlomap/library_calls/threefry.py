"""``cu_threefry2x32``: JAX's random bits on GPUs.

The counter-based generator Threefry-2x32 with 20 rounds (J. Salmon et al., Parallel random numbers: as easy as
1, 2, 3, 2011): the elements of two counters are mixed under the elements of two keys.
"""

from __future__ import annotations

from .._core import Instruction
from .body import Body, array_text, require

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(instruction: Instruction) -> str:
    """key 0, key 1, counter 0, counter 1 -> two arrays of random bits."""
    body = Body(instruction)
    require(len(body.operands) == 4, f"{len(body.operands)} operands, where Threefry has 4")
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
