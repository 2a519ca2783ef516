"""batch-norm-training, -inference and -grad: normalisation of each feature over all other dimensions.

A table says which operands each result is made of, and how: element by element (``SAME``), all elements of the feature
(``FEATURE``), or, where the operand has one element for each feature, that one (``ONE``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Expr, Instruction
from ._maps import full, reads, reads_same_place
from ._numeric import widened
from ._op import NOTHING, Answer, Array, Context, Footprint, Leaf, Op, Part, Run, Value, register
from ._shapes import agree, must, shape_at

SAME, FEATURE, ONE, NONE = "same", "feature", "one", "none"

# For each result what it needs of each operand.
NEEDS = {
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
    must(0 <= feature < len(sizes), f"feature {feature}")
    for operand in instruction.operands[1:]:
        has_all = operand.shape.rank == len(sizes) and instruction.opcode == "batch-norm-grad"
        agree(operand.shape.dimensions, sizes if has_all else (sizes[feature],), "an operand")
    return feature


def _between(source: Sequence[int], target: Sequence[int], feature: int, need: str) -> Footprint:
    """Arrays of all dimensions, or of the feature alone, by their feature."""
    if need == NONE:
        return NOTHING
    if need == SAME:
        return reads_same_place(source)
    own = Expr.dim(feature if len(source) > 1 else 0)
    if len(target) == 1:
        return reads(full(source), [own])
    others = [i for i in range(len(target)) if i != feature]
    results = [own if i == feature else Expr.range(others.index(i)) for i in range(len(target))]
    return reads(full(source), results, ranges=full(target[i] for i in others))


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """As the table says."""
    feature = _feature(instruction)
    needs = NEEDS[instruction.opcode][leaf[0] if leaf else 0]
    source = shape_at(instruction.shape, leaf).dimensions
    return [
        _between(source, operand.shape.dimensions, feature, need)
        for operand, need in zip(instruction.operands, needs, strict=True)
    ]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """As the table says, read the other way."""
    feature = _feature(instruction)
    source = instruction.operands[operand].shape.dimensions
    parts: list[Part] = []
    for i, needs in enumerate(NEEDS[instruction.opcode]):
        at = (i,) if instruction.shape.is_tuple else ()
        parts.append(_between(source, shape_at(instruction.shape, at).dimensions, feature, needs[operand]).at(at))
    return parts


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """The formulas of the operations, in at least 32 bits."""
    x = np.asarray(operands[0])
    dtype, work = x.dtype, np.result_type(widened(x.dtype), np.float32)
    # XLA holds it in f32, whatever the type of the arrays.
    feature, epsilon = (
        int(instruction.attributes["feature_index"]),
        float(np.float32(instruction.attributes["epsilon"])),
    )
    axes = tuple(i for i in range(x.ndim) if i != feature)
    shape = [-1 if i == feature else 1 for i in range(x.ndim)]
    x, *rest = (np.asarray(operand).astype(work) for operand in operands)

    def over_feature(array: Array) -> Array:
        # NumPy's mean warns where there is nothing to add.
        return np.asarray(array.sum(axis=axes) / work.type(array.size / max(1, array.shape[feature])))

    def wide(array: Array) -> Array:
        return array.reshape(shape)

    if instruction.opcode == "batch-norm-grad":
        scale, mean, variance, grad = rest
        centered, factor = x - wide(mean), 1 / np.sqrt(variance + work.type(epsilon))
        grad_mean, cross = over_feature(grad), over_feature(grad * centered)
        inner = grad - wide(grad_mean) - centered * wide(cross * factor * factor)
        made = (
            wide(scale * factor) * inner,
            (grad * centered).sum(axis=axes) * factor,
            grad.sum(axis=axes),
        )
        return tuple(part.astype(dtype) for part in made)
    scale, offset = rest[:2]
    training = instruction.opcode == "batch-norm-training"
    mean = over_feature(x) if training else rest[2]
    variance = over_feature((x - wide(mean)) ** 2) if training else rest[3]
    normal = (x - wide(mean)) / np.sqrt(wide(variance) + work.type(epsilon)) * wide(scale) + wide(offset)
    if not training:
        return normal.astype(dtype)
    return normal.astype(dtype), mean.astype(dtype), variance.astype(dtype)


for _name in NEEDS:
    register(Op(_name, output_to_input, input_to_output, evaluate))
