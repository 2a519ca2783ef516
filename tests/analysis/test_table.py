"""Counts of small maps, checked by hand, and the rows of whole modules."""

from __future__ import annotations

import pickle
import sys
from types import FrameType
from typing import Any

import pytest

import hlomap as hm
from hlomap.analysis import reads
from hlomap.analysis.reads import unknown
from hlomap.analysis.rule_cache import signature_cache
from hlomap.analysis.rule_provider import RuleProvider
from hlomap.analysis.table import COLUMNS


def record(shape: str, *maps: str, exact: bool = True) -> dict[str, Any]:
    found = reads([hm.IndexingMap.parse(text) for text in maps], exact, hm.Shape.parse(shape))
    names = ("touched_lower", "touched_upper", "distinct_lower", "distinct_upper", "bytes")
    return {name: getattr(found, name) for name in names}


def counts(touched: tuple[int, int], distinct: tuple[int, int], n_bytes: int) -> dict[str, int]:
    return {
        "touched_lower": touched[0],
        "touched_upper": touched[1],
        "distinct_lower": distinct[0],
        "distinct_upper": distinct[1],
        "bytes": n_bytes,
    }


def test_one_map() -> None:
    transpose = "(d0, d1) -> (d1, d0), domain: d0 in [0, 2], d1 in [0, 4]"
    assert record("f32[5,3]", transpose) == counts((15, 15), (15, 15), 60)


def test_repeated_reads_of_one_element() -> None:
    broadcast = "(d0, d1) -> (d1), domain: d0 in [0, 2], d1 in [0, 4]"
    assert record("bf16[5]", broadcast) == counts((15, 15), (5, 5), 10)


def test_no_map() -> None:
    assert record("f32[7]") == counts((0, 0), (0, 0), 0)


def test_disjoint_maps_add_up() -> None:
    low = "(d0) -> (d0), domain: d0 in [0, 2]"
    high = "(d0) -> (d0), domain: d0 in [3, 6]"
    assert record("s8[7]", low, high) == counts((7, 7), (7, 7), 7)


def test_overlapping_maps_have_bounds() -> None:
    """p0 + transpose(p0): the sum of the distinct counts is limited to the size of the operand."""
    straight = "(d0, d1) -> (d0, d1), domain: d0 in [0, 2], d1 in [0, 2]"
    across = "(d0, d1) -> (d1, d0), domain: d0 in [0, 2], d1 in [0, 2]"
    assert record("f32[3,3]", straight, across) == counts((9, 18), (9, 9), 36)


def test_overapproximate_unions_have_lower_bound_0() -> None:
    straight = "(d0) -> (d0), domain: d0 in [0, 6]"
    assert record("f32[7]", straight, exact=False) == counts((0, 7), (0, 7), 28)


@pytest.mark.parametrize(
    ("shape", "n_bytes"),
    [
        ("pred[16]", 16),
        ("s4[16]", 16),
        ("s4[16]{0:E(4)}", 8),
        ("f8e4m3fn[16]", 16),
        ("f4e2m1fn[16]", 16),
        ("bf16[16]", 32),
        ("c128[16]", 256),
    ],
)
def test_bytes_are_bytes_in_memory(shape: str, n_bytes: int) -> None:
    assert record(shape, "(d0) -> (d0), domain: d0 in [0, 15]")["bytes"] == n_bytes


def test_counts_beyond_64_bits_are_none() -> None:
    found = unknown("no rule", [hm.Shape.parse("f64[4611686018427387904]")])
    assert (found.distinct_upper, found.bytes) == (1 << 62, None)


def rows(text: str) -> list[dict[str, Any]]:
    return list(hm.analyze(hm.parse(text)).rows())


def cells(text: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows(text)]


def test_rows_of_sources() -> None:
    """Instructions without operands have no rows; an empty table has all columns."""
    table = hm.analyze(hm.parse("HloModule m\nENTRY e {\n  ROOT p = f32[3] parameter(0)\n}"))
    assert len(table) == 0 and table.columns == tuple(COLUMNS)
    assert table.to_arrow().num_rows == 0


def test_rows_of_tuples() -> None:
    text = """
    HloModule m
    ENTRY e {
      a = f32[3] parameter(0)
      b = f32[5] parameter(1)
      t = (f32[3], f32[5]) tuple(a, b)
      ROOT g = f32[5] get-tuple-element(t), index=1
    }"""
    names = ("instruction", "output", "output_index", "operand", "operand_index", "operand_shape", "n_maps")
    found = [(*row[:5], row[5].split("{")[0], row[6]) for row in cells(text, *names)]
    assert found == [
        ("t", 0, (0,), 0, (), "f32[3]", 1),
        ("t", 1, (1,), 1, (), "f32[5]", 1),
        ("g", 0, (), 0, (1,), "f32[5]", 1),
    ]


def test_rows_of_unknown_maps() -> None:
    text = """
    HloModule m
    ENTRY e {
      a = f32[3] parameter(0)
      ROOT c = f32[7] custom-call(a), custom_call_target="nobody_knows"
    }"""
    ((reason, exact, lower, upper, n_bytes, error),) = cells(
        text, "unknown", "exact", "distinct_lower", "distinct_upper", "bytes", "error"
    )
    assert "custom-call" in reason
    assert (exact, lower, upper, n_bytes, error) == (False, 0, 3, 12, None)


