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
    declared = {"numpy", "ml_dtypes", "pandas", "polars", "jax", "jaxlib", "sympy", "duckdb", "cairosvg"}
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


RUST = ROOT / "rust"
CRATES = sorted(path.parent.parent.name for path in RUST.glob("*/src/lib.rs"))


@pytest.mark.parametrize("crate", CRATES)
def test_rust_modules_import_what_stands_before_them(crate: str) -> None:
    assert not upward(RUST / crate / "src")


@pytest.mark.parametrize("crate", [crate for crate in CRATES if (RUST / crate / "src/tuning.rs").exists()])
def test_limits_of_a_crate_stand_in_one_file(crate: str) -> None:
    src = RUST / crate / "src"
    files = [path for path in sorted(src.rglob("*.rs")) if path.name not in {"tuning.rs", "limits.rs"}]
    limits = re.compile(r"\bconst (MAX_\w+): *[iu](?:\d+|size) *= *\d")
    assert not [f"{path.relative_to(src)}: {limit}" for path in files for limit in limits.findall(code(path))]


def upward(src: Path) -> list[str]:
    """The imports, in code that is not a test, of modules that ``lib.rs`` declares later."""
    lib = code(src / "lib.rs")
    modules = re.findall(r"^ *(?:pub(?:\([^)]*\))? +)?mod +(\w+);", lib, re.MULTILINE)
    homes = {name: name for name in modules}
    for statement in re.findall(r"^(?:pub(?:\([^)]*\))? +)?use +([^;]+);", lib, re.MULTILINE):
        for path, name in named_by(statement):
            homes.setdefault(name, path[1] if path[0] in {"crate", "self"} else path[0])
    found = []
    for path in sorted(src.rglob("*.rs")):
        place = list(path.relative_to(src).with_suffix("").parts)
        if place == ["lib"]:
            continue
        place = place[:-1] if place[-1] == "mod" else place
        for name in sorted(crate_names(code(path), len(place))):
            home = homes[name]  # A name that lib.rs does not tell is an error: nothing goes by unseen.
            if home in modules and modules.index(home) > modules.index(place[0]):
                found.append(f"{path.relative_to(src)} imports {name}, of {home}")
    return found


def code(path: Path) -> str:
    """A Rust file without its comments, literals and tests."""
    text = path.read_text(encoding="utf-8")
    literal = r"""(r(#*)"[\s\S]*?"\2|b?"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])')"""
    text = re.sub(literal + r"|//[^\n]*|/\*[\s\S]*?\*/", lambda part: '""' if part[1] else "", text)
    return re.split(r"#\[cfg\(test\)\]\s*mod tests\b", text)[0]


def crate_names(text: str, depth: int) -> set[str]:
    """The first names of all paths from the root of the crate, in a module at this depth below it."""
    found = set()
    root = r"\bcrate\s*::\s*" + rf"|(?<!::)\b(?:super\s*::\s*){{{depth}}}(?!super\b)"
    for start in re.finditer(root, text):
        rest = text[start.end() :]
        whole = re.match(r"[\w:\s]+", rest) if rest[:1] != "{" else None
        found |= {whole[0].split("::")[0].strip()} if whole else {path[0] for path, _ in named_by(braced(rest))}
    return found


def braced(text: str) -> str:
    """The group in braces at the beginning of a text, or its first character."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if not depth:
            return text[: at + 1]
    raise AssertionError(f"unbalanced braces: {text[:80]}")


def named_by(tree: str, prefix: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Each path of a use tree, such as ``a::{b, c::d as e}``, and the name that it brings."""
    tree = tree.strip()
    if "{" not in tree:
        path, _, alias = tree.partition(" as ")
        parts = (*prefix, *(part.strip() for part in path.split("::")))
        parts = parts[:-1] if parts[-1] == "self" and len(parts) > 1 else parts
        return [(parts, alias.strip() or parts[-1])]
    head, rest = tree.split("{", 1)
    prefix = (*prefix, *(part.strip() for part in head.split("::") if part.strip()))
    items, depth = [""], 0
    for char in rest.rsplit("}", 1)[0]:
        depth += (char == "{") - (char == "}")
        if char == "," and not depth:
            items.append("")
        else:
            items[-1] += char
    return [each for item in items if item.strip() for each in named_by(item, prefix)]


@pytest.mark.parametrize(
    "text",
    [
        "use crate::high::X;",
        "use crate::{low, high};",
        "use crate::{low::{A, B}, high::{self, X as Y}};",
        "fn f() -> crate::high::X { todo() }",
        "use crate::X;",
        "use crate::{low, Z};",
        "use super::super::high::X;",
        "use super::super::{\n    low,\n    X,\n};",
        'fn f(quote: char) -> bool { quote == \'"\' || crate::high::f("") }',
    ],
)
def test_the_reader_of_imports_sees(text: str, tmp_path: Path) -> None:
    """The first module of a crate imports the second, in a file of its folder."""
    (tmp_path / "low").mkdir()
    lib = "mod low;\npub mod high;\npub use high::{X, Y as Z};\npub use low::A;\n"
    (tmp_path / "lib.rs").write_text(lib, encoding="utf-8")
    (tmp_path / "high.rs").write_text("use crate::low::A;\nuse super::low::B;\n", encoding="utf-8")
    (tmp_path / "low" / "mod.rs").write_text("// use crate::high;\nuse self::part::A;\n", encoding="utf-8")
    assert not upward(tmp_path)
    (tmp_path / "low" / "part.rs").write_text(f"use super::A;\n{text}\n", encoding="utf-8")
    assert upward(tmp_path)
    (tmp_path / "low" / "part.rs").write_text(f"#[cfg(test)]\nmod tests {{ {text} }}\n", encoding="utf-8")
    assert not upward(tmp_path)
