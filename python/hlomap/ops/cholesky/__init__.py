"""cholesky: the triangle l with l l^H = a (or u^H u = a) for each matrix a in the last two dimensions.

One triangle of a is read; the other triangle of the output is zero.  If a matrix is not positive definite, all elements
are NaN, so each element depends on the whole triangle.  Section Cholesky of XLA's operation semantics.
"""

from __future__ import annotations

from .._operations import factored
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("cholesky", output_to_input, input_to_output, evaluate, operations=factored))
