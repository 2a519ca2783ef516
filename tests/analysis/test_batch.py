"""The rows of many tables in one Arrow table are those of the tables, in their order."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import hlomap as hm
from hlomap.analysis.table import Batch, count_problems

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
ORDERS = ([PLAIN], [PLAIN, SHARDED, PLAIN], [SHARDED, SHARDED], [EMPTY, PLAIN, UNKNOWN, EMPTY], [EMPTY])


@pytest.mark.parametrize("texts", ORDERS)
def test_a_batch_has_the_rows_of_its_tables(texts: list[str]) -> None:
    tables = [hm.analyze(hm.parse(text)) for text in texts]
    expected = pa.concat_tables([table.to_arrow() for table in tables])
    batch = Batch()
    for _ in range(2):  # a batch begins anew when its rows are taken
        batch.append(tables[:1])
        batch.append(tables[1:])
        assert len(batch) == expected.num_rows
        found = batch.take()
        found.validate(full=True)
        assert found.equals(expected) and len(batch) == 0
    with_copies = [pickle.loads(pickle.dumps(table)) for table in tables]
    batch.append(with_copies)
    assert batch.take().equals(expected)


def test_many_rows_and_all_nulls() -> None:
    """More rows than are written in one step; columns whose first null comes late."""
    lines = "\n".join(
        f"  n{i} = f32[{i}] negate(p{i})\n  p{i + 1} = f32[{i + 1}] parameter({i + 1})" for i in range(1, 200)
    )
    text = (
        f"ENTRY e {{\n  p0 = f32[1] parameter(0)\n  p1 = f32[1] parameter(1)\n{lines}\n  ROOT r = f32[1] negate(p0)\n}}"
    )
    tables = [hm.analyze(hm.parse(text)), hm.analyze(hm.parse(SHARDED.replace("sharding", "other")))]
    batch = Batch()
    batch.append(tables)
    assert batch.take().to_pylist() == [row for table in tables for row in table.to_arrow().to_pylist()]


def test_problems_are_counted_alike_in_both_forms() -> None:
    tables = [hm.analyze(hm.parse(text)) for text in (PLAIN, SHARDED, UNKNOWN, EMPTY)]
    assert count_problems(tables) == count_problems([pickle.loads(pickle.dumps(table)) for table in tables])
