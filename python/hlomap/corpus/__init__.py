"""Analyses many files into one table; a separate package, so that ``analysis`` needs no files and no processes."""
