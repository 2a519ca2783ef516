"""When a value without a sharding counts as replicated: in a module after XLA's propagation, and nowhere else."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import hlomap as hm

SPLIT = "{devices=[2]<=[2]}"
PROGRAM = """HloModule m, num_partitions=2{header}

ENTRY e {{
  p = f32[8] parameter(0), sharding={{devices=[2]<=[2]}}{parameter}
  n = f32[8] {middle}
  t = f32[8] tanh(n)
  ROOT r = (f32[8]) tuple(t), sharding={{{{mesh[], replicated}}}}
}}
"""
NEGATED = "negate(p), sharding={devices=[2]<=[2]}"
SHARDY = 'frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{}]>"}'
CASES = [
    ({"middle": NEGATED}, None),
    ({"middle": "negate(p), sharding={mesh['x'=2], [{'x'}]}"}, None),
    ({"middle": "negate(p), sharding={replicated}"}, None),
    ({"middle": "negate(p)"}, "only parameters and results have any"),
    ({"middle": NEGATED, "parameter": f", {SHARDY}"}, "attributes xla.sdy"),
    ({"middle": NEGATED, "header": ", frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[]>}}"}, "xla.sdy"),
    ({"middle": f'custom-call(p), custom_call_target="Sharding", sharding={SPLIT}'}, "calls of Sharding"),
    ({"middle": f'custom-call(p), custom_call_target="xla.sdy.FuncResultSharding", sharding={SPLIT}'}, "xla.sdy"),
    ({"middle": 'custom-call(p), custom_call_target="callback", sharding={maximal device=0}'}, "only parameters"),
    ({"middle": "negate(p), sharding={maximal_mesh[device_id=0]}"}, "only parameters"),
    ({"middle": f"reshape(p), sharding={SPLIT}"}, "only parameters"),
    ({"middle": f"reverse(p), dimensions={{0}}, sharding={SPLIT}"}, None),
]


def program(middle: str, parameter: str = "", header: str = "") -> str:
    return PROGRAM.format(middle=middle, parameter=parameter, header=header)


@pytest.mark.parametrize(("fields", "why"), CASES)
def test_instructions_tell(fields: dict[str, str], why: str | None) -> None:
    module = hm.parse(program(**fields))
    found = hm.partitioned(module["t"])
    assert hm.sharding_of(module["t"]) is None
    if why is None:
        assert isinstance(found, hm.results.Partitioned)
        assert found.note == "values without a sharding count as replicated: the module is after propagation"
        assert str(found).endswith(found.note)
    else:
        assert isinstance(found, hm.Unknown) and why in found.reason and "not propagated yet" in found.reason
        assert "before_partitioning" in found.reason


def test_a_product_without_a_sharding_has_to_be_added_up() -> None:
    """Each device holds summands of the whole result and lacks those of the others: 16 * 8 * 4 bytes for each of 4."""
    text = """HloModule m, num_partitions=4
    ENTRY e {
      x = f32[16,32] parameter(0), sharding={devices=[1,4]<=[4]}
      w = f32[32,8] parameter(1), sharding={devices=[4,1]<=[4]}
      t = f32[16,32] tanh(x), sharding={devices=[1,4]<=[4]}
      d = f32[16,8] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT r = f32[16,8] sine(d), sharding={replicated}
    }"""
    found = hm.partitioned(hm.parse(text)["d"])
    assert isinstance(found, hm.results.Partitioned) and found.note
    assert (found.least_bytes, found.remote_bytes) == (4 * 512, 4 * (3 * 512 + 3 * 256))
    before = hm.partitioned(hm.parse(text.replace("tanh(x), sharding={devices=[1,4]<=[4]}", "tanh(x)"))["d"])
    assert isinstance(before, hm.Unknown) and "not propagated yet" in before.reason


def test_missing_shardings_are_replicated_ones() -> None:
    """The same answers, but for the note, as with the shardings written."""
    text = program(NEGATED)
    bare = hm.parse(text)
    full = hm.parse(text.replace("tanh(n)", "tanh(n), sharding={replicated}"))
    for name in ("n", "t", "r"):
        a, b = hm.partitioned(bare[name]), hm.partitioned(full[name])
        assert isinstance(a, hm.results.Partitioned) and isinstance(b, hm.results.Partitioned)
        assert (a.least_bytes, a.remote_bytes, a.least.tolist()) == (b.least_bytes, b.remote_bytes, b.least.tolist())
        assert b.note is None and (a.note is None) == (name == "n")
    assert [hm.analyze(m)["remote_bytes"] for m in (bare, full)] == [[0, 32, 0]] * 2
    assert hm.analyze(bare)["sharding"] == [SPLIT, None, "{mesh[], replicated}"]
    before = hm.parse(program("negate(p)"))
    assert hm.analyze(before)["remote_bytes"] == [None, None, None]


AFTER = "module_0001.jit_f.0003.spmd-partitioner.after_shardy-xla.before_spmd-partitioning"
BEFORE = "module_0001.jit_f.before_optimizations"
LATE = "module_0001.jit_f.cpu_after_optimizations"


@pytest.mark.parametrize("suffix", [".txt", ".hlo.pb"])
def test_the_name_of_a_dumped_file_decides(tmp_path: Path, suffix: str) -> None:
    # In one with few instructions only parameters and results may be split after propagation too.
    for name, middle in ((AFTER, "negate(p)"), (BEFORE, NEGATED), (LATE, NEGATED), ("mine", NEGATED)):
        module = hm.parse(program(middle))
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(str(module).encode() if suffix == ".txt" else module.to_proto())
    dumped = {one.stage: one.load() for one in hm.DumpDirectory(tmp_path)}
    modules = {name: hm.load(tmp_path / f"{name}{suffix}") for name in (AFTER, BEFORE, LATE, "mine")}
    for module in (modules[AFTER], next(m for stage, m in dumped.items() if "shardy" in stage), modules["mine"]):
        for one in (module, pickle.loads(pickle.dumps(module))):
            found = hm.partitioned(one["t"])
            assert isinstance(found, hm.results.Partitioned) and found.note
    for module, why in (
        (modules[BEFORE], "not propagated yet, by the name"),
        (dumped["before_optimizations"], "not propagated yet, by the name"),
        (modules[LATE], "partitioned already, by the name"),
    ):
        found = hm.partitioned(module["t"])
        assert isinstance(found, hm.Unknown) and why in found.reason


def test_a_sharding_without_axes_splits_nothing_behind_a_value() -> None:
    module = hm.parse("""HloModule m, num_partitions=2
    ENTRY e {
      p = f32[8] parameter(0), sharding={mesh[], replicated}
      n = f32[8] negate(p)
      ROOT r = f32[8] negate(n), sharding={devices=[2]<=[2]}
    }""")
    found = hm.partitioned(module["r"])
    assert isinstance(found, hm.results.Partitioned) and not found.least_bytes and not found.remote_bytes
    assert hm.check(module, max_wire_bytes=0).limits


def test_calls_get_the_shardings_of_their_arguments_before_propagation() -> None:
    text = """HloModule m, num_partitions=2
    f { q = f32[8] parameter(0)  ROOT a = f32[8] negate(q), sharding={replicated} }
    ENTRY e { p = f32[8] parameter(0), sharding={devices=[2]<=[2]}  ROOT r = f32[8] call(p), to_apply=f }"""
    found = hm.partitioned(hm.parse(text)["a"])
    assert isinstance(found, hm.Unknown) and "an argument of f, which is split" in found.reason
