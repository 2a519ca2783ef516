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


CHAIN = """HloModule m
ENTRY e {
  p = f32[64,64] parameter(0)
  s = (f32[64,64], f32[64,64]) sort(p, p), dimensions={1}, to_apply=less
  c = f32[64,64] custom-call(p), custom_call_target="x"
  t = f32[64,64] transpose(p), dimensions={1,0}
  d = ((f32[64,64], f32[64,64]), f32[64,64]) dot-start(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[0,4] constant({})
  ROOT n = f32[0,4] negate(z)
}
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}"""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("s", "sort (the root is a sort): a sort takes many kernels, and one thread many elements"),
        ("c", "c (custom-call): it does not run as a fusion kernel"),
        ("p", "p (parameter): it does not run as a fusion kernel"),
        ("d", "d (dot-start): it does not run as a fusion kernel"),
        ("n", "n (negate): no element is computed"),
    ],
)
def test_what_has_no_maps_is_unknown(name: str, reason: str) -> None:
    instruction = hm.parse(CHAIN)[name]
    assert hm.schedule(instruction) == hm.thread_map(instruction) == hm.Unknown(reason)
    for record in hm.coalescing(instruction, hm.thread_map(instruction)):
        assert record.requests is None and record.reason == reason


@pytest.mark.parametrize("config", ["", "{", "[]", '{"fusion_backend_config":[]}', '{"fusion_backend_config":{}}'])
def test_configs_that_say_nothing(config: str) -> None:
    quoted = json.dumps(config)
    text = "fused { ROOT a = f32[4] parameter(0) }\nENTRY e { p = f32[4] parameter(0)\nROOT f = f32[4] fusion(p), "
    f = hm.parse(f"HloModule m\n{text}kind=kCustom, calls=fused, backend_config={quoted} }}").entry.root
    found = hm.schedule(f)
    assert isinstance(found, hm.Unknown)
    assert found.reason.startswith("custom (the kind kCustom, and no fusion_backend_config)")


def test_thread_maps_of_an_instruction() -> None:
    t = hm.parse(CHAIN)["t"]
    found = hm.schedule(t)
    assert isinstance(found, hm.results.Schedule)
    part = found.outputs[0]
    assert hm.thread_map(t) == part.output[0] != hm.thread_map(t, "loop")
    assert hm.thread_map(t, "transpose", of="input") == part.inputs[0][0]
    assert hm.thread_map(t, of="shared_read") == part.shared_read
    assert hm.thread_map(t, "loop") == hm.emitter_thread_map(t.shape, "loop")
    reason = "t does not fit the schedule scatter: XLA takes tiled_transpose, "
    assert reason in hm.thread_map(t, "scatter").reason  # type: ignore[union-attr]
    no_shared = hm.Unknown("the schedule loop of t uses no shared memory")
    assert hm.thread_map(t, "loop", of="shared_read") == no_shared
    for wrong in ({"schedule": "diagonal"}, {"of": "side"}, {"output": 1}, {"operand": 1}):
        with pytest.raises(hm.errors.ShapeError):
            hm.thread_map(t, **wrong)  # type: ignore[arg-type]


def test_sizes_that_do_not_fit() -> None:
    large, largest = hm.Shape("f32", [1 << 42]), hm.Shape("s8", [(1 << 63) - 1])
    m = hm.emitter_thread_map(large, "loop")
    assert isinstance(m, hm.IndexingMap) and m.bounds(0) == (0, (1 << 42) - 1)
    for shape, unroll in ((largest, None), (large, 1 << 70)):
        with pytest.raises(hm.errors.SizeError):
            hm.emitter_thread_map(shape, "loop", unroll=unroll)
    found = hm.emitter_thread_map(hm.Shape("s4", [64, 64]), "transpose", permutation=[1, 0])
    assert isinstance(found, hm.Unknown) and "two threads would write one byte" in found.reason


def test_devices() -> None:
    shape = hm.Shape.parse("f32[8]")
    mine = hm.emitter_thread_map(shape, "loop", device=hm.Device("mine", n_multiprocessors=4, threads=64))
    assert mine == hm.emitter_thread_map(shape, "loop")
    device, t = hm.Device("unknown"), hm.parse(CHAIN)["t"]
    for found in (
        hm.emitter_thread_map(shape, "loop", device=device),
        hm.schedule(t, device),
        hm.thread_map(t, device=device),
    ):
        assert isinstance(found, hm.Unknown) and "needs n_multiprocessors and threads" in found.reason
    assert all("unknown schedule: " in (found.reason or "") for found in hm.coalescing(t, device=device))
    with pytest.raises(ValueError, match="l40s, h100, h200"):
        hm.emitter_thread_map(shape, "loop", device="h1000")
    with pytest.raises(TypeError, match=r"hm.emitter_thread_map: expected a Device"):
        hm.emitter_thread_map(shape, "loop", device=7)  # type: ignore[arg-type]


def test_grids_of_more_blocks_than_fit_along_x() -> None:
    device = hm.Device("narrow", n_multiprocessors=1, threads=1 << 20, max_blocks_x=4)
    m = hm.emitter_thread_map(hm.Shape.parse("f32[1500]"), "loop", device=device)
    assert isinstance(m, hm.IndexingMap)
    assert [v.upper + 1 for v in m.dims] == [128, 1, 1, 4, 3, 1]
    assert (visits([m], [1500]) == 1).all()
