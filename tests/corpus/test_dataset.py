"""The dataset: exactly once, whatever ends a run; a file that hurts its worker becomes a row."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pytest
from pyarrow import parquet
from support.datasets import BROKEN, GOOD, Tables, left_over, module_text, tables

import hlomap as hm
from hlomap.corpus import folder as corpus_folder, run as corpus_run, supervisor
from hlomap.corpus.engines import Engine
from hlomap.corpus.folder import LocalFolder
from hlomap.corpus.manifest import open_dataset
from hlomap.corpus.plan import make_plan, read_shard
from hlomap.corpus.reports import CorpusReport
from hlomap.corpus.run import analyze_corpus
from hlomap.corpus.sources import Source
from hlomap.corpus.supervisor import Children
from hlomap.corpus.tables import FILES, rows_schema
from hlomap.corpus.tasks import Task
from hlomap.corpus.work import analyze_shard
from hlomap.errors import DatasetError, EngineError, LockedError, OutputError


def test_layout(many: Path, tmp_path: Path) -> None:
    output = tmp_path / "dataset"
    summary = analyze_corpus([many], output, jobs=1, modules=True)
    report = summary.report
    n_broken = 150 // 15
    assert report.status == {"done": 150, "duplicate": 150, "error": n_broken} and report.files == 300 + n_broken
    assert report.instructions == 4 * 150 and report.rows == 3 * 150 and summary.has_errors

    manifest = json.loads((output / "_hlomap.json").read_text())
    assert manifest["complete"] and manifest["schema_version"] == 2
    assert manifest["options"] == {"inputs": [str(many)], "modules": True, "timeout": None, "memory": None}
    found = tables(output)
    hashes = {row["content_hash"] for row in found["rows"]}
    done = [row for row in found["files"] if row["status"] == "done"]
    assert hashes == {row["content_hash"] for row in done} and len(hashes) == len(done)
    assert {row["file_stage"] for row in done if "module_" in row["path"]} == {"before_optimizations"}
    assert sum(row["rows"] for row in found["files"]) == len(found["rows"])
    owners = {row["path"]: row["content_hash"] for row in done}
    assert all(owners[r["duplicate_of"]] == r["content_hash"] for r in found["files"] if r["status"] == "duplicate")
    modules = parquet.read_table(output / "modules").to_pydict()
    contents = dict(zip(modules["content_hash"], modules["content"], strict=True))
    assert all(contents[row["content_hash"]] == Path(row["path"]).read_bytes() for row in done)


def test_schemas(many: Path, tmp_path: Path) -> None:
    """Parts have the versions and a description of each column."""
    analyze_corpus([many / "run0"], tmp_path / "dataset", jobs=1)
    for folder, names in (("files", FILES), ("rows", rows_schema())):
        (part, *_) = sorted((tmp_path / "dataset" / folder).iterdir())
        found = parquet.read_schema(part)
        assert found.equals(names)
        assert {b"hlomap.version", b"hlomap.schema_version"} <= set(found.metadata)
    assert all(field.metadata[b"description"] for field in FILES)


def test_a_complete_dataset_is_left_alone(many: Path, tmp_path: Path) -> None:
    """But for what a run leaves that is killed right after it has marked the dataset complete."""
    output = tmp_path / "dataset"
    first = analyze_corpus([many], output, jobs=2)
    before = {path: path.stat().st_mtime_ns for path in output.rglob("*") if path.is_file()}
    again = analyze_corpus([many], output, jobs=1)
    assert again.report.status == first.report.status
    for name in ("_work/shards/000000.json.zz", "rows/.part-000000.parquet.5f5f5f5f5f5f.tmp", "_lock-0-of-3"):
        (output / name).parent.mkdir(exist_ok=True, parents=True)
        (output / name).touch()
    analyze_corpus([many], output, jobs=1)
    assert before == {path: path.stat().st_mtime_ns for path in output.rglob("*") if path.is_file()}
    assert not left_over(output)


@pytest.mark.parametrize(
    ("options", "name"),
    [({"modules": True}, "modules"), ({"timeout": 5.0}, "timeout"), ({"memory": 1 << 32}, "memory")],
)
def test_other_options_do_not_mix(tmp_path: Path, options: dict[str, Any], name: str) -> None:
    (tmp_path / "a.txt").write_text(GOOD)
    analyze_corpus([tmp_path / "a.txt"], tmp_path / "dataset", jobs=1)
    with pytest.raises(DatasetError, match=f"another value of {name}: "):
        analyze_corpus([tmp_path / "a.txt"], tmp_path / "dataset", jobs=1, **options)
    with pytest.raises(DatasetError, match="value of inputs"):
        analyze_corpus([tmp_path], tmp_path / "dataset", jobs=1)


def test_an_existing_dataset_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(GOOD)
    output = tmp_path / "dataset"
    analyze_corpus([tmp_path / "a.txt"], output, jobs=1, resume=False)
    before = tables(output)
    with pytest.raises(DatasetError, match="has a dataset: choose another folder, or continue it with --resume"):
        analyze_corpus([tmp_path / "a.txt"], output, jobs=1, resume=False)
    assert tables(output) == before and not left_over(output)


def test_other_versions_and_folders_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(GOOD)
    output = tmp_path / "dataset"
    analyze_corpus([tmp_path / "a.txt"], output, jobs=1)
    manifest = json.loads((output / "_hlomap.json").read_text())
    for key in ("schema_version", "hlomap_version"):
        (output / "_hlomap.json").write_text(json.dumps(manifest | {key: "0"}))
        with pytest.raises(DatasetError, match=f"another {key.replace('_', ' ')}"):
            analyze_corpus([tmp_path / "a.txt"], output, jobs=1)
    (output / "_hlomap.json").write_text("{")
    with pytest.raises(DatasetError, match="not the manifest"):
        analyze_corpus([tmp_path / "a.txt"], output, jobs=1)
    (output / "_hlomap.json").unlink()
    with pytest.raises(DatasetError, match=r"has files/part-000000\.parquet but no _hlomap\.json"):
        analyze_corpus([tmp_path / "a.txt"], output, jobs=1)


@pytest.mark.parametrize("order", [(2, 0, 1)])
def test_shards_make_the_same_dataset(many: Path, tmp_path: Path, undisturbed: Tables, order: tuple[int, ...]) -> None:
    output = tmp_path / "dataset"
    complete = [analyze_corpus([many], output, jobs=1, shard=(i, 3)).is_complete for i in order]
    assert complete == [False, False, True]
    assert tables(output) == undisturbed and not left_over(output)


def test_shards_that_begin_at_the_same_moment(many: Path, tmp_path: Path, undisturbed: Tables) -> None:
    """One of them makes the dataset and the plan, and one completes it."""
    output = tmp_path / "dataset"
    runs = [start(many, output, "--shard", f"{i}/3") for i in range(3)]
    messages = [run.communicate(timeout=120)[1] for run in runs]
    assert [run.returncode in (0, 1) for run in runs] == [True] * 3, messages
    assert json.loads((output / "_hlomap.json").read_text())["complete"]
    assert tables(output) == undisturbed and not left_over(output)


@pytest.mark.parametrize("n_tasks", [0, 5])
def test_a_lost_engine_is_continued(
    many: Path,
    tmp_path: Path,
    undisturbed: Tables,
    monkeypatch: pytest.MonkeyPatch,
    n_tasks: int,
) -> None:
    output = tmp_path / "dataset"
    done: list[Task] = []

    def submit(task: Task) -> Future[CorpusReport]:
        future: Future[CorpusReport] = Future()
        if len(done) < n_tasks:
            future.set_result(supervisor.run_task(task))
        else:
            future.set_exception(ConnectionError("the scheduler is gone"))
        done.append(task)
        return future

    @contextmanager
    def open_engine(*_: Any, **__: Any) -> Iterator[Engine]:
        yield Engine(submit, lambda: 1)

    with monkeypatch.context() as patch:
        patch.setattr(corpus_run, "open_engine", open_engine)
        with pytest.raises(EngineError, match="the scheduler is gone"):
            analyze_corpus([many], output)
    analyze_corpus([many], output, jobs=1)
    assert tables(output) == undisturbed and not left_over(output)


def start(many: Path, output: Path | str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hlomap", "analyze", str(many), "-o", str(output), "-j", "2", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)


KILL_POINTS: dict[str, Callable[[Path], object]] = {
    "the output": lambda output: output.exists(),
    "the first shard of the plan": lambda output: any(output.glob("_work/shards/0*")),
    "the plan": lambda output: (output / "_work" / "plan.json").exists(),
    "a temporary part": lambda output: any(output.glob("rows/.*.tmp")),
    "rows": lambda output: any(output.glob("rows/part*")),
    "files": lambda output: len(list(output.glob("files/part*"))) > 3,
}


def test_a_killed_coordinator_is_continued(many: Path, tmp_path: Path, undisturbed: Tables) -> None:
    """Killed at one point after the other, each time by the run that continues the one before."""
    output = tmp_path / "dataset"
    for is_there in KILL_POINTS.values():
        process = start(many, output)
        wait_for(lambda found=is_there: found(output), process)  # type: ignore[misc]
        children = psutil.Process(process.pid).children()
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        psutil.wait_procs(children, timeout=30)
        assert not any(child.is_running() for child in children)  # workers end with the coordinator
    analyze_corpus([many], output, jobs=1)
    assert tables(output) == undisturbed and not left_over(output)


def test_killed_workers_are_replaced(many: Path, tmp_path: Path, undisturbed: Tables) -> None:
    output = tmp_path / "dataset"
    process = start(many, output)
    for n_parts in (1, 4, 7):
        wait_for(lambda n=n_parts: len(list(output.glob("files/part*"))) >= n, process)  # type: ignore[misc]
        for child in psutil.Process(process.pid).children():
            child.kill()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 1, messages  # the broken files
    assert tables(output) == undisturbed and not left_over(output)


def test_an_interrupt_keeps_what_is_done(many: Path, tmp_path: Path, undisturbed: Tables) -> None:
    output = tmp_path / "dataset"
    process = start(many, output)
    wait_for(lambda: any(output.glob("files/part*")), process)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130 and "the same command continues" in messages and "Traceback" not in messages
    assert not {name for name in left_over(output) if not name.startswith("_work/")}
    analyze_corpus([many], output, jobs=2)
    assert tables(output) == undisturbed


@pytest.mark.filterwarnings("ignore:os.fork.. was called:RuntimeWarning")  # of JAX, if another test imported it
def test_a_full_disk_ends_the_run(many: Path, tmp_path: Path, undisturbed: Tables) -> None:
    """The limit of the size of files fails like a full disk; it is the run's error, not the files'."""
    output = tmp_path / "dataset"
    command = [sys.executable, "-m", "hlomap", "analyze", str(many), "-o", str(output), "-j", "1"]
    limit = 8000
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert result.returncode == 3 and "File too large" in result.stderr and "continues" in result.stderr
    assert not any(output.rglob("*.tmp"))
    analyze_corpus([many], output, jobs=1)
    assert tables(output) == undisturbed and not left_over(output)


def test_a_removed_output_ends_the_run(many: Path, tmp_path: Path) -> None:
    output = tmp_path / "dataset"
    process = start(many, output)
    wait_for(lambda: any(output.glob("files/part*")), process)
    output.rename(tmp_path / "elsewhere")
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 3 and "Traceback" not in messages
    assert not output.exists()


def test_two_runs_on_one_output(many: Path, tmp_path: Path) -> None:
    output = tmp_path / "dataset"
    output.mkdir()
    with LocalFolder(str(output)).lock("_lock"):
        with pytest.raises(LockedError, match=f"another run is at work .process {os.getpid()} on "):
            analyze_corpus([many], output, jobs=1)
        process = start(many, output)
        _, messages = process.communicate(timeout=60)
        assert process.returncode == 3 and "another run is at work" in messages
    assert not any(output.iterdir())


def test_a_file_over_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that does not notice by itself, since it is stopped, is replaced."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "slow.txt").write_text(module_text(0, 1_000_000))
    analyze_corpus([tmp_path / "tree"], tmp_path / "one", jobs=1, timeout=0.05)
    (row,) = tables(tmp_path / "one")["files"]
    assert (row["status"], row["file_error"]) == ("timed out", "took longer than the limit of 0.05 seconds")
    assert row["content_hash"] is not None
    (tmp_path / "tree" / "slow.txt").write_text(module_text(0, 100_000))
    (tmp_path / "tree" / "quick.txt").write_text(GOOD)

    pools: list[Children] = []

    def stop_worker() -> None:
        deadline, before = time.monotonic() + 30, None
        while time.monotonic() < deadline:
            for child in [child for pool in pools for child in list(pool.busy)]:
                now = tuple(child.state[:3])
                if now == before and now[:2] == (0, 1):  # still analyzing the same file: the slow one
                    psutil.Process(child.pid).suspend()
                    return
                before = now
            time.sleep(0.02)

    class Watched(Children):
        def __init__(self) -> None:
            super().__init__()
            pools.append(self)

    monkeypatch.setattr("hlomap.corpus.engines.Children", Watched)
    thread = threading.Thread(target=stop_worker)
    thread.start()
    summary = analyze_corpus([tmp_path / "tree"], tmp_path / "two", jobs=1, timeout=6.0)
    thread.join()
    assert summary.report.status == {"done": 1, "timed out": 1}


def planned(paths: list[Path], output: Path) -> Task:
    """The only shard of a dataset that is begun."""
    output.mkdir()
    folder = LocalFolder(str(output))
    manifest = open_dataset(folder, {})
    sources = [Source(number, str(path), str(path), path.stat().st_size) for number, path in enumerate(paths)]
    (shard,) = make_plan(sources, folder)
    return Task(folder.url, manifest.dataset, shard.number)


def test_the_stages_of_a_shard(tmp_path: Path) -> None:
    """The time of a file ends with its analysis; what comes before the first and after the last belongs to no file."""
    paths = [tmp_path / name for name in ("a.txt", "b.md", "c.txt")]
    for path, text in zip(paths, (GOOD, "no HLO", BROKEN), strict=True):
        path.write_text(text)
    stages: list[tuple[int, str]] = []
    analyze_shard(planned(paths, tmp_path / "dataset"), {}, lambda position, stage, _: stages.append((position, stage)))
    assert stages == [
        *((0, "read"), (0, "analyze"), (0, "write")),
        *((1, "read"), (1, "write")),
        *((2, "read"), (2, "analyze"), (2, "write")),
        (-1, "write"),
    ]


def test_a_worker_that_hangs_before_its_first_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(supervisor.Child):
        def __init__(self) -> None:
            super().__init__()
            os.kill(self.pid, signal.SIGSTOP)

    monkeypatch.setattr(supervisor, "Child", Stopped)
    (tmp_path / "a.txt").write_text(GOOD)
    children = Children(stall=0.5)
    with pytest.raises(OutputError, match=r"a worker hangs: no progress for 0\.5 seconds"):
        children.run_task(planned([tmp_path / "a.txt"], tmp_path / "dataset"))
    children.close()


@pytest.mark.parametrize(
    ("options", "n_bytes", "n_workers"),
    [({}, 0, 0), ({"timeout": 60.0}, 0, 1), ({"memory": 1 << 32}, 0, 1), ({}, 1 << 18, 1)],
    ids=["few", "timeout", "memory", "large"],
)
def test_few_small_files_need_no_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], n_bytes: int, n_workers: int
) -> None:
    """The dataset is the same, and so are the rows of broken files; limits need a process that can be ended."""
    started = []

    class Counted(supervisor.Child):
        def __init__(self) -> None:
            super().__init__()
            started.append(self.pid)

    monkeypatch.setattr(supervisor, "Child", Counted)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.txt").write_text(GOOD + "\n" * n_bytes)
    (tmp_path / "tree" / "b.txt").write_text(BROKEN)
    summary = analyze_corpus([tmp_path / "tree"], tmp_path / "dataset", jobs=2, **options)
    assert len(started) == n_workers
    assert summary.report.status == {"done": 1, "error": 1}
    assert len(tables(tmp_path / "dataset")["rows"]) == summary.report.rows and not left_over(tmp_path / "dataset")


def test_killed_runs_leave_no_temporary_files(many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coordinator and workers killed at once, while the workers start."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    for _ in range(3):
        process = start(many, tmp_path / "dataset")
        family = psutil.Process(process.pid)
        wait_for(lambda of=family: of.children(), process)  # type: ignore[misc]
        children = family.children()
        for killed in (*children, process):
            killed.kill()
        process.communicate()
        psutil.wait_procs(children, timeout=30)
    # Python's tempfile, at its first use, tries the folder with a file that holds this.
    trials = (b"", b"blat")
    assert [path.name for path in temporary.iterdir() if path.read_bytes() not in trials] == []


def test_a_file_over_its_memory(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "large.txt").write_text(module_text(0, 300_000))
    (tmp_path / "tree" / "small.txt").write_text(GOOD)
    summary = analyze_corpus([tmp_path / "tree"], tmp_path / "dataset", jobs=1, memory=200_000_000)
    found = {Path(row["path"]).name: row for row in tables(tmp_path / "dataset")["files"]}
    assert found["small.txt"]["status"] == "done"
    assert found["large.txt"]["status"] in ("crashed", "error") and "emory" in found["large.txt"]["file_error"]
    assert summary.has_errors and not left_over(tmp_path / "dataset")


def test_files_that_change_after_they_were_listed(tmp_path: Path) -> None:
    """Each becomes a row that tells: content that was not planned could be a duplicate of another shard's."""
    output = tmp_path / "dataset"
    paths = {name: tmp_path / name for name in ("grew", "shrank", "gone", "same")}
    for name, path in paths.items():
        path.write_text(module_text(len(name)))

    def change(progress: corpus_run.CorpusProgress) -> None:
        if progress.stage == "analyze" and paths["gone"].exists():
            paths["gone"].unlink()
            paths["grew"].write_text(module_text(1) + "\n")
            paths["shrank"].write_text(GOOD)

    analyze_corpus(paths.values(), output, jobs=1, progress=change)
    found = {Path(row["path"]).name: (row["status"], row["file_error"]) for row in tables(output)["files"]}
    size = len(module_text(0))
    assert found == {
        "same": ("done", None),
        "gone": ("error", "FileNotFoundError: No such file or directory"),
        "grew": ("error", f"the file had {size} bytes when it was listed, and grew since"),
        "shrank": ("error", f"the file had {size} bytes when it was listed, and shrank to {len(GOOD)} bytes since"),
    }


