"""Analyzes a corpus: the coordinator.

Start with :func:`analyze_corpus`.  The coordinator plans once, then submits shards to an engine until each has its part
of ``files``; it holds no rows.  However a run ends, the same call continues it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ..base.types import expect, expect_paths, needs, wrong_type
from ..errors import DatasetError, EngineError, OutputError, UnsupportedError
from ..hlo.content import content_of
from ..hlo.load import MAX_BYTES
from ..interop.row_files import SUFFIXES
from .engines import IN_PROCESS, Engine, open_engine
from .folder import Folder, LocalFolder, contains, is_url, open_folder, output_errors, place_of, remove_stale_locks
from .inputs import Inputs
from .manifest import (
    MANIFEST,
    Manifest,
    count_compilations,
    done_shards,
    find_faults,
    open_dataset,
    part_sizes,
    read_columns,
    read_manifest,
    read_shards,
)
from .parts import faults, faults_text
from .plan import WORK, Plan, Shard, listing_digest, make_plan, read_plan, read_shard
from .reports import CorpusReport, CorpusSummary
from .sources import NotRegular, Reader, Source
from .tasks import FILES_FOLDER, LEAST_MEMORY, MODULES_FOLDER, ROWS_FOLDER, Form, Task, part_name

_CHANGES = "_lock-changes"  # guards the manifest and the plan, which concurrent runs of shards share

_MAX_FAILURES = 3  # of an engine with one shard
_FEW_BYTES = 1 << 18  # of files that need no worker
_LOOK_SECONDS = 1.0  # between looks at the lock and reports of progress


@dataclass
class CorpusProgress:
    """The progress of a run: ``report`` counts finished files, including those of earlier runs.

    ``stage`` is ``list``, ``analyze`` or ``merge``.  ``files`` and ``n_bytes`` are totals, 0 while unknown.
    ``began`` has the counts of earlier runs.
    """

    stage: Literal["list", "analyze", "merge"] = "list"
    files: int = 0
    n_bytes: int = 0
    report: CorpusReport = field(default_factory=CorpusReport)
    began: CorpusReport = field(default_factory=CorpusReport)
    at_work: tuple[int, int] = (0, 0)
    """Files and bytes that local workers have finished in their current shards."""
    seconds: float = 0.0

    @property
    def files_done(self) -> int:
        return self.report.files + self.at_work[0]

    @property
    def bytes_done(self) -> int:
        return self.report.n_bytes + self.at_work[1]


def analyze_corpus(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    /,
    output: str | os.PathLike[str],
    *,
    jobs: int | None = 1,
    engine: str | None = None,
    shard: tuple[int, int] = (0, 1),
    resume: bool = True,
    modules: bool = False,
    timeout: float | None = None,
    memory: int | None = None,
    max_bytes: int = MAX_BYTES,
    program: int | str | None = None,
    progress: Callable[[CorpusProgress], None] | None = None,
) -> CorpusSummary:
    """Analyze every module of a corpus into a dataset, or into one file, as ``hlomap analyze`` does.

    The rows are those of :func:`hlomap.analyze`.  The same call continues a run that did not finish;
    :func:`hlomap.scan` reads the dataset.

    Args:
        paths: one or several files, folders, globs, archives (tar, zip, compressed tar), URLs of fsspec, ``@FILE`` for
            a list of names, ``-`` for a list on standard input.
        output: the folder or URL of the dataset; or a file that ends in ``.parquet``, ``.csv`` or ``.jsonl``, with the
            rows alone.  An unfinished dataset of the same options is continued.
        jobs: worker processes of the local engine; ``None`` means one for each core.
        engine: ``local`` (the default) or ``dask:ADDRESS``.
        shard: ``(i, n)`` does only the i-th of n parts of the work, for schedulers that start n runs; together they
            make the same dataset.
        resume: whether to continue an existing dataset with the same options; False raises an error if one exists.
        modules: whether the dataset keeps the files' contents as well.
        timeout: seconds for one file.
        memory: bytes for one worker.
        max_bytes: the largest file to read, in bytes; a larger file gets a row with an error.
        program: analyze only the programs of traces with this id or name, or both as in ``"jit_f(17)"``.
        progress: called about once a second.

    Returns:
        A :class:`~hlomap.corpus.reports.CorpusSummary`: the counts of the dataset so far; ``print`` shows them.

    Raises:
        FileNotFoundError: an input does not exist.
        UnsupportedError: the output has another extension, the engine is not known, or an extra is not installed.
        DatasetError: the output is a dataset with other options (the message names the option) or, without
            ``resume``, any dataset; a file of the dataset is damaged, or the output is or contains an input (the
            message names the file).
        LockedError: another run is writing the output.
        OutputError: the output cannot be written, such as on a full disk; the same call continues.
        EngineError: the engine was lost; the same call continues.

    >>> import hlomap as hm, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = hm.analyze_corpus("tests/cases/dumps", f"{folder}/dataset")
    ...     table = hm.scan(f"{folder}/dataset").to_table(columns=["opcode", "stage", "form", "distinct_bytes"])
    >>> summary.report.modules, table.num_rows
    (8, 154)
    """
    expect((str, os.PathLike), output, "analyze_corpus", "a path or URL as `output`")
    with needs("corpus", "analyze_corpus"):
        import pyarrow  # noqa: F401  # workers would tell later
    names = expect_paths(paths, "analyze_corpus", "a path or paths")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs: expected at least 1, found {jobs}")
    if memory is not None and memory < LEAST_MEMORY:
        raise ValueError(f"memory: expected at least {LEAST_MEMORY} bytes, which Python and Arrow take, found {memory}")
    if not 0 <= shard[0] < shard[1]:
        raise ValueError(f"shard: expected i/n with 0 <= i < n, found {shard[0]}/{shard[1]}")
    began = time.perf_counter()
    options: dict[str, Any] = {"modules": modules, "timeout": timeout, "memory": memory}
    if max_bytes != MAX_BYTES:
        options["max_bytes"] = max_bytes
    if program is not None:
        if isinstance(program, bool) or not isinstance(program, (int, str)):
            raise wrong_type("analyze_corpus", "the id or the name of a program, or None, as `program`", program)
        options["program"] = str(program)
    target = os.fspath(output)
    run = _Run(
        Inputs(names),
        target,
        jobs or _n_cores(),
        engine or "local",
        shard,
        resume,
        options,
        progress or (lambda progress: None),
    )
    _refuse_inputs(target, run.inputs)
    form = _single_file_form(target)
    if form is None:
        summary = run.dataset(target)
    elif modules or shard != (0, 1):
        raise UnsupportedError(f"{target}: modules and shards need a folder as output")
    else:
        summary = run.single_file(Path(target))
    return replace(summary, seconds=time.perf_counter() - began)


def _refuse_inputs(output: str, inputs: Inputs) -> None:
    """Raises :class:`DatasetError` if the output would replace an input or lie inside an input folder."""
    place, is_file = place_of(output), os.path.isfile(output)
    for root in inputs.roots:
        is_same = is_file and os.path.isfile(root) and os.path.samefile(output, root)
        if is_same or contains(place, place_of(root)):
            what = "is" if is_file or place == place_of(root) else "contains"
            raise DatasetError(f"the output {output} {what} the input {root}: choose another output")


def _single_file_form(output: str) -> str | None:
    """The extension of a single file, None for a dataset.  Raises :class:`UnsupportedError` for another extension."""
    suffix = os.path.splitext(output)[1]
    if suffix in SUFFIXES:
        if is_url(output):
            raise UnsupportedError(f"{output}: a single file is written to a local path; a URL takes a dataset")
        return suffix
    if not suffix or is_url(output) or output.endswith(("/", os.sep)) or os.path.isdir(output):
        return None
    name = os.path.basename(output)
    raise UnsupportedError(f"cannot write {name!r}: expected a folder, or an extension of {', '.join(SUFFIXES)}")


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class _Run:
    inputs: Inputs
    output: str
    jobs: int
    engine: str
    shard: tuple[int, int]
    resume: bool
    options: dict[str, Any]
    report_progress: Callable[[CorpusProgress], None]
    began: float = field(default_factory=time.perf_counter)
    repaired: dict[str, str] = field(default_factory=dict)
    """Faults of parts of an earlier run, by name."""

    def dataset(self, target: str) -> CorpusSummary:
        """Creates or continues the dataset in a folder."""
        if not is_url(target):
            with output_errors():
                os.makedirs(target, exist_ok=True)
        folder = open_folder(target)
        for name in (FILES_FOLDER, ROWS_FOLDER, MODULES_FOLDER, WORK):
            folder.refuse_link(name)
        index, n = self.shard
        # A run of one shard locks only its share; without shards the share is the whole corpus.
        with folder.lock("_lock" if n == 1 else f"_lock-{index}-of-{n}") as check:
            is_begun = read_manifest(folder) is not None
            if is_begun and not self.resume:
                raise DatasetError(f"{folder.url} has a dataset: choose another folder, or continue it with --resume")
            manifest, report = self._run(folder, "parquet", check)
        is_complete = manifest.summary is not None
        unlisted = self._n_unlisted(folder) if is_begun and is_complete else 0
        is_checked = not is_complete or manifest.parts is not None
        return CorpusSummary(
            self.output,
            report,
            is_complete=is_complete,
            unlisted=unlisted,
            repaired=tuple(sorted(self.repaired)),
            is_checked=is_checked,
        )

    def _n_unlisted(self, folder: Folder) -> int:
        """The number of files that exist now and are not in the dataset; an archive counts as one file."""
        paths = [path for part in read_columns(folder, ["path"]) for (path,) in part]
        known = {*paths, *(path.partition("!/")[0] for path in paths)}
        return len({source.label for source in self._listed(folder, expand=False)} - known)

    def single_file(self, target: Path) -> CorpusSummary:
        """Makes a dataset next to the file, then merges its rows."""
        from .single_file import merge

        if not target.absolute().parent.is_dir():
            raise FileNotFoundError(2, "No such file or directory", str(target.parent))
        work = target.absolute().with_name(f".{target.name}.hlomap")
        LocalFolder(str(work.parent)).refuse_link(work.name)
        with output_errors():
            work.mkdir(exist_ok=True)
        folder = LocalFolder(str(work))
        with folder.lock("_lock") as check, contextlib.ExitStack() as at_end:
            at_end.callback(folder.remove_all)  # the next run removes it if this one is killed
            try:
                if not self.resume:
                    raise DatasetError
                open_dataset(folder, self._options())  # continues a killed run
            except DatasetError:
                for name in (MANIFEST, WORK, FILES_FOLDER, ROWS_FOLDER):
                    folder.remove(name)
            _, report = self._run(folder, "arrow", check)
            plan = self._plan(folder)
            assert plan is not None
            self.report_progress(CorpusProgress("merge", report.files, report.n_bytes, report))
            merge(folder, plan, target)
            report.compilations = count_compilations(folder)
        return CorpusSummary(self.output, report)

    def _options(self) -> dict[str, Any]:
        return {"inputs": self.inputs.names, **self.options}

    def _run(self, folder: Folder, form: Form, check: Callable[[], None]) -> tuple[Manifest, CorpusReport]:
        with folder.lock(_CHANGES, wait=True):
            manifest = open_dataset(folder, self._options())
        if manifest.summary is not None:
            manifest = self._checked(folder, manifest)
        if manifest.summary is not None:
            self._remove_work(folder)
            return manifest, CorpusReport.from_dict(manifest.summary)
        is_private = self.inputs.is_private or folder.url.startswith("memory://")
        with open_engine(self.engine, self.jobs, in_process=is_private) as engine:
            for name in (FILES_FOLDER, ROWS_FOLDER, MODULES_FOLDER):
                if self.shard[1] == 1:
                    folder.clean(name)
            plan = self._plan(folder)
            if plan is None:
                return self._run(folder, form, check)
            if self._is_small(plan):
                engine = IN_PROCESS
            report = self._analyze(folder, manifest, plan, form, engine, check)
        if {shard.number for shard in plan} <= done_shards(folder) and form == "parquet":
            manifest = self._complete(folder, manifest, plan)
            if manifest.summary is not None and self.shard[1] == 1:
                report = CorpusReport.from_dict(manifest.summary)
        return manifest, report

    def _is_small(self, plan: Plan) -> bool:
        """Whether this process can analyze the files sooner than a worker would start."""
        has_limits = self.options["timeout"] is not None or self.options["memory"] is not None
        return self.engine == "local" and not has_limits and len(plan) == 1 and plan[0].n_bytes <= _FEW_BYTES

    def _checked(self, folder: Folder, manifest: Manifest) -> Manifest:
        """The manifest of a complete dataset, reset to unfinished if parts differ from what was written.

        The shards of such parts are analyzed again, and foreign parts are removed.
        """
        if manifest.parts is None or not (found := find_faults(folder, manifest.parts)):
            return manifest
        with folder.lock(_CHANGES, wait=True):
            manifest = replace(manifest, summary=None, parts=None)
            manifest.write(folder)
            self._discard(folder, found)
        return manifest

    def _discard(self, folder: Folder, found: Mapping[str, str]) -> None:
        """Removes faulty parts, after the shard's part of ``files``, so that the shard no longer counts as done."""
        self.repaired.update(found)
        names = {name: f"{FILES_FOLDER}/{name.partition('/')[2]}" for name in found}
        for name in sorted(set(names.values())) + sorted(found):
            folder.remove(name)

    def _complete(self, folder: Folder, manifest: Manifest, plan: Plan) -> Manifest:
        with folder.lock(_CHANGES, wait=True):
            found = read_manifest(folder)
            if found is None or found.summary is None:
                whole, broken = read_shards(folder, (shard.number for shard in plan))
                if broken:  # since they were written
                    wrong = faults_text({name: what for each in broken.values() for name, what in each.items()})
                    raise DatasetError(f"{folder.url}: {wrong}; the same command makes it again")
                total = CorpusReport()
                for shard in whole.values():
                    total.add(shard.report)
                listed = [shard.parts for shard in whole.values() if shard.parts is not None]
                parts = {name: part for each in listed for name, part in each.items()}
                is_listed = len(listed) == len(whole)  # not if an earlier version began the dataset
                if is_listed and (foreign := faults(parts, part_sizes(folder))):
                    self._discard(folder, foreign)
                total.compilations = count_compilations(folder)
                found = replace(manifest, summary=total.to_dict(), parts=parts if is_listed else None)
                found.write(folder)
        self._remove_work(folder)
        return found

    def _remove_work(self, folder: Folder) -> None:
        """Removes everything that is not a part of a complete dataset, including leftovers of killed runs."""
        with folder.lock(_CHANGES, wait=True):
            folder.remove(WORK)
            for name in (FILES_FOLDER, ROWS_FOLDER, MODULES_FOLDER, ""):
                folder.clean(name)
        remove_stale_locks(folder)

    def _plan(self, folder: Folder) -> Plan | None:
        """The plan, made once; None if another run has completed the dataset meanwhile."""
        plan = read_plan(folder)
        if plan is not None:
            return plan
        with folder.lock(_CHANGES, wait=True):
            plan = read_plan(folder)
            manifest = read_manifest(folder)
            if plan is not None or (manifest is not None and manifest.summary is not None):
                return plan
            for name in ("shards", "archives"):
                folder.remove(f"{WORK}/{name}")
            try:
                plan = make_plan(self._listed(folder), folder)
                self._check_plan(folder, plan)
                return plan
            except (FileNotFoundError, OutputError):
                raise
            except DatasetError:  # nothing of it remains
                folder.remove(WORK)
                if not done_shards(folder):
                    folder.remove(MANIFEST)
                raise
            except OSError as error:  # temporary files are output too
                raise OutputError(error.errno, error.strerror, error.filename) from error

    def _check_plan(self, folder: Folder, plan: Plan) -> None:
        """Raises :class:`DatasetError` if shards that are done have other files than in a new plan."""
        done = done_shards(folder)
        whole, broken = read_shards(folder, done)
        for shard in plan:
            if shard.number in whole and whole[shard.number].plan != listing_digest(read_shard(folder, shard.number)):
                break
        else:
            if {shard.number for shard in plan} >= done - broken.keys():
                return
        raise DatasetError(
            f"{folder.url}: the inputs have changed since its other parts were written, so the missing parts cannot be "
            "made again; remove the dataset, or choose another folder"
        )

    def _listed(self, folder: Folder, expand: bool = True) -> Iterator[Any]:
        progress = CorpusProgress("list")
        last, archives = 0.0, itertools.count()

        @contextlib.contextmanager
        def unpack_to() -> Iterator[tuple[str, str]]:
            name = f"{WORK}/archives/{next(archives):06}.tar"
            with folder.write_part(name) as path:
                yield path, f"{folder.url}/{name}"

        unpacked = f"{folder.url}/{WORK}/archives/"
        is_replaced = self._replaces(folder)
        for source in self.inputs.list(unpack_to if expand else None):
            if not source.path.startswith(unpacked) and is_replaced(source):
                continue
            yield source
            progress.files += 1
            progress.n_bytes += source.size
            if progress.files % 256 == 0 and time.perf_counter() - last >= _LOOK_SECONDS:
                last = time.perf_counter()
                progress.seconds = self._seconds()
                self.report_progress(progress)

    def _replaces(self, folder: Folder) -> Callable[[Source], bool]:
        """Whether a file belongs to the output, which may lie in an input; raises :class:`DatasetError` for a
        module."""
        output = place_of(folder.url)
        parent_place = lru_cache(maxsize=1 << 10)(place_of)
        target = os.stat(self.output) if os.path.isfile(self.output) else None

        def is_replaced(source: Source) -> bool:
            is_target = False
            if target is not None:
                with contextlib.suppress(OSError):
                    is_target = os.path.samestat(os.stat(source.path), target)
            if not is_target and not contains(output, parent_place(os.path.dirname(source.path))):
                return False
            if source.path.startswith(os.path.join(folder.url, WORK, "")) or not _is_module(source):
                return True
            raise DatasetError(f"{source.label} lies in the output {self.output}: choose another output")

        return is_replaced

    def _analyze(
        self, folder: Folder, manifest: Manifest, plan: Plan, form: Form, engine: Engine, check: Callable[[], None]
    ) -> CorpusReport:
        index, n = self.shard
        ours = [shard for k, shard in enumerate(plan) if k % n == index]
        whole, broken = read_shards(folder, done_shards(folder) & {shard.number for shard in ours})
        for shard_number, found in broken.items():
            self._discard(folder, {part_name(FILES_FOLDER, shard_number): "damaged", **found})
        done = whole.keys()
        before = CorpusReport()
        for one in whole.values():
            before.add(one.report)
        progress = CorpusProgress("analyze", sum(s.n_files for s in ours), sum(s.n_bytes for s in ours), before)
        progress.began.add(before)
        waiting = deque(shard for shard in ours if shard.number not in done)
        running: dict[Future[CorpusReport], Shard] = {}
        failures: Counter[Shard] = Counter()
        while True:
            progress.seconds = self._seconds()
            progress.at_work = engine.at_work()
            self.report_progress(progress)
            while waiting and len(running) < 2 * engine.n_slots():
                shard = waiting.popleft()
                task = Task(folder.url, manifest.dataset, shard.number, shard.n_files, form, **self.options)
                running[engine.submit(task)] = shard
            if not running:
                return progress.report
            ended, _ = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            check()
            for future in ended:
                shard = running.pop(future)
                try:
                    progress.report.add(future.result())
                except (OutputError, DatasetError):
                    raise
                except CancelledError as error:
                    raise EngineError("the engine cancelled a task: its scheduler is gone or was restarted") from error
                except Exception as error:  # for example Dask's, after a task lost several workers
                    failures[shard] += 1
                    if failures[shard] == _MAX_FAILURES:
                        raise EngineError(f"the engine lost a task: {type(error).__name__}: {error}") from error
                    waiting.append(shard)

    def _seconds(self) -> float:
        return time.perf_counter() - self.began


def _is_module(source: Source) -> bool:
    if source.offset is not None:
        return True
    try:
        with Reader() as reader, reader.open(source) as opened:
            return content_of(opened.head).is_program
    except (OSError, NotRegular):
        return False
