"""Counts of a shard and of a run.

A :class:`CorpusReport` is small and can be added to others: workers send one instead of rows, and each part of
``files`` holds the report of its shard, so that a continued run includes the counts of earlier runs.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..base.text import joined, plural

_COUNTS, _PAIRS = ("status", "skipped", "converted"), ("stages", "unknown")
_MAX_ERRORS = 1000  # named in a report; the table of files has all


@dataclass
class CorpusReport:
    """Counts of files by status and kind, counts of unknown rows by reason, and seconds of CPU time.

    ``stages`` counts the modules of dumped compilations by stage (empty after a pass) and form; ``compilations`` is the
    number of compilations, known once all shards are done.  ``unknown`` counts rows by opcode and reason, ``errors``
    has the first files without rows and why, ``seconds`` the CPU time of reading, parsing, analyzing and writing.
    """

    status: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    converted: Counter[str] = field(default_factory=Counter)
    stages: Counter[tuple[str, str]] = field(default_factory=Counter)
    compilations: int = 0
    n_bytes: int = 0
    modules: int = 0
    instructions: int = 0
    rows: int = 0
    error_rows: int = 0
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: list[tuple[str, str]] = field(default_factory=list)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def files(self) -> int:
        return sum(self.status.values())

    @property
    def failed(self) -> int:
        """The number of files that could not be analyzed."""
        return self.status["error"] + self.status["timed out"] + self.status["crashed"]

    def add(self, other: CorpusReport) -> None:
        """Adds the counts of another report."""
        for one in fields(self):
            own, more = getattr(self, one.name), getattr(other, one.name)
            if isinstance(own, list):
                own += more[: _MAX_ERRORS - len(own)]
            elif isinstance(own, dict):
                for key, n in more.items():
                    own[key] += n
            else:
                setattr(self, one.name, own + more)

    def add_error(self, label: str, message: str) -> None:
        """Names a file without rows."""
        if len(self.errors) < _MAX_ERRORS:
            self.errors.append((label, message))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        cells = {one.name.removeprefix("n_"): getattr(self, one.name) for one in fields(self)}
        cells |= {name: dict(sorted((+cells[name]).items())) for name in _COUNTS}
        cells |= {name: [[*key, n] for key, n in sorted(cells[name].items())] for name in _PAIRS}
        cells["errors"] = list(map(list, self.errors))
        cells["seconds"] = {stage: round(seconds, 6) for stage, seconds in self.seconds.items()}
        return cells

    @staticmethod
    def from_dict(cells: Mapping[str, Any]) -> CorpusReport:
        """The report that :meth:`to_dict` wrote; ``ValueError``, ``KeyError`` and the like for anything else."""
        report = CorpusReport(errors=[(str(label), str(message)) for label, message in cells["errors"]])
        for name in _COUNTS:
            getattr(report, name).update({key: _count(n) for key, n in cells[name].items()})
        for name in _PAIRS:
            getattr(report, name).update({(str(a), str(b)): _count(n) for a, b, n in cells[name]})
        for name in ("compilations", "n_bytes", "modules", "instructions", "rows", "error_rows"):
            setattr(report, name, _count(cells[name.removeprefix("n_")]))
        report.seconds.update({stage: float(seconds) for stage, seconds in cells["seconds"].items()})
        return report

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), separators=(",", ":"))


def _count(found: Any) -> int:
    if type(found) is not int or found < 0:
        raise ValueError(f"expected a count, found {found!r}")
    return found


# Summary of a run over a corpus, in numbers and in words.


_HINTS = {
    "Riegeli": "Riegeli (dump with --xla_dump_hlo_as_text or --xla_dump_hlo_as_proto)",
    "StableHLO": "StableHLO (pip install 'hlomap[jax]' to convert it)",
}
_MAX_COMMON = 8  # reasons that a summary lists; the rest is one line


@dataclass(frozen=True)
class CorpusSummary:
    """The counts of a dataset, and the wall-clock time of this run; ``str`` is what ``hlomap analyze`` prints.

    ``is_complete`` is false for a run of one shard while others are missing.  ``unlisted`` is the number of new files
    since an earlier run listed the inputs, which the dataset does not include.  ``repaired`` names lost, damaged or
    foreign parts of an earlier run, which this run wrote again or removed.  ``is_checked`` is false for a complete
    dataset of an earlier version, which has no list of its parts.
    """

    output: str
    report: CorpusReport
    seconds: float = 0.0
    is_complete: bool = True
    unlisted: int = 0
    repaired: tuple[str, ...] = ()
    is_checked: bool = True

    @property
    def has_errors(self) -> bool:
        """Whether a file or a row has an error."""
        return self.report.failed > 0 or self.report.error_rows > 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "output": self.output,
            "complete": self.is_complete,
            "files": self.report.files,
            "unlisted": self.unlisted,
            "repaired": list(self.repaired),
            "checked": self.is_checked,
            **self.report.to_dict(),
            "wall_seconds": round(self.seconds, 3),
        }

    def __repr__(self) -> str:
        state = "" if self.is_complete else ", unfinished"
        return f"<CorpusSummary {self.output}: {self.report.files} files, {self.report.rows} rows{state}>"

    def __str__(self) -> str:
        return "\n".join(f"{label:<14}  {value}" for label, value in self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """Labels and texts; an empty label, or one that starts with a space, continues the one before."""
        report = self.report
        rows = [("files", f"{report.files}")]
        if self.unlisted:
            found = plural(self.unlisted, "new file")
            rows.append((" not included", f"{found}: remove the output, or choose another, to analyze all"))
        if report.status["duplicate"]:
            rows.append((" duplicates", f"{report.status['duplicate']}"))
        rows += _reason_rows(" skipped", Counter({_HINTS.get(kind, kind): n for kind, n in report.skipped.items()}))
        rows += _reason_rows(" converted", +report.converted)
        for status, label in (("error", " failed"), ("timed out", " timed out"), ("crashed", " crashed")):
            if report.status[status]:
                rows.append((label, f"{report.status[status]}"))
        rows += [
            ("modules", f"{report.modules}"),
            *_compilation_rows(report),
            ("instructions", f"{report.instructions}"),
            ("rows", f"{report.rows}"),
            (" with errors", f"{report.error_rows}"),
        ]
        by_reason: Counter[str] = Counter()
        n_opcodes = Counter(reason for _, reason in report.unknown)
        for (opcode, reason), count in report.unknown.items():
            by_reason[reason if opcode in reason or n_opcodes[reason] > 1 else f"{opcode}: {reason}"] += count
        rows += _reason_rows(" unknown", by_reason)
        workers = sum(report.seconds.values())
        each = workers / max(report.instructions, 1) * 1e6
        shares = ", ".join(f"{stage} {seconds / workers:.0%}" for stage, seconds in report.seconds.items() if workers)
        text = f"{self.seconds:.2f} s, {each:.0f} us of CPU time per instruction"
        rows.append(("time", f"{text} ({shares})" if shares else text))
        if self.repaired:
            names = ", ".join(self.repaired[:3]) + (", …" if len(self.repaired) > 3 else "")
            rows.append(("repaired", f"{plural(len(self.repaired), 'part')}, lost, damaged or foreign: {names}"))
        if not self.is_checked:
            rows.append(("not checked", "an earlier version wrote the dataset, without a list of its parts"))
        rows.append(("written to", self.output + ("" if self.is_complete else " (other shards are missing)")))
        return rows


def _compilation_rows(report: CorpusReport) -> list[tuple[str, str]]:
    """The number of compilations behind the modules, and an SQL condition that counts each once."""
    n_modules = sum(report.stages.values())
    if not report.compilations or n_modules <= report.compilations:
        return []
    stages = {stage for stage, _ in report.stages}
    names = stages - {""}
    forms = sorted({form for _, form in report.stages}, reverse=True)
    kinds = [plural(len(names), "stage")] * bool(names) + ["passes"] * ("" in stages)
    text = f"{report.compilations} in {plural(n_modules, 'module')}: {joined(kinds)}"
    if len(forms) > 1:
        is_regular = len(report.stages) == len(forms) * len(stages) and len(set(report.stages.values())) == 1
        text += f", {joined(forms)}{' of each' * is_regular}"
    rows = [(" compilations", text)]
    if names:
        counts = {key: n for key, n in report.stages.items() if key[0].endswith("after_optimizations")}
        named = {key: n for key, n in (counts or report.stages).items() if key[0]}
        stage, form = min(named, key=lambda key: (-named[key], key[1] != "text", key))
        quoted = stage.replace("'", "''")
        condition = f"where stage = '{quoted}'" + f" and form = '{form}'" * (len(forms) > 1)
        each = "each" if named[stage, form] == report.compilations else f"{named[stage, form]} of them"
        rows.append(("", f"to count {each} once: {condition}"))
    return rows


def _reason_rows(label: str, reasons: Counter[str]) -> list[tuple[str, str]]:
    if not reasons:
        return []
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    rows = [(label, f"{sum(reasons.values())}")]
    rows += [("", f"{count} {reason}") for reason, count in ordered[:_MAX_COMMON]]
    if len(ordered) > _MAX_COMMON:
        rest = ordered[_MAX_COMMON:]
        rows.append(("", f"{sum(count for _, count in rest)} with {len(rest)} other reasons"))
    return rows
