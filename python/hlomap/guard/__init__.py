"""Limits that a test asserts of a compiled program: what it moves, reads, copies and exchanges.

``check.py`` has the rules, ``figures.py`` the figures of golden files and pull requests; ``plugin.py`` is the plugin of
pytest, ``fixture.py`` its fixture.
"""
