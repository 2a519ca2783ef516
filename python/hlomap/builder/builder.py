"""Modules from Python: a method for each operation that has a page, handles with operators, shapes checked at once.

Read :class:`Builder`.  The law: it has the methods that the op pages name and no others, so a page that is added, also
while a program runs, adds its method.  What type checkers see of it is made from the same pages (`builder.pyi`).
"""

from __future__ import annotations

from ..ops import OpRule, each
from . import Core, by_attributes, method_name, pointwise, written

__all__ = ["Builder"]


class Builder(Core):
    """Writes a module: one method for each operation, which checks its arguments and gives a :class:`Value`.

    Operands are handles, Python numbers or NumPy arrays; dimension numbers may be negative.  Where a method takes a
    computation it takes a Python function over handles, the name of a common one such as ``"add"``, or what
    :meth:`computation` gave.  A broken rule raises :class:`~hlomap.ShapeError` with the operation, the argument, its
    value and the rule.  The page on the builder lists all methods.

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
    hlomap.errors.ShapeError: transpose: permutation=[0, 0]: dimension 0 twice
    """


_WRITTEN = {**written(), "constant": Core.constant, "parameter": Core.parameter}


def _add_methods(op: OpRule) -> None:
    for declared in op.builder_methods or (method_name(op.opcode),):
        if isinstance(declared, str):
            name = declared
            method = _WRITTEN.get(name) or by_attributes(name, op.opcode)
        else:
            name, attributes, on_floats = declared.name, dict(declared.attributes), dict(declared.on_floats)
            about = declared.n_operands, declared.element_types, declared.gives
            method = pointwise(name, op.opcode, *about, attributes, on_floats)
        # A written method may be that of several pages.
        if vars(Builder).get(name, method) is not method:
            raise RuntimeError(f"two op pages for the method {name!r}")
        setattr(Builder, name, method)


for _name, _helper in _WRITTEN.items():
    if _name.startswith("_"):
        setattr(Builder, _name, _helper)
each(_add_methods)
