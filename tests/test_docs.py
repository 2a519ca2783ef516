"""Examples in the documentation run: the README's Python blocks, and every docstring."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hlomap
from hlomap import _core
from hlomap.cli.main import main

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(hlomap.__path__, "hlomap.") if not module.name.endswith("__main__")
)


def marked(value: Any, name: str, path: Path) -> Any:
    """A parameter for a file of examples; with the marker ``jax`` where one of them uses JAX."""
    text = path.read_text(encoding="utf-8") if path.suffix in {".py", ".md"} else ""
    uses_jax = re.search(r"^ *>>> .*import jax|^import jax", text, re.M)
    return pytest.param(value, id=name, marks=[pytest.mark.jax] if uses_jax else [])


def source(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin)


@pytest.mark.parametrize("name", [marked(name, name, source(name)) for name in ["hlomap", *MODULES]])
def test_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(optionflags=flags)
    for test in doctest.DocTestFinder().find(module):
        test.globs["hm"] = hlomap
        if name.startswith(("hlomap.builder", "hlomap.writing")):
            test.globs["b"] = hlomap.Builder("m")
        runner.run(test)
    assert runner.failures == 0


def test_docstrings_of_compiled_properties() -> None:
    """Those that :mod:`doctest` does not find."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    n = 0
    for name, found in [item for each in vars(_core).values() if isinstance(each, type) for item in vars(each).items()]:
        if inspect.isgetsetdescriptor(found):
            test = doctest.DocTestParser().get_doctest(inspect.getdoc(found) or "", {}, name, None, 0)
            n += len(test.examples)
            runner.run(test)
    assert runner.failures == 0 and n > 20


@pytest.mark.parametrize("doc", [marked(doc, doc.relative_to(ROOT).as_posix(), doc) for doc in DOCUMENTS])
def test_document_examples(doc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks marked ``python`` run in order in one namespace, from the root; ``>>>`` blocks print what is shown."""
    monkeypatch.chdir(ROOT)
    space: dict[str, object] = {"__name__": "doc"}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", doc.read_text(encoding="utf-8"), re.M | re.S)):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, space, f"{doc.name}[{number}]", str(doc), 0)
            runner.run(test, clear_globs=False)
            space.update(test.globs)
        else:
            exec(compile(block, f"{doc.name}[{number}]", "exec"), space)
    assert runner.failures == 0


@pytest.mark.parametrize("doc", [ROOT / "README.md"], ids=["README.md"])
def test_printed_output(doc: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A ``text`` block after a ``python`` block holds the output of that block."""
    monkeypatch.chdir(ROOT)
    space: dict[str, object] = {"__name__": "doc"}
    blocks = re.findall(
        r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", doc.read_text(encoding="utf-8"), re.M | re.S
    )
    assert any(shown for _, shown in blocks)
    for block, shown in blocks:
        exec(compile(block, doc.name, "exec"), space)
        assert capsys.readouterr().out == shown


def test_the_page_of_passes_has_those_of_the_example() -> None:
    """Each function of the page, and the block that it shows, is that of ``docs/examples/passes.py``."""
    example = (ROOT / "docs" / "examples" / "passes.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "passes.md").read_text(encoding="utf-8")
    functions = [f for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) for f in block.split("\n\n\n")]
    shown = [f.rstrip() for f in functions if f.startswith("def ")]
    assert len(shown) == 6
    assert [f for f in shown if f not in example] == []
    block = re.findall(r"^```text\n(with.*?)^```", page, re.M | re.S)
    assert len(block) == 1 and textwrap.indent(block[0], "    ") in example


def anchors(doc: Path) -> set[str]:
    """The fragments of links to the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", doc.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("doc", DOCUMENTS, ids=[doc.relative_to(ROOT).as_posix() for doc in DOCUMENTS])
def test_links(doc: Path) -> None:
    """Links to files and headings of the repository have a target, and the paths that a page names exist."""
    text = doc.read_text(encoding="utf-8")
    for path in re.findall(r"`((?:python|rust|tests|benches)/[\w./-]+)`", text):
        assert "NAME" in path or doc.name == "changelog.md" or (ROOT / path).exists(), path
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not link.startswith("http"):
            name, _, anchor = link.partition("#")
            target = doc.parent / name if name else doc
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_glossary_is_sorted() -> None:
    terms = re.findall(r"^### (.*)$", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.M)
    assert terms == sorted(terms, key=str.casefold)


CONSOLE = [
    block
    for page in (ROOT / "README.md", ROOT / "docs" / "skill.md")
    for block in re.findall(r"^```console\n\$ hlomap (.*?)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
]


@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_console(command: str, shown: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The README and the page of commands show what a command prints without extras, apart from times and the name of
    the output."""
    monkeypatch.chdir(ROOT)
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['jaxlib'] = None  # for the workers\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    arguments = [
        str(tmp_path / argument) if argument == "out.parquet" else argument for argument in shlex.split(command)
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0

    def lines(text: str) -> list[str]:
        return [line.rstrip() for line in text.splitlines() if not line.startswith(("time", "written to"))]

    assert lines(result.stdout) == lines(shown)
