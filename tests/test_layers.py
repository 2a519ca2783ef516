"""Reads the imports of the package and fails on an arrow that must never exist; README says why each must not."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import hlomap

PACKAGE = Path(hlomap.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py"))
NAMES = [".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in FILES]

# From modules with this prefix no import may name modules with these prefixes.
NEVER = {
    "ops": ("indexing", "execute", "analyses", "report", "batch", "rows", "listing", "cli"),
    "walk": ("execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "answers": ("walk", "execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "sources": ("walk", "execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "compose": ("walk", "execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "containment": ("ops", "walk", "compose", "execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "difference": ("ops", "walk", "compose", "execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "replicas": ("walk", "compose", "execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "device_walk": ("execute", "indexing", "evidence", "analyses", "rows", "report", "batch", "cli"),
    "map_set": ("ops", "walk", "compose", "execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "threads": ("ops", "walk", "compose", "execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "slices": ("execute", "evidence", "analyses", "rows", "report", "batch", "cli"),
    "rules": ("walk", "execute", "indexing", "evidence", "analyses", "rows", "report", "batch", "cli"),
    "points": ("ops", "walk", "compose", "execute", "indexing", "analyses", "rows", "report", "batch", "cli"),
    "evidence": ("walk", "compose", "analyses", "rows", "report", "batch", "cli"),
    "indexing": ("execute", "evidence", "analyses", "rows", "report", "batch", "cli"),
    "execute": ("indexing", "evidence", "analyses", "rows", "report", "batch", "cli"),
    "build": ("ops", "walk", "execute", "indexing", "evidence", "analyses", "rows", "report", "batch", "cli"),
    "builder": ("walk", "execute", "indexing", "evidence", "analyses", "rows", "report", "batch", "cli"),
    "analyses": ("ops", "execute", "indexing", "rows", "report", "batch", "cli"),
    "report": ("analyses", "ops", "indexing", "execute", "cli"),
    "table": ("analyses", "ops", "indexing", "execute", "rows", "report", "batch", "cli"),
    "buffers": ("walk", "indexing", "execute", "analyses", "rows", "report", "batch", "draw", "cli"),
    "bridges": ("walk", "indexing", "execute", "analyses", "rows", "report", "batch", "draw", "buffers", "cli"),
    "relations": ("execute", "analyses", "rows", "report", "batch", "draw", "buffers", "cli"),
    "draw": ("ops", "walk", "indexing", "execute", "analyses", "rows", "report", "batch", "buffers", "cli"),
    "layout_facts": ("ops", "walk", "indexing", "execute", "analyses", "rows", "report", "batch", "draw", "cli"),
    "": ("cli", "__main__"),
}
LEAVES = {"cli", "__main__"}  # the shell may import everything, and nothing imports it

OPTIONAL = {"pandas", "polars", "jax", "jaxlib"}
LATE = {"pyarrow", "rich", "click"}
LATE_IN = {"pyarrow": "adapters", "rich": "cli", "click": "cli"}


def imported(path: Path) -> set[str]:
    """The absolute names that a file imports, in functions too, but not those for type checkers alone."""
    name = path.relative_to(PACKAGE.parent).with_suffix("").parts
    package = list(name[:-1])
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            found |= {source} | {f"{source}.{alias.name}" for alias in node.names}
        waiting.extend(ast.iter_child_nodes(node))
    return found


def within(name: str, prefix: str) -> bool:
    return not prefix or name == prefix or name.startswith(prefix + ".")


@pytest.mark.parametrize(("name", "path"), list(zip(NAMES, FILES, strict=True)), ids=NAMES)
def test_arrows(name: str, path: Path) -> None:
    inner = {i.removeprefix("hlomap.") for i in imported(path) if i.startswith("hlomap.")}
    for source, targets in NEVER.items():
        if within(name, source) and name not in LEAVES:
            wrong = {i for i in inner for target in targets if within(i, target)}
            assert not wrong, f"{name} must not import {sorted(wrong)}"


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("ops.") and "__init__" not in name])
def test_ops_do_not_know_each_other(name: str) -> None:
    """An op is one page, with its own plan and meaning; what pages share has a name with an underscore."""
    folder, own = name.split(".")[1], name.split(".")[-1]
    inner = {i for i in imported(PACKAGE / (name.replace(".", "/") + ".py")) if i.startswith("hlomap.ops.")}
    # A page knows both, a meaning the plan, and a plan neither.
    allowed = {own: ("plans", "meaning"), "meaning": ("plans",)}.get(folder, ())
    mine = tuple(f"hlomap.ops.{part}.{own}" for part in allowed)
    wrong = {i for i in inner if not i.split(".")[2].startswith("_") and not i.startswith((*mine, f"hlomap.{name}"))}
    assert not wrong


def test_an_analysis_does_not_know_another() -> None:
    for name, path in zip(NAMES, FILES, strict=True):
        if name.startswith("analyses.") and not name.endswith("__init__"):
            assert not {i for i in imported(path) if within(i, "hlomap.analyses") and not within(i, f"hlomap.{name}")}


@pytest.mark.parametrize(("name", "path"), list(zip(NAMES, FILES, strict=True)), ids=NAMES)
def test_packages(name: str, path: Path) -> None:
    """Optional packages stay in the adapters; no test code, and nothing outside the dependencies, is imported."""
    outside = {i.split(".")[0] for i in imported(path)} - {"hlomap"} - set(sys.stdlib_module_names)
    assert outside <= {"numpy", "ml_dtypes"} | OPTIONAL | LATE
    for package in outside & (OPTIONAL | LATE):
        home = LATE_IN.get(package, "adapters")
        assert within(name, home), f"{name} must not import {package}"
