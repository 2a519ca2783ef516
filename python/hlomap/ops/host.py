"""infeed, outfeed, send and recv: values that come from and go to queues, and between devices by channel.

A send never waits; a receive waits until something was sent to it.  The second half of each is in the page of
operations that hand values on.
"""

from __future__ import annotations

from .._core import Instruction
from ._maps import passes_from, passes_to, reaches_nothing, reads_nothing
from ._op import Answer, Context, Leaf, Op, register
from .meaning.host import put_out, recv, send, take_in


def _send_output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The first element is the operand itself."""
    return passes_from(instruction, leaf, 0, leaf[1:]) if leaf[0] == 0 else {}


def _send_input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    return passes_to(instruction, operand, leaf, *([(0, *leaf)] if operand == 0 else []))


register(Op("infeed", reads_nothing, reaches_nothing, take_in, acts=True, methods=("infeed", "infeed_with_token")))
register(Op("outfeed", reads_nothing, reaches_nothing, put_out, acts=True, methods=("outfeed", "outfeed_with_token")))
register(Op("send", _send_output_to_input, _send_input_to_output, send, acts=True))
register(Op("recv", reads_nothing, reaches_nothing, recv, acts=True, methods=("recv", "recv_with_token")))
