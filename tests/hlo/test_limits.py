"""Files that are too large are refused before they take memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hlomap as hm

TEXT = "HloModule m\nENTRY e { ROOT p = f32[2] parameter(0) }\n"


def sparse(folder: Path) -> Path:
    file = folder / "sparse.hlo"
    file.touch()
    os.truncate(file, 2 << 30)
    return file


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hm.errors.HloSyntaxError, match="at most 1,073,741,824 bytes, found 2,147,483,648") as error:
        hm.load(sparse(tmp_path))
    assert error.value.filename == str(tmp_path / "sparse.hlo")


def test_the_limit_can_be_set(tmp_path: Path) -> None:
    file = tmp_path / "m.hlo"
    file.write_text(TEXT)
    assert hm.load(file, max_bytes=len(TEXT)).same_as(hm.load(file, max_bytes=None))
    with pytest.raises(hm.errors.HloSyntaxError, match="found 53;"):
        hm.load(file, max_bytes=len(TEXT) - 1)
    for wrong in (-1, "1", 2.5, True):
        with pytest.raises(ValueError, match="max_bytes"):
            hm.load(file, max_bytes=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["/dev/zero", "-"])
def test_sources_without_a_size(name: str) -> None:
    """At most one byte more than the limit is read of a device or a pipe."""
    command = [sys.executable, "-m", "hlomap", "--max-bytes", "1000", "show", name]
    with open("/dev/zero", "rb") as endless:
        done = subprocess.run(command, stdin=endless, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "expected at most 1,000 bytes, found more; raise max_bytes (hlomap --max-bytes)" in done.stderr


def test_commands_have_the_limit(tmp_path: Path) -> None:
    file = str(sparse(tmp_path))
    for command in (["show", file], ["verify", file], ["run", file], ["diff", file, file]):
        done = subprocess.run([sys.executable, "-m", "hlomap", *command], capture_output=True, text=True)
        assert done.returncode == 1 and "found 2,147,483,648" in done.stderr, command


@pytest.mark.parametrize(
    "constant",
    [
        "ROOT c{} = f32[16777216] constant(1)",
        "ROOT c{} = (f32[], f32[16777216]) constant((1, 2))",
        'ROOT c{} = f32[] custom-call(), custom_call_target="x", literal=f32[16777216] 1',
    ],
)
def test_zeros_that_are_not_written_are_limited(constant: str) -> None:
    """A number for an array stands for 64 MiB here; a text of 500 KiB must not ask for terabytes."""
    lines = [constant.format(i).removeprefix("ROOT " if i else "") for i in range(5)]
    with pytest.raises(hm.errors.HloSyntaxError, match="more than 268435456 bytes of constants"):
        hm.parse("HloModule m\nENTRY e {\n" + "\n".join(lines) + "\n}")
    assert hm.parse("HloModule m\nENTRY e {\n" + "\n".join(lines[:4]) + "\n}").entry.root.name == "c0"
