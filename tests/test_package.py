"""The installed package: what importing it costs, its names, and that they are documented."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import hlomap as hm
from hlomap import _core

PUBLIC = [name for name in hm.__all__ if name != "__version__"]


def test_import_is_lean() -> None:
    """What only the command line or a table needs is not imported with the package."""
    heavy = ["pyarrow", "rich", "click", "jax", "pandas", "polars", "multiprocessing"]
    code = (
        "import numpy, sys; before = set(sys.modules); import hlomap; "
        f"print(sorted(set({heavy!r}) & (set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_version() -> None:
    assert hm.__version__ == metadata.version("hlomap")
    run = subprocess.run([sys.executable, "-m", "hlomap", "--version"], capture_output=True, text=True, check=True)
    assert hm.__version__ in run.stdout


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(hm, name)), f"{name} has no docstring"


def test_names_are_sorted_and_there() -> None:
    assert sorted(hm.__all__, key=str.casefold) == sorted(set(hm.__all__), key=str.casefold)
    assert all(hasattr(hm, name) for name in hm.__all__)


def test_is_typed() -> None:
    package = Path(hm.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "_core.pyi").is_file()


def test_stub_names_everything_compiled() -> None:
    stub = (Path(hm.__file__).parent / "_core.pyi").read_text(encoding="utf-8")
    compiled = [name for name in dir(_core) if not name.startswith("_")]
    assert compiled
    missing = [name for name in compiled if f"class {name}" not in stub and f"def {name}(" not in stub]
    assert missing == []
