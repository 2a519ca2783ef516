"""The docstrings of the compiled module in its stub: written once, in Rust, and copied.

:func:`with_docstrings` is the tool.  The law: every class, function, method and property of the stub has the docstring
that it has at run time; special and private ones and overloads have none.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import ModuleType

__all__ = ["documented", "with_docstrings"]

_Definition = ast.ClassDef | ast.FunctionDef


def documented(stub: str, module: ModuleType) -> Iterator[tuple[str, _Definition, object]]:
    """Everything in a stub that has a docstring: its dotted name, its definition, and what it is at run time."""
    for node in ast.parse(stub).body:
        if not isinstance(node, _Definition) or node.name.startswith("_"):
            continue
        found = getattr(module, node.name)
        if not _is_overload(node):
            yield node.name, node, found
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.FunctionDef) and not part.name.startswith("_") and not _is_overload(part):
                yield f"{node.name}.{part.name}", part, inspect.getattr_static(found, part.name)


def with_docstrings(stub: str, module: ModuleType) -> str:
    """The stub with the docstrings of the module in the places of its own.

    >>> import hlomap.dtypes
    >>> print(with_docstrings("def numpy_dtype(name: str) -> object: ...", hlomap.dtypes).splitlines()[0])
    def numpy_dtype(name: str) -> object:
    """
    lines = stub.split("\n")
    for _, node, found in sorted(documented(stub, module), key=lambda each: -each[1].lineno):
        text = inspect.getdoc(getattr(found, "__func__", found)) or ""
        if not text:
            continue
        first = node.body[0]
        assert isinstance(first, ast.Expr) or isinstance(node, ast.ClassDef)
        quoted = _quoted(text, " " * (node.col_offset + 4))
        at = first.lineno - 1
        if not isinstance(first, ast.Expr):
            at = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", ()))]) - 1
            lines[at:at] = [*quoted, ""]
        elif isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            lines[at : first.end_lineno] = quoted
        else:
            before, after = lines[at][: first.col_offset].rstrip(), lines[at][first.col_offset + 3 :]
            lines[at : at + 1] = ([before + after] if before else []) + quoted
    return "\n".join(lines)


def _is_overload(node: _Definition) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)


def _quoted(text: str, indent: str) -> list[str]:
    """A docstring with its paragraphs wrapped for the indentation; examples and lists keep their lines."""
    quotes = 'r"""' if "\\" in text else '"""'
    paragraphs = [_wrapped(paragraph, 114 - len(indent)) for paragraph in text.split("\n\n")]
    first, *rest = "\n\n".join(paragraphs).split("\n")
    if not rest:
        return [f'{indent}{quotes}{first}"""']
    return [indent + quotes + first, *((indent + line).rstrip() for line in rest), indent + '"""']


def _wrapped(paragraph: str, width: int) -> str:
    if any(line.startswith((">>>", " ", "- ", "|")) for line in paragraph.split("\n")):
        return paragraph
    words = paragraph.replace("\n", " ").replace("  ", "\x00 ").split(" ")  # two spaces end a sentence
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(line.rstrip("\x00").replace("\x00", " ") for line in lines)
