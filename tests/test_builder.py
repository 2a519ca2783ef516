"""The builder against the page on operation semantics: its examples, its rules, and the table that the docs show.

``cases/builder/examples.txt`` has the examples with the page's results, ``modules.hlo`` what they print, ``errors.txt``
a call that breaks a rule above each message.  With HLOMAP_BLESS=1 what is printed, the messages and the table in
``docs/builder.md`` are written anew; read the diff.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _xla
import numpy as np
import pytest
from conftest import BLESS

import hlomap as hm
from hlomap import _hlo_types

FOLDER = Path(__file__).parent / "cases" / "builder"
DOCS = Path(__file__).parent.parent / "docs" / "builder.md"
CLAUSES = ("on ", "gives ", "replicas ", "fed ")


@dataclass
class Example:
    """An operation of the page, the method for it, and statements; what it is run on and what the page says."""

    operation: str
    method: str
    code: list[str] = field(default_factory=list)
    clauses: dict[str, str] = field(default_factory=dict)
    number: int = 0

    @property
    def name(self) -> str:
        return f"{self.method}_{self.number}"


def examples() -> list[Example]:
    found: list[Example] = []
    for block in (FOLDER / "examples.txt").read_text(encoding="utf-8").split("\n# ")[1:]:
        head, *lines = block.rstrip().splitlines()
        operation, method = head.split(": ")
        case = Example(operation, method, number=sum(method == other.method for other in found))
        for line in lines:
            if line.startswith(CLAUSES):
                word, value = line.split(" ", 1)
                case.clauses[word] = value
            else:
                case.code.append(line)
        found.append(case)
    return found


EXAMPLES = examples()


def convolution(x: Any, kernel: Any, strides: Any, padding: Any) -> Any:
    """The loops of the page, for two dimensions in space."""
    (n, features, *sizes), (outputs, _, *window) = x.shape, kernel.shape
    low = [p[0] for p in padding]
    out = [(s + sum(p) - w) // stride + 1 for s, p, w, stride in zip(sizes, padding, window, strides, strict=True)]
    result = np.zeros((n, outputs, *out))
    for b, oz, oy, ox in np.ndindex(*result.shape):
        for iz, ky, kx in np.ndindex(features, *window):
            iy, ix = oy * strides[0] + ky - low[0], ox * strides[1] + kx - low[1]
            if 0 <= iy < sizes[0] and 0 <= ix < sizes[1]:
                result[b, oz, oy, ox] += x[b, iz, iy, ix] * kernel[oz, iz, ky, kx]
    return result


def myfunc(x: Any, y: Any) -> Any:
    z = np.zeros((3, 3), np.float32)
    z[0, 0] = x[1] + y[1, 0]
    return z


def built(case: Example) -> hm.Module:
    space: dict[str, Any] = {"b": hm.Builder(case.name), "np": np}
    exec("\n".join(case.code), space)
    return space["b"].build(space["root"])


MODULES = {case.name: built(case) for case in EXAMPLES}


def test_printed() -> None:
    """What the examples print; the reader read it without a complaint, and reads the print again."""
    file = FOLDER / "modules.hlo"
    text = "\n".join(str(module) for module in MODULES.values())
    if BLESS:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text
    for module in MODULES.values():
        assert not module.diagnostics
        assert str(hm.parse(str(module), strict=True)) == str(module)


def test_xla_reads_all() -> None:
    """XLA's parser takes every module and gives it the same shapes, layouts aside."""
    texts = [str(module) for module in MODULES.values()]
    layouts = re.compile(r"\{[0-9,]*\}")
    for name, answer in zip(MODULES, _xla.reprint(list(texts)), strict=True):
        assert answer is not None, f"XLA does not read {name}:\n{MODULES[name]}"
        theirs, ours = (
            {i.name: (i.opcode, layouts.sub("", str(i.shape))) for i in module.entry.instructions}
            for module in (hm.parse(answer), MODULES[name])
        )
        assert theirs == ours


