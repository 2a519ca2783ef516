"""get-dimension-size, set-dimension-size, dynamic-reshape: arrays with dynamic sizes below their bounds.

The interpreter keeps such an array at its dynamic size, so every operation on it sees the elements in use.  Sections
GetDimensionSize, SetDimensionSize and DynamicReshape of XLA's operation semantics.
"""

from __future__ import annotations

from .._indexing.maps import (
    reaches_nothing,
    reads_nothing,
)
from .._operations import moves_elements
from .._registry import register
from .._rule import OpRule
from .evaluate import dynamic_reshape, get_dimension_size, set_dimension_size
from .indexing import reshape_input_to_output, reshape_output_to_input, set_input_to_output, set_output_to_input

register(OpRule("get-dimension-size", reads_nothing, reaches_nothing, get_dimension_size, operations=moves_elements))
register(
    OpRule(
        "set-dimension-size", set_output_to_input, set_input_to_output, set_dimension_size, operations=moves_elements
    )
)
register(
    OpRule(
        "dynamic-reshape", reshape_output_to_input, reshape_input_to_output, dynamic_reshape, operations=moves_elements
    )
)
