"""Coalescing of the kernels that XLA would make: they read what the fusion needs, in the order of the schedule."""

from __future__ import annotations

import numpy as np
import pytest

import hlomap as hm
from hlomap.maps.enumerate_pairs import enumerate_pairs

ADD = "add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }\n"

FUSIONS = [
    # emitter, operands of the fusion, its body, then requests, sectors and bytes used of each read, then of each write
    (
        "tiled_transpose",
        ["f32[100,32,64]", "f32[100,64,32]"],
        """n = f32[100,32,64] negate(p0)  t = f32[100,64,32] transpose(n), dimensions={0,2,1}
        ROOT r = f32[100,64,32] add(t, p1)""",
        [(6400, 25600, 819200), (6400, 25600, 819200)],
        [(6400, 25600, 819200)],
    ),
    (
        "row_reduction",
        ["f32[64,2048]"],
        """z = f32[] constant(0)  e = f32[64,2048] exponential(p0)
        s = f32[64] reduce(e, z), dimensions={1}, to_apply=add
        ROOT r = f32[64] negate(s)""",
        [(2048, 16384, 524288)],  # two neighbours at once
        [(64, 64, 256)],
    ),
    (
        "column_reduction",
        ["f32[2048,256]"],
        """z = f32[] constant(0)  e = f32[2048,256] exponential(p0)
        ROOT r = f32[256] reduce(e, z), dimensions={0}, to_apply=add""",
        [(8192, 65536, 2097152)],  # two neighbouring columns for each thread
        [(128, 128, 1024)],  # by the first thread of each warp
    ),
    (
        "concatenate",
        ["f32[40,30]", "f32[20,30]"],
        "ROOT r = f32[60,30] concatenate(p0, p1), dimensions={0}",
        [(38, 150, 4800), (19, 75, 2400)],
        [(38, 150, 4800), (19, 75, 2400)],
    ),
    (
        "loop",
        ["f32[1000]", "f32[1000]"],
        """a = f32[1000] add(p0, p1)  m = f32[1000] multiply(p0, p1)
        ROOT r = (f32[1000], f32[1000]) tuple(a, m)""",
        [(32, 125, 4000), (32, 125, 4000)],
        [(32, 125, 4000), (32, 125, 4000)],
    ),
    (
        "dus",
        ["f32[64,128]", "f32[8,128]"],
        "i = s32[] constant(3)  ROOT r = f32[64,128] dynamic-update-slice(p0, p1, i, i)",
        [(32, 128, 4096)],
        [(32, 128, 4096)],
    ),
]


@pytest.mark.parametrize(("emitter", "operands", "body", "reads", "writes"), FUSIONS, ids=[f[0] for f in FUSIONS])
def test_kernels(
    emitter: str, operands: list[str], body: str, reads: list[tuple[int, ...]], writes: list[tuple[int, ...]]
) -> None:
    fusion = fused(operands, body)
    assert hm.schedule(fusion).emitter == emitter
    found = hm.coalescing(fusion)
    counts = [(r.is_write, r.requests, r.sectors, r.bytes_used) for r in found]
    assert counts == [(False, *r) for r in reads] + [(True, *w) for w in writes]


@pytest.mark.parametrize(("emitter", "operands", "body"), [f[:3] for f in FUSIONS], ids=[f[0] for f in FUSIONS])
def test_kernels_read_what_the_fusion_needs(emitter: str, operands: list[str], body: str) -> None:
    fusion = fused(operands, body)
    shape = fusion.shape
    needed: dict[int, set[int]] = {}
    for index in [(k,) for k in range(len(shape.tuple_shapes))] if shape.is_tuple else [()]:
        sizes = (shape.tuple_shapes[index[0]] if index else shape).dimensions
        for k, maps in enumerate(hm.output_to_input(fusion, index)):
            needed.setdefault(k, set()).update(*(elements(m, sizes, fusion.operands[k]) for m in maps))
    seen: dict[int, set[int]] = {}
    for record in hm.coalescing(fusion):
        if not record.is_write:
            assert record.map is not None
            grid = [v.upper + 1 for v in record.map.dims]
            seen.setdefault(record.operand, set()).update(elements(record.map, grid, record.instruction))
    if emitter == "dus":
        del needed[0]  # updated in place
    assert seen == needed


def elements(m: hm.IndexingMap, sizes: tuple[int, ...] | list[int], operand: hm.Instruction) -> set[int]:
    _, targets = enumerate_pairs(m, sizes, operand.shape.dimensions, {}, 1 << 23)
    return set(np.unique(targets).tolist())


def fused(operands: list[str], body: str) -> hm.Instruction:
    inner = "  ".join(f"p{k} = {shape} parameter({k})" for k, shape in enumerate(operands))
    outer = "  ".join(f"q{k} = {shape} parameter({k})" for k, shape in enumerate(operands))
    root = hm.parse(f"{ADD}ENTRY e {{ {inner}  {body} }}").entry.root.shape
    names = ", ".join(f"q{k}" for k in range(len(operands)))
    call = f"ROOT f = {root} fusion({names}), kind=kInput, calls=fused"
    return hm.parse(f"{ADD}fused {{ {inner}  {body} }}\nENTRY e {{ {outer}  {call} }}").entry.root
