"""Shardings of all values of a program before XLA chooses them, and what devices send for them.

:func:`hlomap.shard` and :class:`Sharder` (``sharder.py``) are the entry points, :class:`ShardPlan` (``plan.py``) is the
answer.  ``graph.py`` reads a program as rules applied to values, ``specs.py`` names of axes and values.  Rules are read
off indexing maps, and propagated, by the compiled module.  The answers predict a partitioner; the package
:mod:`hlomap.shardings` has what holds for any.
"""
