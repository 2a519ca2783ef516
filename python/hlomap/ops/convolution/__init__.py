"""convolution: the sum over window elements and input features of operand element times kernel element.

With feature groups, output feature f reads the input features of group ``f div (features / groups)``; with batch
groups, it reads the batches of that group.  The range variables are the window elements in the order of the spatial
dimensions, then the input features.  Section Conv of XLA's operation semantics.
"""

from __future__ import annotations

from .._op import OpRule, register
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(
    OpRule(
        "convolution",
        output_to_input,
        input_to_output,
        evaluate,
        builder_methods=("conv",),
        operations="multiply-adds",
    )
)
