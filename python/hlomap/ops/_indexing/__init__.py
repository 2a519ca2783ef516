"""Index expressions and maps that several indexing rules share; never imports ``_numpy``."""
