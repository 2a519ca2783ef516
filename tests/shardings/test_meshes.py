"""The axes of a mesh that groups and tiles follow."""

from __future__ import annotations

import pytest

import hlomap as hm
from hlomap.shardings.meshes import axes_of_groups, mesh_of, sharding_text

MESH = hm.hlo.Mesh.parse("mesh['x'=2,'y'=3]")
TURNED = hm.hlo.Mesh.parse("mesh['x'=2,'y'=2], device_ids=(3,2,1,0)")


@pytest.mark.parametrize(
    ("groups", "axes"),
    [
        ([(0, 1, 2), (3, 4, 5)], ("y",)),
        ([(0, 3), (1, 4), (2, 5)], ("x",)),
        ([(5, 2)], ("x",)),
        ([range(6)], ("x", "y")),
        ([(4,)], ()),
        ([(0, 1), (3, 4)], None),  # a part of an axis
        ([(0, 4), (1, 5)], None),
        ([(0, 0, 1)], None),
        ([(0, 9)], None),
        ([(0, 3), (1, 2, 4)], None),
        ([], None),
    ],
)
def test_groups(groups: list[tuple[int, ...]], axes: tuple[str, ...] | None) -> None:
    assert axes_of_groups(MESH, groups) == axes


@pytest.mark.parametrize(
    ("sharding", "mesh", "listed"),
    [
        ("{devices=[2,3]<=[6]}", MESH, "[{'x'}, {'y'}]"),
        ("{devices=[3,2]<=[2,3]T(1,0)}", MESH, "[{'y'}, {'x'}]"),
        ("{devices=[1,6]<=[6]}", MESH, "[{}, {'x', 'y'}]"),
        ("{devices=[6]<=[2,3]T(1,0)}", MESH, None),  # the axes in the other order
        ("{devices=[2,1,3]<=[6] last_tile_dim_replicate}", MESH, "[{'x'}, {}]"),
        ("{devices=[3,2]<=[6]}", MESH, None),
        ("{devices=[2,2]<=[4]}", MESH, None),
        ("{devices=[2,2]<=[4]}", TURNED, None),  # from the other end
        ("{devices=[2,2]3,2,1,0}", TURNED, "[{'x'}, {'y'}]"),
        ("{replicated}", MESH, None),
        ("{mesh['x'=2], [{'x'}]}", MESH, None),
    ],
)
def test_shardings(sharding: str, mesh: hm.hlo.Mesh, listed: str | None) -> None:
    said = hm.hlo.Sharding.parse(sharding)
    assert sharding_text(said, mesh) == str(said) + (f" = {listed}" if listed else "")
    assert sharding_text(said, None) == str(said)


@pytest.mark.parametrize(
    ("attribute", "axes"),
    [
        ('{mesh = #sdy.mesh<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>}', {"x": 2, "y": 2}),
        ('{a = #sdy.mesh<["x"=2]>, b = #sdy.mesh<["x"=4]>}', None),
        ('{one = #sdy.mesh<[], device_ids=[0]>, mesh = #sdy.mesh<["x"=2]>}', {"x": 2}),
        ('{mesh = #sdy.mesh<["x"=99999999999]>}', None),
        ('{mesh = #sdy.mesh<["x"=2, device_ids=[0]>}', None),
        ("{}", None),
    ],
)
def test_meshes_of_a_module(attribute: str, axes: dict[str, int] | None) -> None:
    text = (
        f"HloModule m, frontend_attributes={{xla.sdy.meshes={attribute}}}\nENTRY e {{ ROOT p = f32[8] parameter(0) }}"
    )
    found = mesh_of(hm.parse(text)["p"])
    assert (None if found is None else found.axes) == axes


def test_an_operand_names_the_mesh_and_partitioned_prints_its_axes() -> None:
    module = hm.parse("""HloModule m, num_partitions=4
    ENTRY e {
      a = f32[16,32] parameter(0), sharding={mesh['x'=2,'y'=2], [{'x'}, {}]}
      ROOT n = f32[16,32] negate(a), sharding={devices=[2,2]<=[4]}
    }""")
    assert str(hm.partitioned(module["n"])).splitlines()[0].startswith("n: no communication")
    found = mesh_of(module["n"])
    assert found is not None and found.axes == {"x": 2, "y": 2}
