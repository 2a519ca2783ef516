"""Programs with loops."""

from __future__ import annotations

import lzma
from functools import lru_cache
from pathlib import Path

import hlomap as hm

LOOPS = Path(__file__).parents[1] / "cases" / "loops.hlo.xz"


@lru_cache
def programs() -> dict[str, hm.Module]:
    """Loops that JAX lowered (``.pre``) and XLA optimized, by name: scans, fori loops, gradients; at most 5 steps."""
    modules = hm.parse_all(lzma.decompress(LOOPS.read_bytes()).decode())
    return {module.name: module for module in modules}


def loops(module: hm.Module) -> list[hm.Instruction]:
    return [at for computation in module.computations for at in computation.instructions if at.opcode == "while"]


def only_loop(name: str) -> hm.Instruction:
    (found,) = loops(programs()[name])
    return found
