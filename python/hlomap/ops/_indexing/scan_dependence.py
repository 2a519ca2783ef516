"""What a step of a scan reaches through its carries, in itself and in the steps before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..._core import Computation, Instruction
from ...types import Unknown
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext
from .maps import identity_map


@dataclass
class StepDependence:
    """What one result of a step needs of the computation's parameters: whether at the same place, by parameter."""

    direct: dict[int, bool] = field(default_factory=dict)
    """In the step itself."""
    carried: dict[int, bool] = field(default_factory=dict)
    """Through carries, in a step before."""
    exact: bool = True
    crosses_devices: bool = False
    """Whether a step leads to other devices."""


def _same_places(part: OperandIndexing) -> bool:
    if isinstance(part, Unknown) or not part.exact:
        return False
    return all(part == identity_map([v.upper + 1 for v in m.dims]) for _, m in part.maps)


def step_dependence(
    instruction: Instruction, computation: Computation, result: int, n_inputs: int, n_outputs: int, context: RuleContext
) -> StepDependence:
    """Follows the carries until nothing new is found; the first parameters are inputs, the first results outputs."""

    reach = StepDependence()

    def needs(number: int) -> dict[int, bool]:
        said = context.output_to_input(instruction, computation, (number,))
        parts = said if isinstance(said, Mapping) else dict(enumerate(said))
        reach.crosses_devices = reach.crosses_devices or any(
            isinstance(part, Footprint) and part.crosses_devices for part in parts.values()
        )
        return {k: _same_places(part) for k, part in parts.items() if part != NOTHING}

    reach.direct = needs(result)
    waiting = [(k, same) for k, same in reach.direct.items() if k >= n_inputs]
    while waiting:
        carry, same = waiting.pop()
        of_carry = needs(n_outputs + carry - n_inputs)
        # A carry that does not need itself is found after some steps only, and one that is found later is not at once.
        reach.exact = reach.exact and of_carry.get(carry, False) and carry in reach.direct
        for k, inner in of_carry.items():
            found = same and inner
            if reach.carried.get(k, True) and (k not in reach.carried or not found):
                if k >= n_inputs and (k not in reach.carried or reach.carried[k] != found):
                    waiting.append((k, found))
                reach.carried[k] = found
    reach.exact = reach.exact and all(reach.direct.values()) and all(reach.carried.values())
    return reach
