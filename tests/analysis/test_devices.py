"""Device maps of collectives, alone and composed, against the interpreter and by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

import hlomap as hm
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


def entry(body: str) -> hm.Computation:
    return hm.parse(f"HloModule m\n{ADD}ENTRY e {{\n{body}\n}}\n").entry


GATHER_AFTER_SCATTER = """
  p = f32[4] parameter(0)
  s = f32[2] reduce-scatter(p), replica_groups={{0,1},{2,3}}, dimensions={0}, to_apply=add
  ROOT g = f32[4] all-gather(s), replica_groups={{0,1},{2,3}}, dimensions={0}
"""


def test_two_collectives_are_overapproximate_without_devices_and_exact_with_them() -> None:
    computation = entry(GATHER_AFTER_SCATTER)
    found = hm.indexing(computation)[computation["p"]]
    assert not found.exact and str(found) == ("(d0)[s0] -> (d0 mod 2 + s0 * 2), domain: d0 in [0, 3], s0 in [0, 1]")
    assert found.devices is not None and list(found.devices.groups) == [(0, 1), (2, 3)]
    assert found.devices.maps.exact and str(found.devices.maps) == (
        "(d0, group, position)[s0] -> (d0, group, s0), "
        "domain: d0 in [0, 3], group in [0, 1], position in [0, 1], s0 in [0, 1]"
    )
    first, second = computation["g"], computation["s"]
    then = hm.output_to_input(first)[0].then(hm.output_to_input(second)[0])
    assert then == found


ALONG_AN_AXIS = """
  p = f32[4] parameter(0)
  s = f32[2] reduce-scatter(p), replica_groups={{0,1},{2,3}}, dimensions={0}, to_apply=add
  g = f32[4] all-gather(s), replica_groups={{0,2},{1,3}}, dimensions={0}
  ROOT c = f32[4] collective-permute(g), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
"""


def test_groups_along_several_axes_are_composed_as_one_group_of_all_devices() -> None:
    """Device 2 * a + b: scattered along b, gathered along a, then handed on in a ring."""
    computation = entry(ALONG_AN_AXIS)
    found = hm.indexing(computation)[computation["p"]]
    assert found.devices is not None and list(found.devices.groups) == [(0, 1, 2, 3)] and found.devices.maps.exact
    then = hm.output_to_input(computation["c"])[0]
    for name in ("g", "s"):
        then = then.then(hm.output_to_input(computation[name])[0])
    assert then.devices is not None and then.devices.maps.exact

    def by_hand(d: int, device: int) -> set[tuple[int, int]]:
        b = (device - 1) % 2
        return {(d % 2 + 2 * b, 2 * (d // 2) + each) for each in range(2)}

    for maps in (found.devices.maps, then.devices.maps):
        pairs = {p for m in maps for p in points(m)}
        assert pairs == {(d, device, *e) for d in range(4) for device in range(4) for e in by_hand(d, device)}


def points(m: hm.IndexingMap) -> set[tuple[int, int, int, int]]:
    """The pairs ((element, device), (element, device)) of maps with one group."""
    found = set()
    for (d, _, device), s in product(product(*map(within, m.dims)), product(*map(within, m.ranges))):
        if m.in_domain((d, 0, device), s):
            e, _, there = (int(x) for x in m.evaluate((d, 0, device), s))
            found.add((d, device, e, there))
    return found


def within(v: hm.Variable) -> range:
    return range(v.lower, v.upper + 1)


def test_unordered_groups_are_not_composed() -> None:
    computation = entry(ALONG_AN_AXIS.replace("{{0,2},{1,3}}", "{{0,3},{2,1}}"))
    reason = "groups of several kinds, or a device in several groups"
    found = hm.indexing(computation)[computation["p"]]
    assert found.devices is not None and found.devices.maps.reason == reason
    then = hm.output_to_input(computation["g"])[0].then(hm.output_to_input(computation["s"])[0])
    assert then.devices is not None and then.devices.maps.reason == reason


OFFSETS = """
  p = f32[8] parameter(0)
  o = s32[] parameter(1)
  z = f32[8] parameter(2)
  s = f32[2] dynamic-slice(p, o), dynamic_slice_sizes={2}
  c = f32[2] collective-permute(s), source_target_pairs={{0,1},{1,0}}
  ROOT u = f32[8] dynamic-update-slice(z, c, o)
