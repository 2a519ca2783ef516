"""Maps through counted loops, without unrolling.

Read ``counter.py`` for how often a loop runs, then ``maps.py``: edges of one iteration (``edges.py``), which the
compiled search turns into maps of all iterations.
"""
