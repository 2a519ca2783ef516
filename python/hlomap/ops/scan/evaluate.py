"""scan in NumPy: the step, once for each place of the scanned dimension."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Steps, Value


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Steps:
    """A loop."""
    n_carries = int(instruction.attributes["num_carries"])
    (along,) = instruction.attributes["dimensions"]
    inputs, carries = list(operands[: len(operands) - n_carries]), list(operands[len(operands) - n_carries :])
    shapes = instruction.shape.tuple_shapes
    n_outputs = len(shapes) - n_carries
    steps = range(inputs[0].shape[along])
    made: list[list[Value]] = [[] for _ in range(n_outputs)]
    for i in reversed(steps) if instruction.attributes.get("is_reverse", False) else steps:
        here = [np.take(x, i, axis=along) for x in inputs]
        values = yield context.call(instruction.called_computations[0], [*here, *carries])
        for kept, value in zip(made, values, strict=False):
            kept.append(value)
        carries = list(values[n_outputs:])
    if instruction.attributes.get("is_reverse", False):
        made = [kept[::-1] for kept in made]
    stacked = [
        np.stack(kept, axis=along) if kept else np.zeros(shape.dimensions)
        for kept, shape in zip(made, shapes, strict=False)
    ]
    return (*stacked, *carries)
