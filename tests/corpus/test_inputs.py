"""Inputs: each kind gives rows, or a row that tells why not."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.datasets import BROKEN, GOOD, module_text, tables

from hlomap.corpus.run import CorpusProgress, analyze_corpus
from hlomap.errors import DatasetError, OutputError, UnsupportedError
from hlomap.hlo.content import RIEGELI


def files_of(tmp_path: Path, *paths: Any, **options: Any) -> dict[str, tuple[str, str | None]]:
    """Status and reason of each file."""
    output = tmp_path / "dataset"
    shutil.rmtree(output, ignore_errors=True)
    analyze_corpus(paths, output, jobs=1, **options)
    found = tables(output)["files"]
    assert len({row["path"] for row in found}) == len(found)
    return {
        row["path"].rpartition("/")[2]: (row["status"], row["file_error"] or row["duplicate_of"] or row["kind"])
        for row in found
    }


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.txt").write_text(GOOD)
    (tree / "b.txt").write_text(GOOD)
    (tree / "c.txt").write_text(BROKEN)
    (tree / "d.txt").write_text("HloLiveRange\n")
    return tree


DONE = ("done", "HLO")


def test_statuses(tmp_path: Path, tree: Path) -> None:
    found = files_of(tmp_path, tree)
    assert found["a.txt"] == DONE
    assert found["b.txt"] == ("duplicate", f"{tree}/a.txt")
    assert found["c.txt"][0] == "error" and "4:" in str(found["c.txt"][1])
    assert found["d.txt"] == ("skipped", "other text")
    (row,) = [row for row in tables(tmp_path / "dataset")["files"] if row["path"].endswith("c.txt")]
    assert (row["file_error_line"], row["file_error_column"]) == (4, 15)


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
def test_inputs_of_a_compilation_are_not_modules(tmp_path: Path, packed: bool) -> None:
    """A folder beside the modules has the program once more; it is read where it is named."""
    folder = tmp_path / "dump" / "module_0001.jit_f"
    folder.mkdir(parents=True)
    program = "module @f { func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { %0 = stablehlo.negate %a } }"
    inputs = {"module.mlir": program, "compile_options.pb": "\x12\x02\x08\x01", "topology.pb": GOOD}
    for name, content in inputs.items():
        (folder / name).write_text(content)
    (tmp_path / "dump" / "module_0001.jit_f.before_optimizations.txt").write_text(GOOD)
    (tmp_path / "dump" / "module_0001.jit_f.cpu_after_optimizations.riegeli").write_bytes(RIEGELI + bytes(56))
    source = tmp_path / "dump"
    if packed:
        source = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", source))
    assert files_of(tmp_path, source) == {
        "module_0001.jit_f.before_optimizations.txt": DONE,
        "module_0001.jit_f.cpu_after_optimizations.riegeli": ("skipped", "Riegeli"),
        **dict.fromkeys(inputs, ("skipped", "input of a compilation")),
    }
    for named in (folder / "topology.pb", tmp_path / "dump" / "*" / "topology.pb"):
        assert files_of(tmp_path, named) == {"topology.pb": DONE}


def test_special_files(tmp_path: Path, tree: Path) -> None:
    """Nothing waits on a pipe, follows a loop, or fails at what cannot be read."""
    os.mkfifo(tree / "pipe")
    (tree / "gone").symlink_to(tree / "nowhere")
    (tree / "loop").symlink_to(tree / "loop")
    (tree / "back").symlink_to(tree, target_is_directory=True)
    (tree / "link.txt").symlink_to(tree / "a.txt")
    (tree / "bytes\udcff.txt").write_text(GOOD)
    found = files_of(tmp_path, tree)
    assert found["pipe"] == ("skipped", "not a regular file")
    assert found["gone"] == ("error", "FileNotFoundError: No such file or directory")
    assert found["loop"] == ("error", "OSError: Too many levels of symbolic links")
    assert found["link.txt"][0] == "duplicate"
    assert found["bytes\\xff.txt"][0] == "duplicate"
    assert "back" not in found and len(found) == 9


def test_hard_links_are_read_once_and_are_duplicates(tmp_path: Path, tree: Path) -> None:
    os.link(tree / "a.txt", tree / "e.txt")
    assert files_of(tmp_path, tree)["e.txt"] == ("duplicate", f"{tree}/a.txt")


def test_a_file_that_is_given_twice_counts_once(tmp_path: Path, tree: Path) -> None:
    assert len(files_of(tmp_path, tree, tree / "a.txt", tree)) == 4


def test_globs_and_lists(tmp_path: Path, tree: Path) -> None:
    assert set(files_of(tmp_path, f"{tree}/[ab].txt")) == {"a.txt", "b.txt"}
    assert set(files_of(tmp_path, f"{tmp_path}/**/*.txt")) == {"a.txt", "b.txt", "c.txt", "d.txt"}
    names = tmp_path / "names"
    names.write_text(f"{tree}/a.txt\n\n{tree}/nowhere.txt\n{tree}/d*\n")
    assert files_of(tmp_path, f"@{names}") == {
        "a.txt": DONE,
        "nowhere.txt": ("error", "FileNotFoundError: No such file or directory"),
        "d.txt": ("skipped", "other text"),
    }
    with pytest.raises(FileNotFoundError):
        files_of(tmp_path, f"{tree}/*.nothing")


def test_a_list_on_standard_input(tmp_path: Path, tree: Path) -> None:
    command = [sys.executable, "-m", "hlomap", "analyze", "-", "-o", str(tmp_path / "dataset"), "-j", "1"]
    for _ in range(2):
        result = subprocess.run(command, input=f"{tree}/a.txt\n", text=True, capture_output=True)
        assert result.returncode == 0, result.stderr
    other = subprocess.run(command, input=f"{tree}/b.txt\n", text=True, capture_output=True)
    assert other.returncode == 2 and "value of inputs" in other.stderr


def tar_bytes(mode: str = "w") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for number in range(3):
            content = module_text(number).encode()
            entry = tarfile.TarInfo(f"dump/{number}.txt")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("dump/link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "0.txt"
        archive.addfile(link)
    return stream.getvalue()


ARCHIVES = {
    "x.tar": tar_bytes(),
    "x.tar.gz": gzip.compress(tar_bytes()),
    "x.tbz2": bz2.compress(tar_bytes()),
    "x.tar.xz": lzma.compress(tar_bytes()),
    "x.tar.zst": bytes(pa.compress(tar_bytes(), "zstd", asbytes=True)),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_tar(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(ARCHIVES[name])
    (tmp_path / "plain.txt").write_text(module_text(1))
    found = files_of(tmp_path, tmp_path / name, tmp_path / "plain.txt")
    assert found == {
        "0.txt": DONE,
        "1.txt": DONE,
        "2.txt": DONE,
        "plain.txt": ("duplicate", f"{tmp_path}/{name}!/dump/1.txt"),
    }


def test_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"dump/{number}.txt", module_text(number))
    assert files_of(tmp_path, tmp_path / "x.zip") == {f"{number}.txt": DONE for number in range(3)}


NAMES = [
    "", "/", "//", "..", "../../up.txt", "/etc/passwd", "C:\\x", "a/", "same", "same", "\x1b[2J", "\u202e",
    "x" * 65535,
]  # fmt: skip


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_members_of_any_name(tmp_path: Path, form: str) -> None:
    """A folder has no content; of two members of a zip with one name the last counts; no name becomes a file."""
    texts = [module_text(k) + "\n" * k for k in range(len(NAMES))]
    if form == "zip":
        with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a name that comes twice
            for name, text in zip(NAMES, texts, strict=True):
                packed.writestr(zipfile.ZipInfo(name), text)
    else:
        with tarfile.open(tmp_path / "x.tar", "w") as tar:
            for name, text in zip(NAMES, texts, strict=True):
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text.encode()))
    summary = analyze_corpus([tmp_path / f"x.{form}"], tmp_path / "dataset", jobs=1)
    n_without = 4 if form == "zip" else 0
    assert summary.report.status == {"done": len(NAMES) - n_without}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dataset", f"x.{form}"]


@pytest.mark.parametrize("size", [2**63, 2**64 - 1])
def test_a_member_of_a_size_beyond_all_files(tmp_path: Path, size: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("a.txt", GOOD)
        packed.filelist[0].file_size = size
    (tmp_path / "x.zip").write_bytes(stream.getvalue())
    status, error = files_of(tmp_path, tmp_path / "x.zip")["x.zip"]
    assert status == "error" and "damaged archive" in str(error)


@pytest.mark.parametrize("name", [*ARCHIVES, "x.zip"])
def test_a_damaged_archive_is_a_row(tmp_path: Path, name: str) -> None:
    content = ARCHIVES.get(name, b"PK\x03\x04 nonsense")
    (tmp_path / name).write_bytes(content[: 600 if name == "x.tar" else len(content) // 2])
    found = files_of(tmp_path, tmp_path / name)
    assert name not in found or found[name][0] == "error"
    assert any(status == "error" for status, _ in found.values())


def test_an_archive_that_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tar.gz")
    os.mkfifo(tmp_path / "pipe.zip")
    (tmp_path / "zero.zip").symlink_to("/dev/zero")
    assert set(files_of(tmp_path, *sorted(tmp_path.iterdir())).values()) == {("skipped", "not a regular file")}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_of_an_archive_is_a_row(tmp_path: Path, method: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("damaged.txt", module_text(0) * 50)
        archive.writestr("whole.txt", module_text(1))
    content = bytearray(stream.getvalue())
    for at in range(45, 75):
        content[at] ^= 0x5A
    (tmp_path / "x.zip").write_bytes(content)
    found = files_of(tmp_path, tmp_path / "x.zip")
    assert found["damaged.txt"][0] == "error" and found["whole.txt"] == DONE


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
@pytest.mark.parametrize("size", [7 << 30, (1 << 63) - 1])
def test_a_header_of_any_size_is_a_row(tmp_path: Path, kind: bytes, size: int) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, size
    with open(tmp_path / "x.tar", "wb") as stream:
        stream.write(header.tobuf(tarfile.GNU_FORMAT))
        stream.truncate(8 << 30)  # sparse
    status, error = files_of(tmp_path, tmp_path / "x.tar")["x.tar"]
    assert status == "error" and "at most 16,777,216 are read" in str(error)


def test_a_full_disk_is_no_fault_of_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    (tmp_path / "x.tar.gz").write_bytes(ARCHIVES["x.tar.gz"])
    with pytest.raises(OutputError, match="No space left"):
        analyze_corpus([tmp_path / "x.tar.gz"], tmp_path / "dataset", jobs=1)


def test_a_file_above_the_limit_is_an_error(tmp_path: Path, tree: Path) -> None:
    size = (tree / "a.txt").stat().st_size
    assert files_of(tmp_path, tree / "a.txt", max_bytes=size)["a.txt"] == DONE
    status, error = files_of(tmp_path, tree / "a.txt", max_bytes=size - 1)["a.txt"]
    expected = f"expected at most {size - 1} bytes, found {size}; raise max_bytes (hlomap --max-bytes) to read it"
    assert (status, error) == ("error", expected)


def test_urls(tmp_path: Path, tree: Path) -> None:
    pytest.importorskip("fsspec")
    assert files_of(tmp_path, f"file://{tree}")["a.txt"] == DONE
    assert set(files_of(tmp_path, f"file://{tree}/[ab].txt")) == {"a.txt", "b.txt"}
    with pytest.raises(FileNotFoundError):
        files_of(tmp_path, f"file://{tree}/nowhere")
    with pytest.raises(UnsupportedError, match="nothing"):
        files_of(tmp_path, "nothing://bucket")


def test_memory_file_system(tmp_path: Path, tree: Path) -> None:
    """Inputs and outputs in a store without renames; it exists in this process only, which does the work itself."""
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.rm("/", recursive=True)
    for path in tree.iterdir():
        memory.pipe_file(f"/dumps/{path.name}", path.read_bytes())
    summary = analyze_corpus(["memory://dumps"], "memory://dataset")
    assert summary.report.status == {"done": 1, "duplicate": 1, "error": 1, "skipped": 1}
    memory.get("/dataset", str(tmp_path / "dataset"), recursive=True)
    assert len(tables(tmp_path / "dataset")["rows"]) == 1
    assert sorted(memory.ls("/dataset", detail=False)) == ["/dataset/_hlomap.json", "/dataset/files", "/dataset/rows"]
    again = analyze_corpus(["memory://dumps"], "memory://dataset")
    assert again.report.status == summary.report.status


def test_two_runs_at_a_url_that_begin_at_the_same_moment(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing locks there: the run whose manifest was replaced ends, and no part of it remains."""
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.rm("/", recursive=True)
    memory.pipe_file("/dumps/a.txt", (tree / "a.txt").read_bytes())

    def replace(progress: CorpusProgress) -> None:
        if progress.stage == "analyze":
            manifest = json.loads(memory.cat_file("/dataset/_hlomap.json"))
            memory.pipe_file("/dataset/_hlomap.json", json.dumps(manifest | {"dataset": "other"}).encode())

    with pytest.raises(DatasetError, match="another run has begun there; the same command continues"):
        analyze_corpus(["memory://dumps"], "memory://dataset", progress=replace)
    assert not memory.glob("/dataset/*/part-*")
    assert analyze_corpus(["memory://dumps"], "memory://dataset").report.status == {"done": 1}


def test_a_module_in_place_of_a_list(tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before anything is written: each of its lines would be the name of a file that does not exist."""
    output = tmp_path / "rows.jsonl"
    output.write_text("before")
    programs = [GOOD.encode(), gzip.compress(GOOD.encode()), b"module @m { func.func @main() { stablehlo.constant"]
    for kind, program in zip(["HLO", "HLO", "StableHLO"], programs, strict=True):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(program)))
        with pytest.raises(UnsupportedError, match=f"`-` is a list of paths.*; found {kind}: .*`hlomap show -`"):
            analyze_corpus(["-"], output, jobs=1)
    with pytest.raises(UnsupportedError, match=r"is a list of paths.*; found HLO: without the @ .*/a.txt"):
        analyze_corpus([f"@{tree}/a.txt"], output, jobs=1)
    assert output.read_text() == "before"