def test_a_plan_keeps_equal_contents_together(tmp_path: Path) -> None:
    """Also where one size has more files than a shard, and the listing has a file twice."""
    sources = []
    for number in range(10_000):
        path = tmp_path / f"{number % 50}"
        if number < 50:
            path.write_text(module_text(number % 10) + " " * 5000)
        size = 5000 + len(module_text(0))
        sources.append(Source(number, f"{number}", f"{path}", size, offset=number // 50 % 2 or None))
    folder = LocalFolder(str(tmp_path / "dataset"))
    os.mkdir(folder.url)
    plan = make_plan(sources, folder)
    shards = [read_shard(folder, shard.number) for shard in plan]
    assert Counter(source.identity for shard in shards for source in shard) == Counter({s.identity for s in sources})
    homes = [{int(Path(source.path).name) % 10 for source in shard if source.offset is None} for shard in shards]
    assert sum(map(len, homes)) == 10


def test_an_unwritable_output(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(GOOD)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        analyze_corpus([tmp_path / "a.txt"], tmp_path / "file" / "dataset", jobs=1)


@pytest.mark.parametrize("output", ["in", "in/..", "link", "file:///in", "."])
def test_an_output_that_is_or_contains_an_input(tmp_path: Path, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, whatever names the input: a folder, a file, a glob, a list."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.hlo").write_text(GOOD)
    (tmp_path / "link").symlink_to("in")
    (tmp_path / "in" / "list.txt").write_text(str(tmp_path / "in" / "a.hlo"))
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    target = output.replace("file:///in", f"file://{tmp_path}/in")
    for given in ("in", "link", "in/a.hlo", "in/*.hlo", "@in/list.txt", f"file://{tmp_path}/in"):
        with pytest.raises(DatasetError, match=r"the output .* (is|contains) the input .*: choose another output"):
            analyze_corpus([given], target, jobs=1)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_module_in_the_output_is_no_loss(tmp_path: Path) -> None:
    """A list leads there: an error, and nothing of the dataset remains; without modules the output is left out."""
    output = tmp_path / "in" / "dataset"
    output.mkdir(parents=True)
    (tmp_path / "in" / "a.hlo").write_text(GOOD)
    (output / "note.txt").write_text("no HLO")
    assert analyze_corpus([tmp_path / "in"], output, jobs=1).report.status == {"done": 1}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.hlo").write_text(GOOD)
    (tmp_path / "list.txt").write_text(str(tmp_path / "other" / "b.hlo"))
    with pytest.raises(DatasetError, match=r"other/b\.hlo lies in the output"):
        analyze_corpus([f"@{tmp_path}/list.txt"], tmp_path / "other", jobs=1)
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["b.hlo"]


@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "listed"])
def test_a_single_file_that_is_an_input(tmp_path: Path, link: str) -> None:
    (tmp_path / "a.csv").write_text(GOOD)
    target = tmp_path / "b.csv"
    if link == "symbolic":
        target.symlink_to("a.csv")
    elif link == "hard":
        target.hardlink_to(tmp_path / "a.csv")
    else:
        target = tmp_path / "a.csv"
    with pytest.raises(DatasetError, match="choose another output"):
        analyze_corpus([tmp_path if link == "listed" else tmp_path / "a.csv"], target, jobs=1)
    assert (tmp_path / "a.csv").read_text() == GOOD and not list(tmp_path.glob(".*"))


DEEP = b"[" * 100_000
FORGED = {
    "_hlomap.json": [b"null", b"[]", DEEP, b'{"dataset": 1, "options": 1}', b"\xff", "link"],
    "_work/plan.json": [
        b"null",
        b"{",
        b"[[0, 79]]",
        b"[[0, -1, 1]]",
        b"[[0, 9, 1], [0, 9, 1]]",
        b'["x"]',
        DEEP,
        "link",
    ],
    "_work/shards/000000.json.zz": [
        *(b"", b"no zlib", zlib.compress(b"null\n"), zlib.compress(DEEP + b"\n"), zlib.compress(b"[]\n")),
        *(
            zlib.compress(b'[0,"a","b",-1]\n'),
            zlib.compress(b'[0,"a","b",7]\n' * 2),
            zlib.compress(b'["0","a","b",7]\n'),
        ),
        *(zlib.compress(b" " * (3 << 20)), zlib.compress(b"\n" * (1 << 20)), "link"),
    ],
    "files/part-000000.parquet": [b"", b"PAR1 nonsense PAR1", DEEP, "link"],
}


@pytest.mark.parametrize(("name", "content"), [(name, content) for name, all in FORGED.items() for content in all])
def test_a_damaged_file_of_a_run(tmp_path: Path, name: str, content: bytes | str) -> None:
    """The run ends with an error that names the file; nothing aborts, waits or fills the memory."""
    output = tmp_path / "dataset"
    (tmp_path / "a.txt").write_text(GOOD)
    analyze_corpus([tmp_path / "a.txt"], output, jobs=1)
    manifest = json.loads((output / "_hlomap.json").read_text()) | {"complete": False, "summary": None}
    (output / "_hlomap.json").write_text(json.dumps(manifest))
    if not name.startswith("files"):
        (output / "files" / "part-000000.parquet").unlink()
    (output / "_work" / "shards").mkdir(parents=True)
    (output / "_work" / "plan.json").write_text("[[0, 79, 1]]")
    line = zlib.compress(Source(0, "a.txt", str(tmp_path / "a.txt"), len(GOOD)).to_line())
    (output / "_work" / "shards" / "000000.json.zz").write_bytes(line)
    (output / name).unlink(missing_ok=True)
    if isinstance(content, bytes):
        (output / name).write_bytes(content)
    else:
        (output / name).symlink_to("/dev/zero")
    with pytest.raises((DatasetError, OutputError)) as error:
        analyze_corpus([tmp_path / "a.txt"], output, jobs=1)
    assert str(output / name) in str(error.value)
    assert any(advice in str(error.value) for advice in ("remove", "expected a regular file"))


@pytest.mark.parametrize("summary", [[], {"status": {"done": "x"}}, "done", 1, DEEP.decode()])
def test_a_damaged_summary(tmp_path: Path, summary: object) -> None:
    (tmp_path / "a.txt").write_text(GOOD)
    analyze_corpus([tmp_path / "a.txt"], tmp_path / "dataset", jobs=1)
    manifest = json.loads((tmp_path / "dataset" / "_hlomap.json").read_text())
    (tmp_path / "dataset" / "_hlomap.json").write_text(json.dumps(manifest | {"summary": summary}))
    with pytest.raises(DatasetError, match=r"_hlomap\.json is damaged .*choose another folder"):
        analyze_corpus([tmp_path / "a.txt"], tmp_path / "dataset", jobs=1)


@pytest.mark.parametrize("kind", ["symbolic", "hard", "dangling"])
def test_a_lock_that_is_a_link(tmp_path: Path, kind: str) -> None:
    """The folder behind it is neither emptied nor made."""
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "a.txt").write_text(GOOD)
    (tmp_path / "dataset").mkdir()
    path = tmp_path / "dataset" / "_lock"
    if kind == "hard":
        path.hardlink_to(tmp_path / "mine")
    else:
        path.symlink_to(tmp_path / ("mine" if kind == "symbolic" else "absent"))
    with pytest.raises(OutputError):
        analyze_corpus([tmp_path / "a.txt"], tmp_path / "dataset", jobs=1)
    assert (tmp_path / "mine").read_text() == "mine" and not (tmp_path / "absent").exists()


