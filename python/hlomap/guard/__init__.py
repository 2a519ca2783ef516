"""Limits that a test asserts of a compiled program: what it moves, reads, copies and exchanges.

``check.py`` has the rules; ``golden.py`` compares a program with figures in a file, ``plugin.py`` is the
plugin of pytest, and ``compare.py`` the table for a pull request.
"""
