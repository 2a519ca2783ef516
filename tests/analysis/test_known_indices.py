"""Indices whose values are known when the program is compiled, from outside the computation or by the device."""

from __future__ import annotations

import pytest

import hlomap as hm

GATHER = "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}"


def module_of_table(table: str, more: str = "") -> hm.Module:
    """A gather in a fusion that gets its indices from outside."""
    return hm.parse(f"""HloModule m
      f {{
        x = f32[9] parameter(0)
        i = s32[3] parameter(1)
        ROOT g = f32[3] gather(x, i), {GATHER}
      }}
      ENTRY e {{
        x = f32[9] parameter(0)
        t = s32[3] {table}
        {more}
        c = s32[3] copy(t)
        ROOT r = f32[3] fusion(x, c), kind=kLoop, calls=f
      }}""")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("constant({3,1,4})", ["(d0) -> (d0 * -2 + 3), domain: d0 in [0, 1]", "(d0) -> (4), domain: d0 in [2, 2]"]),
        ("constant({5,5,5})", ["(d0) -> (5), domain: d0 in [0, 2]"]),
        ("constant({7,8,9})", ["(d0) -> (min(d0 + 7, 8)), domain: d0 in [0, 2]"]),
        ("iota(), iota_dimension=0", ["(d0) -> (d0), domain: d0 in [0, 2]"]),
    ],
)
def test_indices_that_a_fusion_gets(table: str, expected: list[str]) -> None:
    module = module_of_table(table)
    x = module.entry.parameters[0]
    assert str(hm.output_to_input(module.entry.root)[0]).split("\n") == expected
    assert str(hm.indexing(module.entry)[x]).split("\n") == expected
    assert str(hm.backward_slice(module.entry)[x]).split("\n") == expected


def test_indices_that_are_given_stay_variables() -> None:
    module = module_of_table("parameter(1)")
    (m,) = hm.output_to_input(module.entry.root)[0]
    assert len(m.runtime) == 1 and m.runtime[0].supplier == module["c"]


def own_part(offset: str) -> hm.Module:
    """A part of what all devices have together, at an offset computed from the number of the device."""
    return hm.parse(f"""HloModule m, num_partitions=4
      ENTRY e {{
        p = f32[4] parameter(0)
        g = f32[16] all-gather(p), channel_id=1, replica_groups={{{{0,1,2,3}}}}, dimensions={{0}},
          use_global_device_ids=true
        id = u32[] partition-id()
        one = u32[] constant(1)
        next = u32[] add(id, one)
        n = u32[] constant(4)
        around = u32[] remainder(next, n)
        s = u32[] multiply({offset}, n)
        ROOT d = f32[4] dynamic-slice(g, s), dynamic_slice_sizes={{4}}
      }}""")


def test_the_own_part_of_what_was_gathered_is_the_identity() -> None:
    module = own_part("id")
    (maps,) = hm.output_to_input(module.entry)
    assert str(maps) == "(d0) -> (d0), domain: d0 in [0, 3]"
    assert maps.exact and maps.devices is None


def test_the_part_of_the_next_device_stays_on_it() -> None:
    (maps,) = hm.output_to_input(own_part("next").entry)
    assert maps.devices is not None and maps.devices.maps.exact
    (m,) = maps.devices.maps
    assert [m.evaluate([2, 0, position]).tolist() for position in range(4)] == [
        [2, 0, 1],
        [2, 0, 2],
        [2, 0, 3],
        [2, 0, 3],
    ]


def test_a_rotation_is_not_affine_in_the_position() -> None:
    (maps,) = hm.output_to_input(own_part("around").entry)
    assert maps.devices is not None and len(maps.devices.maps[0].runtime) == 1
