"""Bytes that a program moves, that devices send each other, that profiles measured, and that a kernel accesses.

``cost`` sums over a program; ``wire`` computes the bytes between devices, and ``collectives`` lists them.
``coalescing``, ``utilization`` and ``readers`` are about one kernel or value.  All answers come from maps and shapes
alone.
"""
