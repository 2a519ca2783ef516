"""conditional: the value of one of several computations, each at an operand of its own; operand 0 says which.

A predicate takes branch 0 where it holds and branch 1 where not; an index out of range takes the last branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._core import Computation, Instruction, Shape
from ._maps import reads_all, reads_scalar
from ._op import NOTHING, Answer, Context, Footprint, Leaf, Op, Part, Run, Steps, Unknown, Value, register
from ._shapes import array_leaves, must, n_outputs, same_arrays, shape_at

_REASON = "one of several branches"


def _branches(instruction: Instruction) -> tuple[Computation, ...]:
    attributes = instruction.attributes
    if "branch_computations" in attributes:
        branches: tuple[Computation, ...] = tuple(attributes["branch_computations"])
    else:
        branches = (attributes["true_computation"], attributes["false_computation"])
    must(len(instruction.operands) == len(branches) + 1, f"{len(branches)} branches and other operands")
    for branch, operand in zip(branches, instruction.operands[1:], strict=True):
        must(len(branch.parameters) == 1, "a branch that does not take one value")
        must(same_arrays(branch.parameters[0].shape, operand.shape), "a branch that takes another shape")
        must(same_arrays(branch.root.shape, instruction.shape), "a branch that gives another shape")
    return branches


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """Each branch to its own operand; the index always."""
    sizes = shape_at(instruction.shape, leaf).dimensions
    parts: list[Part] = [reads_scalar(sizes)]
    for branch, operand in zip(_branches(instruction), instruction.operands[1:], strict=True):
        answer = context.output_to_input(instruction, branch, leaf)
        part = answer.get(0, NOTHING) if isinstance(answer, Mapping) else answer[0]
        parts.append(_one_of(part, sizes, operand.shape))
    return parts


def _one_of(part: Part, sizes: Sequence[int], target: Shape) -> Part:
    """What may be read; an offset inside a branch is no value of the caller, so any may be."""
    if isinstance(part, Unknown) or part == NOTHING:
        return part
    total = NOTHING
    for leaf, m in part.maps:
        whole = reads_all(sizes, shape_at(target, leaf).dimensions).at(leaf)
        total = total + (whole if m.runtime else Footprint(((leaf, m),)))
    return Footprint(total.maps, False, part.reason or _REASON, part.across)


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """From the parameter of the branch to its value; the index reaches everything."""
    branches = _branches(instruction)
    parts: list[Part] = [NOTHING] * n_outputs(instruction.shape)
    if operand == 0:
        for there in array_leaves(instruction.shape):
            which = there[0] if there else 0
            before = parts[which]
            assert isinstance(before, Footprint), "only footprints are put here"
            parts[which] = before + reads_all((), shape_at(instruction.shape, there).dimensions).at(there)
        return parts
    answer = context.input_to_output(instruction, branches[operand - 1], 0, leaf)
    for which, part in answer.items() if isinstance(answer, Mapping) else enumerate(answer):
        parts[which] = _one_of(part, shape_at(instruction.operands[operand].shape, leaf).dimensions, instruction.shape)
    return parts


def evaluate(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """Run the branch; where the index is a whole array, run those that it names and choose place by place."""
    branches = _branches(instruction)
    index = np.asarray(operands[0])
    chosen = np.where(index, 0, 1) if index.dtype == np.bool_ else _in_range(index, len(branches))
    which = sorted(set(chosen.reshape(-1).tolist()))
    given = operands[1:]
    operands.clear()
    if len(which) == 1:
        argument = [given[which[0]]]
        given.clear()
        return (yield run.call(branches[which[0]], argument))
    value: Value = None
    for number in which:
        new = yield run.call(branches[number], [given[number]])
        value = new if value is None else _where(chosen == number, new, value)
    return value


def _in_range(index: np.ndarray, n: int) -> np.ndarray:
    return np.where((index < 0) | (index >= n), n - 1, index)


def _where(here: np.ndarray, new: Value, old: Value) -> Value:
    if isinstance(new, tuple):
        return tuple(_where(here, a, b) for a, b in zip(new, old, strict=True))
    return None if new is None else np.where(here, new, old)


register(
    Op(
        "conditional",
        output_to_input,
        input_to_output,
        evaluate,
        per_instruction=True,
        pointwise=True,
        parameter_is=lambda instruction, called, parameter: called + 1,
    )
)
