"""shuffle: rotates the elements along some dimensions.

Output index d along a dimension of size n with shift s has operand index (d + s) mod n or (d - s) mod n, in the same
way along all dimensions.  XLA documents neither, and its CPU backend does not run the operation.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..errors import UnsupportedError
from ._indexing.maps import dim_exprs, identity_map, single_map
from ._op import EvalContext, Maps, RuleResult, Semantics, Value, register
from ._rule import Footprint

_DIRECTION = "XLA does not document which way a shuffle rotates"


def rotations(instruction: Instruction, *_: object) -> RuleResult:
    """Both rotations, which are inverses of each other; one exact map if they are equal."""
    sizes = instruction.shape.dimensions
    shifts = dict(zip(instruction.attributes["dimensions"], instruction.attributes["shifts"], strict=True))
    # Rotations by less than the size; those by 0 move nothing.
    ways = [{d: sign * s % sizes[d] for d, s in shifts.items() if sizes[d] and s % sizes[d]} for sign in (1, -1)]
    if not ways[0]:
        return [identity_map(sizes)]
    dims = dim_exprs(len(sizes))
    rotated = ([(d + way[i]) % sizes[i] if i in way else d for i, d in enumerate(dims)] for way in ways)
    found = [single_map(sizes, results) for results in rotated]
    return [found[0] if ways[0] == ways[1] else Footprint(found[0].maps + found[1].maps, False, _DIRECTION)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Not defined."""
    raise UnsupportedError(f"shuffle cannot be executed: {_DIRECTION}")


register("shuffle", Maps(rotations, rotations), Semantics(evaluate, operations="moves"))
