"""The indexing rule of scan."""

from __future__ import annotations

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import dim_exprs, full_bounds, simplify_maps, single_map
from .._indexing.scan_dependence import StepDependence, step_dependence
from .._rule import NOTHING, Bounds, ExprLike, Footprint, RuleContext, RuleResult
from .attributes import layout

_REASON = "scan: which elements and steps go through the carries depends on the computation"


def _reach(instruction: Instruction, result: int, context: RuleContext) -> StepDependence:
    _, n_inputs, n_outputs, _ = layout(instruction)
    return step_dependence(instruction, instruction.called_computations[0], result, n_inputs, n_outputs, context)


def _between(
    instruction: Instruction, result: int, operand: int, reach: StepDependence, *, backward: bool
) -> Footprint:
    """From a result to an operand, or back."""
    along, n_inputs, n_outputs, n_steps = layout(instruction)
    out, given = instruction.shape.tuple_shapes[result].dimensions, instruction.operands[operand].shape.dimensions
    source, target = (out, given) if backward else (given, out)
    step_out, step_in = result < n_outputs, operand < n_inputs
    if operand >= n_inputs:
        # An init is what the carry is before the first step; without a step it is the result.
        first = dict(reach.direct) if n_steps else ({operand: True} if result - n_outputs == operand - n_inputs else {})
        found = {
            k: first.get(k, True) and reach.carried.get(k, True) for k in {*first, *(reach.carried if n_steps else ())}
        }
        if operand not in found:
            return NOTHING
        same, constraint = found[operand], None
    else:
        now, before = operand in reach.direct, operand in reach.carried
        if not (now or before):
            return NOTHING
        same = reach.direct.get(operand, True) and reach.carried.get(operand, True)
        reverse = bool(instruction.attributes.get("is_reverse", False))
        at_out: ExprLike = Expr.dim(along) if backward else Expr.range(0)
        at_in: ExprLike = Expr.range(0) if backward else Expr.dim(along)
        if not step_out:
            at_out = 0 if reverse else n_steps - 1
        distance = at_in - at_out if reverse else at_out - at_in
        constraint = (distance, 0 if now else 1, n_steps - 1 if before else 0)
    source_step, target_step = (step_out, step_in) if backward else (step_in, step_out)
    own: list[ExprLike] = [e for i, e in enumerate(dim_exprs(len(source))) if not (source_step and i == along)]
    ranges: list[Bounds] = [(0, n_steps - 1)] if target_step else []
    kept = [size for i, size in enumerate(target) if not (target_step and i == along)]
    same = same and len(own) == len(kept)
    results = own if same else [Expr.range(len(ranges) + i) for i in range(len(kept))]
    ranges += [] if same else full_bounds(kept)
    if target_step:
        results = [*results[:along], Expr.range(0), *results[along:]]
    made = single_map(
        full_bounds(source), results, ranges=ranges, constraints=[constraint] if constraint is not None else []
    )
    made = simplify_maps(made)
    exact = reach.exact and same and not reach.crosses_devices
    return made if exact else Footprint(made.maps, False, _REASON, reach.crosses_devices)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The steps up to the own one, all of them for a carry; every init that a carry brings."""
    reach = _reach(instruction, leaf[0], context)
    operands = range(len(instruction.operands))
    return [_between(instruction, leaf[0], k, reach, backward=True) for k in operands]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The own step and those after it, and the carries."""
    results = range(len(instruction.shape.tuple_shapes))
    found = [_between(instruction, i, operand, _reach(instruction, i, context), backward=False) for i in results]
    return [part.at((i,)) for i, part in enumerate(found)]
