"""Sets of indexing maps and operations on maps; independent of HLO operations."""
