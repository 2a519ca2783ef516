"""Puts faults into a copy of the sources, one at a time, and reports which of them the tests hear.

    python tests/faults/run.py [--only PATTERN] [--python | --rust] [--list] [--jobs N] [--target FOLDER]

`faults.txt` beside this file is the table; docs/contributing.md says how to add a row.  A fault is *heard* if the test
that it names fails, *not heard* if that passes, *stale* if the text that it replaces is not there exactly once or the
test is not there, and *broken* if the test does not run: without a fault it fails, or with it nothing compiles.  The
exit code is 0 only if all are heard.  ``--list`` runs nothing and only looks for stale rows.

A fault in Python goes into a copy of the package, which the test imports; one in Rust into a copy of the workspace,
which is compiled in the target folder.  The tests themselves stay where they are.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import cache_from_source, find_spec
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).parent / "faults.txt"
SECONDS = 900  # for one test; a fault may make it run for ever
HEARD, NOT_HEARD, STALE, BROKEN = "heard", "NOT HEARD", "STALE", "BROKEN"


class Stale(Exception):
    """A row that does not fit the sources."""


@dataclass(frozen=True)
class Fault:
    """One row of the table."""

    name: str
    """What goes wrong, in words."""
    file: str
    function: str
    """Qualified by its class or impl, and by the functions around it."""
    old: str
    new: str
    test: str
    """A pytest node id, or ``cargo -p PACKAGE --lib FILTER``, where ``--test NAME`` may take the place of ``--lib``."""

    @property
    def is_rust(self) -> bool:
        return self.file.endswith(".rs")

    @property
    def is_heard_by_cargo(self) -> bool:
        return self.test.startswith("cargo ")

    def faulty(self) -> str:
        """The text of the file with the fault."""
        path = TOP / self.file
        if not path.is_file():
            raise Stale(f"no file {self.file}")
        text = path.read_text(encoding="utf-8")
        begin, end = (_span_of_rust if self.is_rust else _span_of_python)(text, self.function)
        n = text.count(self.old, begin, end)
        if n != 1:
            raise Stale(f"{self.function} has the text {n} times")
        at = text.index(self.old, begin, end)
        return text[:at] + self.new + text[at + len(self.old) :]

    def check(self) -> None:
        """Raises :class:`Stale` if the row does not fit the sources or the tests."""
        text = self.faulty()
        if not self.is_rust:
            ast.parse(text)
        if self.is_heard_by_cargo:
            _, _, package, *_, name = self.test.split()
            function = re.compile(rf"\bfn {re.escape(name.rpartition('::')[2])}\b")
            folder = TOP / "rust" / package.removeprefix("hlomap-")
            if not any(function.search(path.read_text(encoding="utf-8")) for path in folder.rglob("*.rs")):
                raise Stale(f"no test {name} in {package}")
        else:
            file, _, name = self.test.partition("::")
            path = TOP / file
            name = name.partition("[")[0]
            heads = (f"def {name}(",) if path.suffix == ".py" else (f"HloModule {name}\n", f"# {name}\n")
            if not path.is_file() or not any(head in path.read_text(encoding="utf-8") for head in heads):
                raise Stale(f"no test {self.test}")


def read_table(text: str) -> Iterator[Fault]:
    """The rows: blocks of lines, the first of which names the fault; lines that begin with # are comments."""
    for block in re.split(r"\n{2,}", re.sub(r"^#.*\n", "", text, flags=re.M).strip()):
        name, place, *lines = block.split("\n")
        file, function = place.removeprefix("in: ").split()
        old = "\n".join(line[2:] for line in lines if line.startswith("-"))
        new = "\n".join(line[2:] for line in lines if line.startswith("+"))
        (test,) = [line.removeprefix("heard by: ") for line in lines if line.startswith("heard by: ")]
        yield Fault(name, file, function, old, new, test)


def _span_of_python(text: str, function: str) -> tuple[int, int]:
    at: ast.AST = ast.parse(text)
    for name in function.split("."):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = [node for node in ast.walk(at) if isinstance(node, kinds) and node.name == name and node is not at]
        if len(found) != 1:
            raise Stale(f"{len(found)} functions {function}")
        (at,) = found
    assert isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and at.end_lineno is not None
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts[at.lineno - 1], starts[at.end_lineno]


