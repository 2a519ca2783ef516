"""batch-norm-training, -inference and -grad: normalisation of each feature over all other dimensions.

A table says which operands each result is made of, and how: element by element (``SAME``), all elements of the feature
(``FEATURE``), or, where the operand has one element for each feature, that one (``ONE``).
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import NEEDS, input_to_output, output_to_input

for _name in NEEDS:
    register(OpRule(_name, output_to_input, input_to_output, evaluate))
