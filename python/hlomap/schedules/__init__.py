"""GPU schedules: how XLA would distribute a fusion over threads, blocks and shared memory.

``flat``, ``transposes``, ``reductions`` and ``triton`` make the launch of one emitter each, from shapes and numbers
alone.  ``fusions`` looks at the instructions of a fusion, and ``schedule`` decides which emitter XLA takes.  This is
the only package whose analyses test opcodes: it describes a compiler, not a program.  The facts are those of XLA for
CUDA devices as of March 2026.
"""
