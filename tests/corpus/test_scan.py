"""Datasets are read back: directories, single files, and errors for anything else."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.datasets import BROKEN, GOOD, module_text, write_many

import hlomap as hm
from hlomap.analysis.table import SCHEMA_VERSION, arrow_schema
from hlomap.corpus.run import analyze_corpus
from hlomap.corpus.scan import Location
from hlomap.corpus.tables import FILES, rows_schema
from hlomap.interop.duckdb import query


def _rows(name: str) -> pa.Table:
    module = hm.parse(f"HloModule {name} ENTRY e {{ p = f32[3] parameter(0)  ROOT n = f32[3] negate(p) }}")
    return hm.analyze(module).to_arrow()


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A dataset with two parts of rows, one of files, and what a run that goes on leaves beside them."""
    root = tmp_path / "set [1] é*"
    (root / "rows").mkdir(parents=True)
    (root / "files").mkdir()
    (root / "_hlomap.json").write_text(json.dumps({"schema_version": SCHEMA_VERSION}))
    pq.write_table(_rows("second"), root / "rows" / "part-00001.parquet")
    pq.write_table(_rows("first"), root / "rows" / "part-00000.parquet")
    pq.write_table(pa.table({"path": ["a.hlo", "b.hlo"], "rows": [1, 1]}), root / "files" / "part-00000.parquet")
    (root / "rows" / ".part-00002.parquet.tmp").write_bytes(b"PAR1 half")
    (root / "rows" / "notes.txt").write_text("by hand")
    return root


def test_a_table_has_the_rows_of_its_parts_in_their_order(dataset: Path) -> None:
    found = hm.scan(dataset)
    assert found.to_table(columns=["module"])["module"].to_pylist() == ["first", "second"]
    assert found.schema.equals(arrow_schema(), check_metadata=True)
    assert hm.scan(str(dataset), "files").to_table()["path"].to_pylist() == ["a.hlo", "b.hlo"]
    assert hm.scan(f"file://{dataset}").count_rows() == 2


def test_tables_are_those_that_the_dataset_has(dataset: Path) -> None:
    assert {name: table.count_rows() for name, table in Location(dataset).tables().items()} == {"rows": 2, "files": 2}


def test_a_file_of_rows(tmp_path: Path) -> None:
    pq.write_table(_rows("one"), tmp_path / "rows.parquet")
    assert hm.scan(tmp_path / "rows.parquet").to_table().equals(_rows("one"))
    with pytest.raises(hm.errors.NotFoundError, match="a single file has rows only"):
        hm.scan(tmp_path / "rows.parquet", table="files")


def test_a_dataset_without_rows_has_all_columns(tmp_path: Path) -> None:
    (tmp_path / "_hlomap.json").write_text("{}")
    assert hm.scan(tmp_path).to_table().schema.equals(rows_schema())


def test_a_dataset_of_the_runner(tmp_path: Path) -> None:
    """Each row leads by its hash to its file and to the text of its module."""
    for name, text in {"a": GOOD, "b": module_text(1), "copy": GOOD, "broken": BROKEN}.items():
        (tmp_path / f"{name}.hlo").write_text(text)
    output = tmp_path / "dataset"
    analyze_corpus(sorted(tmp_path.glob("*.hlo")), output, jobs=1, modules=True)
    rows, files, modules = (hm.scan(output, table).to_table() for table in ("rows", "files", "modules"))
    assert rows.schema.equals(rows_schema(), check_metadata=True)
    names = {row["content_hash"]: Path(row["path"]).stem for row in files.to_pylist() if row["status"] == "done"}
    assert sorted(names.values()) == ["a", "b"]
    assert {names[row["content_hash"]]: row["module"] for row in rows.to_pylist()} == {"a": "good", "b": "m0001"}
    texts = {names[row["content_hash"]]: row["content"].decode() for row in modules.to_pylist()}
    assert texts == {"a": GOOD, "b": module_text(1)}
    sql = """select status, count(distinct path) as files, count(instruction) as rows
             from files left join rows using (content_hash) group by all order by all"""
    _, batches = query(Location(output).tables(), sql)
    assert [row for batch in batches for row in batch.to_pylist()] == [
        {"status": "done", "files": 2, "rows": 4},
        {"status": "duplicate", "files": 1, "rows": 1},
        {"status": "error", "files": 1, "rows": 0},
    ]


