"""Kernels that a grid of steps runs block by block, as Pallas and Triton do: their index maps and what they move.

:mod:`~hlomap.kernels.trace` turns Python functions into indexing maps, :mod:`~hlomap.kernels.block_specs` reads grids
and block specs, :mod:`~hlomap.kernels.walk` answers questions about one operand, :mod:`~hlomap.kernels.kernel` has
:func:`hlomap.kernel`.  No HLO: what a kernel does with its blocks is not known here.
"""
