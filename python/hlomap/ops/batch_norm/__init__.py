"""batch-norm-training, -inference and -grad: normalization of each feature over all other dimensions.

A table lists the elements of an operand that a result depends on: the same element (``SAME``), all elements of the same
feature (``FEATURE``), or the one element of the feature where the operand has one for each (``ONE``).  Sections
BatchNormTraining, BatchNormInference and BatchNormGrad of XLA's operation semantics.
"""

from __future__ import annotations

from .._operations import unknown_operations
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import DEPENDENCES, input_to_output, output_to_input

for _name in DEPENDENCES:
    register(
        OpRule(
            _name,
            output_to_input,
            input_to_output,
            evaluate,
            operations=unknown_operations("XLA expands a batch norm before it runs"),
        )
    )
