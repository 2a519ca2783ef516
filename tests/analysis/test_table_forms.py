"""The rows of tables in other forms: Arrow, and copies by pickle."""

from __future__ import annotations

import pickle

import hlomap as hm
from hlomap.analysis.table import count_problems, is_small, joined_rows

PLAIN = (
    "ENTRY e { p = f32[2,3] parameter(0)  t = f32[3,2] transpose(p), dimensions={1,0}  ROOT n = f32[3,2] negate(t) }"
)
SHARDED = """HloModule s, num_partitions=2
ENTRY e {
  p = f32[4,4] parameter(0), sharding={devices=[2,1]0,1}
  ROOT n = f32[4,4] negate(p), sharding={devices=[1,2]0,1}
}"""
EMPTY = "ENTRY e { ROOT p = f32[2,3] parameter(0) }"
UNKNOWN = """ENTRY e {
  ROOT c = f32[3] custom-call(), custom_call_target="f"
}"""


def test_many_rows_and_all_nulls() -> None:
    """More rows than are written in one step; columns whose first null comes late; runs, zeros and empty texts."""
    lines = "\n".join(
        f"  n{i} = f32[{i}] negate(p{i})\n  p{i + 1} = f32[{i + 1}] parameter({i + 1})" for i in range(1, 600)
    )
    long = (
        f"ENTRY e {{\n  p0 = f32[1] parameter(0)\n  p1 = f32[1] parameter(1)\n{lines}\n  ROOT r = f32[1] negate(p0)\n}}"
    )
    for text in (long, PLAIN, SHARDED, SHARDED.replace("sharding", "other"), EMPTY, UNKNOWN):
        table = hm.analyze(hm.parse(text))
        found = table.to_arrow()
        found.validate(full=True)
        rows = [{k: list(v) if isinstance(v, tuple) else v for k, v in row.items()} for row in table.rows()]
        assert found.to_pylist() == rows


def test_tables_are_joined_in_order() -> None:
    """The rows of several modules in one conversion, with and without shardings, equal those of each."""
    texts = (PLAIN, EMPTY, SHARDED, UNKNOWN, PLAIN.replace("2,3", "5,7").replace("3,2", "7,5"))
    tables = [hm.analyze(hm.parse(text)) for text in texts]
    found = joined_rows(tables)
    found.validate(full=True)
    assert found.to_pylist() == [row for table in tables for row in table.to_arrow().to_pylist()]
    assert all(map(is_small, tables))


def test_a_table_with_long_texts_is_converted_alone() -> None:
    """The bound holds for names of the module, which each row repeats, and for maps."""
    long = hm.analyze(hm.parse(PLAIN.replace("ENTRY", f"HloModule {'m' * (1 << 20)}\nENTRY")))
    for table in (long, hm.analyze(hm.parse(PLAIN))):
        assert table._rows is not None
        columns = table.to_arrow().columns
        longest = max(column.nbytes for column in columns)
        assert longest <= table._rows.most_bytes() + 64 * len(table)


def test_problems_are_counted_alike_in_both_forms() -> None:
    tables = [hm.analyze(hm.parse(text)) for text in (PLAIN, SHARDED, UNKNOWN, EMPTY)]
    assert count_problems(tables) == count_problems([pickle.loads(pickle.dumps(table)) for table in tables])
