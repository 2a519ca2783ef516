"""The docstrings of the compiled module in its stub: written once, in Rust, and copied.

:func:`with_docstrings` is the tool.  The law: every class, function, method and property of the stub has the docstring
that it has at run time; special and private ones and overloads have none.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
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
    """A docstring; a line of prose that is too long with its indentation goes on in the next."""
    quotes = 'r"""' if "\\" in text else '"""'
    first, *rest = [part for line in text.split("\n") for part in _parts(line, 110 - len(indent))]
    if not rest:
        return [f'{indent}{quotes}{first}"""']
    return [indent + quotes + first, *((indent + line).rstrip() for line in rest), indent + '"""']


def _parts(line: str, width: int) -> list[str]:
    is_code = line.startswith((">>>", "...", " "))
    return [line] if is_code or len(line) <= width else textwrap.wrap(line, width)
