"""Analyses: from maps and shapes to numbers.

Each analysis is one module with one record; it sees maps and shapes, never an opcode or an attribute: what an opcode
test could add here is a fact that the map lacks.
"""

from .reads import Reads, reads

__all__ = ["Reads", "reads"]
