"""What a builder is made of: handles with operators, instructions as they are written, and the methods by kind.

Read :class:`Core` in `core`, then :func:`written`.  The files of methods are layers, each on the one before: `core`,
`broadcasting`, `elementwise`, `data_movement`, `reductions`, `products`, `control_flow`, `collectives`;
`attribute_methods` makes what nobody wrote.  Which of them :class:`hlomap.Builder` has, the op pages say.  Law: what a
builder has built, the reader of HLO text has read without a complaint.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType

from .attribute_methods import Method, by_attributes, method_name, pointwise
from .collectives import Collectives
from .core import Callee, Core, Function
from .values import Operand, Value

__all__ = ["Callee", "Core", "Function", "Method", "Operand", "Value", "by_attributes", "method_name", "pointwise"]
__all__ += ["written"]


def written() -> Mapping[str, Method]:
    """The methods of all layers above the writer by name, and the helpers that they share, which start with ``_``."""
    layers = [layer for layer in reversed(Collectives.__mro__) if issubclass(layer, Core) and layer is not Core]
    return {name: f for layer in layers for name, f in vars(layer).items() if isinstance(f, FunctionType)}
