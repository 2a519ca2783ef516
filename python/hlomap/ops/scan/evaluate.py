"""Semantics of scan: one call of the computation for each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Steps, Value


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Steps:
    """Call the computation for each step, in reverse order if ``is_reverse``, and stack the outputs."""
    n_carries = int(instruction.attributes["num_carries"])
    (along,) = instruction.attributes["dimensions"]
    inputs, carries = list(operands[: len(operands) - n_carries]), list(operands[len(operands) - n_carries :])
    shapes = instruction.shape.tuple_shapes
    n_outputs = len(shapes) - n_carries
    steps = range(inputs[0].shape[along])
    outputs: list[list[Value]] = [[] for _ in range(n_outputs)]
    for i in reversed(steps) if instruction.attributes.get("is_reverse", False) else steps:
        context.count_steps()
        inputs_of_step = [np.take(x, i, axis=along) for x in inputs]
        values = yield context.call(instruction.called_computations[0], [*inputs_of_step, *carries])
        for kept, value in zip(outputs, values, strict=False):
            kept.append(value)
        carries = list(values[n_outputs:])
    if instruction.attributes.get("is_reverse", False):
        outputs = [kept[::-1] for kept in outputs]
    stacked = [
        np.stack(kept, axis=along) if kept else np.zeros(shape.dimensions)
        for kept, shape in zip(outputs, shapes, strict=False)
    ]
    return (*stacked, *carries)
