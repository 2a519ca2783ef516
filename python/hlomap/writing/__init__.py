"""Writes HLO: the core of :class:`hlomap.Builder` and of the definitions of library calls.

`core` holds the state and writes instructions, `values` what it writes; `inference` asks the reader of HLO text for
shapes, `attributes` and `constants` give values as text, `arguments` and `naming` the errors.  Methods that write an
operation each are those of :mod:`hlomap.builder`.
"""
