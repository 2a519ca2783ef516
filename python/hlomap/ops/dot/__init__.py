"""dot: output dimensions are the batch dimensions, the free ones of the left side, the free ones of the right."""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("dot", output_to_input, input_to_output, evaluate, builder_methods=("dot", "dot_general")))
