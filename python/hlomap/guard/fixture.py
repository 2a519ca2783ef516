"""The pytest fixture ``hlo``: checks, and comparison with a golden file in the folder of the test."""

from __future__ import annotations

import json
import linecache
from pathlib import Path
from typing import Any, Literal

from .._core import Module
from ..base.files import write_text
from ..base.text import printable
from ..errors import DatasetError
from ..interop.jax import from_jax
from .check import CheckReport, check
from .figures import Figures, against, figures, text_table


class Hlo:
    """The fixture ``hlo``: each method compiles a function for its arguments, or takes a ``Module``."""

    def __init__(self, folder: Path, update: bool) -> None:
        self._folder, self._update = folder, update

    def check(self, subject: Any, /, *arguments: Any, **limits: Any) -> CheckReport:
        """:func:`hlomap.check`, which fails the test unless all limits hold."""
        __tracebackhide__ = True
        report = check(subject, *arguments, **limits)
        if not report.ok:
            raise AssertionError(f"{report}{_source_lines(report)}")
        return report

    def golden(
        self, subject: Any, /, *arguments: Any, stage: Literal["optimized", "unoptimized"] = "optimized"
    ) -> CheckReport:
        """Fails the test if a figure is larger than in the golden file, whose name is the last argument.

        The figures are the bytes that the program moves, the bytes between devices, and the number of instructions of
        each opcode outside fusions.  The file is ``NAME.hlo.json`` in the folder of the test; ``pytest --hlo-update``
        writes it.
        """
        __tracebackhide__ = True
        *given, name = arguments or (None,)
        if not isinstance(name, str) or not name or Path(name).name != name:
            raise TypeError(f"hlo.golden() takes the name of the golden file as its last argument, got {name!r}")
        if isinstance(subject, Module) and given:
            raise TypeError("hlo.golden() takes no arguments with a Module, only the name of the golden file")
        module = subject if isinstance(subject, Module) else from_jax(subject, *given, stage=stage)
        path = self._folder / f"{name}.hlo.json"
        now = figures(module)
        if self._update:
            write_text(path, json.dumps(now.to_dict(), indent=2) + "\n")
        try:
            golden = Figures.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise AssertionError(f"there is no golden file {path}: write it with pytest --hlo-update") from None
        except (ValueError, DatasetError) as error:
            raise AssertionError(f"{path}: {error}") from None
        report = against(module, golden)
        if not report.ok:
            table = text_table(golden, now, ("golden", "now"))
            accept = f"{path.name}: to accept these figures, run pytest --hlo-update"
            raise AssertionError(f"{report}{_source_lines(report)}\n\n{table}\n\n{accept}")
        return report


def _source_lines(report: CheckReport) -> str:
    """The source lines that broken limits come from, if the files exist."""
    lines: dict[str, None] = {}
    for violation in report.violations:
        file, _, number = (violation.source or "").split(" in ")[0].rpartition(":")
        text = linecache.getline(file, int(number)).rstrip() if number.isdecimal() else ""
        if text:
            lines[printable(f"{Path(file).name}:{number}  {text}")] = None
    return "\n\n" + "\n".join(lines) if lines else ""
