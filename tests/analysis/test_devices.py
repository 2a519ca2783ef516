"""Device maps of collectives, alone and composed, against the interpreter and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

import hlomap as hm
from hlomap.maps.device_groups import GroupTable
from hlomap.ops import _registry, lookup
from hlomap.ops._rule import OperandIndexing

ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
"""

COLLECTIVES = {
    "all-gather": (2, "dimensions={0}"),
    "reduce-scatter": (-2, "dimensions={0}, to_apply=add"),
    "all-to-all": (1, "dimensions={0}"),
    "all-reduce": (1, "to_apply=add"),
    "collective-broadcast": (1, ""),
}

TABLES = ("{{0,1}}", "{{0,1},{2,3}}", "{{3,0},{1,2}}")
PAIRS = ("{{0,1},{1,0}}", "{{0,1}}", "{{1,0},{0,2},{2,1}}", "{{0,0},{1,2}}")
# The kinds of ids in groups: replicas, partitions, device numbers; and those of operations that do not reduce.
NAMED = (("", ""), (", channel_id=1, use_global_device_ids=true", ", channel_id=1"))


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A computation of collectives, mostly over one table, with local operations between them, called from an entry."""
    table, named = draw(st.sampled_from(TABLES)), draw(st.sampled_from(NAMED))
    size = draw(st.sampled_from([4, 8]))
    lines, value = [f"  v0 = f32[{size},3] parameter(0)"], 0
    begin = size
    for _ in range(draw(st.integers(1, 4))):
        what = draw(st.sampled_from([*COLLECTIVES, "collective-permute", "reverse", "dynamic-slice", "add"]))
        made = f"v{value + 1}"
        if what in COLLECTIVES:
            factor, rest = COLLECTIVES[what]
            if (factor < 0 and size < 4) or (factor == 2 and size > 8) or size % 2:
                continue
            size = size // 2 if factor < 0 else size * factor
            groups = table if draw(st.integers(0, 7)) else draw(st.sampled_from(TABLES))
            tail = ", ".join(x for x in (f"replica_groups={groups}", rest) if x)
            tail += named[what in ("all-to-all", "collective-broadcast")]
            lines.append(f"  {made} = f32[{size},3] {what}(v{value}), {tail}")
        elif what == "collective-permute":
            tail = draw(st.sampled_from(PAIRS)) + named[1]
            lines.append(f"  {made} = f32[{size},3] collective-permute(v{value}), source_target_pairs={tail}")
        elif what == "reverse":
            lines.append(f"  {made} = f32[{size},3] reverse(v{value}), dimensions={{0}}")
        elif what == "add":
            lines.append(f"  w{made} = f32[{size},3] reverse(v{value}), dimensions={{0,1}}")
            lines.append(f"  {made} = f32[{size},3] add(v{value}, w{made})")
        elif size <= 2:
            continue
        else:
            size -= 2
            lines.append(f"  o{made} = s32[] constant(0)")
            lines.append(f"  i{made} = u32[] {draw(st.sampled_from(['replica-id', 'partition-id']))}()")
            lines.append(f"  j{made} = s32[] convert(i{made})")
            lines.append(
                f"  {made} = f32[{size},3] dynamic-slice(v{value}, j{made}, o{made}), dynamic_slice_sizes={{{size},3}}"
            )
        value += 1
    lines[-1] = lines[-1].replace("  ", "  ROOT ", 1)
    return (
        f"HloModule m\n{ADD}inner {{\n"
        + "\n".join(lines)
        + f"\n}}\nENTRY e {{\n  p = f32[{begin},3] parameter(0)\n"
        + f"  ROOT c = f32[{size},3] call(p), to_apply=inner\n}}\n"
    )


@settings(max_examples=60, deadline=None)
@given(programs())
def test_composed_device_maps_are_sound(text: str) -> None:
    root = hm.parse(text).entry.root
    for verdict in hm.verify(root, max_changes=12):
        # A device in no group cannot run the program.
        assert verdict.status in ("exact", "overapproximate", "unchecked"), f"{verdict}\n{text}"


def test_offsets_that_no_device_has_leave_no_map() -> None:
    text = f"""HloModule m
{ADD}inner {{
  p = f32[4,3] parameter(0)
  shifted = f32[4,3] collective-permute(p), source_target_pairs={{{{0,1}},{{1,0}}}}
  mixed = f32[4,3] all-to-all(shifted), replica_groups={{{{0,1}}}}, dimensions={{0}}
  sums = f32[4,3] all-reduce(mixed), replica_groups={{{{0,1}}}}, to_apply=add
  zero = s32[] constant(0)
  id = u32[] partition-id()
  at = s32[] convert(id)
  ROOT part = f32[2,3] dynamic-slice(sums, at, zero), dynamic_slice_sizes={{2,3}}
}}
ENTRY e {{
  p = f32[4,3] parameter(0)
  ROOT c = f32[2,3] call(p), to_apply=inner
}}
"""
    assert {verdict.status for verdict in hm.verify(hm.parse(text).entry.root)} == {"exact"}


def entry(body: str) -> hm.Computation:
    return hm.parse(f"HloModule m\n{ADD}ENTRY e {{\n{body}\n}}\n").entry


def test_wrong_devices_are_unsound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Correct elements on wrong devices: a permutation in the direction of its targets."""
    permute = entry(
        "  p = f32[2] parameter(0)\n  ROOT c = f32[2] collective-permute(p), source_target_pairs={{0,1},{1,2}}"
    )
    assert [verdict.status for verdict in hm.verify(permute.root)] == ["exact", "exact"]
    rule = lookup("collective-permute").maps.collective
    assert rule is not None

    def backwards(
        instruction: hm.Instruction, shape_index: tuple[int, ...], table: GroupTable | None
    ) -> dict[int, OperandIndexing]:
        return dict(rule.input_to_output(instruction, 0, shape_index, table))

    op = lookup("collective-permute")
    wrong_maps = op.maps._replace(collective=rule._replace(output_to_input=backwards))
    monkeypatch.setitem(_registry._registry, "collective-permute", op._replace(maps=wrong_maps))
    found = hm.verify(permute.root)
    assert [(v.status, v.reason) for v in found] == [("unsound", "from device 0 to device 1"), ("exact", None)]


