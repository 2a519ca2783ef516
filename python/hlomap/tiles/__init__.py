"""Tiles of outputs, and what memory sees of a kernel: boxes that tiles read, sectors, reads of each element.

``tiling`` has the tiles; ``coalescing``, ``utilization`` and ``readers`` hold the other questions.  All are answered
from maps and shapes alone.
"""
