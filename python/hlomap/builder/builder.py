"""The builder of modules: a method for each operation, Values with operators, shapes checked as they are written.

The bases of :class:`Builder` hold the methods by kind.  Every op rule has a method, and every method that writes
an operation belongs to an op rule; a rule that a program registers adds its method to the class.
"""

from __future__ import annotations

from ..ops import OpRule, each
from ..writing.core import Core
from .attribute_methods import attribute_method, elementwise_method, method_name
from .collectives import Collectives
from .control_flow import ControlFlow
from .data_movement import DataMovement
from .derived import DerivedMethods
from .edits import Edits
from .elementwise import Elementwise
from .host_transfers import HostTransfers
from .numerics import Numerics
from .products import Products
from .reductions import Reductions


class Builder(
    Elementwise,
    DataMovement,
    Reductions,
    Products,
    Numerics,
    ControlFlow,
    Collectives,
    HostTransfers,
    DerivedMethods,
    Edits,
    Core,
):
    """Writes a module: one method for each operation, which is checked at the call and returns a :class:`Value`.

    An operand is a Value, a Python number or a NumPy array; dimension numbers may be negative.  A computation is a
    Python function over Values, the name of a common one such as ``"add"``, or a result of :meth:`computation`.
    Raises :class:`~hlomap.errors.ShapeError` if an argument breaks a rule of the operation and :class:`TypeError` if
    it has the wrong kind; the message names the method, and the argument or the instruction that the call would have
    written.  ``docs/builder.md`` says how methods are named.  In the examples of methods ``b`` is ``hm.Builder("m")``.

    >>> import hlomap as hm, numpy as np
    >>> b = hm.Builder("softmax")
    >>> x = b.parameter(0, "f32[2,3]", "x")
    >>> top = b.reduce(x, -np.inf, "max", dimensions=[-1])
    >>> e = b.exp(b.sub(x, top, broadcast_dimensions=[0]))
    >>> total = b.reduce(e, 0.0, lambda a, c: a + c, dimensions=[-1])
    >>> module = b.build(b.div(e, total, broadcast_dimensions=[0]))
    >>> hm.execute(module, np.zeros((2, 3), np.float32)).sum(axis=1).tolist()
    [1.0, 1.0]
    >>> b.transpose(x, [0, 0])
    Traceback (most recent call last):
    hlomap.errors.ShapeError: hm.Builder.transpose: permutation=[0, 0]: dimension 0 is repeated
    """


_WRITTEN = {name for base in Builder.__bases__ if base is not DerivedMethods for name in vars(base)}
# The opcode that a method which is not written by hand belongs to.
_opcodes: dict[str, str] = {}


def _add_methods(rule: OpRule) -> None:
    """Adds the methods of an op rule that the class lacks."""
    for declared in rule.semantics.builder_methods or (method_name(rule.opcode),):
        name = declared if isinstance(declared, str) else declared.name
        if isinstance(declared, str) and name in _WRITTEN:
            continue  # A written method may serve several op rules.
        if name in _WRITTEN or _opcodes.setdefault(name, rule.opcode) != rule.opcode:
            raise RuntimeError(f"two op rules for the method {name!r}")
        if hasattr(Builder, name):
            continue
        if isinstance(declared, str):
            method = attribute_method(name, rule.opcode)
        else:
            method = elementwise_method(rule.opcode, declared)
        setattr(DerivedMethods, name, method)


each(_add_methods)
