"""The import contracts of pyproject.toml hold, indirect imports included."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import hlomap
from hlomap import _core, methods
from hlomap.base import attached

ROOT = Path(__file__).parent.parent
PACKAGE = Path(hlomap.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

LATE = {"pyarrow": "interop corpus", "rich": "cli", "click": "cli"}
"""Dependencies that are imported where they are used, and by these packages alone."""


ONE_FILE = {
    "fsspec": "interop/filesystems.py",
    "distributed": "corpus/engines.py",
    "pytest": "guard/plugin.py",
    "tomli": "cli/check.py",
    "scipy": "interpreter/library.py",
}
"""Other packages, and the file that imports each."""


@pytest.mark.parametrize("contract", ["layers", "base", "rules", "indexing", "semantics", "attributes", "optional"])
def test_contract(contract: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_imports(limit_to_contracts=(contract,), cache_dir=None) == EXIT_STATUS_SUCCESS


def imported(path: Path) -> set[str]:
    """The packages that a file imports from outside, in functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_packages() -> None:
    """The package imports its declared dependencies alone; the heavy ones only where they are used."""
    declared = {"numpy", "ml_dtypes", "pandas", "polars", "jax", "jaxlib", "sympy", "duckdb"}
    for path in FILES:
        name = path.relative_to(PACKAGE)
        outside = imported(path) - {"hlomap"} - set(sys.stdlib_module_names)
        assert outside <= {*declared, *LATE, *ONE_FILE}, name
        assert all(name.as_posix() == ONE_FILE[one] for one in outside & set(ONE_FILE)), name
        if "TYPE_CHECKING" not in path.read_text(encoding="utf-8"):
            assert all(name.parts[0] in LATE[one].split() for one in outside & set(LATE)), name


BINDINGS = {path: path.read_text(encoding="utf-8") for path in (ROOT / "rust" / "bindings" / "src").glob("*.rs")}
BELOW = {"_core", "base.answers", "base.dtypes", "base.json_object", "base.types", "errors"}
"""The modules of the package that the compiled module may import."""


def test_the_compiled_module_imports_nothing_above_it() -> None:
    """What lies above adds its methods to the compiled classes."""
    text = "".join(BINDINGS.values())
    for argument in re.findall(r"[.:]import\((?:intern!\(\w+(?:\.py\(\))?, )?([^)]*)\)", text):
        module = re.fullmatch('"([\\w.]+)"', argument)
        assert module, f"imports what is not written out: {argument}"
        package, _, name = module[1].partition(".")
        assert (name in BELOW) if package == "hlomap" else package in {"numpy", *sys.stdlib_module_names}


def test_methods_are_added_to_classes_that_do_not_call_them() -> None:
    """A class of ``methods`` that :func:`attach` forgets is found here, and a name that the compiled module calls."""
    added = set()
    classes = (each for each in vars(methods).values() if isinstance(each, type))
    for own in (each for each in classes if each.__module__ == methods.__name__):
        target = getattr(attached, own.__name__, None) or getattr(_core, own.__name__)
        found = {name for name, value in vars(own).items() if callable(value) or isinstance(value, property)}
        assert found and all(vars(target)[name] is vars(own)[name] for name in found)
        added |= found
    called = {*re.findall(r'(?:call_method\w*|getattr)\((?:intern!\(\w+, )?"(\w+)"', "".join(BINDINGS.values()))}
    assert called and not added & called


MAY_LIST_OPCODES = {"ops", "builder", "interop", "schedules", "writing"}
"""Packages that say how an operation is computed, written, converted or compiled, operation by operation."""


def test_no_lists_of_opcodes() -> None:
    """Facts about an opcode stand in its op rule or in the table of opcodes, and nowhere else."""
    known = {*hlomap._core.known_opcodes()}
    for path in (path for path in FILES if path.relative_to(PACKAGE).parts[0] not in MAY_LIST_OPCODES):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict):
                items = node.keys if isinstance(node, ast.Dict) else node.elts
                found = {item.value for item in items if isinstance(item, ast.Constant)} & known
                assert len(found) < 2, f"{path}:{node.lineno} lists {found}"


def test_no_tests_of_single_opcodes() -> None:
    """What a program is made of is asked in ``analysis/structure.py``, and of op rules and traits."""
    known = {*hlomap._core.known_opcodes()}
    may = {*MAY_LIST_OPCODES, "library_calls"}
    for path in (path for path in FILES if path.relative_to(PACKAGE).parts[0] not in may):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                names = {getattr(side, "attr", getattr(side, "id", None)) for side in sides}
                found = {side.value for side in sides if isinstance(side, ast.Constant)} & known
                assert not found or "opcode" not in names, f"{path}:{node.lineno} tests for {found}"


def test_op_rules_do_not_import_each_other() -> None:
    """Modules that op rules share have names that begin with an underscore."""
    for path in sorted((PACKAGE / "ops").rglob("*.py")):
        own = path.relative_to(PACKAGE).parts[1].removesuffix(".py")
        package = ["hlomap", *path.relative_to(PACKAGE).parts[:-1]]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = package[: len(package) - node.level + 1]
                name = [*base, *(node.module or "").split("."), *(alias.name for alias in node.names)]
                if name[:2] == ["hlomap", "ops"] and not own.startswith("_"):
                    assert name[2].startswith("_") or name[2] == own, f"{own} imports {name[2]}"
