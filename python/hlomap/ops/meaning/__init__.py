"""What operations compute, in NumPy, for the pages of :mod:`hlomap.ops` that are longer than a rule and a line or two.

A module here has the name of its page.  It knows nothing of maps: each is the test of the other.
"""
