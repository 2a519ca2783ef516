"""triangular-solve: x with op(a) x = b, or x op(a) = b, for triangular matrices a in the last two dimensions.

op(a) is a, its transpose or its adjoint.  Unknown i of a column needs, where op(a) is lower on the left, rows up to i.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("triangular-solve", output_to_input, input_to_output, evaluate))
