"""bitcast: elements at the same place in memory belong together, so the two layouts decide.

It is transpose-reshape-transpose: order the dimensions as they lie in memory, reshape, order them as the other layout
has them.  Tiled layouts go through positions in memory.  Where the widths of the elements differ, a wider element lies
where a row of narrower ones does: one more dimension, the most minor one.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("bitcast", output_to_input, input_to_output, evaluate))
