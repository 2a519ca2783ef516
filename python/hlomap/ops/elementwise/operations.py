"""How many operations an elementwise operation takes: a flop, a transcendental one, or those of a computation."""

from __future__ import annotations

from .._operations import Cost, applied, moves_elements, one_each, transcendental

_TRANSCENDENTAL = frozenset(
    """
    acos acosh asin asinh atan2 atanh cbrt cosh cosine erf exp2 exponential exponential-minus-one log log-plus-one
    logistic power rsqrt sine sinh sqrt tan tanh
    """.split()  # noqa: SIM905 (a list would be 23 lines)
)
_OTHERS: dict[str, Cost] = {"copy": moves_elements, "map": applied}


def operations_of(opcode: str) -> Cost:
    """The trait ``operations`` of an elementwise operation."""
    return _OTHERS.get(opcode, transcendental if opcode in _TRANSCENDENTAL else one_each)
