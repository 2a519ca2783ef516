"""Computations of equal content share cached results, which must not mix up their values."""

from __future__ import annotations

import re
import resource

import pytest

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
    with hm.register_rule("dynamic-slice", lambda s, index: [hm.MapSet.unknown("it is a secret"), []]):
        assert hm.output_to_input(module.entry.root)[0].reason == "it is a secret"
    assert hm.output_to_input(module.entry.root)[0] == before


BOTH = """HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT
}
g {
  p = f32[4] parameter(0)
  c = f32[] constant(0)
  ROOT r = ROOT_OF_G
}
ENTRY e {
  q = f32[4] parameter(0)
  ROOT f = SHAPE_OF_G fusion(q), kind=kLoop, calls=g
}"""


def both(one: str, other: str) -> tuple[hm.Module, hm.Module]:
    def of(root: str) -> hm.Module:
        found = re.match(r"(\(.*?\)|\S+) [a-z-]+\(", root)
        assert found
        shape = found[1]
        return hm.parse(BOTH.replace("ROOT_OF_G", root).replace("SHAPE_OF_G", shape))

    return of(one), of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f32[1] slice(p), slice={[1:2]}", "f32[1] slice(p), slice={[1:2:1]}"),
        ("f32[1] pad(p, c), padding=0_-3", "f32[1] pad(p, c), padding=0_-3_0"),
        ("f32[4] pad(p, c), padding=0_0", "f32[4] pad(p, c), padding=0_0_0"),
        ("f32[4] rng(c, c), distribution=rng_uniform", "f32[4] rng(c, c), distribution=  rng_uniform"),
        ('f32[4] custom-call(p), custom_call_target="x", epsilon=3.14159274',
         'f32[4] custom-call(p), custom_call_target="x", epsilon=3.1415927'),
        ("f32[4,3] broadcast(p), dimensions={0}", "f32[4,3] broadcast(p), dimensions={ 00 }"),
        ("f32[2] reduce-window(p, c), window={size=2 stride=2}, to_apply=less",
         "f32[2] reduce-window(p, c), window={size=2 stride=2 pad=0_0 rhs_dilate=1}, to_apply=less"),
        ("f32[4] sort(p), dimensions={0}, to_apply=less",
         "f32[4] sort(p), dimensions={0}, is_stable=false, to_apply=less"),
        ("pred[4] compare(p, p), direction=LT", "pred[4] compare(p, p), direction=LT, type=FLOAT"),
        ("pred[4] compare(p, p), direction=LT, type=TOTALORDER", "pred[4] compare(p, p), direction=LT, order=TOTAL"),
        ("f32[] constant(3.14159274)", "f32[] constant(3.1415927)"),
        ("f32[3] constant({1, 2.50, 0})", "f32[3] constant({ 1e0, 25e-1, 0 })"),
        ("s32[3] constant({7, 0, 0})", "s32[3] constant(7)"),
        ("pred[2] constant({1, 0})", "pred[2] constant({true, false})"),
        ("(f32[2], s32[]) constant(({1, 2}, 3))", "(f32[2], s32[]) constant((f32[2] {1, 2}, s32[] 3))"),
        ('f32[4] custom-call(p), custom_call_target="x", backend_config="{\\"a\\":1}"',
         'f32[4] custom-call(p), custom_call_target="x", backend_config={"a":1}'),
    ],
)  # fmt: skip
def test_equal_content_has_equal_signatures(one: str, other: str) -> None:
    """However it is spelled."""
    a, b = both(one, other)
    assert a.same_as(b)
    assert a["r"].signature() == b["r"].signature() and a["f"].signature() == b["f"].signature()
    assert a.entry.fingerprint == b.entry.fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f32[1] slice(p), slice={[1:2]}", "f32[1] slice(p), slice={[2:3]}"),
        ("f32[2] slice(p), slice={[0:4:2]}", "f32[2] slice(p), slice={[0:3:2]}"),
        ("f32[1] pad(p, c), padding=0_-3", "f32[1] pad(p, c), padding=-3_0"),
        ("pred[4] compare(p, p), direction=LT", "pred[4] compare(p, p), direction=LT, type=TOTALORDER"),
        ("f32[] constant(0)", "f32[] constant(-0)"),
        ("f32[] constant(3.1415925)", "f32[] constant(3.1415927)"),
        ("s32[3] constant({7, 0, 0})", "s32[3] constant({7, 0, 1})"),
        ("s32[3] constant({0, 7, 0})", "s32[3] constant({7, 0, 0})"),
        ("(s32[], s32[]) constant((1, 0))", "(s32[], s32[]) constant((0, 1))"),
        ("s32[<=3] constant({1, 0})", "s32[<=3] constant({1, 0, 0})"),
        ('f32[4] custom-call(p), custom_call_target="x", backend_config="a b"',
         'f32[4] custom-call(p), custom_call_target="x", backend_config="ab"'),
    ],
)  # fmt: skip
def test_other_content_has_other_fingerprints(one: str, other: str) -> None:
    a, b = both(one, other)
    assert a.entry.fingerprint != b.entry.fingerprint and a["f"].signature() != b["f"].signature()


def test_constants_that_are_not_written_take_no_memory() -> None:
    text = "HloModule m\nENTRY e { ROOT c = s8[16384,16384] constant(1) }"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert hm.parse(text).entry.fingerprint
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 17


def test_a_constant_has_the_layout_that_xla_gives_it() -> None:
    plain, laid_out = (hm.parse(f"ENTRY e {{ ROOT c = f32[3]{x} constant({{1, 2, 3}}) }}") for x in ("", "{0}"))
    assert plain.entry.fingerprint == laid_out.entry.fingerprint == hm.parse(plain.to_proto()).entry.fingerprint


@pytest.mark.parametrize("number", [0, -1, 5])
def test_a_number_is_not_a_value_that_is_unknown(number: int) -> None:
    """Whichever is asked for first."""
    body = "p = f32[5] parameter(0)\n i = s32[] parameter(1)\n c = s32[] constant({})\n"
    body += " known = f32[3] dynamic-slice(p, c), dynamic_slice_sizes={{3}}\n"
    body += " ROOT unknown = f32[3] dynamic-slice(p, i), dynamic_slice_sizes={{3}}"
    for names in (("known", "unknown"), ("unknown", "known")):
        module = hm.parse(f"ENTRY e {{ {body.format(number)} }}")
        found = {name: str(hm.output_to_input(module[name])[0]) for name in names}
        assert "rt0" in found["unknown"] and "rt0" not in found["known"]
        known, unknown = (module[name].signature([1]) for name in ("known", "unknown"))
        assert known != unknown
