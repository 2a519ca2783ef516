"""Plans of one program: what sharders keep, limits, threads, extremes, and JAX's objects."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from support.plans import programs

import hlomap as hm
from hlomap import _core

MESH = {"data": 2, "model": 4}
MLP = hm.parse("""HloModule mlp
ENTRY main {
  x = f32[64,32] parameter(0)
  w1 = f32[32,128] parameter(1)
  w2 = f32[128,32] parameter(2)
  h = f32[64,128] dot(x, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,128] tanh(h)
  ROOT y = f32[64,32] dot(t, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""")
ENTRIES = [(), ("data",), ("model",), (None, "data"), (None, "model"), ("data", "model"), (("model", "data"),)]
CANDIDATES = [{"x": a, "w1": b, "w2": c} for a in ENTRIES for b in ENTRIES for c in ENTRIES]


@pytest.mark.parametrize("rule", ["propagate", "least"])
def test_a_sharder_answers_as_single_plans_do(rule: Any) -> None:
    planner = hm.sharder(MLP, mesh=MESH, rule=rule)
    found = planner.evaluate(CANDIDATES)
    assert found.dtype == np.int64
    assert np.array_equal(found, planner.evaluate(CANDIDATES, threads=2))
    assert np.array_equal(found, hm.sharder(MLP, mesh=MESH, rule=rule).evaluate(CANDIDATES, threads=0))
    for k in range(0, len(CANDIDATES), 17):
        plan = hm.shard(MLP, CANDIDATES[k], mesh=MESH, rule=rule)
        assert plan.wire_bytes == found[k] == planner.plan(CANDIDATES[k]).wire_bytes
        assert plan.wire_bytes == sum(move.total_wire_bytes for move in plan.moves.records)
        assert plan.wire_bytes == sum(plan.wire_bytes_by_kind.values())
    assert planner.evaluate([]).tolist() == []


def test_concurrent_plans_agree() -> None:
    planner = hm.sharder(MLP, mesh=MESH)
    expected = planner.evaluate(CANDIDATES).tolist()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda specs: planner.plan(specs).wire_bytes, CANDIDATES)) == expected


def test_given_shardings_stay() -> None:
    for specs in CANDIDATES[::7]:
        plan = hm.shard(MLP, specs, mesh=MESH, outputs=("model", "data"))
        assert hm.hlo.Sharding.from_spec(("model", "data"), MESH) == plan.outputs()[0]
        for name, spec in specs.items():
            assert plan.sharding(name) == hm.hlo.Sharding.from_spec(spec, MESH, rank=2)


def test_no_sharding_uses_an_axis_twice() -> None:
    for program in programs("random_77")[::5]:
        for value in program.plan("least").table():
            axes = [axis for entry in eval(value["spec"], {"P": lambda *e: e}) for axis in ([entry] if entry is None or
                    isinstance(entry, str) else entry) if axis is not None]  # fmt: skip
            assert len(axes) == len(set(axes)), value


def test_a_plan_is_the_same_again_and_as_json() -> None:
    plan = hm.shard(MLP, {"x": ("data",), "w1": ("data", "model")}, mesh=MESH)
    assert json.loads(json.dumps(plan.to_dict()))["wire_bytes"] == plan.wire_bytes
    assert plan.to_dict()["shardings"]["h"] == ["P('data', 'model')"]
    assert plan.moves.rows() is not None
    assert pickle.loads(pickle.dumps(plan.moves)) == plan.moves
    assert repr(plan) == "<ShardPlan of mlp on {data: 2, model: 4}: 8,192 bytes, 2 moves>"
    assert "all-gather of w1" in str(hm.draw(plan))
    assert plan.moves.to_arrow().num_rows == len(plan.moves)
    assert plan.table().to_pandas()["spec"].tolist()[0] == "P('data', None)"


def test_axes_of_sizes_that_are_not_powers_of_two() -> None:
    module = hm.parse("""ENTRY e { x = f32[24,10] parameter(0) ROOT r = f32[4,6,10] reshape(x) }""")
    plan = hm.shard(module, {"x": ("six", "five")}, mesh={"six": 6, "five": 5})
    assert plan.spec("r") == ("six:(1)2", None, "five")  # 4 has no third part
    assert plan.wire_bytes > 0
    plan = hm.shard(module, {"x": ("twelve",)}, mesh={"twelve": 12})
    assert (plan.spec("r"), plan.wire_bytes) == (("twelve:(1)4", "twelve:(4)3", None), 0)


@pytest.mark.parametrize(
    "text",
    [
        "ENTRY e { ROOT t = () tuple() }",
        "ENTRY e { n = f32[2] negate(p) ROOT m = f32[2] negate(n) p = f32[2] parameter(0) }",
        "ENTRY e { p = f32[0,4] parameter(0) ROOT n = f32[0,4] negate(p) }",
        "ENTRY e { p = f32[?,4] parameter(0) ROOT n = f32[?,4] negate(p) }",
        "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }",
        "ENTRY e { p = token[] parameter(0) ROOT n = token[] after-all(p) }",
        "ENTRY e { p = (f32[4], (s4[8], token[])) parameter(0) ROOT n = f32[4] get-tuple-element(p), index=0 }",
        "ENTRY e { p = f32[2097152,2097152,1048576] parameter(0) ROOT n = f32[2097152,2097152,1048576] negate(p) }",
        "ENTRY e { p = f32[8] parameter(0) ROOT n = f32[8] unheard-of(p) }",
        "ENTRY e { p = f32[8] parameter(0) q = f32[8] add(p, p) ROOT n = f32[8,8] broadcast(q), dimensions={1} }",
    ],
)
def test_extremes_have_plans(text: str) -> None:
    module = hm.parse(f"HloModule m\n{text}")
    for rule in ("propagate", "least"):
        plan = hm.shard(module, {}, mesh=MESH, rule=rule)  # type: ignore[arg-type]
        assert plan.wire_bytes == 0 and plan.to_dict() and str(plan)
        hm.shard(module, {}, mesh={}, rule=rule)  # type: ignore[arg-type]


def test_calls_of_calls_are_refused() -> None:
    levels = [f"c{k} {{ p = f32[4] parameter(0) a = f32[4] call(p), to_apply=c{k - 1} "
              f"ROOT b = f32[4] call(a), to_apply=c{k - 1} }}" for k in range(1, 40)]  # fmt: skip
    first = "HloModule m\nc0 { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }"
    last = "ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] call(p), to_apply=c39 }"
    text = "\n".join([first, *levels, last])
    with pytest.raises(hm.errors.UnsupportedError, match="instructions once calls are inlined"):
        hm.shard(hm.parse(text), {}, mesh=MESH)


def test_a_mesh_of_very_many_devices_is_refused() -> None:
    with pytest.raises(hm.errors.UnsupportedError, match="devices"):
        hm.shard(MLP, {}, mesh={"x": 1 << 21})


def test_the_mesh_of_the_module_is_the_default() -> None:
    text = str(MLP).replace(
        "HloModule mlp", 'HloModule mlp, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=8]>}}'
    )
    assert dict(hm.shard(hm.parse(text), {"w1": ("x",)}).mesh) == {"x": 8}
    with pytest.raises(TypeError, match="the module names no mesh"):
        hm.shard(MLP, {})


def test_specs_of_instructions_in_loops_hold() -> None:
    program = next(one for one in programs("hand_picked") if one.name == "scan_megatron")
    body = next(i for i in program.module.instructions if i.opcode == "tanh")
    plan = hm.shard(program.module, {**program.specs, body: (None, "data")}, mesh=MESH)
    assert plan.spec(body) == (None, "data")


@pytest.mark.jax
def test_shardings_of_jax() -> None:
    jax = pytest.importorskip("jax")
    spec = jax.sharding.PartitionSpec("data", ("model",))
    assert hm.hlo.Sharding.from_spec(spec, MESH) == hm.hlo.Sharding.from_spec("P('data', 'model')", MESH)
    assert hm.shard(MLP, {"x": spec}, mesh=MESH).spec("x") == ("data", "model")
    mesh = jax.sharding.AbstractMesh((2, 4), ("data", "model"))
    named = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "data"))
    found = hm.hlo.Sharding.from_spec(named)
    assert found.partition_spec() == "P(None, 'data')"
    assert found.to_jax(mesh) == named
    assert hm.shard(MLP, {"x": named}, mesh=mesh).spec("x") == (None, "data")
    with pytest.raises(hm.errors.ShapeError, match="on another mesh"):
        hm.shard(MLP, {"x": named}, mesh={"data": 8})


@pytest.mark.parametrize(("text", "spec"), [
    ("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "P(None, 'model')"),
    ("{devices=[8,1]<=[2,4]T(1,0)}", "P(('model', 'data'), None)"),
    ("{devices=[2,2,2]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}", "P('model:(1)2', 'data')"),
    ("{mesh['data'=2,'model'=4], [{'data'}, {}]}", "P('data', None)"),
])  # fmt: skip
def test_specs_and_tiles_are_converted(text: str, spec: str) -> None:
    sharding = hm.hlo.Sharding.parse(text)
    assert sharding.partition_spec(MESH) == spec
    back = hm.hlo.Sharding.from_spec(spec, MESH)
    assert hm.hlo.Sharding.parse(spec, MESH) == back
    shape = hm.Shape("f32", [16, 16])
    moved = hm.reshard(shape, sharding, back)
    assert isinstance(moved, hm.results.Reshard)
    assert moved.collective == "nothing"
    assert str(hm.reshard(shape, spec, sharding, mesh=MESH)) == str(hm.reshard(shape, back, sharding))


@pytest.mark.parametrize(("text", "mesh", "error", "message"), [
    ("P('data')", None, TypeError, "expected a mapping of axis to size, or a Mesh, as `mesh` with a spec"),
    ("P('batch')", MESH, hm.errors.ShapeError, "no axis 'batch' in the mesh {data: 2, model: 4}"),
    ("P('data', 'data')", MESH, hm.errors.ShapeError, "axis 'data' is used twice"),
    ("P(data)", MESH, hm.errors.ShapeError, r"cannot read the spec P\(data\)"),
    ("'data', None", MESH, hm.errors.HloSyntaxError, "expected a sharding"),
])  # fmt: skip
def test_texts_that_are_no_sharding(text: str, mesh: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hm.hlo.Sharding.parse(text, mesh)


def test_the_text_of_a_spec_has_a_rank() -> None:
    found = hm.hlo.Sharding.parse("P('data')", MESH, rank=3)
    assert found.partition_spec() == "P('data', None, None)"
    assert found == pickle.loads(pickle.dumps(found))
    assert hm.hlo.Sharding.parse(text="{replicated}", mesh=MESH).kind == "replicated"


@pytest.mark.parametrize("spec", ["P('data', 'one')", "P(('one', 'model'), 'data')", "P(('data', 'one'), None)"])
def test_an_axis_of_size_1_keeps_its_name(spec: str) -> None:
    mesh = {"data": 2, "one": 1, "model": 4}
    sharding = hm.hlo.Sharding.parse(spec, mesh)
    assert sharding.partition_spec() == spec
    assert hm.hlo.Sharding.parse(str(sharding)) == sharding
    plan = hm.shard(MLP, {"x": sharding, "w1": ("one", "model")}, mesh=mesh)
    assert plan.sharding("x") == sharding
    assert plan.spec("w1") == ("one", "model")
    # It splits nothing, so it is not propagated, and conflicts with nothing.
    without = hm.shard(MLP, {"x": tuple(_without("one", entry) for entry in eval(spec, {"P": lambda *e: e})),
                             "w1": (None, "model")}, mesh=MESH)  # fmt: skip
    assert [move.total_wire_bytes for move in plan.moves.records] == [
        move.total_wire_bytes for move in without.moves.records
    ]
    assert plan.spec("h") == without.spec("h")
    assert str(plan.module) == str(without.module)


def _without(axis: str, entry: Any) -> Any:
    return tuple(a for a in ([entry] if isinstance(entry, str) else entry or ()) if a != axis)


def test_few_of_many_combinations_of_choices_are_tried() -> None:
    """Each of n axes is claimed by two dimensions, in 3**n combinations: the work grows as the 2**n devices do."""

    def steps(n: int) -> int:
        array = f"f32[{','.join('2' * n)}]"
        module = hm.parse(
            f"ENTRY e {{ x = {array} parameter(0)  y = {array} parameter(1)  ROOT r = {array} add(x, y) }}"
        )
        axes = [f"a{k}" for k in range(n)]
        before = _core._n_steps()
        plan = hm.shard(module, {"x": axes, "y": axes[1:] + axes[:1]}, mesh=dict.fromkeys(axes, 2))
        assert plan.wire_bytes > 0
        return _core._n_steps() - before

    assert steps(10) < 5 * steps(8)
