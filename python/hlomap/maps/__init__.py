"""Sets of indexing maps and operations on maps alone; nothing here reads HLO operations."""
