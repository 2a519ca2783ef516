"""sort: rows along one dimension in the order of a comparator; the operands are n arrays that are permuted together.

The comparator receives a pair of elements of each operand.  The sort is stable even without ``is_stable``.  Section
Sort of XLA's operation semantics.
"""

from __future__ import annotations

from .._operations import sorted_along
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("sort", output_to_input, input_to_output, evaluate, operations=sorted_along))
