"""NAME-start, NAME-update and NAME-done of any registered operation NAME, as in ``transpose-start``.

The start returns (operands, result, state, ...), updates forward that, the done returns the result.  Section AsyncStart
of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._registry import register_derived
from .._rule import OpRule
from .evaluate import evaluate_forwarding, evaluate_start
from .indexing import forwarding_rules, start_collective, start_rules


def async_form(opcode: str, registered: Mapping[str, OpRule]) -> OpRule | None:
    """The rule of a start, an update or a done of a registered operation; None for any other opcode."""
    base, _, step = opcode.rpartition("-")
    op = registered.get(base)
    if op is None:
        return None
    if step == "start":
        return OpRule(
            opcode,
            *start_rules(opcode, op),
            evaluate_start(op.evaluate),
            op.constant_operands,
            depends_on_called_values=op.depends_on_called_values,
            collective=start_collective(op.collective) if op.collective is not None else None,
        )
    sources = {"update": (), "done": (1,)}
    if step not in sources:
        return None
    return OpRule(opcode, *forwarding_rules(sources[step]), evaluate_forwarding(sources[step]))


register_derived(async_form)