@pytest.mark.parametrize("example", [e for e in EXAMPLES if "gives" in e.clauses], ids=lambda e: e.name)
def test_result(example: Example) -> None:
    case = example
    module = MODULES[case.name]
    n = int(case.clauses.get("replicas", 1))
    space = {"np": np, "convolution": convolution}
    given = eval(case.clauses.get("on", "[]"), space)
    dtypes = [_hlo_types.numpy_dtype(parameter.shape.dtype) for parameter in module.entry.parameters]
    if n > 1:
        arrays: list[Any] = [[np.asarray(one, dtypes[0]) for one in given]] if given else []
    else:
        arrays = [np.asarray(one, dtype) for one, dtype in zip(given, dtypes, strict=True)]
    fed = {"infeed": [np.int32(one) for one in eval(case.clauses["fed"])]} if "fed" in case.clauses else {}
    result = hm.execute(module, *arrays, num_replicas=n, custom_calls={"myfunc": myfunc}, **fed)
    compare(result, eval(case.clauses["gives"], space))


def compare(result: Any, expected: Any) -> None:
    if isinstance(result, (list, tuple)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            compare(one, other)
    else:
        np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-6, atol=1e-6)
        assert np.shape(result) == np.shape(expected)


def violations() -> Iterator[tuple[str, str, str]]:
    """The rule, the call that breaks it, and its message."""
    text = (FOLDER / "errors.txt").read_text(encoding="utf-8")
    for block in text.strip().split("\n\n")[1:]:
        rule, call, *message = block.splitlines()
        yield rule, call, "\n".join(message)


def message_of(call: str) -> str:
    b = hm.Builder("m")
    space = {
        "b": b,
        "np": np,
        "hm": hm,
        "p": lambda shape: b.parameter(len(b._scopes[-1].parameters), shape, "xyzuvw"[len(b._scopes[-1].parameters)]),
    }
    try:
        value = eval(call, space)
    except (hm.HlomapError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return f"accepted: {value}"


def test_violations() -> None:
    """Each rule of the page that a call can break: the error names operation, argument, value and rule."""
    file = FOLDER / "errors.txt"
    cases = list(violations())
    head = file.read_text(encoding="utf-8").split("\n\n")[0]
    got = [f"{rule}\n{call}\n{message_of(call)}" for rule, call, _ in cases]
    if BLESS:
        file.write_text("\n\n".join([head, *got]) + "\n", encoding="utf-8")
        cases = list(violations())
    for (rule, call, message), now in zip(cases, got, strict=True):
        assert now == f"{rule}\n{call}\n{message}"
        assert message.startswith(("ShapeError: ", "HloSyntaxError: ", "TypeError: "))


def opcodes(case: Example, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The opcodes that the method writes where it is called, constants for its numbers aside."""
    original = getattr(hm.Builder, case.method)
    seen: list[str] = []

    def watched(b: Any, *args: Any, **kwargs: Any) -> Any:
        before = len(b._scopes[-1].values)
        value = original(b, *args, **kwargs)
        seen.extend(made.opcode for made in b._scopes[-1].values[before:])
        return value

    with monkeypatch.context() as patch:
        patch.setattr(hm.Builder, case.method, watched)
        built(case)
    return [opcode for opcode in seen if opcode not in ("constant", "parameter")]


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table in the docs: operation of the page, method, opcodes that its examples write."""
    rows: dict[tuple[str, str], dict[str, None]] = {}
    for case in EXAMPLES:
        rows.setdefault((case.operation, case.method), {}).update(dict.fromkeys(opcodes(case, monkeypatch)))
    lines = [f"| {operation} | `{method}` | {' '.join(found)} |" for (operation, method), found in sorted(rows.items())]
    table = "\n".join(["| operation of the page | method | opcodes |", "|---|---|---|", *lines])
    text = DOCS.read_text(encoding="utf-8")
    start, end = "<!-- table -->\n", "\n<!-- end of table -->"
    if BLESS:
        text = text[: text.index(start) + len(start)] + table + text[text.index(end) :]
        DOCS.write_text(text, encoding="utf-8")
    assert start + table + end in text


def test_every_operation_of_the_page_is_there() -> None:
    page = (FOLDER / "operations.txt").read_text(encoding="utf-8").split()
    assert set(page) <= {case.operation for case in EXAMPLES}


METHODS = [name for name in dir(hm.Builder) if not name.startswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_method_is_described(name: str) -> None:
    method = getattr(hm.Builder, name)
    text = inspect.getdoc(method)
    assert text and ">>>" in text
    signature = inspect.signature(method)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in list(signature.parameters.values())[1:]:
        assert parameter.annotation is not inspect.Parameter.empty
