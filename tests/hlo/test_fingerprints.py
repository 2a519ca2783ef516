"""Computations of equal content share cached results, which must not mix up their values."""

from __future__ import annotations

import hlomap as hm


def computation(name: str) -> str:
    return f"""
{name} {{
  {name}z = f32[11] parameter(0)
  {name}p = f32[3] parameter(1)
  {name}i = s32[] parameter(2)
  {name}j = s32[] parameter(3)
  {name}u = f32[11] dynamic-update-slice({name}z, {name}p, {name}i)
  ROOT {name}s = f32[3] dynamic-slice({name}u, {name}j), dynamic_slice_sizes={{3}}
}}"""


TEXT = f"""HloModule m
{computation("f")}
{computation("g")}
{computation("h")}
ENTRY e {{
  z = f32[11] parameter(0)
  p = f32[3] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  a = f32[3] fusion(z, p, i, i), kind=kLoop, calls=f
  b = f32[3] fusion(z, p, i, j), kind=kLoop, calls=g
  c = f32[3] fusion(z, p, j, i), kind=kLoop, calls=h
  ROOT t = (f32[3], f32[3], f32[3]) tuple(a, b, c)
}}"""

INNER = """HloModule m
{0} {{
  {0}p = f32[7] parameter(0)
  {0}i = s32[] parameter(1)
  {0}n = s32[] negate({0}i)
  ROOT {0}s = f32[3] dynamic-slice({0}p, {0}n), dynamic_slice_sizes={{3}}
}}
ENTRY e {{
  {1}
  p = f32[7] parameter(0)
  i = s32[] parameter(1)
  ROOT r = f32[3] fusion(p, i), kind=kLoop, calls={0}
}}"""


def test_repeated_operand_is_one_variable_only_in_that_call() -> None:
    e = hm.parse(TEXT).entry
    update = [hm.output_to_input(e[name])[1] for name in "abc"]
    assert [str(m.results[0]) for m in update[0]] == ["d0"]
    assert not hm.output_to_input(e["a"])[0] and not hm.input_to_output(e["a"])[0]
    assert not hm.indexing(e["a"])[e["z"]]
    for found, suppliers in ((update[1], ["j", "i"]), (update[2], ["i", "j"])):
        (m,) = found
        assert str(m.results[0]) == "d0 + rt0 - rt1"
        assert [v.supplier.name for v in m.runtime if v.supplier] == suppliers


def test_runtime_values_belong_to_their_own_module() -> None:
    """Equal content at another position of another module, queried afterwards."""
    first = hm.parse(INNER.format("f", ""))
    second = hm.parse(INNER.format("g", "x = f32[] constant(0)\n  y = f32[] constant(1)"))
    for module, name in ((first, "fn"), (second, "gn"), (first, "fn")):
        for found in (hm.output_to_input(module.entry.root)[0], hm.input_to_output(module.entry.root)[0]):
            (m,) = found
            assert m.runtime[0].supplier == module[name]
            assert m.runtime[0].source == module[name].number


def test_custom_rules_invalidate_cached_results() -> None:
    module = hm.parse(INNER.format("f", ""))
    before = hm.output_to_input(module.entry.root)[0]
    hm.register_rule("dynamic-slice", lambda s, index: [hm.MapSet.unknown("it is a secret"), []])
    try:
        assert hm.output_to_input(module.entry.root)[0].reason == "it is a secret"
    finally:
        hm.unregister_rule("dynamic-slice")
    assert hm.output_to_input(module.entry.root)[0] == before
