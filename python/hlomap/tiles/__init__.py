"""Tiles of outputs: the boxes that they read, their costs, and which of many are best.

``tiling`` is the module to read first.  All is answered from maps and shapes alone.
"""