def _span_of_rust(text: str, function: str) -> tuple[int, int]:
    """rustfmt puts the closing brace of an item below its first line; without a type, the function is in none."""
    *owners, name = function.split("::")
    indent = "[ ]*" if owners else ""
    heads = [rf"impl\b[^\n]*\b{re.escape(owner)}\b" for owner in owners]
    heads.append(rf"(?:pub(?:\([^)]*\))? )?(?:const )?(?:unsafe )?fn {re.escape(name)}\b")
    spans = [(0, len(text))]
    for head in heads:
        found = [m for span in spans for m in re.compile(rf"^({indent}){head}", re.M).finditer(text, *span)]
        spans = [(m.start(), re.compile(rf"^{m[1]}\}}$", re.M).search(text, m.start()).end()) for m in found]
    if len(spans) != 1:
        raise Stale(f"{len(spans)} functions {function}")
    return spans[0]


class PythonCopy:
    """Copies of the package, of which each has one fault."""

    def __init__(self, folder: Path) -> None:
        spec = find_spec("hlomap._core")
        assert spec is not None and spec.origin is not None
        self._folder = folder
        self._clean = folder / "clean"
        package = self._clean / "hlomap"
        shutil.copytree(TOP / "python" / "hlomap", package, ignore=shutil.ignore_patterns("__pycache__", "_core.*.so"))
        shutil.copy2(spec.origin, package)
        compileall.compile_dir(package, quiet=2)

    def baseline(self, tests: Sequence[str]) -> str | None:
        """What is wrong with tests before any fault."""
        code, printed = _pytest(self._clean, tests)
        return None if code == 0 else printed

    def judge(self, fault: Fault, extension: Path | None = None) -> tuple[str, str]:
        """Runs the test of a fault."""
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            top = Path(name) / "python"
            shutil.copytree(self._clean, top)
            if extension is None:
                file = top / Path(fault.file).relative_to("python")
                Path(cache_from_source(str(file))).unlink(missing_ok=True)
                file.write_text(fault.faulty(), encoding="utf-8")
            else:
                for old in (top / "hlomap").glob("_core.*so"):
                    old.unlink()
                shutil.copy2(extension, top / "hlomap" / "_core.abi3.so")
            code, printed = _pytest(top, [fault.test])
        return {0: NOT_HEARD, 1: HEARD}.get(code, BROKEN), printed


