"""Elementwise operations: output[d] depends on operand[d] of each operand, and on scalar operands.

One indexing rule serves the family; a table maps each opcode to its function.  Sections Element-wise unary
functions, Element-wise binary arithmetic operations, Clamp, Map, Select and others of XLA's operation semantics.
"""

from __future__ import annotations

from .._known import moved
from .._registry import register
from .._rule import OpRule
from .builder_methods import METHODS
from .evaluate import semantics
from .indexing import input_to_output, output_to_input
from .known import known_values, possible, used
from .operations import operations_of

for _name, _evaluate in semantics():
    _is_alone = _name != "map"  # whose semantics are those of a computation
    register(
        OpRule(
            _name,
            output_to_input,
            input_to_output,
            _evaluate,
            pointwise=True,
            sizes_class="elementwise",
            operations=operations_of(_name),
            chooses=_name == "select",
            known_values=moved() if _name == "copy" else known_values(_evaluate) if _is_alone else None,
            possible_values=possible(_evaluate) if _is_alone else None,
            used=used(_evaluate) if _is_alone else None,
            builder_methods=METHODS.get(_name, ()),
        )
    )
