"""Writes HLO from Python.

The bases of :class:`hlomap.Builder` hold the methods by kind and do not import each other:
`elementwise`, `data_movement`, `reductions`, `products`, `numerics`, `control_flow`, `collectives`, `host_transfers`,
and `derived`, whose methods follow from the op rules.  All of them extend `hlomap.writing.core`, which holds the state
of the builder and writes instructions.  A module that a builder writes reads back without a diagnostic.
"""

from __future__ import annotations

from ..writing.operands import Operand
from ..writing.values import Callee, Function, Value

__all__ = ["Callee", "Function", "Operand", "Value"]
