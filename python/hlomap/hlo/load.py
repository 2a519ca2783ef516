"""Parses modules from strings, bytes and files.

The result for any source is a list of modules or one :class:`~hlomap.errors.HloSyntaxError` that lists all syntax
errors with their locations.  A source that is not HLO and begins like MLIR is converted from StableHLO.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from operator import index
from typing import TYPE_CHECKING, BinaryIO

from .. import _core
from .._core import Module, unpack_head
from ..base.text import joined, one_line
from ..base.types import expect, is_index, wrong_type
from ..errors import HloSyntaxError, NotFoundError

if TYPE_CHECKING:
    from .content import Content

_Source = str | bytes | bytearray | memoryview

MAX_BYTES = 1 << 30
"""The default size of the largest file to read, in bytes."""

_BLOCK = 1 << 24

# The bounds that the reader of HLO has for compressed data.
_FLOOR, _GROWTH = 64 << 20, 100


def parse(source: _Source, /, *, name: str | None = None, strict: bool = False) -> Module:
    """Parse one module.

    ``source`` is HLO text (str or bytes), a bare computation or bare instructions, a serialized HloProto,
    HloModuleProto or HloSnapshot, or a trace of XLA's profiler (``*.xplane.pb``) with the HLO of one program; bytes may
    be compressed (gzip, xz, zstd).  StableHLO, as text,
    bytecode or a serialized ``jax.export`` artifact, is converted by jaxlib in a child process.  ``name`` is the file
    name for messages.
    Instructions that cannot be read and inconsistencies that a module can represent are listed in
    ``module.diagnostics``; ``strict=True`` makes them errors.  The reads of an unreadable instruction are unknown.
    Raises :class:`~hlomap.errors.HloSyntaxError` for syntax errors and for several modules (use :func:`parse_all`),
    and :class:`~hlomap.errors.UnsupportedError` for StableHLO without jaxlib.

    >>> module = parse("HloModule m\\nENTRY e { p = f32[3] parameter(0) ROOT r = f32[3] negate(p) }")
    >>> module.name, module.entry.root.opcode, module["r"].operands[0].name
    ('m', 'negate', 'p')
    """
    modules = _parse_all(source, name, strict, "parse")
    if len(modules) > 1:
        raise _several(modules, name)
    return modules[0]


def parse_all(source: _Source, /, *, name: str | None = None, strict: bool = False) -> list[Module]:
    """Parse all modules of ``source``, at least one; otherwise like :func:`parse`.

    For a trace these are all its programs, with or without events, each with its id as ``module.program``.

    >>> [m.name for m in parse_all("HloModule a\\nENTRY e { ROOT p = f32[] parameter(0) }\\n" * 2)]
    ['a', 'a']
    """
    return _parse_all(source, name, strict, "parse_all")


def _parse_all(source: _Source, name: str | None, strict: bool, function: str) -> list[Module]:
    takes = "HLO text (str) or bytes"
    expect((str, bytes, bytearray, memoryview), source, function, takes, "read a file with hm.load(path)")
    expect((str, type(None)), name, function, "a str or None as `name`")
    expect(bool, strict, function, "a bool as `strict`")
    if isinstance(source, (bytearray, memoryview)):
        source = bytes(source)
    try:
        return _core.parse_text(source, name, strict)
    except HloSyntaxError as error:
        content = _content(source)
        if not content.is_mlir:
            _explain(error, source, content)
            raise
    from .stablehlo import to_hlo_proto

    return _core.parse_text(to_hlo_proto(_unpacked(source), name), name, strict)


def _content(source: str | bytes) -> Content:
    from .content import HEAD_BYTES, content_of  # many regular expressions, which only errors need

    return content_of(source[:HEAD_BYTES].encode("utf-8", "replace") if isinstance(source, str) else source)


def _unpacked(source: str | bytes) -> str | bytes:
    """A source without its compression."""
    return source if isinstance(source, str) else unpack_head(source, max(_FLOOR, _GROWTH * len(source)))[1]


def _several(modules: list[Module], name: str | None) -> HloSyntaxError:
    where, n, titles = name or "<text>", len(modules), listed_programs(modules)
    what, advice = "module", "; use parse_all"
    if titles is not None:
        what, advice = "program", f": {titles}; hm.load(path, program=...) reads one, hm.parse_all(bytes) all"
    message = f"{where}: expected one {what}, found {n}{advice}"
    return HloSyntaxError(message, filename=name, found=f"{n} {what}s", expected=f"one {what}")


def listed_programs(modules: list[Module]) -> str | None:
    """The names and ids of modules from a trace; None if the modules are from another source."""
    is_trace = any(module.program is not None for module in modules)
    return _titles([(module.name, module.program) for module in modules]) if is_trace else None


def load(
    path: str | os.PathLike[str],
    /,
    *,
    strict: bool = False,
    max_bytes: int | None = MAX_BYTES,
    program: int | str | None = None,
) -> Module:
    """Parse the module in a file; raises ``OSError`` if the file cannot be read, otherwise like :func:`parse`.

    ``max_bytes`` is the largest file to read, in bytes (default: 1 GiB), and ``None`` means no limit; a larger file
    raises :class:`~hlomap.errors.HloSyntaxError` before it takes memory.  ``program`` chooses one of the programs in a
    trace of XLA's profiler (``*.xplane.pb``) by its id, by the name of its module, or by both as in ``"jit_f(17)"``.
    Raises
    :class:`~hlomap.errors.HloSyntaxError` for several programs without ``program``, and
    :class:`~hlomap.errors.NotFoundError` if the file is not a trace, or has no such program, or several.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".hlo", delete=False) as file:
    ...     _ = file.write("ENTRY e { ROOT p = f32[] parameter(0) }")
    >>> load(file.name).entry.name
    'e'
    >>> load("tests/cases/profiles/cpu.xplane.pb", program="jit_step").program
    6
    """
    expect((str, os.PathLike), path, "load", "a path", "read text or bytes with hm.parse(source)")
    if isinstance(program, bool) or not (program is None or isinstance(program, str) or is_index(program)):
        raise wrong_type("load", "the id of a program (int) or a name (str) as `program`", program)
    source, name = read_source(path, max_bytes), os.fsdecode(path)
    if program is None:
        return parse(source, name=name, strict=strict)
    programs = _core.trace_programs(source, name)
    if programs is None:
        raise NotFoundError(f"{name} is not a trace of XLA's profiler, so it has no program {program!r}")
    found = _find(programs, program, name)
    if len(found) > 1:
        titles = _titles([programs[k] for k in found])
        raise NotFoundError(f"{name} has {len(found)} programs {program!r}: {titles}; choose one by its id")
    return _core.parse_text(source, name, strict, found)[0]


_Programs = list[tuple[str, int | None]]
"""The names of modules and the ids of their programs."""

_MAX_TITLES = 100


def _titles(programs: _Programs) -> str:
    titles = [one_line(name, 80) + ("" if id is None else f"({id})") for name, id in programs]
    more = [f"{len(titles) - _MAX_TITLES:,} more"] if len(titles) > _MAX_TITLES else []
    return joined([*titles[:_MAX_TITLES], *more])


def _find(programs: _Programs, program: int | str, name: str) -> list[int]:
    """The positions of the programs with this id, name, or both as in ``jit_f(17)``."""
    if not isinstance(program, str):
        found = [k for k, (_, id) in enumerate(programs) if id == index(program)]
    else:
        found = [k for k, (of, id) in enumerate(programs) if id is not None and program == f"{of}({id})"]
        found = found or [k for k, (of, _) in enumerate(programs) if of == program]
    if not found:
        raise NotFoundError(f"{name} has no program {program!r}, but {_titles(programs) or 'none at all'}")
    return found


def parse_programs(source: bytes, name: str, program: str) -> list[Module] | None:
    """The programs of a trace that a command-line option selects by id, name, or both.

    None for other bytes.  Raises :class:`~hlomap.errors.NotFoundError` where there is none.
    """
    programs = _core.trace_programs(source, name)
    if programs is None:
        return None
    names = {of for of, _ in programs}
    found = _find(programs, int(program) if program.isdecimal() and program not in names else program, name)
    return _core.parse_text(source, name, False, found)


def read_source(path: str | os.PathLike[str], max_bytes: int | None = MAX_BYTES) -> bytes:
    """The bytes of a file, or of standard input for ``-``.

    Raises :class:`~hlomap.errors.HloSyntaxError` for a file of more than ``max_bytes`` bytes, and ``OSError``.
    """
    if max_bytes is not None and (isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 0):
        raise ValueError(f"hm.load: expected a number of bytes or None as `max_bytes`, got {max_bytes!r}")
    if os.fspath(path) == "-":
        return _read(sys.stdin.buffer, "<stdin>", max_bytes)
    if os.path.isdir(path):
        advice = "hm.DumpDirectory(path) finds the modules in it"
        raise IsADirectoryError(errno.EISDIR, f"{os.strerror(errno.EISDIR)}; {advice}", os.fspath(path))
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if max_bytes is not None and size > max_bytes:
            raise _too_large(os.fsdecode(path), size, max_bytes)
        return _read(stream, os.fsdecode(path), max_bytes)


def _read(stream: BinaryIO, name: str, max_bytes: int | None) -> bytes:
    if max_bytes is None:
        return stream.read()
    blocks: list[bytes] = []  # the size of a pipe or a device is not known in advance
    left = max_bytes + 1
    while left > 0 and (block := stream.read(min(_BLOCK, left))):
        blocks.append(block)
        left -= len(block)
    if left == 0:
        raise _too_large(name, None, max_bytes)
    return b"".join(blocks)


def too_large(size: int | None, max_bytes: int) -> str:
    """The message for a source of more than ``max_bytes`` bytes; its size may be unknown."""
    found = "more" if size is None else f"{size:,}"
    return f"expected at most {max_bytes:,} bytes, found {found}; raise max_bytes (hlomap --max-bytes) to read it"


def _too_large(name: str, size: int | None, max_bytes: int) -> HloSyntaxError:
    return HloSyntaxError(
        f"{name}: {too_large(size, max_bytes)}",
        filename=name,
        found="more" if size is None else f"{size:,}",
        expected=f"at most {max_bytes:,} bytes",
    )


_PATH = r"[^\n{}()=,;]+\.(?:txt|hlo|pb|mlir|mlirbc|gz|xz|zst)"
_DUMP = "to dump HLO, set XLA_FLAGS=--xla_dump_to=DIR or use hm.from_jax"


def _explain(error: HloSyntaxError, source: str | bytes, content: Content) -> None:
    """Adds a line to the message of an error: what the source is that is not HLO, and what to do."""
    hint = _hint(source, content, is_first_word=(error.expected or "").startswith(("`HloModule`", "HLO text")))
    if hint is not None and error.args:
        error.args = (f"{error.args[0].rstrip()}\nnote: {hint}", *error.args[1:])


def _hint(source: str | bytes, content: Content, *, is_first_word: bool) -> str | None:
    """A note on a source that the parser rejected, maybe at its first word; None if it may be HLO with a typo."""
    if not source.strip():
        return f"the source is empty; {_DUMP}"
    if isinstance(source, str) and _is_path(source):
        return f"this is a path: hm.load({source!r}) reads the file"
    if content.kind == "Riegeli":
        return f"this is {content.title}; dump with --xla_dump_hlo_as_text or --xla_dump_hlo_as_proto"
    if content.title is not None:
        return f"this is {content.title}, not HLO; {_DUMP}"
    starts = ("Hlo", "ENTRY") if isinstance(source, str) else (b"Hlo", b"ENTRY")
    is_typo = content.is_program or source.lstrip().startswith(starts)  # type: ignore[arg-type]
    return f"this does not look like HLO; {_DUMP}" if is_first_word and not is_typo else None


def _is_path(text: str) -> bool:
    if len(text) > 4096 or "\n" in text or "\0" in text:
        return False
    try:
        return re.fullmatch(_PATH, text) is not None or os.path.exists(text)
    except ValueError:
        return False
