"""One file of rows: order, failures as rows, equal rows for any number of workers, atomic output."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import CASES
from pyarrow import parquet
from support.datasets import BROKEN, GOOD, module_text

from hlomap.corpus import single_file, tables
from hlomap.corpus.reports import CorpusReport
from hlomap.corpus.run import analyze_corpus
from hlomap.errors import UnsupportedError
from hlomap.hlo.content import content_of_file
from hlomap.hlo.discover import list_files

DUMPS = CASES / "dumps"
MODULES = CASES / "modules"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def analyze(tmp_path: Path, *paths: Path, jobs: int = 1) -> tuple[CorpusReport, list[dict[str, Any]]]:
    output = tmp_path / "rows.jsonl"
    summary = analyze_corpus(paths, output, jobs=jobs)
    return summary.report, rows_of(output)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("HloModule m\n", "HLO"),
        ("\n// from a test\n/* and\n more */ HloModule m, is_scheduled=true\n", "HLO"),
        ("%add.1 (x: f32[], y: f32[]) -> f32[] {\n", "HLO"),
        ("ENTRY main {\n  p = (f32[], s32[2]) parameter(0)\n", "HLO"),
        ("  ROOT %a.1 = bf16[2,3]{1,0} add(%x, %y)\n", "HLO"),
        ("", "empty"),
        ("HloLiveRange (max 8):\n", "other text"),
        ("BufferAssignment:\nallocation 0\n", "other text"),
        ("digraph G {\nrankdir = TB;\n", "other text"),
        ("module @jit_f attributes {a = 1 : i32} {\n", "other text"),
        ("; ModuleID = 'm'\ndefine ptr @f(ptr %0) {\n", "other text"),
        ("hlo_module {\n  name: 'm'\n}\n", "HLO"),
        ("x = f(1)\n", "other text"),
        ("\x1f\x8b\x08", "compressed (gzip)"),
        ("\n\x05hello\x00\x01", "binary"),
    ],
)
def test_files_are_detected_by_content(tmp_path: Path, text: str, kind: str) -> None:
    file = tmp_path / "file.anything"
    file.write_bytes(text.encode("latin-1"))
    assert content_of_file(file).kind == kind


def test_files_are_listed_in_order_of_names(tmp_path: Path) -> None:
    for name in ["b/2.txt", "b/1.txt", "a.txt", "c/x/y.txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "c" / "loop").symlink_to(tmp_path, target_is_directory=True)
    listed = [Path(source.path).relative_to(tmp_path).as_posix() for source in list_files([tmp_path])]
    assert listed == ["a.txt", "b/1.txt", "b/2.txt", "c/x/y.txt"]
    twice = [Path(source.path).name for source in list_files([tmp_path / "c", tmp_path / "a.txt"])]
    assert twice == ["y.txt", "a.txt"]


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        analyze_corpus([tmp_path / "nowhere"], tmp_path / "rows.parquet")
    assert list(tmp_path.iterdir()) == []


def test_unknown_extension(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"\.parquet"):
        analyze_corpus([DUMPS], tmp_path / "rows.xlsx")


def test_sample_dumps(tmp_path: Path) -> None:
    summary, rows = analyze(tmp_path, DUMPS)
    assert summary.files == sum(path.is_file() for path in DUMPS.rglob("*"))
    assert (summary.modules, summary.status["duplicate"], summary.skipped["input of a compilation"]) == (8, 2, 2)
    assert summary.skipped["other text"] > 5 and summary.skipped["binary"] == 0
    assert summary.error_rows == 0 and summary.failed == 0
    assert summary.rows == len(rows) > 100
    assert {row["module"] for row in rows} == {"jit_attn", "jit_step"}


def test_files_and_their_rows(tmp_path: Path) -> None:
    """A file that is broken or cannot be read is a row with its error; equal content counts once."""
    tree = tmp_path / "tree"
    tree.mkdir()
    texts = {"1.txt": GOOD, "2.txt": BROKEN, "3.txt": GOOD.replace("good", "other"), "4.hlo": GOOD}
    for name, text in texts.items():
        (tree / name).write_text(text)
    (tree / "5.txt").symlink_to(tmp_path / "nowhere")
    summary, rows = analyze(tmp_path, tree)
    assert [(Path(row["file"]).name, row["module"], row["error"] is None) for row in rows] == [
        ("1.txt", "good", True),
        ("2.txt", None, False),
        ("3.txt", "other", True),
        ("5.txt", None, False),
    ]
    assert rows[3]["error"] == "FileNotFoundError: No such file or directory" and "4" in rows[1]["error"]
    assert summary.status == {"done": 2, "duplicate": 1, "error": 2} and len(summary.errors) == 2


def test_any_number_of_workers_gives_the_same_rows(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(DUMPS, tree / "dumps")
    shutil.copytree(MODULES, tree / "modules")
    (tree / "broken.txt").write_text(BROKEN)
    one, rows_one = analyze(tmp_path, tree, jobs=1)
    three, rows_three = analyze(tmp_path, tree, jobs=3)
    assert rows_one == rows_three
    assert (one.rows, one.unknown, one.skipped) == (three.rows, three.unknown, three.skipped)


def test_rows_do_not_depend_on_the_size_of_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(DUMPS, tree / "dumps")
    (tree / "broken.txt").write_text(BROKEN)
    _, rows = analyze(tmp_path, tree)
    monkeypatch.setattr(tables, "_ROWS_TOGETHER", 7)
    monkeypatch.setattr(single_file, "_BATCH_ROWS", 5)
    _, in_small_batches = analyze(tmp_path, tree)
    assert rows == in_small_batches and len(rows) > 100


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_formats_agree(tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"rows.{suffix}"
    summary = analyze_corpus([DUMPS], output).report
    assert [path.name for path in tmp_path.iterdir()] == [output.name]
    if suffix == "parquet":
        assert parquet.read_table(output).num_rows == summary.rows
    else:
        assert len(output.read_text(encoding="utf-8").splitlines()) == summary.rows + (suffix == "csv")


def test_an_error_keeps_the_old_output(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    output.write_text("before")

    def stop(progress: object) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        analyze_corpus([DUMPS], output, progress=stop)
    assert output.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == [output.name]


@pytest.mark.skipif(os.name == "nt", reason="signals to a process group work otherwise there")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_leaves_nothing(tmp_path: Path, jobs: int) -> None:
    """Ctrl-C reaches the whole process group, as from a terminal; the command exits with 130 and leaves no file."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(500):
        (tree / f"{number}.txt").write_text(module_text(number, 200))
    output = tmp_path / "out" / "rows.parquet"
    output.parent.mkdir()
    command = [sys.executable, "-m", "hlomap", "analyze", str(tree), "-o", str(output), "--jobs", str(jobs)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while not any(output.parent.iterdir()):  # the temporary file exists once the run has begun
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.2)
    os.killpg(child.pid, signal.SIGINT)
    _, stderr = child.communicate(timeout=60)
    assert child.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert list(output.parent.iterdir()) == []
