"""Commands of hlomap as a shell shows them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from click.testing import CliRunner

from hlomap.cli.main import main

CASES = Path(__file__).parents[1] / "cases"


def run(command: str, given: str | bytes | None = None) -> str:
    """What a command prints in the folder of the cases, its message in one line, and its exit code if it is not 0."""
    before = Path.cwd()
    try:
        os.chdir(CASES)
        result = CliRunner().invoke(main, shlex.split(command), input=given)
    finally:
        os.chdir(before)
    plain = "".join(" " if c in "│╭╮╰╯─" else c for c in result.stderr).replace(os.sep, "/")
    message = " ".join(plain.split()).rpartition("Error: ")[2]
    parts = [result.stdout, message and f"error: {message}", result.exit_code and f"exit code {result.exit_code}"]
    return "\n".join(str(part).rstrip() for part in parts if part)
