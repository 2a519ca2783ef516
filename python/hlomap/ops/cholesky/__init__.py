"""cholesky: of each symmetric matrix in the last two dimensions the triangle whose product with its transpose it is.

Of the operand one triangle is read; the other one of the output is zero.  A matrix that is not positive definite
has NaN everywhere, so each element depends on the whole triangle.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("cholesky", output_to_input, input_to_output, evaluate))
