"""Asynchronous operations: async-start, -update and -done, and their short forms, as in transpose-start.

The value of a step is ((bound operands...), result, context...).  The start binds the first operands of the wrapped
operation, or of the computation that it calls; updates bind the next ones.  The result, or the first parts of it, may
be there from any step on, and is whole in the done.  Section AsyncStart of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .._operations import unknown_operations
from .._registry import lookup, register, register_derived
from .._rule import InPlace, OpRule, no_constant_operands
from .attributes import bound_value
from .evaluate import evaluate_step
from .indexing import start_collective, step_rules

_STEPS = ("start", "update", "done")


def short_form(opcode: str, registered: Mapping[str, OpRule]) -> OpRule | None:
    """The rule of a step whose opcode names a registered operation; None for any other opcode."""
    base, _, step = opcode.rpartition("-")
    op = registered.get(base)
    return None if op is None or step not in _STEPS else _rule(opcode, lambda: op)


def _rule(opcode: str, wrapped: Callable[[], OpRule]) -> OpRule:
    rules = *step_rules(opcode, wrapped), evaluate_step(lambda: wrapped().evaluate)
    if not opcode.endswith("-start"):
        # What a later step binds has runtime variables that are operands of other steps.
        return OpRule(opcode, *rules, depends_on_called_values=True, operations="moves", moves_nothing=True)
    is_long = opcode == "async-start"
    op = None if is_long else wrapped()
    return OpRule(
        opcode,
        *rules,
        constant_operands=op.constant_operands if op else no_constant_operands,
        depends_on_called_values=op.depends_on_called_values if op else True,
        collective=start_collective(op.collective) if op and op.collective else None,
        forwards_calls=is_long,
        in_place=lambda instruction: {(0, k): InPlace(k, replaces=False) for k in range(len(instruction.operands))},
        operations=None if is_long else unknown_operations("the wrapped operation has no computation"),
        runs="once" if is_long else None,
        moves_nothing=is_long,
        value_of_parameter=bound_value if is_long or (op and op.value_of_parameter) else None,
    )


for _step in _STEPS:
    register(_rule(f"async-{_step}", lambda: lookup("call")))
register_derived(short_form)
