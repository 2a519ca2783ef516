"""Pieces of HLO text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def commas(items: Iterable[Any]) -> str:
    return ",".join(map(str, items))


def softmax(name: str, sizes: str) -> str:
    """A computation of the softmax along the last of three dimensions, with the computations that it calls."""
    rows = sizes.rpartition(",")[0]
    return f"""
max {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}}
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}
{name} {{
  p = f32[{sizes}] parameter(0)
  low = f32[] constant(-inf)
  m = f32[{rows}] reduce(p, low), dimensions={{2}}, to_apply=max
  wide = f32[{sizes}] broadcast(m), dimensions={{0,1}}
  shifted = f32[{sizes}] subtract(p, wide)
  e = f32[{sizes}] exponential(shifted)
  zero = f32[] constant(0)
  total = f32[{rows}] reduce(e, zero), dimensions={{2}}, to_apply=add
  totals = f32[{sizes}] broadcast(total), dimensions={{0,1}}
  ROOT r = f32[{sizes}] divide(e, totals)
}}
"""