"""


@pytest.mark.parametrize("composed", ["propagation", "sets"])
def test_offsets_on_different_devices_are_different_values(composed: str) -> None:
    """A slice at the sender's offset is written at the receiver's offset, which may differ."""
    computation = entry(OFFSETS)
    if composed == "propagation":
        found = hm.indexing(computation)[computation["p"]]
    else:
        update, permuted, sliced = (computation[name] for name in ("u", "c", "s"))
        found = hm.output_to_input(update)[1].then(hm.output_to_input(permuted)[0]).then(hm.output_to_input(sliced)[0])
    (only,) = found
    assert len(only.runtime) == 2 and [v.supplier.name for v in only.runtime if v.supplier] == ["o", "o"]
    assert str(only).startswith("(d0){rt0, rt1} -> (d0 - rt0 + rt1), ")
    assert found.devices is not None
    (joint,) = found.devices.maps
    assert [[str(e) for e in v.element] for v in joint.runtime] == [["d1", "1"], ["d1", "0"]]


def test_irregular_groups_have_a_map_for_each_run() -> None:
    computation = entry(
        "  p = f32[2] parameter(0)\n  ROOT r = f32[2] all-reduce(p), replica_groups={{0,3},{1,2},{4}}, to_apply=add"
    )
    found = hm.output_to_input(computation.root)[0].devices
    assert found is not None and str(found.maps).splitlines() == [
        "(d0, group, position)[s0] -> (d0, group, s0), "
        "domain: d0 in [0, 1], group in [0, 1], position in [0, 1], s0 in [0, 1]",
        "(d0, group, position) -> (d0, group, 0), domain: d0 in [0, 1], group in [2, 2], position in [0, 0]",
    ]


@pytest.mark.parametrize(
    ("header", "attributes", "expected"),
    [
        ("", "replica_groups={}", "all devices form one group, and their number is not known"),
        (", replica_count=3", "replica_groups={}", ("replica", [(0, 1, 2)])),
        (
            "",
            "replica_groups={{0,1}}, channel_id=1",
            "the groups include all partitions, whose number is not known",
        ),
        (", num_partitions=2", "replica_groups={{1},{0}}, channel_id=1", ("device", [(2, 3), (0, 1)])),
        ("", "replica_groups=[2,2]<=[4], channel_id=1, use_global_device_ids=true", ("device", [(0, 1), (2, 3)])),
    ],
)
def test_tables(header: str, attributes: str, expected: object) -> None:
    text = f"p = f32[2] parameter(0)\n  ROOT r = f32[2] all-reduce(p), {attributes}, to_apply=add"
    root = hm.parse(f"HloModule m{header}\n{ADD}ENTRY e {{\n  {text}\n}}\n").entry.root
    found = hm.output_to_input(root)[0].devices
    assert found is not None
    assert (found.maps.reason if found.maps.is_unknown else (found.ids, list(found.groups))) == expected


@pytest.mark.parametrize(
    ("groups", "n"),
    [("[1,1099511627776]<=[1099511627776]", 2**40), ("[65536,65536]<=[65536,65536]T(1,0)", 2**16), ("{}", 2**40)],
)
def test_many_devices_are_not_listed(groups: str, n: int) -> None:
    computation = entry(f"""
  p = f32[2,3] parameter(0)
  g = f32[2,{3 * n}] all-gather(p), replica_groups={groups}, dimensions={{1}}
  ROOT r = f32[2,{3 * n}] all-reduce(g), replica_groups={groups}, to_apply=add""")
    found = hm.indexing(computation)[computation["p"]]
    assert str(found[0]).startswith("(d0, d1) -> (d0, d1 mod 3), ") and found.devices is not None


def test_wrong_devices_are_unsound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Correct elements on wrong devices: a permutation in the direction of its targets."""
    permute = entry(
        "  p = f32[2] parameter(0)\n  ROOT c = f32[2] collective-permute(p), source_target_pairs={{0,1},{1,2}}"
    )
    assert [verdict.status for verdict in hm.verify(permute.root)] == ["exact", "exact"]
    rule = lookup("collective-permute").collective
    assert rule is not None

    def backwards(instruction: hm.Instruction, leaf: tuple[int, ...]) -> dict[int, OperandIndexing]:
        return dict(rule.input_to_output(instruction, 0, leaf))

    rule_with_wrong_maps = replace(lookup("collective-permute"), collective=replace(rule, output_to_input=backwards))
    monkeypatch.setitem(_registry._registry, "collective-permute", rule_with_wrong_maps)
    found = hm.verify(permute.root)
    assert [(v.status, v.reason) for v in found] == [("unsound", "from device 0 to device 1"), ("exact", None)]


RAGGED = """
inner {
  i = f32[5,3] parameter(0)
  o = f32[7,3] parameter(1)
  r = u32[] replica-id()
  s = s32[] convert(r)
  b = s32[2] broadcast(s), dimensions={}
  one = s32[2] constant({1,2})
  a = s32[2] multiply(one, b)
  n = s32[2] constant({2,1})
  c = s32[2] add(b, a)
  ROOT x = f32[7,3] ragged-all-to-all(i, o, a, n, c, n), replica_groups={{1,0}}
}
ENTRY e {
  i = f32[5,3] parameter(0)
  o = f32[7,3] parameter(1)
  ROOT r = f32[7,3] call(i, o), to_apply=inner
}
"""


