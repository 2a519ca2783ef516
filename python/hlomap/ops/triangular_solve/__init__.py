"""triangular-solve: x with op(a) x = b, or x op(a) = b, for triangular matrices a in the last two dimensions.

op(a) is a, its transpose or its adjoint.  With op(a) lower triangular on the left, unknown i of a column depends on
rows 0 to i.  Section TriangularSolve of XLA's operation semantics.
"""

from __future__ import annotations

from .._operations import solved
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("triangular-solve", output_to_input, input_to_output, evaluate, operations=solved))
