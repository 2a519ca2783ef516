"""What if these two kernels were one: a row for each edge between kernels, with what fusing them would change.

:func:`~hlomap.fusing.fusions.fusions` is the entry point.  Facts come from op rules and maps (``facts``, ``in_place``),
the rules of a compiler from :mod:`hlomap.schedules`, and numbers from the analyses of the fused kernel, which is a
module of its own (:func:`hlomap.fuse`).
"""
