"""The parameters that the step of a scan depends on, in the step itself and, through its carries, in earlier steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..._core import Computation, Instruction
from ...answers import Unknown
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext
from .maps import identity_map


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


def step_dependence(
    instruction: Instruction, computation: Computation, result: int, n_inputs: int, n_outputs: int, context: RuleContext
) -> StepDependence:
    """The dependence of a result, found by following carries to a fixed point.

    The first ``n_inputs`` parameters are inputs, the first ``n_outputs`` results outputs; the others are carries.
    """
    reach = StepDependence()

    def parameters_of(number: int) -> dict[int, bool]:
        maps = context.output_to_input(instruction, computation, (number,))
        parts = maps if isinstance(maps, Mapping) else dict(enumerate(maps))
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