def test_temporary_files_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(GOOD)
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / ".mine.tmp").write_text("mine")
    analyze_corpus([tmp_path / "a.txt"], tmp_path / "dataset", jobs=1)
    assert (tmp_path / "dataset" / ".mine.tmp").read_text() == "mine"


def test_new_files_are_not_in_a_complete_dataset(tmp_path: Path) -> None:
    """The summary counts them, whether the run before was complete or not; an archive is one file."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(GOOD)
    with tarfile.open(tmp_path / "in" / "packed.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "in" / "a.txt", "b.txt")
    tarfile.open(tmp_path / "in" / "empty.tar", "w").close()
    (tmp_path / "in" / "odd!").mkdir()
    (tmp_path / "in" / "odd!" / "e.txt").write_text(GOOD)
    assert analyze_corpus(tmp_path / "in", tmp_path / "dataset").unlisted == 0
    assert analyze_corpus(tmp_path / "in", tmp_path / "dataset").unlisted == 0
    for name in ("c.txt", "d.txt"):
        (tmp_path / "in" / name).write_text(GOOD)
    summary = analyze_corpus(tmp_path / "in", tmp_path / "dataset")
    assert summary.unlisted == 2 and summary.report.files == 4
    assert (" not included", "2 new files: remove the output, or choose another, to analyze all") in summary.lines()


def dump_text(stage: str, number: int) -> str:
    return GOOD.replace("good", f"jit_{number}").replace("negate", "cosine" if stage.startswith("cpu") else "negate")


def test_compilations_and_how_to_count_each_once(tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    for number in range(3):
        for stage in ("before_optimizations", "cpu_after_optimizations"):
            path = dumps / f"module_{number:04}.jit_{number}.{stage}.txt"
            path.write_text(dump_text(stage, number))
            path.with_suffix(".pb").write_bytes(hm.load(path).to_proto())
    for output in ("dataset", "rows.parquet"):
        summary = analyze_corpus(dumps, tmp_path / output)
        lines = [value for label, value in summary.lines()]
        at = lines.index("3 in 12 modules: 2 stages, text and proto of each")
        condition = lines[at + 1].partition("where ")[2]
        assert condition == "stage = 'cpu_after_optimizations' and form = 'text'"
        rows = hm.scan(tmp_path / output).to_table()
        sql = f"select count(*) n, count(distinct compilation) m from rows where {condition}"
        assert duckdb.sql(sql).fetchall() == [(3, 3)] and len(rows) == 12
    (dumps / "module_0000.jit_0.0003.fusion.after_dce.txt").write_text(GOOD)
    (dumps / "module_0007.jit_7.before_optimizations.txt").write_text(dump_text("before", 7))
    summary = analyze_corpus(dumps, tmp_path / "with_passes")
    at = (lines := [value for _, value in summary.lines()]).index(
        "4 in 14 modules: 2 stages and passes, text and proto"
    )
    assert lines[at + 1] == "to count 3 of them once: where stage = 'cpu_after_optimizations' and form = 'text'"
    (tmp_path / "one.hlo").write_text(GOOD)
    one = analyze_corpus(tmp_path / "one.hlo", tmp_path / "one")
    assert all(label != " compilations" for label, _ in one.lines())


def test_a_summary_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.hlo").write_text(GOOD)
    summary = analyze_corpus(tmp_path / "a.hlo", tmp_path / "dataset")
    assert repr(summary) == f"<CorpusSummary {tmp_path}/dataset: 1 files, 1 rows>"
    lines = str(summary).splitlines()
    assert (lines[0], lines[-1]) == ("files           1", f"written to      {tmp_path}/dataset")
    assert json.loads(json.dumps(summary.to_dict()))["complete"] is True
    (tmp_path / "b.hlo").write_text("ENTRY e { n = f32[4] negate()  ROOT a = f32[4] abs() }")
    rows = [value for _, value in analyze_corpus(tmp_path / "b.hlo", tmp_path / "other").lines()]
    assert "2 the text names no operands" in rows  # one reason of two opcodes


def test_a_lock_is_on_the_file_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening the file and locking it, its last holder may remove it: such a lock would hold nobody off."""
    place = tmp_path / "_lock"
    lock_descriptor = corpus_folder._lock_descriptor

    def removed_before(fd: int, wait: bool) -> None:
        monkeypatch.setattr(corpus_folder, "_lock_descriptor", lock_descriptor)
        with contextlib.suppress(PermissionError):  # Windows keeps a file that is open
            place.unlink()
        lock_descriptor(fd, wait)

    monkeypatch.setattr(corpus_folder, "_lock_descriptor", removed_before)
    dataset = LocalFolder(str(tmp_path))
    with dataset.lock("_lock") as check:
        check()
        with pytest.raises(LockedError), dataset.lock("_lock"):
            pass
    assert not place.exists()
