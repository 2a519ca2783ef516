"""Sets of maps and what can be asked of maps alone; knows no HLO."""
