"""scan: a computation applied step by step along one dimension; the last operands and results are the carries.

Output i of a step depends on the inputs of that step and, through the carries, on those of earlier steps (of later ones
in reverse) and on the init values.  Where the computation is elementwise, all of these have the same index; otherwise
the maps lead to all elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .._core import Expr, Instruction
from ..base.answers import Unknown
from ..base.lazy import np
from ._indexing.maps import by_number, dim_exprs, full_bounds, identity_map, inverted, single_map
from ._op import EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Steps, Value, register
from ._operations import Operations
from ._rule import NOTHING, Bounds, ExprLike, Footprint, OperandIndexing
from ._shapes import require


class ScanDimensions(NamedTuple):
    """The scanned dimension, the numbers of inputs and of outputs that are not carries, and the number of steps."""

    along: int
    n_inputs: int
    n_outputs: int
    n_steps: int


def scan_dimensions(instruction: Instruction) -> ScanDimensions:
    """The dimensions of a scan, checked."""
    n_carries = int(instruction.attributes["num_carries"])
    (along,) = instruction.attributes["dimensions"]
    n_inputs = len(instruction.operands) - n_carries
    n_outputs = len(instruction.shape.tuple_shapes) - n_carries
    require(n_inputs > 0 and n_outputs >= 0, "expected at least one input that is not a carry")
    return ScanDimensions(int(along), n_inputs, n_outputs, instruction.operands[0].shape.dimensions[along])


_REASON = "scan: the elements and steps that reach the carries depend on the computation"


def _map_between(instruction: Instruction, result: int, operand: int, dependence: StepDependence) -> Footprint:
    """From a result to an operand."""
    along, n_inputs, n_outputs, n_steps = scan_dimensions(instruction)
    source = instruction.shape.tuple_shapes[result].dimensions
    target = instruction.operands[operand].shape.dimensions
    by_step_out, by_step_in = result < n_outputs, operand < n_inputs
    direct, carried = dependence.direct, dependence.carried
    if not n_steps and not by_step_in:  # an init value is the carry before the first step, here the result
        direct, carried = {operand: True} if result - n_outputs == operand - n_inputs else {}, {}
    if operand not in direct and operand not in carried:
        return NOTHING
    same = direct.get(operand, True) and dependence.carried.get(operand, True)
    constraints = []
    if by_step_in:
        reverse = bool(instruction.attributes.get("is_reverse", False))
        at: ExprLike = Expr.dim(along) if by_step_out else 0 if reverse else n_steps - 1
        distance = Expr.range(0) - at if reverse else at - Expr.range(0)
        constraints = [(distance, 0 if operand in direct else 1, n_steps - 1 if operand in carried else 0)]
    own: list[ExprLike] = [e for i, e in enumerate(dim_exprs(len(source))) if not (by_step_out and i == along)]
    ranges: list[Bounds] = [(0, n_steps - 1)] if by_step_in else []
    kept = [size for i, size in enumerate(target) if not (by_step_in and i == along)]
    same = same and len(own) == len(kept)
    results = own if same else [Expr.range(len(ranges) + i) for i in range(len(kept))]
    ranges += [] if same else full_bounds(kept)
    if by_step_in:
        results = [*results[:along], Expr.range(0), *results[along:]]
    footprint = single_map(source, results, ranges=ranges, constraints=constraints).simplified()
    exact = dependence.exact and same and not dependence.crosses_devices
    return footprint if exact else Footprint(footprint.maps, False, _REASON, dependence.crosses_devices)


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The steps up to the element's step, all steps for a carry, and the init values of the carries."""
    dependence = step_dependence(instruction, shape_index[0], context)
    operands = range(len(instruction.operands))
    return [_map_between(instruction, shape_index[0], k, dependence) for k in operands]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Steps:
    """Call the computation for each step, in reverse order if ``is_reverse``, and stack the outputs."""
    along, n_inputs, n_outputs, _ = scan_dimensions(instruction)
    inputs, carries = operands[:n_inputs], list(operands[n_inputs:])
    shapes, steps = instruction.shape.tuple_shapes, range(inputs[0].shape[along])
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


def _operations(instruction: Instruction) -> Operations:
    """The computation, once for each step."""
    return Operations(calls=(scan_dimensions(instruction)[3],))


# The parameters that the step of a scan depends on, in the step itself and, through its carries, in earlier steps.


@dataclass
class StepDependence:
    """The parameters that one result of a step depends on, and for each whether at the same index only."""

    direct: dict[int, bool] = field(default_factory=dict)
    """In the step itself."""
    carried: dict[int, bool] = field(default_factory=dict)
    """Through carries, in earlier steps."""
    exact: bool = True
    """Whether each of these dependences holds in every step in which it is possible."""
    crosses_devices: bool = False
    """Whether a step exchanges elements with other devices."""


def _is_identity(part: OperandIndexing) -> bool:
    if isinstance(part, Unknown) or not part.exact:
        return False
    return all(part == identity_map([v.upper + 1 for v in m.dims]) for _, m in part.maps)


def step_dependence(instruction: Instruction, result: int, context: RuleContext) -> StepDependence:
    """The dependence of a result, found by following carries to a fixed point."""
    _, n_inputs, n_outputs, _ = scan_dimensions(instruction)
    reach = StepDependence()

    def parameters_of(number: int) -> dict[int, bool]:
        parts = by_number(context.output_to_input(instruction, instruction.called_computations[0], (number,)))
        reach.crosses_devices = reach.crosses_devices or any(
            isinstance(part, Footprint) and part.crosses_devices for part in parts.values()
        )
        return {k: _is_identity(part) for k, part in parts.items() if part != NOTHING}

    reach.direct = parameters_of(result)
    waiting = [(k, same) for k, same in reach.direct.items() if k >= n_inputs]
    while waiting:
        carry, same = waiting.pop()
        of_carry = parameters_of(n_outputs + carry - n_inputs)
        # A carry that does not depend on itself is reached after certain numbers of steps only; one that is reached
        # through another carry is not reached at once.
        reach.exact = reach.exact and of_carry.get(carry, False) and carry in reach.direct
        for k, inner in of_carry.items():
            found = same and inner
            if reach.carried.get(k, True) and (k not in reach.carried or not found):
                if k >= n_inputs and (k not in reach.carried or reach.carried[k] != found):
                    waiting.append((k, found))
                reach.carried[k] = found
    reach.exact = reach.exact and all(reach.direct.values()) and all(reach.carried.values())
    return reach


register(
    "scan",
    Maps(output_to_input, inverted(output_to_input), follows_tokens=True),
    Semantics(evaluate, operations=_operations),
)
