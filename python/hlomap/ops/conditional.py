"""conditional: the value of one of several computations, each with its own operand; operand 0 selects the branch.

A predicate selects branch 0 if true and branch 1 if false; an index out of range selects the last branch.  Section
Conditional of XLA's operation semantics.
"""

from __future__ import annotations

from functools import partial

from .._core import Computation, Instruction
from ..base.answers import Unknown
from ..base.lazy import np
from ..base.types import ShapeIndex
from ._evaluation import EvalContext, Steps, Value, on_arrays
from ._indexing.maps import by_number, map_to_all, map_to_scalar, merge_parts
from ._op import Calls, Maps, Memory, Semantics, register
from ._rule import NOTHING, OperandIndexing, RuleContext, RuleResult
from ._shapes import array_leaves, n_outputs, require, same_arrays, shape_at


def branch_computations(instruction: Instruction, context: object = None) -> tuple[Computation, ...]:
    """The branches, checked against the operands and the output."""
    attributes = instruction.attributes
    if "branch_computations" in attributes:
        branches: tuple[Computation, ...] = tuple(attributes["branch_computations"])
    else:
        branches = (attributes["true_computation"], attributes["false_computation"])
    require(len(instruction.operands) == len(branches) + 1, f"expected an operand for each of {len(branches)} branches")
    for branch, operand in zip(branches, instruction.operands[1:], strict=True):
        require(len(branch.parameters) == 1, "a branch takes one parameter")
        require(
            same_arrays(branch.parameters[0].shape, operand.shape),
            "the parameter of a branch differs in shape from its operand",
        )
        require(
            same_arrays(branch.root.shape, instruction.shape), "the result of a branch differs in shape from the output"
        )
    return branches


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """Through each branch to its operand; every element depends on the selector."""
    sizes = shape_at(instruction.shape, shape_index).dimensions
    parts: list[OperandIndexing] = [map_to_scalar(sizes)]
    for branch in context.fact(instruction, branch_computations):
        parts.append(_of_branch(merge_parts(context.output_to_input(instruction, branch, shape_index))))
    return parts


def _of_branch(part: OperandIndexing) -> OperandIndexing:
    """The elements that a branch mentions, for all values of its runtime variables: the caller does not have them."""
    return part if isinstance(part, Unknown) else part.for_any_runtime("an offset is a value inside a branch")


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """Through the branch of the operand; the selector affects every element."""
    if operand == 0:
        parts = [NOTHING] * n_outputs(instruction.shape)
        for output in array_leaves(instruction.shape):
            everything = map_to_all((), shape_at(instruction.shape, output).dimensions)
            parts[output[0] if output else 0] += everything.at(output)
        return parts
    branch = context.fact(instruction, branch_computations)[operand - 1]
    result = context.input_to_output(instruction, branch, 0, shape_index)
    return {number: _of_branch(part) for number, part in by_number(result).items()}


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Call the selected branch; for an array of indices, call every selected branch and combine elementwise."""
    branches = branch_computations(instruction)
    index = np.asarray(operands[0])
    branch_of = np.where(index, 0, 1) if index.dtype == np.bool_ else _in_range(index, len(branches))
    selected = sorted(set(branch_of.reshape(-1).tolist()))
    arguments = operands[1:]
    operands.clear()
    if len(selected) == 1:
        argument = [arguments[selected[0]]]
        arguments.clear()
        return (yield context.call(branches[selected[0]], argument))
    value: Value = None
    for number in selected:
        new = yield context.call(branches[number], [arguments[number]])
        value = new if value is None else on_arrays(partial(np.where, branch_of == number), new, value)
    return value


def _in_range(index: np.ndarray, n: int) -> np.ndarray:
    return np.where((index < 0) | (index >= n), n - 1, index)


register(
    "conditional",
    Maps(output_to_input, input_to_output, follows_tokens=True),
    Semantics(evaluate, pointwise=True),
    memory=Memory(moves_nothing=True),
    calls=Calls(
        runs="branch", value_of_parameter=lambda instruction, called, parameter: instruction._operand(called + 1)
    ),
)