def test_rows_between_devices_follow_the_numbers_of_each_sender() -> None:
    root = hm.parse(RAGGED).entry.root
    assert [(v.operand, v.status) for v in hm.verify(root)] == [
        (0, "exact"),
        (0, "overapproximate"),
        (1, "overapproximate"),
        (1, "overapproximate"),
    ]
    there = hm.input_to_output(root)[0].devices
    assert there is not None and there.maps.exact and len(there.maps[0].runtime) == 3


def test_sets_on_devices_are_compared_with_their_devices() -> None:
    computation = entry("""
  p = f32[2] parameter(0)
  a = f32[2] all-reduce(p), replica_groups={{0,1}}, to_apply=add
  b = f32[2] collective-broadcast(p), replica_groups={{0,1}}
  c = f32[2] collective-permute(p), source_target_pairs={{0,1},{1,2}}
  ROOT t = (f32[2], f32[2], f32[2]) tuple(a, b, c)""")
    every, first, other = (hm.output_to_input(computation[name])[0] for name in "abc")
    own = hm.MapSet([hm.IndexingMap.identity([2])])
    pairs = ((every, first), (first, every), (every, own), (own, every))
    assert [a.covers(b).value for a, b in pairs] == [True, False, True, False]
    assert every.covers(every).value is True and every - every == hm.MapSet() and first - every == hm.MapSet()
    left = every - first
    assert left.devices is not None and str(left.devices.maps) == (
        "(d0, group, position) -> (d0, 0, 1), domain: d0 in [0, 1], group in [0, 0], position in [0, 1]"
    )
    assert list(left) == list(every) and not left.exact
    union = every | own
    assert union.devices is not None and union.devices.maps.covers(every.devices.maps if every.devices else own)
    assert (first | other).devices is not None


SCANNED = """
step {
  x = f32[3] parameter(0)
  c = f32[3] parameter(1)
  s = f32[3] add(x, c)
  p = f32[3] collective-permute(s), source_target_pairs={{0,1},{1,0}}
  ROOT t = (f32[3], f32[3]) tuple(p, p)
}
ENTRY e {
  x = f32[5,3] parameter(0)
  c = f32[3] parameter(1)
  ROOT r = (f32[5,3], f32[3]) scan(x, c), dimensions={0}, num_carries=1, to_apply=step
}
"""


def test_scan_steps_that_cross_devices_are_marked() -> None:
    root = hm.parse(SCANNED).entry.root
    for found in (*hm.output_to_input(root, 0), *hm.input_to_output(root, 0), *hm.input_to_output(root, 1)):
        assert found and not found.exact and found.devices is not None and found.devices.maps.is_unknown


def test_values_inside_an_entered_call_have_devices() -> None:
    module = hm.parse("""HloModule m
inner {
  x = f32[2] parameter(0)
  c = f32[2] collective-permute(x), source_target_pairs={{0,1},{1,0}}
  ROOT n = f32[2] negate(c)
}
ENTRY e {
  p = f32[2] parameter(0)
  k = f32[2] call(p), to_apply=inner
  ROOT r = f32[2] reverse(k), dimensions={0}
}""")
    found = {value.name: maps for value, maps in hm.indexing(module.entry).items()}
    assert found["c"].devices is None and list(found) == ["r", "k", "n", "c", "x", "p"]
    for name in ("x", "p"):
        devices = found[name].devices
        assert devices is not None and list(devices.groups) == [(0, 1), (1, 0)] and devices.maps.exact
        assert str(devices.maps).startswith("(d0, group, position) -> (-d0 + 1, group, 0), domain: ")


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


def test_tables_of_partly_unknown_values_count() -> None:
    """The second table belongs to a tuple of which one element is unknown and the other is known."""
    computation = entry("""
  p = f32[2] parameter(0)
  q = f32[2] parameter(1)
  s = (f32[2], f32[2]) all-to-all(p, q), replica_groups={{0,3},{2,1}}
  t = (f32[2], f32[2]) optimization-barrier(s)
  x = f32[2] get-tuple-element(t), index=0
  y = f32[2] get-tuple-element(t), index=1
  u = f32[2] custom-call(y), custom_call_target="mystery"
  v = f32[2] add(x, u)
  ROOT r = f32[2] all-reduce(v), replica_groups={{0,1},{2,3}}, to_apply=add""")
    found = hm.indexing(computation)
    assert found[computation["t"]].is_unknown
    for name in ("p", "q"):
        maps = found[computation[name]]
        assert maps.is_unknown or (maps.devices is not None and maps.devices.maps.is_unknown)
