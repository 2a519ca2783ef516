"""bitcast: elements at the same position in memory correspond, as the layouts of operand and output place them.

Without tiles that is transpose, reshape, transpose: dimensions in major-to-minor order, reshaped, and back in the order
of the other layout.  Tiled layouts go through positions in the buffer.  Between element types of different widths the
position of a wider element is a row of narrower ones, one more dimension, the most minor one.  See "Shapes and layout"
of XLA's documentation.
"""

from __future__ import annotations

from .._known import moved
from .._operations import moves_elements
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(
    OpRule(
        "bitcast",
        output_to_input,
        input_to_output,
        evaluate,
        moves_nothing=True,
        known_values=moved(),
        operations=moves_elements,
    )
)
