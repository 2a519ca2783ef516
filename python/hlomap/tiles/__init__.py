"""Tiles of outputs: the boxes that they read, their costs, and the best of many candidates.

Start with ``tiling``.  All answers come from maps and shapes alone.
"""
