"""``hlomap doctor``: what is there, and what is broken."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import hlomap as hm
from hlomap.cli.main import main


def test_a_working_installation() -> None:
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 0, result.stdout
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert lines["maps"] == lines["interpreter"] == lines["table"] == "works"
    assert lines["numpy"][0].isdigit()


def test_json() -> None:
    result = CliRunner().invoke(main, ["doctor", "--json"])
    found = json.loads(result.stdout)
    assert found["maps"] == {"value": "works", "good": True}


@pytest.mark.parametrize(
    ("name", "broken", "subject", "shown"),
    [
        ("output_to_input", lambda root: (hm.MapSet(),), "maps", "expected (d0, d1)"),
        ("verify", lambda root: 1 / 0, "interpreter", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_broken_part_is_a_line(
    name: str, broken: object, subject: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hm, name, broken)
    result = CliRunner().invoke(main, ["doctor", "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)[subject]
    assert not found["good"] and found["value"].startswith(shown)


def test_a_missing_package_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlomap.cli.doctor._version", lambda name: None if name in ("numpy", "jax") else "1.0")
    result = CliRunner().invoke(main, ["doctor", "--json"])
    found = json.loads(result.stdout)
    assert result.exit_code == 1 and found["numpy"] == {"value": "missing", "good": False}
    assert found["jax"]["good"] and "hm.from_jax" in found["jax"]["value"]


def test_every_extra_of_users_is_listed() -> None:
    """The packages that pyproject.toml names for users, under the names of their distributions."""
    lines = {line.split()[0] for line in CliRunner().invoke(main, ["doctor"]).stdout.splitlines()}
    extras = {
        "jax", "pandas", "polars", "sympy", "scipy", "duckdb", "fsspec", "distributed", "pyarrow", "click", "rich",
    }  # fmt: skip
    assert extras <= lines
