"""What a builder is made of: handles with operators, instructions as they are written, and the methods by kind.

Read :class:`Writer` in `writing`, then :func:`written`.  The files of methods are layers, each on the one before:
`writing`, `stretching`, `elementwise`, `moves`, `folds`, `products`, `control`, `devices`; `made` makes what nobody
wrote.  Which of them :class:`hlomap.Builder` has, the op pages say.  Law: what a builder has built, the reader of HLO
text has read without a complaint.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType

from .devices import Devices
from .made import Method, by_attributes, method_name, pointwise
from .values import Operand, Value
from .writing import Callee, Function, Writer

__all__ = ["Callee", "Function", "Method", "Operand", "Value", "Writer", "by_attributes", "method_name", "pointwise"]
__all__ += ["written"]


def written() -> Mapping[str, Method]:
    """The methods of all layers above the writer by name, and the helpers that they share, which start with ``_``."""
    layers = [layer for layer in reversed(Devices.__mro__) if issubclass(layer, Writer) and layer is not Writer]
    return {name: f for layer in layers for name, f in vars(layer).items() if isinstance(f, FunctionType)}
