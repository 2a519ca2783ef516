"""infeed, outfeed, send and recv: values from and to queues of the host, and between devices by channel.

A send never waits; a receive waits until a value was sent to it.  ``send-done`` and ``recv-done`` forward the values
(``passthrough.py``).  Sections Infeed, Outfeed, Send and Recv of XLA's operation semantics.
"""

from __future__ import annotations

from .._indexing.maps import reaches_nothing, reads_nothing
from .._operations import moves_elements
from .._registry import register
from .._rule import OpRule
from .evaluate import infeed, outfeed, recv, send
from .indexing import send_input_to_output, send_output_to_input

register(
    OpRule(
        "infeed",
        reads_nothing,
        reaches_nothing,
        infeed,
        has_side_effect=True,
        operations=moves_elements,
        builder_methods=("infeed", "infeed_with_token"),
    )
)
register(
    OpRule(
        "outfeed",
        reads_nothing,
        reaches_nothing,
        outfeed,
        has_side_effect=True,
        operations=moves_elements,
        builder_methods=("outfeed", "outfeed_with_token"),
    )
)
register(
    OpRule("send", send_output_to_input, send_input_to_output, send, has_side_effect=True, operations=moves_elements)
)
register(
    OpRule(
        "recv",
        reads_nothing,
        reaches_nothing,
        recv,
        has_side_effect=True,
        operations=moves_elements,
        builder_methods=("recv", "recv_with_token"),
    )
)
