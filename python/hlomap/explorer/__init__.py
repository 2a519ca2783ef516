"""Writes the fusion explorer: one self-contained HTML page about a module, two stages of it, or a dump directory.

:func:`hlomap.explore` is in ``page.py``; ``contents.py`` collects the data of a module, the reads of its instructions,
and a diff.  The page itself is ``page.html``, ``page.css`` and the scripts, which compute the reads of an element from
the maps.  Names and texts of a program are data, in a JSON block without ``<``, and never become markup or script.
"""
