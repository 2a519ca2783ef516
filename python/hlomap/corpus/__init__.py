"""Analyses many files into one table; apart from analysis, which knows no files and no processes."""
