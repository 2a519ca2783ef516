"""Queries about programs, and analyses of the resulting maps.

Every query takes one path: ``queries`` calls the compiled propagation once; that asks ``rule_provider`` for rules by
signature and composes them; ``assemble`` turns the records that come back into sets of maps.  An analysis of maps sees
maps and shapes, never an opcode or an attribute.
"""
