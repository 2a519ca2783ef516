"""The help of the command line: every command shows examples, and they work."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import CASES

from hlomap.cli.main import main

COMMANDS = [
    "analyze",
    "check",
    "diff",
    "doctor",
    "explore",
    "extract",
    "fusions",
    "layout",
    "run",
    "show",
    "tile",
    "verify",
]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples run in order in one folder; ``module.hlo`` stands for any module, ``before.hlo`` for an older stage."""
    shutil.copy(CASES / "modules" / "rmsnorm_bf16.hlo", tmp_path / "module.hlo")
    for stage in ("before.hlo", "after.hlo"):
        shutil.copy(CASES / "cli" / stage, tmp_path / stage)
    (tmp_path / "rules.toml").write_text("max_bytes = 1_000_000_000")
    monkeypatch.chdir(tmp_path)
    text = CliRunner().invoke(main, [name, "--help"], terminal_width=100).stdout
    examples = re.findall(r"^ +hlomap (.*)$", text[text.index("Examples:") :], re.M)
    assert examples
    for example in examples:
        result = CliRunner().invoke(main, shlex.split(example))
        assert result.exit_code == 0, (example, result.output)
    assert "Exit codes: 0" in text


def test_help_tells_how_to_complete() -> None:
    assert "_HLOMAP_COMPLETE=bash_source hlomap" in CliRunner().invoke(main, ["--help"], terminal_width=120).stdout
