"""Parses modules from strings, bytes and files.

Read :func:`parse` first.  For any source the result is a list of modules or one :class:`~hlomap.errors.HloSyntaxError`
that lists all syntax errors with their locations.
"""

from __future__ import annotations

import os
from pathlib import Path

from .. import _core
from .._core import Module
from ..errors import HloSyntaxError
from ..types import expect

__all__ = ["load", "parse", "parse_all"]

_Source = str | bytes | bytearray | memoryview


def parse(source: _Source, *, name: str | None = None, strict: bool = False) -> Module:
    """Parse one module.

    ``source`` is HLO text (str or bytes), a bare computation or bare instructions, or a serialized HloProto,
    HloModuleProto or HloSnapshot; bytes may be compressed (gzip, xz, zstd).  ``name`` is the file name for messages.
    Inconsistencies that a module can represent are listed in ``module.diagnostics``; ``strict=True`` makes them errors.
    Raises :class:`~hlomap.errors.HloSyntaxError`, also for several modules, which :func:`parse_all` reads.

    >>> module = parse("HloModule m\\nENTRY e { p = f32[3] parameter(0) ROOT r = f32[3] negate(p) }")
    >>> module.name, module.entry.root.opcode, module["r"].operands[0].name
    ('m', 'negate', 'p')
    """
    modules = _parse_all(source, name, strict, "parse")
    if len(modules) > 1:
        where = name or "<text>"
        raise HloSyntaxError(
            f"{where}: expected one module, found {len(modules)}; use parse_all",
            filename=name,
            found=f"{len(modules)} modules",
            expected="one module",
        )
    return modules[0]


def parse_all(source: _Source, *, name: str | None = None, strict: bool = False) -> list[Module]:
    """Parse all modules of ``source``, at least one; otherwise like :func:`parse`.

    >>> [m.name for m in parse_all("HloModule a\\nENTRY e { ROOT p = f32[] parameter(0) }\\n" * 2)]
    ['a', 'a']
    """
    return _parse_all(source, name, strict, "parse_all")


def _parse_all(source: _Source, name: str | None, strict: bool, function: str) -> list[Module]:
    takes = "HLO text (str) or bytes"
    expect((str, bytes, bytearray, memoryview), source, function, takes, "read a file with hlomap.load(path)")
    expect((str, type(None)), name, function, "a str or None as `name`")
    if isinstance(source, (bytearray, memoryview)):
        source = bytes(source)
    return _core.parse_text(source, name, strict)


def load(path: str | os.PathLike[str], *, strict: bool = False) -> Module:
    """Parse the module in a file; raises ``OSError`` where the file cannot be read, otherwise like :func:`parse`.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".hlo", delete=False) as file:
    ...     _ = file.write("ENTRY e { ROOT p = f32[] parameter(0) }")
    >>> load(file.name).entry.name
    'e'
    """
    expect((str, os.PathLike), path, "load", "a path", "read text or bytes with hlomap.parse(source)")
    return parse(Path(path).read_bytes(), name=os.fspath(path), strict=strict)
