"""NumPy arithmetic that several semantics share; never imports `_indexing`."""
