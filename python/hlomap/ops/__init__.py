"""Op rules: for each operation its indexing rules and its semantics in NumPy.

Every module of this package whose name has no leading underscore registers the rules of one operation, or of a family
of operations.  A short op rule is one file; a long one is a folder with its indexing rules in ``__init__.py`` and its
semantics in ``evaluate.py``.  Indexing rules and semantics check each other, so neither is written in terms of the
other: shared code is in ``_indexing`` and ``_numpy``, which do not import each other; only ``_shapes`` and
``_attributes`` serve both.

To add an operation ``my-op``, write two files and edit no list:

1. ``python/hlomap/ops/my_op.py``, with ``transpose.py`` as a model: the functions ``output_to_input``,
   ``input_to_output`` and ``evaluate`` (see :class:`OpRule`), then
   ``register("my-op", Maps(output_to_input, input_to_output), Semantics(evaluate))``, and in it ``Values``, ``Memory``
   or ``Calls`` where their defaults do not fit.  One statement gives both rules where elements correspond by dimensions
   (``rules_by_dims``), and ``inverted(output_to_input)`` is the other rule of any operation: in some 20 microseconds,
   which only a frequent one needs to avoid.
   A line of text gives both rules where the index of an operand follows from that of the output
   (``described("[a] <- [a=dimensions]")``, see ``rust/flow/src/plain``); the core evaluates it without importing the
   module, by the table ``_traits.py``, which the tests write.
2. ``tests/cases/ops/my_op.hlo``: small modules whose roots are the operation.  Run the tests with ``HLOMAP_BLESS=1`` to
   write the maps as comments, and read them.  Every case is also checked against the interpreter.

A module is imported when an operation is first looked up; importing the package imports none of them.  The traits of
all operations are known before.
"""

from __future__ import annotations

from ._registry import each, lookup, op_of, registered
from ._rule import OpRule

__all__ = ["OpRule", "each", "lookup", "op_of", "registered"]
