"""The schedules of whole fusions: which emitter, which grid, and every element of every output once."""

from __future__ import annotations

import json

import pytest
from conftest import BLESS, CASES
from support.schedules import ADD, blocks_of, visits, written_before_read

import hlomap as hm

FILE = CASES / "schedules" / "fusions.txt"
FUSIONS = blocks_of(FILE)


def fusion(lines: list[tuple[str, str]]) -> hm.Instruction:
    """The fusion with this body."""
    body = "\n".join(value for key, value in lines if key == "hlo")
    fused = hm.parse(f"HloModule m\n{ADD}\nENTRY e {{\n{body}\n}}").entry
    operands = "\n".join(f"p{i} = {p.shape} parameter({i})" for i, p in enumerate(fused.parameters))
    names = ", ".join(f"p{i}" for i in range(len(fused.parameters)))
    kind = "kind=kLoop, calls=fused"
    given = dict(lines)
    for key, value in lines:
        if key == "native":
            emitter, unroll = value.split()
            native = {"type": f"NATIVE_EMITTER_TYPE_{emitter}", "unroll_factor": int(unroll)}
            kind += f", backend_config={json.dumps({'native_emitter_backend_config': native})}"
        if key == "config":
            name, tiles = value.split(" ", 1)
            sizes = [{"sizes": [str(n) for n in tile]} for tile in json.loads(tiles)]
            block = {"num_warps": "2", "output_tiles": sizes, **json.loads(given.get("block", "{}"))}
            part = "block_level_fusion_config"
            if "gemm" in given:
                part, block = "triton_gemm_config", json.loads(given["gemm"])
            config = json.dumps({"fusion_backend_config": {"kind": name, part: block}})
            kind = f"kind=kCustom, calls=fused, backend_config={config}"
    return hm.parse(
        f"HloModule m\n{ADD}\nfused {{\n{body}\n}}\n"
        f"ENTRY e {{\n{operands}\nROOT f = {fused.root.shape} fusion({names}), {kind}\n}}"
    ).entry.root


def device(lines: list[tuple[str, str]]) -> str:
    return dict(lines).get("device", "h100")


@pytest.mark.parametrize(("name", "lines"), FUSIONS, ids=[name for name, _ in FUSIONS])
def test_emitter(name: str, lines: list[tuple[str, str]]) -> None:
    printed = str(hm.schedule(fusion(lines), device(lines)))
    if BLESS:
        _bless(name, printed)
    else:
        assert printed.splitlines() == [value for key, value in lines if key == "is"]


def _bless(name: str, printed: str) -> None:
    blocks = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    at = next(i for i, block in enumerate(blocks) if block.splitlines()[0] == name)
    kept = [line for line in blocks[at].splitlines() if not line.startswith("is:")]
    blocks[at] = "\n".join([*kept, *(f"is: {line}" for line in printed.splitlines())])
    FILE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


@pytest.mark.parametrize(("name", "lines"), FUSIONS, ids=[name for name, _ in FUSIONS])
def test_every_element_once(name: str, lines: list[tuple[str, str]]) -> None:
    """Of the outputs, and of what a hero reads through its own map; updates reach some elements of their output."""
    found = hm.schedule(fusion(lines), device(lines))
    if isinstance(found, hm.Unknown):
        return
    for one in found.outputs:
        shape = one.root.shape.tuple_shapes[0] if one.root.shape.is_tuple else one.root.shape
        if not any(m.runtime for m in one.output):
            assert (visits(one.output, shape.dimensions) == 1).all(), one.output
        if found.emitter == "concatenate" or found.emitter.endswith(("transpose", "reduction")):
            for maps, operand in zip(one.inputs, one.hero.operands, strict=True):
                assert not operand.shape.rank or (visits(maps, operand.shape.dimensions) == 1).all(), maps
        if one.shared_write is not None and one.shared_read is not None:
            assert written_before_read(one.shared_write, one.shared_read)
