"""Maps through counted loops, without unrolling.

Read ``counter.py`` for how often a loop runs, then ``maps.py``: edges of one iteration (``edges.py``), closed forms of
what many iterations do (``forms.py``, ``stacked.py``), and the paths through both.
"""
