"""The columns of the analysis table about shardings."""

from __future__ import annotations

from conftest import CASES

import hlomap as hm


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
