"""sort: each row along one dimension in the order of a comparator; operands are n arrays that move together.

The comparator sees a pair of elements of each operand.  Equal elements keep their order, whether asked for or not.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("sort", output_to_input, input_to_output, evaluate))
