"""reverse: output[..., d, ...] = operand[..., size - 1 - d, ...] along each of its dimensions.

Section Rev of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction
from ..base.lazy import np
from ._indexing.maps import described, described_parts, dim_exprs, over_approximate, single_map
from ._op import EvalContext, RuleResult, Value, register_moving

_PLAIN = "[a={dimensions}, b] <- [size - 1 - a={dimensions}, b] if static"


def in_use(instruction: Instruction, *_: object) -> RuleResult:
    """The last element in use is the first of the result: d + its mirror is less than the bound, in both directions."""
    sizes, results = instruction.shape.dimensions, [*dim_exprs(instruction.shape.rank)]
    along = tuple(instruction.attributes["dimensions"])
    varying = [i for i in along if instruction.operands[0].shape.dynamic[i]]
    if not varying:
        return described_parts(_PLAIN, instruction)
    constraints: list[tuple[Expr, int, int]] = []
    for i in along:
        if i in varying:
            mirror = Expr.range(len(constraints))
            constraints.append((results[i] + mirror, 0, sizes[i] - 1))
            results[i] = mirror
        else:
            results[i] = sizes[i] - 1 - results[i]
    return [over_approximate(single_map(sizes, results, ranges=[sizes[i] for i in varying], constraints=constraints))]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.flip``."""
    return np.flip(operands[0], tuple(instruction.attributes["dimensions"]))


register_moving("reverse", described(_PLAIN, in_use, in_use), evaluate, builder_methods=("rev",))
