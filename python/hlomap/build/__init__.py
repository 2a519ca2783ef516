"""Modules from Python: a method for each operation, handles with operators, shapes checked while one writes.

Read :class:`Builder`; its methods stand by kind in the files of this package, each a layer on the one before:
`writing` (names, constants, computations, the text), `stretching`, `unary`, `binary`, `elementwise`, `moves`, `folds`,
`products`, `control`, `devices`.  Law: what a builder has built, the reader of HLO text has read without a complaint.
"""

from __future__ import annotations

from .devices import Devices
from .values import Operand, Value
from .writing import Callee, Function

__all__ = ["Builder", "Callee", "Function", "Operand", "Value"]


class Builder(Devices):
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
