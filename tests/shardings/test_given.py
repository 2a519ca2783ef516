"""Shardings given to ``hm.partitioned`` and ``hm.reshard``, against those in the text of a module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlomap as hm

MESH = {"data": 2, "model": 4}
TEXT = """HloModule m
ENTRY e {
  x = f32[16,32] parameter(0), metadata={op_name="batch"}
  w = f32[32,8] parameter(1), metadata={op_name="params['w']"}
  t = f32[16,32] tanh(x)
  ROOT y = f32[16,8] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
MODULE = hm.parse(TEXT)
SPECS: dict[Any, Any] = {"t": ("data", "model"), "params['w']": (None, "data"), "y": (("data", "model"),)}


def written(specs: dict[str, Any]) -> hm.Module:
    """The module with shardings in its text."""
    text = TEXT
    for name, spec in specs.items():
        sharding = hm.hlo.Sharding.from_spec(spec, MESH, rank=2)
        line = next(line for line in TEXT.splitlines() if f" {name} = " in line)
        head, comma, metadata = line.partition(", metadata")
        text = text.replace(line, f"{head}, sharding={sharding}{comma}{metadata}")
    return hm.parse(text)


def partitioned(*given: Any, **named: Any) -> hm.results.Partitioned:
    found = hm.partitioned(*given, **named)
    assert isinstance(found, hm.results.Partitioned), found
    return found


def test_given_shardings_count_as_written_ones() -> None:
    expected = partitioned(written({"t": SPECS["t"], "w": (None, "data"), "y": SPECS["y"]})["y"])
    assert expected.remote_bytes > expected.least_bytes > 0
    found = partitioned(MODULE["y"], SPECS, mesh=MESH)
    assert str(found) == str(expected)
    assert np.array_equal(found.least, expected.least)
    by_instruction = {MODULE["t"]: SPECS["t"], "w": "P(None, 'data')", MODULE["y"]: SPECS["y"]}
    assert str(partitioned(MODULE["y"], by_instruction, mesh=hm.hlo.Mesh.parse("mesh['data'=2,'model'=4]"))) == str(
        found
    )


def test_given_shardings_replace_written_ones() -> None:
    module = written({"t": ("model",), "w": ("data",), "y": ()})
    assert partitioned(module["y"]).remote_bytes != partitioned(module["y"], SPECS, mesh=MESH).remote_bytes
    assert str(partitioned(module["y"], SPECS, mesh=MESH)) == str(partitioned(MODULE["y"], SPECS, mesh=MESH))
    kept = partitioned(module["y"], {"w": (None, "data")}, mesh=MESH)
    assert str(kept) == str(partitioned(written({"t": ("model",), "w": (None, "data"), "y": ()})["y"]))


def test_tiles_need_no_mesh() -> None:
    tiles = {"t": "{devices=[8,1]<=[8]}", "w": "{replicated}", "y": "{devices=[8,1]<=[8]}"}
    found = partitioned(MODULE["y"], {name: hm.hlo.Sharding.parse(text) for name, text in tiles.items()})
    assert str(found).startswith("y: no communication\n  t {devices=[8,1]<=[8]}: 0 bytes")
    with pytest.raises(
        TypeError, match="expected a mapping of axis to size, or a Mesh, as `mesh` with a spec, got None"
    ):
        hm.partitioned(MODULE["y"], {"y": ("data",)})


def test_specs_of_the_arrays_of_a_tuple() -> None:
    module = hm.parse("""ENTRY e {
      p = (f32[8], f32[6,8]) parameter(0)
      ROOT n = f32[6,8] get-tuple-element(p), index=1
    }""")
    for specs in ([None, (None, "model")], hm.hlo.Sharding.parse("{{replicated}, {devices=[1,4]<=[4]}}")):
        found = partitioned(module["n"], {"p": specs, "n": ("data",)}, mesh=MESH)
        assert found.reads[0].shape_index == (1,)
        assert found.remote_bytes > 0
    with pytest.raises(hm.errors.ShapeError, match=r"hm\.partitioned: p is a tuple of 2 arrays: give a spec for each"):
        hm.partitioned(module["n"], {"p": ("model",)}, mesh=MESH)
    with pytest.raises(hm.errors.ShapeError, match=r"p\.1 has 2 dimensions, the spec \(None, None, None\) has 3"):
        hm.partitioned(module["n"], {"p": [(), (None, None, None)]}, mesh=MESH)


def test_a_value_without_a_sharding_is_not_taken_for_whole() -> None:
    found = hm.partitioned(MODULE["y"], {"x": ("data",), "w": (), "y": ("data",)}, mesh=MESH)
    assert isinstance(found, hm.Unknown)
    assert "t has none and comes from x, which is split; give it a spec too" in found.reason
    found = hm.partitioned(MODULE["y"], {"t": ("data",), "w": ()}, mesh=MESH)
    assert isinstance(found, hm.Unknown)
    assert "y has no sharding" in found.reason


@pytest.mark.parametrize(("specs", "problem"), [
    ({"y": ("data", "data")}, "axis 'data' is used twice in ('data', 'data') of y"),
    ({"params['w']": ("data", None, None)}, "params['w'] has 2 dimensions, the spec ('data', None, None) has 3"),
    ({"y": ("batch",)}, "no axis 'batch' in the mesh {data: 2, model: 4}"),
    ({"params['v']": ()}, "no operand or parameter \"params['v']\"; did you mean \"params['w']\"?"),
    ({"y": hm.hlo.Sharding.parse("{devices=[4]<=[4]}")}, "y: sharding {devices=[4]<=[4]}: divides 1 dimensions"),
    ({"y": "P('data'"}, "cannot read the spec P('data' of y"),
    ({"w": (), "params['w']": ()}, "params['w'] has two shardings in `specs`"),
    ({written({})["y"]: ()}, "y is not in the module of y"),
])  # fmt: skip
def test_errors_name_what_was_typed(specs: Any, problem: str) -> None:
    with pytest.raises((hm.errors.ShapeError, hm.errors.NotFoundError)) as raised:
        hm.partitioned(MODULE["y"], specs, mesh=MESH)
    assert str(raised.value).startswith(f"hm.partitioned: {problem}")


def test_errors_of_reshard_name_the_side() -> None:
    with pytest.raises(hm.errors.ShapeError, match=r"hm\.reshard: the target has 1 dimension, the spec"):
        hm.reshard(hm.Shape("f32", [8]), ("data",), ("data", "model"), mesh=MESH)


def test_the_order_of_axes_is_that_of_the_devices() -> None:
    """Meshes with equal axes in another order place the blocks elsewhere."""
    turned = hm.hlo.Sharding.from_spec(("model", "data"), {"model": 4, "data": 2})
    assert turned.partition_spec(MESH) == "P(('data', 'model:(1)2'), 'model:(2)2')"


@pytest.mark.jax
def test_shardings_of_jax() -> None:
    jax = pytest.importorskip("jax")
    spec, named = jax.sharding.PartitionSpec, jax.sharding.NamedSharding
    mesh = jax.sharding.AbstractMesh((2, 4), ("data", "model"))
    specs = {"t": spec("data", "model"), "w": spec(None, "data"), "y": spec(("data", "model"))}
    expected = str(partitioned(MODULE["y"], SPECS, mesh=MESH))
    assert str(partitioned(MODULE["y"], specs, mesh=mesh)) == expected
    assert str(partitioned(MODULE["y"], {name: named(mesh, one) for name, one in specs.items()})) == expected
    other = jax.sharding.AbstractMesh((4, 2), ("model", "data"))
    with pytest.raises(hm.errors.ShapeError, match="the sharding of y is on another mesh"):
        hm.partitioned(MODULE["y"], {**specs, "y": named(other, spec("data"))}, mesh=mesh)
    with pytest.raises(hm.errors.UnsupportedError, match=r"the spec of y has partial results, along \['model'\]"):
        hm.partitioned(MODULE["y"], {**specs, "y": spec("data", unreduced={"model"})}, mesh=mesh)
