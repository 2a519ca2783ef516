"""Bytes: what a program moves, what devices send each other, what profiles measured, what memory sees of a kernel.

``cost`` sums a program; ``wire`` has the bytes between devices, and ``collectives`` lists them.  ``coalescing``,
``utilization`` and ``readers`` ask about one kernel or value.  All are answered from maps and shapes alone.
"""