def test_too_many_maps_become_all_elements_on_the_devices_of_the_group() -> None:
    n = 130
    lines = [f"  s{i} = f32[1] slice(a), slice={{[{i * i}:{i * i + 1}]}}" for i in range(n)]
    operands = ", ".join(f"s{i}" for i in range(n))
    computation = entry(f"""
  p = f32[20000] parameter(0)
  a = f32[20000] collective-permute(p), source_target_pairs={{{{0,1}},{{1,0}}}}
{chr(10).join(lines)}
  ROOT c = f32[{n}] concatenate({operands}), dimensions={{0}}""")
    found = hm.indexing(computation)[computation["p"]]
    assert not found.exact and found.devices is not None
    maps = found.devices.maps
    assert not maps.exact and maps.reason == "the maps of a exceed the budget"
    for group, position, d in ((0, 1, 0), (1, 1, 129)):
        at = [(d, group, position)]
        assert any(m.in_domain(at[0], [d * d]) for m in maps if len(m.ranges) == 1)


def test_tables_with_very_many_group_sizes_have_unknown_devices() -> None:
    groups, device = [], 0
    for i in range(300):
        groups.append("{" + ",".join(str(device + k) for k in range(1 + i % 2)) + "}")
        device += 1 + i % 2
    table = "{" + ",".join(groups) + "}"
    computation = entry(f"""
  p = f32[2] parameter(0)
  a = f32[2] all-reduce(p), replica_groups={table}, to_apply=add
  ROOT b = f32[2] all-reduce(a), replica_groups={table}, to_apply=add""")
    found = hm.indexing(computation)[computation["p"]].devices
    assert found is not None and found.maps.is_unknown and found.maps.reason == "too many maps"
    alone = hm.output_to_input(computation["a"])[0].devices
    assert alone is not None and len(alone.maps) == 300
