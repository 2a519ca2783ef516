"""NumPy arithmetic that the semantics of several operations share; never imports ``_indexing``."""
