"""Files are written beside their place and renamed: what was there is whole, whatever ends the writing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import hlomap as hm
from hlomap.base.files import replacing, write_text
from hlomap.cli.main import main

TEXT = "ENTRY e { p = f32[4,3] parameter(0)\n ROOT n = f32[4,3] negate(p) }"


def test_a_failure_keeps_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), replacing(target) as temporary:
            Path(temporary).write_text("half")
            raise error
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["file"]
    with replacing(target) as temporary:
        Path(temporary).write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new" and os.listdir(tmp_path) == ["file"]


def test_permissions_stay(tmp_path: Path) -> None:
    for mode in (0o600, 0o640):
        (tmp_path / "file").touch()
        (tmp_path / "file").chmod(mode)
        write_text(tmp_path / "file", "new")
        assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_errors_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name, error in (("missing/file", FileNotFoundError), ("folder", IsADirectoryError)):
        with pytest.raises(error) as found:
            write_text(tmp_path / name, "x")
        assert found.value.filename == str(tmp_path / name) and found.value.filename2 is None
    assert os.listdir(tmp_path) == ["folder"]


def test_a_long_name(tmp_path: Path) -> None:
    write_text(tmp_path / ("x" * 255), "x")
    assert os.listdir(tmp_path) == ["x" * 255]


def test_a_pipe_is_written_in_place(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text(tmp_path / "pipe", "text")
    reader.join(10)
    assert read == ["text"] and (tmp_path / "pipe").is_fifo()


@pytest.fixture
def inputs(tmp_path: Path) -> Iterator[dict[str, str]]:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.hlo").write_text(TEXT)
    hm.analyze_corpus(folder / "a.hlo", folder / "rows.parquet")
    yield {"FILE": str(folder / "a.hlo"), "ROWS": str(folder / "rows.parquet")}


OUTPUTS = {
    "page.html": "explore FILE -o OUT",
    "rows.csv": "analyze FILE -o OUT",
    "rows.jsonl": "analyze FILE -o OUT",
    "rows.parquet": "analyze FILE -o OUT",
    "query.csv": "query ROWS SQL -o OUT",
    "query.parquet": "query ROWS SQL -o OUT",
    "results.npz": "run FILE -o OUT",
    "value.svg": "show FILE --instruction n --svg OUT",
    "layout.svg": "layout f32[4,3] --svg OUT",
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_output_replaces_a_link(name: str, inputs: dict[str, str], tmp_path: Path) -> None:
    """And does not write to the file that it leads to."""
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "victim").write_text("old")
    (out / name).symlink_to(tmp_path / "victim")
    names = inputs | {"OUT": str(out / name), "SQL": "select opcode from rows"}
    result = CliRunner().invoke(main, [names.get(word, word) for word in OUTPUTS[name].split()])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "victim").read_text() == "old" and os.listdir(out) == [name]
    assert not (out / name).is_symlink() and (out / name).stat().st_size > 3


_ON_A_FULL_DISK = """import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))
os.execv(sys.executable, [sys.executable, "-m", "hlomap", *sys.argv[1:]])"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_full_disk_keeps_every_output(name: str, inputs: dict[str, str], tmp_path: Path) -> None:
    """A file of more than a few bytes cannot be written."""
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("old")
    names = inputs | {"OUT": str(out / name), "SQL": "select opcode from rows"}
    words = [names.get(word, word) for word in OUTPUTS[name].split()]
    found = subprocess.run([sys.executable, "-c", _ON_A_FULL_DISK, *words], capture_output=True, text=True, timeout=120)
    assert found.returncode not in (0, 2) and "Traceback" not in found.stderr, found.stderr
    assert (out / name).read_text() == "old"


def test_methods_that_write(tmp_path: Path) -> None:
    module = hm.parse(TEXT)
    (tmp_path / "victim").write_text("old")
    for name, written in (("a.html", hm.explore(module)), ("a.svg", hm.draw(module["n"]))):
        (tmp_path / name).symlink_to(tmp_path / "victim")
        written.write(tmp_path / name)
        assert (tmp_path / name).read_text() == (written.text if name == "a.html" else written.svg)
    assert (tmp_path / "victim").read_text() == "old"