def test_rows_of_unnamed_operands() -> None:
    text = "HloModule m\nENTRY e {\n  a = f32[3] parameter(0)\n  ROOT n = f32[3] add(, )\n}"
    assert cells(text, "instruction", "operand", "unknown") == [("n", None, "the text names no operands")]


def test_fused_computations_have_no_rows() -> None:
    text = """
    HloModule m
    f {
      p = f32[3,5] parameter(0)
      t = f32[5,3] transpose(p), dimensions={1,0}
      ROOT n = f32[5,3] negate(t)
    }
    ENTRY e {
      a = f32[3,5] parameter(0)
      ROOT u = f32[5,3] fusion(a), kind=kLoop, calls=f
    }"""
    assert cells(text, "instruction", "maps", "divmod") == [
        ("u", ("(d0, d1) -> (d1, d0), domain: d0 in [0, 4], d1 in [0, 2]",), 0)
    ]


def test_conversions_keep_nulls_and_types() -> None:
    table = hm.analyze(hm.parse("HloModule m\nENTRY e {\n  p = f32[3] parameter(0)\n  ROOT n = f32[3] negate(p)\n}"))
    frame = table.to_pandas()
    assert frame["bytes"].tolist() == [12] and frame["error"].isna().all()
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


def test_an_output_has_a_row_for_an_operand_that_it_does_not_read() -> None:
    module = hm.parse("""HloModule m
    f {
      a = f32[3] parameter(0)
      b = f32[5] parameter(1)
      n = f32[3] negate(a)
      c = f32[5] cosine(b)
      ROOT t = (f32[3], f32[5]) tuple(n, c)
    }
    ENTRY e {
      p = f32[3] parameter(0)
      q = f32[5] parameter(1)
      ROOT fusion = (f32[3], f32[5]) fusion(p, q), kind=kLoop, calls=f
    }""")
    found = [(row["output"], row["operand"], row["n_maps"], row["exact"]) for row in hm.analyze(module).rows()]
    assert found == [(0, 0, 1, True), (0, 1, 0, True), (1, 0, 0, True), (1, 1, 1, True)]


def test_rules_run_once_per_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a module and across modules; for elementwise operations once for equal sizes."""
    computed: list[str] = []
    rule = RuleProvider.rule

    def counted(self: RuleProvider, instruction: hm.Instruction, key: bytes, *rest: Any) -> Any:
        if signature_cache.find((key, rest[0], rest[1])) is None:
            computed.append(instruction.opcode)
        return rule(self, instruction, key, *rest)

    def module(n: int) -> hm.Module:
        lines = ["p0 = f32[7,7] parameter(0)"]
        for i in range(n):
            lines.append(f"p{i + 1} = f32[7,7] {('negate', 'cosine')[i % 2]}(p{i})")
            lines.append(f"t{i} = f32[7,7] transpose(p{i}), dimensions={{1,0}}")
        return hm.parse("HloModule m\nENTRY e {\n  " + "\n  ".join(lines) + f"\n  ROOT r = f32[7,7] add(p{n}, t0)\n}}")

    signature_cache.clear()
    monkeypatch.setattr(RuleProvider, "rule", counted)
    assert len(hm.analyze(module(50))) == 102
    assert sorted(computed) == ["add", "negate", "transpose"]
    hm.analyze(module(80))
    assert len(computed) == 3


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


def test_rows_of_one_signature_have_their_own_names() -> None:
    text = """HloModule m
    ENTRY e {
      p = f32[3,5] parameter(0)
      q = f32[3,5] parameter(1)
      i = s32[] parameter(2)
      a = f32[5,3] transpose(p), dimensions={1,0}
      b = f32[5,3] transpose(q), dimensions={1,0}
      s = f32[1,5] dynamic-slice(p, i, i), dynamic_slice_sizes={1,5}
      z = s32[] constant(1)
      j = s32[] add(i, z)
      u = f32[1,5] dynamic-slice(q, i, j), dynamic_slice_sizes={1,5}
      ROOT v = f32[1,5] dynamic-slice(q, j, i), dynamic_slice_sizes={1,5}
    }"""
    found = cells(text, "instruction", "operand_name", "maps")
    assert [row[:2] for row in found if row[0] in "ab"] == [("a", "p"), ("b", "q")]
    i, j = (hm.parse(text)[name].number for name in "ij")
    shown = {row[0]: row[2][0].split("runtime: ")[1] for row in found if row[0] in "suv" and row[1] in "pq"}
    assert shown == {"s": f"rt0 = #{i}()", "u": f"rt0 = #{i}(), rt1 = #{j}()", "v": f"rt0 = #{j}(), rt1 = #{i}()"}


def test_unbounded_dimensions_have_no_counts() -> None:
    text = "HloModule m\nENTRY e {\n  a = f32[?,3] parameter(0)\n  ROOT n = f32[?,3] negate(a)\n}"
    names = ("n_maps", "distinct_upper", "bytes", "unknown", "error")
    reason = "negate: elements along an unbounded dimension are not followed"
    assert cells(text, *names) == [(0, None, None, reason, None)]


def test_a_table_is_pickled_with_its_columns() -> None:
    table = hm.analyze(hm.parse("HloModule m\nENTRY e {\n  a = f32[3] parameter(0)\n  ROOT n = f32[3] negate(a)\n}"))
    again = pickle.loads(pickle.dumps(table))
    assert again == table and len(again) == 1 and again.to_arrow().equals(table.to_arrow())
