"""batch-norm-training, -inference and -grad: normalization of each feature over all other dimensions.

A table lists the elements of an operand that a result depends on: the same element (``SAME``), all elements of the same
feature (``FEATURE``), or the one element of the feature where the operand has one for each (``ONE``).  Sections
BatchNormTraining, BatchNormInference and BatchNormGrad of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._indexing.maps import rules_by_dims
from ._numpy.numeric import widened
from ._op import Array, EvalContext, Maps, Semantics, Value, register
from ._operations import unknown_operations

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


def _kept(instruction: Instruction, operand: int, output: int) -> dict[int, int] | None:
    """The feature, or all dimensions."""
    elements, feature = DEPENDENCES[instruction.opcode][output][operand], int(instruction.attributes["feature_index"])
    if elements == NONE:
        return None
    if elements == SAME:
        return {i: i for i in range(instruction.shape.rank)}
    has_all = operand == 0 or (instruction.opcode == "batch-norm-grad" and operand == 4)
    return {feature if has_all else 0: feature if output == 0 else 0}


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
        _name,
        Maps(*rules_by_dims(_kept)),
        Semantics(evaluate, operations=unknown_operations("XLA expands a batch norm before it runs")),
    )
