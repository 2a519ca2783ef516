"""All operations whose output element d is made of the operands' elements d; a scalar operand belongs to every d.

One rule for the family; the table gives each name its meaning on arrays.  Which function it is does not matter to
the maps, and the maps do not matter to the functions.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .builder_methods import METHODS
from .evaluate import semantics
from .indexing import input_to_output, output_to_input

for _name, _evaluate in semantics():
    register(
        OpRule(
            _name,
            output_to_input,
            input_to_output,
            _evaluate,
            pointwise=True,
            sizes_class="elementwise",
            builder_methods=METHODS.get(_name, ()),
        )
    )
