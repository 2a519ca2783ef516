"""Analyzes one shard: from its files to its parts of the dataset.

Parts appear by rename, the part of ``files`` last, so a shard is done if and only if that part exists.  A failure of a
file becomes its row; a failure of the output ends the work.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .._core import Module
from ..analysis.rows import analyze
from ..analysis.table import Table, completed, count_problems
from ..errors import DatasetError, HlomapError, NotFoundError
from ..hlo.content import content_of
from ..hlo.dump_directory import name_columns
from ..hlo.load import parse_all, parse_programs, too_large
from ..hlo.stablehlo import can_convert
from ..interop.arrow import from_rows
from ..interop.row_files import PartWriter
from .folder import open_folder, output_errors
from .manifest import read_manifest
from .parts import FACT, PLAN_FACT, Part, digest_of_file
from .plan import listing_digest, read_shard
from .reports import CorpusReport
from .sources import NotRegular, Reader, Source
from .tables import FILES, MODULES, RowsWriter, Status
from .tasks import FILES_FOLDER, MODULES_FOLDER, ROWS_FOLDER, Task, Verdict, part_name, timeout_message

Begin = Callable[[int, str, int], None]
"""Called with the position of a file in its shard, its stage (``read``, ``analyze`` or ``write``), and the bytes before
it; with position -1 and ``write`` after the last file."""


_FLUSH_FILES = 4096


class _OutOfTime(KeyboardInterrupt):
    """Raised by the timer of a file; handlers of errors let it pass, as they do an interrupt."""


@dataclass(frozen=True)
class _Writers:
    files: PartWriter
    rows: RowsWriter
    modules: PartWriter | None


def analyze_shard(task: Task, verdicts: Mapping[int, Verdict], begin: Begin) -> CorpusReport:
    """Writes the parts of a shard and returns its counts.

    ``verdicts`` has the outcomes of files that ended their process in earlier attempts, by position in the shard.
    Raises :class:`OutputError` if the output cannot be written, :class:`DatasetError` if it belongs to another dataset.
    """
    folder = open_folder(task.output)
    with output_errors():
        manifest = read_manifest(folder)
    if manifest is None or manifest.dataset != task.dataset:
        raise DatasetError(f"{task.output} was removed, or another run has begun there; the same command continues")
    report = CorpusReport()
    with contextlib.ExitStack() as stack, output_errors():
        # The order of the parts is that of their renames, from last to first.
        files_path = stack.enter_context(folder.write_part(part_name(FILES_FOLDER, task.shard)))
        modules_path = None
        if task.modules:
            modules_path = stack.enter_context(folder.write_part(part_name(MODULES_FOLDER, task.shard)))
        rows_path = stack.enter_context(folder.write_part(part_name(ROWS_FOLDER, task.shard, task.form)))
        files = PartWriter(files_path, FILES)
        rows = RowsWriter(rows_path, task.form)
        modules = PartWriter(modules_path, MODULES) if modules_path is not None else None
        shard = _Shard(task, _Writers(files, rows, modules), report, begin)
        sources = read_shard(folder, task.shard, task.n_files)
        with shard.reader:
            for position, source in enumerate(sources):
                shard.add(position, source, verdicts.get(position))
        begin(-1, "write", report.n_bytes)
        with shard.timed("write"):
            rows.close()
            if modules is not None:
                modules.close()
            shard.flush_files()
            written: dict[str, tuple[PartWriter, str]]
            written = {part_name(ROWS_FOLDER, task.shard): (rows, rows_path)} if task.form == "parquet" else {}
            if modules is not None and modules_path is not None:
                written[part_name(MODULES_FOLDER, task.shard)] = (modules, modules_path)
            parts = {name: Part(one.n_written, *digest_of_file(path)) for name, (one, path) in written.items()}
        facts = {FACT: json.dumps(parts), PLAN_FACT: listing_digest(sources)}
        files.close({"hlomap.report": report.to_json(), **facts})
    return report


class _Shard:
    """The state of one shard's work."""

    def __init__(self, task: Task, writers: _Writers, report: CorpusReport, begin: Begin) -> None:
        self._task = task
        self._writers = writers
        self._report = report
        self._begin = begin
        self._contents: dict[str, dict[str, str]] = {}  # by content: cells for the rows of its duplicates
        self._links: dict[tuple[int, ...], str] = {}  # contents of files with several hard links
        self._rows: list[dict[str, Any]] = []  # of the table of files
        self.reader = Reader()

    @contextlib.contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        began = time.process_time()
        try:
            yield
        finally:
            self._report.seconds[stage] += time.process_time() - began

    def add(self, position: int, source: Source, verdict: Verdict | None) -> None:
        """Analyzes a file and adds its row."""
        row: dict[str, Any] = dict.fromkeys(FILES.names)
        row.update(path=source.label, size=source.size, rows=0)
        row.update({f"file_{name}": value for name, value in name_columns(source.label).items()})
        self._begin(position, "read", self._report.n_bytes)
        tables: list[Table] = []
        content = b""
        if source.kind is not None:
            row.update(status="skipped", kind=source.kind)
        elif source.error is not None:
            row.update(status="error", file_error=source.error)
        elif verdict is not None and verdict.stage == "read":
            row.update(status=verdict.status, file_error=verdict.message)
        else:
            with self.timed("read"):
                content = self._read(source, row)
        if content and verdict is not None:
            row.update(status=verdict.status, file_error=verdict.message)
        elif content:
            self._begin(position, "analyze", self._report.n_bytes)
            tables = self._analyze(source, content, row)
        self._begin(position, "write", self._report.n_bytes)
        self._count(row, tables)
        with self.timed("write"):
            self._writers.rows.write_full()
            if tables and self._writers.modules is not None:
                cells = {"content_hash": row["content_hash"], "content": content}
                self._writers.modules.write(from_rows([cells], MODULES))
            self._rows.append(row)
            if len(self._rows) >= _FLUSH_FILES:
                self.flush_files()

    def flush_files(self) -> None:
        """Writes the rows of the files so far."""
        if self._rows:
            self._writers.files.write(from_rows(self._rows, FILES))
        self._rows = []

    def _read(self, source: Source, row: dict[str, Any]) -> bytes:
        """The content of a file to analyze; empty if its row says why the file is not analyzed."""
        try:
            with self.reader.open(source) as opened:
                known = self._links.get(opened.file_id) if opened.file_id is not None else None
                if known is not None and opened.file_id is not None and opened.file_id[2] == source.size:
                    self._mark_duplicate(row, known)
                    return b""
                found = content_of(opened.head)
                row["kind"], row["file_form"] = found.kind, found.form
                if not found.is_program or (found.kind == "StableHLO" and not can_convert()):
                    row["status"] = "skipped"
                    return b""
                if source.size > self._task.max_bytes:
                    row.update(status="error", file_error=too_large(source.size, self._task.max_bytes))
                    return b""
                content = opened.rest(source.size)
                file_id = opened.file_id
        except NotRegular:
            row.update(status="skipped", kind="not a regular file")
            return b""
        except (OSError, MemoryError) as error:
            message = f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}"
            row.update(status="error", file_error=message)
            return b""
        if len(content) != source.size:
            change = "grew" if len(content) > source.size else f"shrank to {len(content)} bytes"
            message = f"the file had {source.size} bytes when it was listed, and {change} since"
            row.update(status="error", file_error=message)
            return b""
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        if file_id is not None:
            self._links[file_id] = digest
        if digest in self._contents:
            self._mark_duplicate(row, digest)
            return b""
        self._contents[digest] = {
            "duplicate_of": source.label,
            "kind": row["kind"],
            "file_form": row["file_form"],
            "content_hash": digest,
        }
        row["content_hash"] = digest
        return content

    def _mark_duplicate(self, row: dict[str, Any], digest: str) -> None:
        row.update(self._contents[digest], status="duplicate")

    def _analyze(self, source: Source, content: bytes, row: dict[str, Any]) -> list[Table]:
        """Adds the rows of a file to the rows to write; none if the file has an error."""
        began = time.perf_counter()
        try:
            with _time_limit(self._task.timeout):
                try:
                    with self.timed("parse"):
                        modules = _modules(content, source.label, self._task.program)
                except NotFoundError as error:
                    row.update(status="skipped", kind="trace without the program", file_error=str(error))
                    return []
                with self.timed("analyze"):
                    tables = [completed(analyze(module)) for module in modules]
            with self.timed("write"):
                self._writers.rows.append(row, tables)
        except _OutOfTime:
            row.update(status="timed out", file_error=timeout_message(self._task.timeout))
        except (KeyboardInterrupt, SystemExit):
            raise
        except HlomapError as error:
            line, column = getattr(error, "line", None), getattr(error, "column", None)
            row.update(status="error", file_error=str(error), file_error_line=line, file_error_column=column)
        except BaseException as error:  # a panic of the compiled core is a BaseException
            row.update(status="error", file_error=f"{type(error).__name__}: {error}")
        else:
            row.update(
                status="done",
                file_module=modules[0].name if modules else None,
                n_modules=len(modules),
                instructions=sum(module.n_instructions for module in modules),
                computations=sum(len(module.computations) for module in modules),
                rows=sum(map(len, tables)),
                seconds=round(time.perf_counter() - began, 6),
            )
            return tables
        return []

    def _count(self, row: Mapping[str, Any], tables: list[Table]) -> None:
        report = self._report
        report.status[row["status"]] += 1
        report.n_bytes += row["size"]
        status: Status = row["status"]
        if status == "skipped":
            report.skipped[row["kind"]] += 1
        elif row["file_error"] is not None:
            report.add_error(row["path"], row["file_error"])
        if status == "done":
            report.converted[row["kind"]] += row["kind"] != "HLO"
            report.modules += row["n_modules"]
            if row["file_compilation"] is not None:
                stage = row["file_stage"] if row["file_step"] is None else None
                report.stages[stage or "", row["file_form"]] += row["n_modules"]
            report.instructions += row["instructions"]
        report.rows += sum(map(len, tables))
        n_errors, unknown = count_problems(tables)
        report.error_rows += n_errors
        report.unknown.update(unknown)


def _modules(content: bytes, name: str, program: str | None) -> list[Module]:
    """The modules of a file; of a trace only those of a program: :class:`NotFoundError` if it has none."""
    chosen = None if program is None else parse_programs(content, name, program)
    return parse_all(content, name=name) if chosen is None else chosen


@contextlib.contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raises :class:`_OutOfTime` in the block after some seconds; the supervisor kills code that does not yield to
    it."""
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise_out_of_time)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _raise_out_of_time(number: int, frame: FrameType | None) -> None:
    raise _OutOfTime
