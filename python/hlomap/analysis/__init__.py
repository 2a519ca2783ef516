"""Queries about programs, and analyses of the resulting maps.

Every query takes one path: ``queries`` asks an object of ``questions`` once, a compiled propagation that gets rules by
signature and composes them; ``assemble`` turns the records that come back into sets of maps.  An analysis of maps sees
maps and shapes, never an opcode or an attribute.
"""
