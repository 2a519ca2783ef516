"""parameter, constant, iota, replica-id, partition-id and after-all: operations that read no array element.

Sections Iota, ReplicaId and AfterAll of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Instruction
from ..dtypes import numpy_dtype
from ._evaluation import EvalContext, Value
from ._indexing.maps import reaches_nothing, reads_nothing
from ._registry import register
from ._rule import OpRule


def _parameter(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    number = instruction.parameter_number
    assert number is not None, "a parameter has a number"
    return context.parameter(number)


def _constant(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    return instruction.literal


def _iota(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    sizes = instruction.shape.dimensions
    along = int(instruction.attributes["iota_dimension"])
    lengths = [size if i == along else 1 for i, size in enumerate(sizes)]
    return np.broadcast_to(np.arange(sizes[along]).astype(numpy_dtype(instruction.shape.dtype)).reshape(lengths), sizes)


def _replica(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    return np.asarray(context.device.replica, numpy_dtype(instruction.shape.dtype))


def _partition(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    return np.asarray(context.device.partition, numpy_dtype(instruction.shape.dtype))


def _token(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    return None


for _name, _evaluate in (
    ("parameter", _parameter),
    ("constant", _constant),
    ("iota", _iota),
    ("partition-id", _partition),
    ("replica-id", _replica),
    ("after-all", _token),
):
    register(
        OpRule(
            _name,
            reads_nothing,
            reaches_nothing,
            _evaluate,
            pointwise=_name not in ("iota", "after-all"),
            moves_nothing=_name not in ("partition-id", "replica-id"),
        )
    )
