"""The table of a module: its types, and work that grows with the program alone."""

from __future__ import annotations

import pickle
import sys
from types import FrameType

import pytest
from support.families import FAMILIES

import hlomap as hm
from hlomap._core import InstructionIndexing, RuleCache
from hlomap.analysis.rule_cache import cache
from hlomap.base.answers import Unknown
from hlomap.ops._registry import _registry, lookup, traits
from hlomap.ops._rule import OutputToInput, RuleContext, RuleResult, RuleTraits


def test_conversions_keep_nulls_and_types() -> None:
    table = hm.analyze(hm.parse("HloModule m\nENTRY e {\n  p = f32[3] parameter(0)\n  ROOT n = f32[3] negate(p)\n}"))
    frame = table.to_pandas()
    assert frame["distinct_bytes"].tolist() == [12] and frame["error"].isna().all()
    assert table.to_polars()["maps"].to_list() == table.to_arrow()["maps"].to_pylist() == [list(table["maps"][0])]


def _wide(n: int) -> str:
    names = [f"p{i}" for i in range(n)]
    return "\n".join(
        [
            "HloModule wide",
            "ENTRY e {",
            *(f"  {name} = f32[2] parameter({i})" for i, name in enumerate(names)),
            f"  t = ({', '.join(['f32[2]'] * n)}) tuple({', '.join(names)})",
            *(f"  g{i} = f32[2] get-tuple-element(t), index={i}" for i in range(n)),
            "  ROOT r = f32[2] negate(g0)",
            "}",
        ]
    )


def test_wide_tuples_stay_linear() -> None:
    """The number of calls doubles with the width; calls are counted, so the result does not depend on time."""

    def calls(module: hm.Module) -> int:
        n = 0

        def count(frame: FrameType, event: str, arg: object) -> None:
            nonlocal n
            n += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            hm.analyze(module)
        finally:
            sys.setprofile(before)
        return n

    small, large = hm.parse(_wide(300)), hm.parse(_wide(600))
    hm.analyze(hm.parse(_wide(3)))
    assert calls(large) < 2.5 * calls(small)
    assert len(hm.analyze(large)["module"]) == 2 * 600 + 1


