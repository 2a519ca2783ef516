"""The columns of the analysis table about shardings."""

from __future__ import annotations

import pickle

from conftest import CASES

import hlomap as hm

TEXT = """HloModule m, num_partitions=4
ENTRY e {
  a = f32[16,32] parameter(0), sharding={devices=[1,4]<=[4]}
  b = f32[32,8] parameter(1), sharding={devices=[4,1]<=[4]}
  c = f32[16,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={replicated}
  n = f32[16,8] negate(c), sharding={devices=[4,1]<=[4]}
  u = f32[16,8] negate(n)
  w = f32[16,8] negate(c), sharding={devices=[4]<=[4]}
  ROOT t = (f32[16,8], f32[16,8]) tuple(u, w), sharding={{replicated}, {devices=[2,2]<=[4]}}
}"""


def test_shardings_of_a_table() -> None:
    table = hm.analyze(hm.parse(TEXT))
    columns = zip(*(table[name] for name in ("instruction", "operand_name", "output_index")), strict=True)
    found = {key: k for k, key in enumerate(columns)}

    def row(instruction: str, operand: str, output: tuple[int, ...] = ()) -> list[object]:
        k = found[instruction, operand, output]
        return [table[name][k] for name in ("sharding", "operand_sharding", "remote_bytes")]

    assert row("c", "a") == ["{replicated}", "{devices=[1,4]<=[4]}", 6144]
    assert row("c", "b") == ["{replicated}", "{devices=[4,1]<=[4]}", 3072]
    assert row("n", "c") == ["{devices=[4,1]<=[4]}", "{replicated}", 0]
    assert row("u", "n") == [None, "{devices=[4,1]<=[4]}", None]
    assert row("w", "c") == ["{devices=[4]<=[4]}", "{replicated}", None]  # which does not fit
    assert row("t", "u", (0,)) == ["{replicated}", None, None]
    copied = pickle.loads(pickle.dumps(table))
    assert copied == table
    assert table.to_arrow()["remote_bytes"].to_pylist() == table["remote_bytes"]


def test_tables_without_shardings_have_nulls() -> None:
    table = hm.analyze(hm.parse("ENTRY e { p = f32[5] parameter(0)  ROOT r = f32[5] reverse(p), dimensions={0} }"))
    assert [table[name] for name in ("sharding", "operand_sharding", "remote_bytes")] == [[None]] * 3


def test_remote_bytes_are_those_of_partitioned() -> None:
    for module in hm.parse_all((CASES / "partitioned.hlo").read_text())[:40:2]:
        table = hm.analyze(module)
        rows = zip(*(table[name] for name in ("instruction", "operand", "remote_bytes")), strict=True)
        for name, operand, remote in rows:
            found = hm.partitioned(module[name])
            if isinstance(found, hm.Unknown):
                assert remote is None
            else:
                assert remote == next(read.bytes for read in found.reads if operand in read.operands)
