"""Tiles of huge, empty and scalar arrays, and of many dimensions: every call answers, quickly."""

from __future__ import annotations

import numpy as np
import pytest

import hlomap as hm

HUGE = 2**62
MANY = ",".join(["2"] * 30)
BODIES = {
    "huge": f"p = f32[{2**63 - 1}] parameter(0)\nROOT n = f32[{2**63 - 1}] negate(p)",
    "huge reverse": f"p = f32[{HUGE}] parameter(0)\nROOT n = f32[{HUGE}] reverse(p), dimensions={{0}}",
    "huge reshape": f"p = s8[{2**31},{2**31}] parameter(0)\nROOT n = s8[{HUGE}] reshape(p)",
    "empty": "p = f32[0,5] parameter(0)\nROOT n = f32[0,5] negate(p)",
    "scalar": "p = f32[] parameter(0)\nROOT n = f32[] negate(p)",
    "merged": f"p = f32[{MANY}] parameter(0)\nROOT n = f32[{2**30}] reshape(p)",
    "split": f"p = f32[{2**30}] parameter(0)\nROOT n = f32[{MANY}] reshape(p)",
}


@pytest.mark.parametrize("name", BODIES)
def test_every_call_answers(name: str) -> None:
    t = hm.tile(hm.parse(f"ENTRY e {{\n{BODIES[name]}\n}}").entry)
    sizes = [p.size for p in t.params]
    rows = [[max(1, n) for n in sizes], [max(1, n // 2) for n in sizes], [1 for _ in sizes], [7 for _ in sizes]]
    candidates = np.array(rows, np.int64).reshape(4, len(sizes))
    table = t.evaluate(candidates, limits="triton", device="h100")
    assert (table["grid"] >= 0).all()
    fits = (table["read_bytes"] >= 0).all(axis=1)
    assert fits.all() or name.startswith("huge")
    assert not (table["legal"] & ~fits).any() and (table["read_bytes"][~fits] == -1).all()
    assert [t.candidates(kind, at_most=5).shape[1] for kind in ("pow2", "dense")] == [len(sizes)] * 2
    assert str(t) and all(str(clause) for clause in t.legal)
    for row in candidates.tolist():
        assert t.explain(row).startswith("tile [")
        for read in t.reads:
            assert len(t.box(read, row, [0 for _ in sizes]).stride) == len(read.instruction.shape.dimensions)
