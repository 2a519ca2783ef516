"""Counts of a shard and of a run.

:class:`CorpusReport` is small and adds up: workers send it instead of rows, and each part of ``files`` holds that of
its shard, so that a continued run counts what earlier ones did.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MAX_ERRORS = 1000  # that a report names; all are in the table of files


@dataclass
class CorpusReport:
    """Counts of some files, by status, by kind of skipped and of converted files, by reason of unknown rows; seconds.

    ``stages`` counts the modules of dumped compilations by stage (empty after a pass) and form; ``compilations`` is the
    number of these, known once all shards are done.  ``unknown`` counts rows by opcode and reason, ``errors`` has the
    first files without rows and why, ``seconds`` the CPU time of reading, parsing, analyzing and writing.
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
        """Files that could not be analyzed."""
        return self.status["error"] + self.status["timed out"] + self.status["crashed"]

    def add(self, other: CorpusReport) -> None:
        """Adds the counts of another report."""
        self.status.update(other.status)
        self.skipped.update(other.skipped)
        self.converted.update(other.converted)
        self.stages.update(other.stages)
        self.n_bytes += other.n_bytes
        self.modules += other.modules
        self.instructions += other.instructions
        self.rows += other.rows
        self.error_rows += other.error_rows
        self.unknown.update(other.unknown)
        self.errors += other.errors[: _MAX_ERRORS - len(self.errors)]
        for stage, seconds in other.seconds.items():
            self.seconds[stage] += seconds

    def add_error(self, label: str, message: str) -> None:
        """Names a file without rows."""
        if len(self.errors) < _MAX_ERRORS:
            self.errors.append((label, message))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "status": dict(sorted(self.status.items())),
            "skipped": dict(sorted(self.skipped.items())),
            "converted": {kind: n for kind, n in sorted(self.converted.items()) if n},
            "stages": [[*key, n] for key, n in sorted(self.stages.items())],
            "compilations": self.compilations,
            "bytes": self.n_bytes,
            "modules": self.modules,
            "instructions": self.instructions,
            "rows": self.rows,
            "error_rows": self.error_rows,
            "unknown": [[*key, n] for key, n in sorted(self.unknown.items())],
            "errors": [list(error) for error in self.errors],
            "seconds": {stage: round(seconds, 6) for stage, seconds in self.seconds.items()},
        }

    @staticmethod
    def from_dict(cells: Mapping[str, Any]) -> CorpusReport:
        """The report that :meth:`to_dict` wrote; ``ValueError``, ``KeyError`` and the like for anything else."""
        return CorpusReport(
            _counts(cells["status"]),
            _counts(cells["skipped"]),
            _counts(cells["converted"]),
            Counter({(str(stage), str(form)): _count(n) for stage, form, n in cells["stages"]}),
            _count(cells["compilations"]),
            _count(cells["bytes"]),
            _count(cells["modules"]),
            _count(cells["instructions"]),
            _count(cells["rows"]),
            _count(cells["error_rows"]),
            Counter({(str(opcode), str(reason)): _count(n) for opcode, reason, n in cells["unknown"]}),
            [(str(label), str(message)) for label, message in cells["errors"]],
            defaultdict(float, {stage: float(seconds) for stage, seconds in cells["seconds"].items()}),
        )

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), separators=(",", ":"))


def _count(found: Any) -> int:
    if type(found) is not int or found < 0:
        raise ValueError(f"expected a count, found {found!r}")
    return found


def _counts(found: Mapping[str, Any]) -> Counter[str]:
    return Counter({name: _count(n) for name, n in found.items()})
