"""batch-norm-training, -inference and -grad: normalization of each feature over all other dimensions.

A table lists the elements of an operand that a result depends on: the same element (``SAME``), all elements of the same
feature (``FEATURE``), or the one element of the feature where the operand has one for each (``ONE``).  Sections
BatchNormTraining, BatchNormInference and BatchNormGrad of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction
from ..lazy import np
from ..types import ShapeIndex
from ._evaluation import Array, EvalContext, Value
from ._indexing.maps import full_bounds, identity_map, single_map
from ._numpy.numeric import widened
from ._operations import unknown_operations
from ._registry import register
from ._rule import NOTHING, Footprint, OperandIndexing, OpRule, RuleContext, RuleResult
from ._shapes import require, require_sizes, shape_at

# The same element, all elements of the feature, the one element of the feature, no element.
SAME, FEATURE, ONE, NONE = "same", "feature", "one", "none"


# By opcode, for each result and each operand the elements that the result depends on.
DEPENDENCES: dict[str, tuple[tuple[str, ...], ...]] = {
    "batch-norm-training": ((FEATURE, ONE, ONE), (FEATURE, NONE, NONE), (FEATURE, NONE, NONE)),
    "batch-norm-inference": ((SAME, ONE, ONE, ONE, ONE),),
    "batch-norm-grad": (
        (FEATURE, ONE, ONE, ONE, FEATURE),
        (FEATURE, NONE, ONE, ONE, FEATURE),
        (NONE, NONE, NONE, NONE, FEATURE),
    ),
}


def _feature(instruction: Instruction) -> int:
    feature = int(instruction.attributes["feature_index"])
    sizes = instruction.operands[0].shape.dimensions
    require(0 <= feature < len(sizes), f"feature_index {feature} is out of range")
    for operand in instruction.operands[1:]:
        has_all = operand.shape.rank == len(sizes) and instruction.opcode == "batch-norm-grad"
        require_sizes(operand.shape.dimensions, sizes if has_all else (sizes[feature],), "an operand")
    return feature


def _between(source: Sequence[int], target: Sequence[int], feature: int, elements: str) -> Footprint:
    """Maps between arrays of all dimensions, or of the feature dimension alone."""
    if elements == NONE:
        return NOTHING
    if elements == SAME:
        return identity_map(source)
    own = Expr.dim(feature if len(source) > 1 else 0)
    if len(target) == 1:
        return single_map(full_bounds(source), [own])
    others = [i for i in range(len(target)) if i != feature]
    results = [own if i == feature else Expr.range(others.index(i)) for i in range(len(target))]
    return single_map(full_bounds(source), results, ranges=full_bounds(target[i] for i in others))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The elements in the table."""
    feature = _feature(instruction)
    row = DEPENDENCES[instruction.opcode][leaf[0] if leaf else 0]
    source = shape_at(instruction.shape, leaf).dimensions
    return [
        _between(source, operand.shape.dimensions, feature, elements)
        for operand, elements in zip(instruction.operands, row, strict=True)
    ]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The elements in the table, in the other direction."""
    feature = _feature(instruction)
    source = instruction.operands[operand].shape.dimensions
    parts: list[OperandIndexing] = []
    for i, row in enumerate(DEPENDENCES[instruction.opcode]):
        at = (i,) if instruction.shape.is_tuple else ()
        parts.append(_between(source, shape_at(instruction.shape, at).dimensions, feature, row[operand]).at(at))
    return parts


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The formulas of the operation, computed in at least 32 bits."""
    x = np.asarray(operands[0])
    dtype, work = x.dtype, np.result_type(widened(x.dtype), np.float32)
    # XLA keeps epsilon in f32, whatever the element type.
    epsilon = float(np.float32(instruction.attributes["epsilon"]))
    feature = int(instruction.attributes["feature_index"])
    axes = tuple(i for i in range(x.ndim) if i != feature)
    shape = [-1 if i == feature else 1 for i in range(x.ndim)]
    x, *rest = (np.asarray(operand).astype(work) for operand in operands)

    def feature_mean(array: Array) -> Array:
        # NumPy's mean would warn about empty arrays.
        return np.asarray(array.sum(axis=axes) / work.type(array.size / max(1, array.shape[feature])))

    def wide(array: Array) -> Array:
        return array.reshape(shape)

    if instruction.opcode == "batch-norm-grad":
        scale, mean, variance, grad = rest
        centered, factor = x - wide(mean), 1 / np.sqrt(variance + work.type(epsilon))
        grad_mean, cross = feature_mean(grad), feature_mean(grad * centered)
        inner = grad - wide(grad_mean) - centered * wide(cross * factor * factor)
        gradients = (
            wide(scale * factor) * inner,
            (grad * centered).sum(axis=axes) * factor,
            grad.sum(axis=axes),
        )
        return tuple(part.astype(dtype) for part in gradients)
    scale, offset = rest[:2]
    training = instruction.opcode == "batch-norm-training"
    mean = feature_mean(x) if training else rest[2]
    variance = feature_mean((x - wide(mean)) ** 2) if training else rest[3]
    normal = (x - wide(mean)) / np.sqrt(wide(variance) + work.type(epsilon)) * wide(scale) + wide(offset)
    if not training:
        return normal.astype(dtype)
    return normal.astype(dtype), mean.astype(dtype), variance.astype(dtype)


for _name in DEPENDENCES:
    register(
        OpRule(
            _name,
            output_to_input,
            input_to_output,
            evaluate,
            operations=unknown_operations("XLA expands a batch norm before it runs"),
        )
    )
