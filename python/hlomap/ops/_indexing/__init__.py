"""Index arithmetic that several indexing rules share; never imports `_numpy`."""
