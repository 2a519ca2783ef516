"""Many files to one file of rows, on worker processes that may die."""
