"""reverse: output[..., d, ...] = operand[..., size - 1 - d, ...] along each of its dimensions.

Section Rev of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction
from ..base.lazy import np
from ._indexing.maps import dim_exprs, over_approximate, single_map
from ._op import EvalContext, RuleResult, Value, register_moving


def mirrored(instruction: Instruction, *_: object) -> RuleResult:
    """operand[size - 1 - d] in both directions: the map is its own inverse."""
    sizes, dims = instruction.shape.dimensions, dim_exprs(instruction.shape.rank)
    along = tuple(instruction.attributes["dimensions"])
    mirror = [n - 1 - d if i in along else d for i, (n, d) in enumerate(zip(sizes, dims, strict=True))]
    varying = [i for i in along if instruction.operands[0].shape.dynamic[i]]
    if not varying:
        return [single_map(sizes, mirror)]
    # The last element in use is the first of the result: d + its mirror is less than the bound.
    constraints = []
    for k, i in enumerate(varying):
        mirror[i] = Expr.range(k)
        constraints.append((dims[i] + mirror[i], 0, sizes[i] - 1))
    return [over_approximate(single_map(sizes, mirror, ranges=[sizes[i] for i in varying], constraints=constraints))]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.flip``."""
    return np.flip(operands[0], tuple(instruction.attributes["dimensions"]))


register_moving("reverse", mirrored, mirrored, evaluate, builder_methods=("rev",))
