"""convolution: sum over window places and input features of operand element times kernel element.

Feature groups: output feature f uses the input features of group ``f div (features / groups)``.  Batch groups: output
feature f uses the batches of group ``f div (features / groups)``.  Range variables are the window places, in the order
of the spatial dimensions, then the features.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

METHODS = ("conv", "conv_with_general_padding", "conv_general_dilated")

register(OpRule("convolution", output_to_input, input_to_output, evaluate, builder_methods=METHODS))
