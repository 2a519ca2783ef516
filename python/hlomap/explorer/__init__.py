"""Writes the fusion explorer: one self-contained HTML page about a module, two stages of it, or a dump directory.

:func:`hlomap.explore` is in ``page.py``; ``contents.py`` makes the data of a module with what its instructions read,
and those of a diff.  The page itself is ``page.html``, ``page.css`` and the scripts: they compute what an element reads
from the maps.  Names and texts of a program are data, in a JSON block without ``<``, and never become markup or script.
"""
