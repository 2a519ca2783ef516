"""Analyses on small maps, checked by hand; and the rows of whole modules."""

from __future__ import annotations

from typing import Any

import pytest

import hlomap as hm
from hlomap.analyses import reads
from hlomap.analyses.reads import unknown
from hlomap.table import COLUMNS


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


def test_reads_of_one_element_again_and_again() -> None:
    broadcast = "(d0, d1) -> (d1), domain: d0 in [0, 2], d1 in [0, 4]"
    assert record("bf16[5]", broadcast) == counts((15, 15), (5, 5), 10)


def test_no_map() -> None:
    assert record("f32[7]") == counts((0, 0), (0, 0), 0)


def test_parts_that_are_apart_add_up() -> None:
    low = "(d0) -> (d0), domain: d0 in [0, 2]"
    high = "(d0) -> (d0), domain: d0 in [3, 6]"
    assert record("s8[7]", low, high) == counts((7, 7), (7, 7), 7)


def test_parts_that_may_overlap_are_bounded() -> None:
    """p0 + transpose(p0): 9 reads each, 6 of them of different elements; the sum of distinct is cut to the operand."""
    straight = "(d0, d1) -> (d0, d1), domain: d0 in [0, 2], d1 in [0, 2]"
    across = "(d0, d1) -> (d1, d0), domain: d0 in [0, 2], d1 in [0, 2]"
    assert record("f32[3,3]", straight, across) == counts((9, 18), (9, 9), 36)


def test_a_union_that_may_hold_too_much_has_no_lower_bound() -> None:
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


def test_numbers_past_64_bits_are_no_bound() -> None:
    found = unknown("no rule", [hm.Shape.parse("f64[4611686018427387904]")])
    assert (found.distinct_upper, found.bytes) == (1 << 62, None)


def rows(text: str) -> list[dict[str, Any]]:
    return list(hm.analyze(hm.parse(text)).rows())


def cells(text: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows(text)]


def test_rows_of_sources() -> None:
    """What has no operand has no rows; the table of a module without any has all columns."""
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


def test_rows_of_an_unknown() -> None:
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


def test_rows_of_operands_without_names() -> None:
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
