"""bitcast-convert: the bits of each element as another element type.

Between types of equal width, output[d] is the bits of operand[d].  A wider element is a row of narrower ones along an
additional last dimension, the lowest bits first.  Section BitcastConvertType of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction, Shape
from ..dtypes import bit_width
from ..lazy import np
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import dim_exprs, full_bounds, identity_map, single_map
from ._numpy.numeric import reinterpret_bits
from ._operations import one_each
from ._registry import register
from ._rule import Footprint, OpRule, RuleContext, RuleResult
from ._shapes import require, require_sizes


def _map_between(source: Shape, target: Shape) -> Footprint:
    sizes, lengths = source.dimensions, target.dimensions
    wide, narrow = bit_width(source.dtype), bit_width(target.dtype)
    if wide == narrow:
        require_sizes(lengths, sizes, "the output")
        return identity_map(sizes)
    if wide > narrow:
        require(wide % narrow == 0, f"the width of {source.dtype} is not a multiple of that of {target.dtype}")
        require_sizes(lengths, (*sizes, wide // narrow), "the narrower array")
        results = [*dim_exprs(len(sizes)), Expr.range(0)]
        return single_map(full_bounds(sizes), results, ranges=[(0, wide // narrow - 1)])
    require(narrow % wide == 0, f"the width of {target.dtype} is not a multiple of that of {source.dtype}")
    require_sizes(sizes, (*lengths, narrow // wide), "the narrower array")
    return single_map(full_bounds(sizes), dim_exprs(len(lengths)))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From an output element to the operand elements with the same bits."""
    return [_map_between(instruction.shape, instruction.operands[0].shape)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From an operand element to the output elements with the same bits."""
    return [_map_between(instruction.operands[0].shape, instruction.shape)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The bits in the order of the elements, read as the other type."""
    source, target = instruction.operands[0].shape, instruction.shape
    bits = reinterpret_bits(np.asarray(operands[0]).reshape(-1), source.dtype, target.dtype)
    return bits.reshape(target.dimensions)


register(
    OpRule(
        "bitcast-convert",
        output_to_input,
        input_to_output,
        evaluate,
        builder_methods=("bitcast_convert_type",),
        operations=one_each,
    )
)