def test_rules_run_once_per_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a module and across modules, for operations whose maps the core does not evaluate."""
    computed: list[str] = []

    def counted(rule: OutputToInput) -> OutputToInput:
        def output_to_input(
            instruction: hm.Instruction, shape_index: hm.ShapeIndex, context: RuleContext
        ) -> RuleResult:
            computed.append(instruction.opcode)
            return rule(instruction, shape_index, context)

        return output_to_input

    def module(n: int) -> hm.Module:
        lines = ["p0 = f32[7,7] parameter(0)"]
        for i in range(n):
            lines.append(f"p{i + 1} = f32[7,7] cholesky(p{i}), lower={('true', 'false')[i % 2]}")
            lines.append(
                f"t{i} = f32[7,7] triangular-solve(p{i}, p0), left_side=true, lower=true, transpose_a=NO_TRANSPOSE"
            )
        return hm.parse("HloModule m\nENTRY e {\n  " + "\n  ".join(lines) + f"\n  ROOT r = f32[7,7] add(p{n}, t0)\n}}")

    cache.clear()
    for opcode in ("cholesky", "triangular-solve"):
        op = lookup(opcode)
        maps = op.maps._replace(output_to_input=counted(op.maps.output_to_input))
        changed = op._replace(maps=maps)
        monkeypatch.setitem(_registry, opcode, changed)
        monkeypatch.setitem(traits, opcode, RuleTraits.of(changed, changed))
    assert len(hm.analyze(module(50))) == 152
    assert sorted(computed) == ["cholesky", "cholesky", "triangular-solve"]
    hm.analyze(module(80))
    assert len(computed) == 3
    cache.clear()  # of rules that count


def test_only_recent_results_of_rules_are_cached() -> None:
    """One that is asked for stays; one that is not asked for while as many again come is dropped."""
    own = RuleCache()
    negate = hm.parse("ENTRY e { p = f32[7] parameter(0)  ROOT n = f32[7] negate(p) }")["n"]
    result = InstructionIndexing(negate, (), -1, [Unknown("any")])
    for i in range(3 * 16384):
        own.keep(i.to_bytes(16, "little"), (), -1, result)
        assert i % 1000 or own.find(bytes(16), (), -1) is not None
    assert own.find((1).to_bytes(16, "little"), (), -1) is None


@pytest.mark.parametrize("is_diamond", [False, True])
def test_work_in_a_fusion_does_not_grow_with_the_number_of_paths(is_diamond: bool) -> None:
    """400 diamonds in a row have 2^400 paths and one map."""
    operands = "p{0}, p{0}" if is_diamond else "p{0}"
    opcode = "add" if is_diamond else "reverse"
    attribute = "" if is_diamond else ", dimensions={0}"
    lines = [f"p{i + 1} = f32[64] {opcode}({operands.format(i)}){attribute}" for i in range(400)]
    body = "\n  ".join(["p0 = f32[64] parameter(0)", *lines[:-1], "ROOT " + lines[-1]])
    module = hm.parse(f"""HloModule m
    f {{
      {body}
    }}
    ENTRY e {{
      a = f32[64] parameter(0)
      ROOT r = f32[64] fusion(a), kind=kLoop, calls=f
    }}""")
    assert hm.analyze(module)["maps"] == [("(d0) -> (d0), domain: d0 in [0, 63]",)]


def test_a_table_is_pickled_with_its_columns() -> None:
    table = hm.analyze(hm.parse("HloModule m\nENTRY e {\n  a = f32[3] parameter(0)\n  ROOT n = f32[3] negate(a)\n}"))
    again = pickle.loads(pickle.dumps(table))
    assert again == table and len(again) == 1 and again.to_arrow().equals(table.to_arrow())


def check_rows(module: hm.Module) -> None:
    """Rows have the maps of questions about one output each."""
    cache.clear()
    for row in hm.analyze(module).rows():
        if row["operand"] is not None and row["unknown"] is None:
            instruction = module.computation(row["computation"])[row["instruction"]]
            cache.clear()
            alone = hm.output_to_input(instruction, row["output_index"])[row["operand"]]
            maps = [m for m in alone if m.shape_index == row["operand_index"]]
            assert row["maps"] == tuple(map(str, maps)) and row["exact"] == alone.exact, row


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_have_the_maps_of_questions_about_one_output(name: str) -> None:
    """All outputs of a computation are followed in one pass, and each has the maps that it has alone."""
    check_rows(hm.parse(FAMILIES[name](7)))


def test_rows_of_outputs_that_share_some_of_their_needs() -> None:
    """Of x, some outputs need all for each element, some only that element, and some both, in arrays of other sizes."""
    check_rows(
        hm.parse("""HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
f {
  p = f32[5,3] parameter(0)
  q = f32[3,4] parameter(1)
  x = f32[5,3] negate(p)
  z = f32[] constant(0)
  s = f32[] reduce(x, z), dimensions={0,1}, to_apply=add
  r = f32[3] reduce(x, z), dimensions={0}, to_apply=add
  s5 = f32[5,3] broadcast(s), dimensions={}
  r5 = f32[5,3] broadcast(r), dimensions={1}
  s2 = f32[2] broadcast(s), dimensions={}
  s7 = f32[7] broadcast(s), dimensions={}
  s1 = f32[1] broadcast(s), dimensions={}
  both = f32[5,3] add(x, s5)
  rows = f32[5,3] add(r5, s5)
  t = f32[3,5] transpose(both), dimensions={1,0}
  d = f32[5,4] dot(rows, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  l = f32[2] slice(r), slice={[1:3]}
  m = f32[2] multiply(l, s2)
  ROOT o = (f32[5,3], f32[3,5], f32[5,4], f32[2], f32[7], f32[1], f32[], f32[3], f32[2])
    tuple(both, t, d, s2, s7, s1, s, r, m)
}
ENTRY e {
  p = f32[5,3] parameter(0)
  q = f32[3,4] parameter(1)
  ROOT c = (f32[5,3], f32[3,5], f32[5,4], f32[2], f32[7], f32[1], f32[], f32[3], f32[2]) call(p, q), to_apply=f
}""")
    )