def _pytest(top: Path, tests: Sequence[str]) -> tuple[int, str]:
    """The exit code of pytest with the package in a folder, and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(top), "CI": "1"}
    environment.pop("HLOMAP_BLESS", None)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=TOP, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return 1, f"no end after {SECONDS} s"
    return done.returncode, done.stdout.decode(errors="replace")


class RustCopy:
    """The copy of the workspace, in which one fault replaces another, so that little is compiled for each."""

    def __init__(self, target: Path) -> None:
        self._top, self._target = target / "tree", target / "build"
        # The build script of the bindings reads methods.py.
        for name in ("Cargo.toml", "Cargo.lock", "rust", "benches", "tests", "python/hlomap/methods.py"):
            _mirror(TOP / name, self._top / name)

    def judge(self, fault: Fault, python: PythonCopy) -> tuple[str, str]:
        """Compiles what the test needs, with the fault, and runs it."""
        file = self._top / fault.file
        before = file.read_text(encoding="utf-8")
        file.write_text(fault.faulty(), encoding="utf-8")
        try:
            return self._by_cargo(fault) if fault.is_heard_by_cargo else self._by_pytest(fault, python)
        except subprocess.TimeoutExpired:
            return HEARD, f"no end after {SECONDS} s"
        finally:
            file.write_text(before, encoding="utf-8")

    def _by_cargo(self, fault: Fault) -> tuple[str, str]:
        _, *target, name = fault.test.split()
        code, printed = self._cargo(["test", "--quiet", *target, "--no-run"], None)
        if code:
            return BROKEN, printed
        code, printed = self._cargo(["test", "--quiet", *target, "--", name], SECONDS)
        if code == 0 and " 0 passed" in printed:
            return BROKEN, f"no such test: {fault.test}"
        return (HEARD if code else NOT_HEARD), printed

    def _by_pytest(self, fault: Fault, python: PythonCopy) -> tuple[str, str]:
        code, printed = self._cargo(["build", "--quiet", "--release", "-p", "hlomap-bindings", *_EXTENSION], None)
        if code:
            return BROKEN, printed
        built = ("lib_core.so", "lib_core.dylib", "_core.dll")
        library = next(path for name in built if (path := self._target / "release" / name).exists())
        return python.judge(fault, library)

    def _cargo(self, arguments: Sequence[str], timeout: float | None) -> tuple[int, str]:
        environment = {**os.environ, "CARGO_TARGET_DIR": str(self._target), "CARGO_INCREMENTAL": "1"}
        environment |= {"CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16", "CARGO_TERM_COLOR": "never", "CI": "1"}
        done = subprocess.run(
            ["cargo", *arguments],
            cwd=self._top,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
        return done.returncode, done.stdout.decode(errors="replace")


def _mirror(source: Path, copy: Path) -> None:
    """Makes a copy equal and writes only what differs: cargo goes by the times of files.

    A file that still has the fault of a run that was stopped differs, so what was compiled of it is compiled again.
    """
    if source.is_dir():
        names = {path.name for path in source.iterdir()} - {"__pycache__", "target"}
        copy.mkdir(parents=True, exist_ok=True)
        for path in copy.iterdir():
            if path.name not in names:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in names:
            _mirror(source / name, copy / name)
    elif not copy.is_file() or copy.read_bytes() != source.read_bytes():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)


_EXTENSION = ("--features", "extension-module,pyo3/extension-module")


def main() -> int:
    parser = argparse.ArgumentParser(description="Puts faults into a copy of the sources: which does a test hear?")
    parser.add_argument("--only", default="", metavar="PATTERN", help="faults of which name, file or function match")
    parser.add_argument("--python", action="store_true", help="only faults in Python")
    parser.add_argument("--rust", action="store_true", help="only faults in Rust, which are compiled")
    parser.add_argument("--list", action="store_true", help="only list them; fails if one is stale")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="tests of Python at a time")
    parser.add_argument("--target", type=Path, default=TOP / "target" / "faults", metavar="FOLDER", help="of cargo")
    options = parser.parse_args()
    languages = {options.python: False, options.rust: True}.get(True)
    faults = [
        fault
        for fault in read_table(TABLE.read_text(encoding="utf-8"))
        if re.search(options.only, f"{fault.name}\n{fault.file} {fault.function}")
        and (languages is None or fault.is_rust == languages)
    ]
    verdicts: dict[Fault, str] = {}
    left = []
    for fault in faults:
        try:
            fault.check()
            left.append(fault)
        except (Stale, SyntaxError) as error:
            verdicts[fault] = STALE
            print(f"{STALE:10} {fault.name}: {error}")
    if options.list:
        for fault in left:
            print(f"{fault.file} {fault.function}: {fault.name}")
        print(f"{len(faults)} faults, {len(verdicts)} stale")
        return int(bool(verdicts))
    with tempfile.TemporaryDirectory() as folder:
        python = PythonCopy(Path(folder))
        tests = list(dict.fromkeys(fault.test for fault in left if not fault.is_heard_by_cargo))
        if tests and (wrong := python.baseline(tests)) is not None:
            print(f"{wrong}\nwithout a fault a test fails")
            return 1
        with ThreadPoolExecutor(options.jobs) as pool:
            plain = [fault for fault in left if not fault.is_rust]
            for fault, found in zip(plain, pool.map(python.judge, plain), strict=True):
                verdicts[fault] = _report(fault, *found)
        compiled = [fault for fault in left if fault.is_rust]
        rust = RustCopy(options.target) if compiled else None
        for fault in compiled:
            assert rust is not None
            verdicts[fault] = _report(fault, *rust.judge(fault, python))
    return _summary(verdicts)


def _report(fault: Fault, verdict: str, printed: str) -> str:
    print(f"{verdict:10} {fault.name} ({fault.file} {fault.function})", flush=True)
    if verdict != HEARD:
        print(f"           {fault.test}")
        print("".join(f"           | {line}\n" for line in printed.splitlines()[-20:]), end="")
    return verdict


def _summary(verdicts: dict[Fault, str]) -> int:
    """Prints how many faults of each package were heard."""
    by_package: dict[str, Counter[str]] = {}
    for fault, verdict in verdicts.items():
        parts = Path(fault.file).parts
        package = "/".join(parts[:2]) if fault.is_rust else "/".join(parts[1 : min(3, len(parts) - 1)])
        by_package.setdefault(package, Counter())[verdict] += 1
    columns = (HEARD, NOT_HEARD, STALE, BROKEN)
    print(f"\n{'':24}{''.join(f'{name.lower():>11}' for name in columns)}")
    for package, counts in sorted(by_package.items()):
        print(f"{package:24}{''.join(f'{counts[name]:11}' for name in columns)}")
    total = sum(by_package.values(), Counter())
    print(f"{'all':24}{''.join(f'{total[name]:11}' for name in columns)}")
    return int(set(total) != {HEARD})


if __name__ == "__main__":
    sys.exit(main())
