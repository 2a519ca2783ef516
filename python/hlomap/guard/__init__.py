"""Limits that a test asserts for a compiled program: on data moved, read, copied and exchanged.

``check.py`` has the rules, ``figures.py`` the figures of golden files and pull requests; ``plugin.py`` is the pytest
plugin, ``fixture.py`` its fixture.
"""
