"""``hlomap query``: results in every form, errors as DuckDB words them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from support.datasets import module_text

import hlomap as hm
from hlomap.cli.main import main

TEXT = """HloModule m
ENTRY e {
  p = f32[3,5] parameter(0), metadata={op_name="a\\"b"}
  t = f32[5,3] transpose(p), dimensions={1,0}
  ROOT n = f32[5,3] negate(t)
}"""


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "rows.parquet"
    pq.write_table(hm.analyze(hm.parse(TEXT)).to_arrow(), path)
    return str(path)


def query(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["query", *arguments])


def test_the_table_is_for_people(rows: str) -> None:
    found = query(rows, "select opcode, distinct_bytes, maps, unknown from rows order by opcode")
    assert found.exit_code == 0 and found.output.splitlines() == [
        "opcode     distinct_bytes  maps                                                          unknown",
        'negate                 60  ["(d0, d1) -> (d0, d1), domain: d0 in [0, 4], d1 in [0, 2]"]  NULL',
        'transpose              60  ["(d0, d1) -> (d1, d0), domain: d0 in [0, 4], d1 in [0, 2]"]  NULL',
    ]


def test_json_has_an_object_for_each_row(rows: str) -> None:
    numbers = "sum(distinct_bytes) total, avg(distinct_bytes) / 8 mean"
    sql = f"select {numbers}, list(opcode order by opcode) names, 'nan'::double x from rows"
    found = query(rows, sql, "--json")
    assert found.exit_code == 0
    assert json.loads(found.output) == {"total": 120, "mean": 7.5, "names": ["negate", "transpose"], "x": None}


def test_csv(rows: str) -> None:
    found = query(rows, "select instruction, exact, output_index, error from rows order by all", "--csv")
    assert found.output == "instruction,exact,output_index,error\nn,true,[],\nt,true,[],\n"


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_files(rows: str, tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"out{suffix}"
    found = query(rows, "select opcode, distinct_bytes from rows order by opcode", "-o", str(output))
    assert found.exit_code == 0 and found.output == ""
    expected = [{"opcode": "negate", "distinct_bytes": 60}, {"opcode": "transpose", "distinct_bytes": 60}]
    if suffix == ".parquet":
        assert pq.read_table(output).to_pylist() == expected
    elif suffix == ".jsonl":
        assert [json.loads(line) for line in output.read_text().splitlines()] == expected
    else:
        assert output.read_text() == "opcode,distinct_bytes\nnegate,60\ntranspose,60\n"


def test_a_result_that_fails_leaves_the_file_as_it_was(rows: str, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    output.write_text("before")
    found = query(rows, "select opcode::int from rows", "-o", str(output))
    assert found.exit_code == 1 and "Could not convert string" in found.output
    assert output.read_text() == "before" and len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select nothing from rows", "Binder Error"),
        ("select from where", "Parser Error"),
        ("select * from files", "Table with name files does not exist"),
        ("select opcode::int from rows", "Could not convert string"),
    ],
)
def test_errors_are_those_of_duckdb(rows: str, sql: str, message: str) -> None:
    found = query(rows, sql)
    assert found.exit_code == 1 and message in found.output and "Traceback" not in found.output


def test_statements_without_rows(rows: str) -> None:
    assert query(rows, "").output == ""
    assert query(rows, "select opcode from rows where false", "--json").output == ""


def test_an_unfinished_dataset_says_so(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.hlo" for number in range(40)]
    for number, path in enumerate(paths):
        path.write_text(module_text(number) + "\n" * (1 << 15))
    output = tmp_path / "dataset"
    hm.analyze_corpus(paths, output, shard=(0, 2))
    n_done, n_shards = len(list(output.glob("files/*"))), len(json.loads((output / "_work" / "plan.json").read_text()))
    message = f"dataset is unfinished: {n_done} of {n_shards} shards; the same `hlomap analyze` continues it"
    assert 0 < n_done < n_shards
    found = query(str(output), "select count(*) > 0 n from rows", "--csv")
    assert found.exit_code == 0 and found.stdout == "n\ntrue\n" and found.stderr.endswith(message + "\n")
    with pytest.warns(UserWarning, match=message):
        hm.scan(output)
    hm.analyze_corpus(paths, output, shard=(1, 2))
    assert query(str(output), "select 1").stderr == "" and hm.scan(output).count_rows() == 120


def test_wrong_arguments(rows: str, tmp_path: Path) -> None:
    assert query(rows, "select 1", "--csv", "--json").exit_code == 2
    assert query(rows, "select 1", "-o", str(tmp_path / "x.txt")).exit_code == 2
    missing = query(str(tmp_path / "nothing"), "select 1")
    assert missing.exit_code == 1 and "No such file or directory" in missing.output
    (tmp_path / "empty").mkdir()
    other = query(str(tmp_path / "empty"), "select 1")
    assert other.exit_code == 1 and "expected rows/part-*.parquet" in other.output


def test_without_duckdb_there_is_a_hint(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    found = query(rows, "select 1")
    assert found.exit_code == 1 and found.output == "SQL needs duckdb: pip install 'hlomap[corpus]'\n"