def test_an_unfinished_dataset_has_the_rows_so_far(tmp_path: Path) -> None:
    many, output = tmp_path / "many", tmp_path / "dataset"
    many.mkdir()
    write_many(many)
    report = analyze_corpus([many], output, jobs=1, shard=(0, 3)).report
    with pytest.warns(UserWarning, match=r"dataset is unfinished: \d+ of \d+ shards"):
        assert hm.scan(output).count_rows() == report.rows > 0
    with pytest.warns(UserWarning, match="unfinished"):
        assert hm.scan(output, "files").count_rows() == report.files < 310


def test_a_corpus_without_files(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    analyze_corpus([tmp_path / "empty"], tmp_path / "dataset", jobs=1)
    assert hm.scan(tmp_path / "dataset").to_table().equals(rows_schema().empty_table())


def test_an_object_in_memory() -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    sink = pa.BufferOutputStream()
    pq.write_table(_rows("cloud"), sink)
    files.pipe_file("/scan/rows/part-00000.parquet", sink.getvalue().to_pybytes())
    assert hm.scan("memory://scan").to_table()["module"].to_pylist() == ["cloud"]


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _parquet(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path / "x.parquet")
    return path / "x.parquet"


LATER = {b"hlomap.schema_version": str(SCHEMA_VERSION + 1).encode()}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path, "expected rows/part-.*parquet in it"),
        (lambda path: _written(path / "x.csv", b"a,b\n1,2\n"), "expected a dataset directory or a Parquet file"),
        (lambda path: _parquet(path, pa.table({"a": [1]})), "expected the columns of `hlomap analyze`, found a"),
        (lambda path: _written(path / "x.parquet", b"PAR1" + bytes(100)), "x.parquet: .*[Pp]arquet"),
        (
            lambda path: _parquet(path, _rows("m").replace_schema_metadata(LATER)),
            f"this hlomap reads up to {SCHEMA_VERSION}; update hlomap",
        ),
        (lambda path: "nothing-opens-this://bucket/x", "nothing-opens-this"),
    ],
)
def test_anything_else_is_an_error(tmp_path: Path, make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(hm.errors.UnsupportedError, match=message):
        hm.scan(make(tmp_path))


def test_missing_paths_and_tables(tmp_path: Path, dataset: Path) -> None:
    with pytest.raises(FileNotFoundError):
        hm.scan(tmp_path / "nothing")
    with pytest.raises(hm.errors.NotFoundError, match="no table 'modules'; `hlomap analyze --modules` keeps them"):
        hm.scan(dataset, "modules")
    with pytest.raises(ValueError, match="expected one of rows, files, modules, found 'row'"):
        hm.scan(dataset, "row")  # type: ignore[arg-type]


def test_files_and_rows_share_one_name() -> None:
    """A query over both needs no prefixes."""
    assert set(FILES.names) & set(rows_schema().names) == {"content_hash"}


def test_passes_without_a_change(tmp_path: Path) -> None:
    """Their files are duplicates: ``rows`` has the content once, a join with ``files`` has it for each pass."""
    for step, name in enumerate(["a", "b", "c"]):
        text = GOOD if step < 2 else GOOD.replace("negate", "cosine")
        (tmp_path / f"module_0001.jit_f.{step:04}.pipe.after_{name}.txt").write_text(text)
    analyze_corpus([tmp_path], tmp_path / "dataset", jobs=1)
    sql = "select {} from {} group by all order by all"
    found = {
        source: [
            row
            for batch in query(Location(tmp_path / "dataset").tables(), sql.format(columns, source))[1]
            for row in batch.to_pylist()
        ]
        for source, columns in {
            "rows": "step, pass, opcode, count(*) n",
            "files join rows using (content_hash)": "file_step, file_pass, opcode, module, count(*) n",
        }.items()
    }
    assert found["rows"] == [
        {"step": 0, "pass": "a", "opcode": "negate", "n": 1},
        {"step": 2, "pass": "c", "opcode": "cosine", "n": 1},
    ]
    assert [tuple(row.values()) for row in found["files join rows using (content_hash)"]] == [
        (0, "a", "negate", "good", 1),
        (1, "b", "negate", "good", 1),
        (2, "c", "cosine", "good", 1),
    ]
