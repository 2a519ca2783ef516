"""Shardings of all values of a program before XLA chooses them, and what devices send for them.

:func:`hlomap.shard` and :class:`Sharder` (``sharder.py``) are the entry points, :class:`ShardPlan` (``plan.py``) is the
answer.  ``graph.py`` reads a program as rules applied to values; the compiled module reads rules off indexing maps and
propagates shardings through them.  The answers predict a partitioner; the package :mod:`hlomap.shardings` has what
holds for any, and the names of axes (``specs.py``).
"""
