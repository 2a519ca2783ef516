"""custom-call: what a user registered for its target; of any other target nothing is known.

Calls that only say how a value is laid over devices are the value itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Sequence

import numpy as np

from .._core import Instruction
from ..errors import UnsupportedError
from ._given import asked, fitting
from ._maps import passes_from, passes_to
from ._op import Answer, Context, Leaf, Op, Run, Unknown, Value, register
from ._shapes import n_outputs, same_arrays

ANNOTATIONS = {"Sharding", "xla.sdy.FuncResultSharding", "annotate_device_placement", "MoveToHost", "MoveToDevice"}


def _target(instruction: Instruction) -> str:
    return str(instruction.attributes.get("custom_call_target", ""))


def _is_annotation(instruction: Instruction) -> bool:
    operands = instruction.operands
    return (
        _target(instruction) in ANNOTATIONS and len(operands) == 1 and same_arrays(operands[0].shape, instruction.shape)
    )


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """An annotation passes its operand on."""
    if _is_annotation(instruction):
        return passes_from(instruction, leaf, 0, leaf)
    return [Unknown(f"no rule for custom-call to {_target(instruction)!r}")] * len(instruction.operands)


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The same."""
    if _is_annotation(instruction):
        return passes_to(instruction, operand, leaf, leaf)
    return [Unknown(f"no rule for custom-call to {_target(instruction)!r}")] * n_outputs(instruction.shape)


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """The registered function at the operands."""
    target = _target(instruction)
    function = run.world.custom_calls.get(target)
    if function is None:
        if _is_annotation(instruction):
            return operands[0]
        if target == "SliceToDynamic":
            return operands[0][tuple(slice(0, int(size)) for size in operands[1:])]
        if target == "PadToStatic":
            return _padded(instruction, operands[0])
        raise UnsupportedError(f"no function for custom call target {target!r}: pass custom_calls={{{target!r}: …}}")
    wants_instruction = "instruction" in _parameters(function)
    named = {"instruction": instruction} if wants_instruction else {}
    value = asked(function, *operands, **named)
    return fitting(_tuples(value), instruction.shape, f"the value of custom call target {target!r}")


def _parameters(function: Callable[..., Value]) -> Container[str]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()  # of some compiled functions nothing is known


def _padded(instruction: Instruction, array: np.ndarray) -> Value:
    """The array at its full size, and its sizes."""
    full = instruction.shape.tuple_shapes[0].dimensions
    padded = np.pad(array, [(0, size - n) for n, size in zip(array.shape, full, strict=True)])
    return (padded, *(np.asarray(n, np.int32) for n in array.shape))


def _tuples(value: Value) -> Value:
    return tuple(_tuples(x) for x in value) if isinstance(value, (tuple, list)) else value


register(Op("custom-call", output_to_input, input_to_output, evaluate, acts=True))
