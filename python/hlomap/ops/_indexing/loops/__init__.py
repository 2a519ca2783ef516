"""Maps through counted loops, without unrolling.

``counter.py`` tells how often a loop runs, ``maps.py`` which elements an iteration reads: edges of one iteration,
which the compiled search turns into maps of all iterations.  ``window.py`` has the windows that the body accesses.
"""
