"""Case files of maps: a line is a case, indented lines below it what is expected, and ``#`` begins a comment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def is_case(line: str) -> bool:
    return bool(line) and not line.startswith(("#", "  "))


def read_map_cases(file: Path) -> list[str]:
    """The cases of a file."""
    return [line for line in file.read_text(encoding="utf-8").splitlines() if is_case(line)]


def with_outcomes(file: Path, outcome: Callable[[str], list[str]]) -> str:
    """The text of a file with the expected lines replaced by the outcomes."""
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("  "):
            lines.append(line)
        if is_case(line):
            lines += [f"  {expected}" for expected in outcome(line)]
    return "\n".join(lines) + "\n"
