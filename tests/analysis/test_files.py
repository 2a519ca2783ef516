"""Tables of many files: paths, dumps, and what ``hlomap analyze`` writes for the same paths."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pandas
import polars
import pytest
from conftest import CASES
from support.datasets import BROKEN, GOOD

import hlomap as hm
from hlomap.analysis.table import COLUMNS, FILE_COLUMNS
from hlomap.corpus.run import analyze_corpus

DUMPS = CASES / "dumps"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.hlo").write_text(GOOD)
    (tree / "again.hlo").write_text(GOOD)
    (tree / "broken.hlo").write_text(BROKEN)
    (tree / "gone.hlo").symlink_to(tree / "nowhere")
    (tree / "module_0003.jit_f.0007.fusion.after_dce.before_cse.txt").write_text(GOOD.replace("good", "jit_f"))
    (tree / "notes.md").write_text("no HLO")
    return tree


def test_paths_give_what_the_command_writes(tree: Path, tmp_path: Path) -> None:
    """Rows, errors, order, duplicates and columns: one file of rows has the same."""
    for paths in ([DUMPS], [tree, DUMPS], [tree / "a.hlo", tree / "notes.md"]):
        analyze_corpus(paths, tmp_path / "rows.jsonl", jobs=1)
        expected = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
        table = hm.analyze(paths)
        assert list(table.columns) == [*FILE_COLUMNS, *COLUMNS]
        assert json.loads(json.dumps(list(table))) == expected
        assert table.to_arrow().to_pylist() == expected


def test_columns_of_the_name(tree: Path) -> None:
    (row,) = (row for row in hm.analyze(tree).rows() if row["module"] == "jit_f")
    assert [row[name] for name in FILE_COLUMNS] == [
        f"{tree}/module_0003.jit_f.0007.fusion.after_dce.before_cse.txt",
        f"{tree}/module_0003.jit_f",
        "0007.fusion.after_dce.before_cse",
        *(7, "fusion", "dce", "text"),
    ]


def test_a_file_that_is_named_alone_is_read_or_refused(tree: Path) -> None:
    assert hm.analyze(str(tree / "a.hlo"))["instruction"] == ["n"]
    for name, error in {"broken.hlo": hm.errors.HloSyntaxError, "nowhere": FileNotFoundError}.items():
        with pytest.raises(error):
            hm.analyze(tree / name)
    assert hm.analyze([tree / "broken.hlo"])["error"][0] is not None


def test_each_stage_of_a_dump_counts_once() -> None:
    dump = hm.DumpDirectory(DUMPS)
    table = hm.analyze(dump)
    stages = list(dict.fromkeys(zip(table["compilation"], table["stage"], strict=True)))
    assert stages == [(f"{m.files[0].parent}/module_{m.id:04}.{m.name}", m.stage) for m in dump]
    assert len(table) == sum(len(hm.analyze(m.load())) for m in dump)
    last = hm.analyze(dump[-1])
    assert last["instruction"] == hm.analyze(dump[-1].load())["instruction"]
    assert set(last["form"]) == {"text"} and set(last["stage"]) == {dump[-1].stage}


def test_a_table_of_files_is_a_table(tree: Path) -> None:
    table = hm.analyze(tree)
    assert pickle.loads(pickle.dumps(table)) == table and pickle.loads(pickle.dumps(table)).to_arrow().num_rows == 4
    assert hm.analyze([]).to_arrow().schema.equals(table.to_arrow().schema) and len(hm.analyze([])) == 0
    with pytest.raises(KeyError):
        table["content_hash"]


@pytest.mark.parametrize("source", [hm.parse(GOOD), DUMPS])
def test_data_frames_take_tables(source: object) -> None:
    table = hm.analyze(source)  # type: ignore[arg-type]
    for frame in (pandas.DataFrame(table), polars.DataFrame(table)):
        assert list(frame.columns) == list(table.columns) and len(frame) == len(table)
        assert list(frame["distinct_bytes"]) == table["distinct_bytes"]


def test_printing_shows_the_first_rows() -> None:
    assert str(hm.analyze(hm.parse(GOOD))).splitlines() == [
        "instruction  opcode  operand_name  exact  distinct_bytes  maps",
        "n            negate  p             True   48              "
        "(d0, d1) -> (d0, d1), domain: d0 in [0, 3], d1 in [0, 2]",
        "1 row, 40 columns; their names: table.columns",
    ]
    lines = str(hm.analyze(DUMPS)).splitlines()
    assert lines[0].startswith("module ") and lines[-2] == "… 144 more rows" and len(lines) == 13
    assert all(len(line) < 160 for line in lines) and "\n" not in repr(hm.analyze(DUMPS))


@pytest.mark.parametrize("wrong", [None, 3, b"a.hlo", [3], hm.parse(GOOD)["n"]])
def test_anything_else_is_a_type_error(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"hm.analyze: expected a Module, a DumpDirectory or an item of it, or paths"):
        hm.analyze(wrong)  # type: ignore[arg-type]
