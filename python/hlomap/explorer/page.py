"""Assembles the page of the explorer: JSON blocks of data, one style, one script, and a policy that forbids all else.

Data is written as ASCII with every ``<`` escaped, so that no text of a program can end a block; the policy allows the
script and the style by their hashes.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from string import Template
from typing import Any, NamedTuple

from .._core import Instruction, Module, __version__
from ..base.files import write_text
from ..base.text import html, plural, printable
from ..base.types import expect, module_hint
from ..hlo.dump_directory import DumpDirectory, DumpedModule
from ..words.diff import diff
from .contents import change_contents, instruction_numbers, module_contents

# In the order of their use.
_SCRIPTS = ("evaluate", "model", "layout", "arrays", "graph", "hover", "panel", "list", "page")
_TAKES = "a Module, a DumpedModule or a DumpDirectory"
MAX_INSTRUCTIONS = 20_000
"""The most instructions of a dump directory in a page; a single module has no limit."""


@dataclass(frozen=True)
class ExplorerPage:
    """A self-contained HTML page; ``str()`` is its text."""

    text: str
    #: The names of the modules in the page.
    modules: tuple[str, ...]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file; raises ``OSError`` if that is not possible."""
        write_text(path, self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        names = ", ".join(self.modules[:4]) + (", …" if len(self.modules) > 4 else "")
        return f"<ExplorerPage of {names or 'no module'}, {len(self.text):,} bytes>"


def explore(
    subject: Module | DumpedModule | DumpDirectory,
    /,
    after: Module | DumpedModule | None = None,
) -> ExplorerPage:
    """The fusion explorer: one HTML page with the graph of a module and the elements that each element reads.

    The page needs no network and no other file.  It shows the graph of the entry with its fusions, loops and
    calls, and for each instruction its shapes, layouts, maps, bytes and origin.  Hovering over an element or a tile of
    the output highlights the elements that it reads, which the page computes from the maps.

    Args:
        subject: a module; or a dump directory, for the first and last stage of every compilation, up to 20,000
            instructions.
        after: the module after a change; the page then switches between both and shows :func:`hlomap.diff`.

    Returns:
        An :class:`~hlomap.explorer.page.ExplorerPage`.

    Raises:
        TypeError: an argument is of another kind.
        ValueError: ``after`` is given with a dump directory.
        HloSyntaxError: a dumped module cannot be parsed.  In a directory it is a row of the page.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[4,8] parameter(0)
    ...   ROOT t = f32[8,4] transpose(p), dimensions={1,0}
    ... }''')
    >>> page = hm.explore(module)
    >>> str(page)[:15], page.modules
    ('<!doctype html>', ('m',))
    """
    expect((Module, DumpedModule, DumpDirectory), subject, "explore", _TAKES, module_hint(subject))
    takes = "a Module, a DumpedModule or None as `after`"
    hint = "to write the page to a file: hm.explore(module).write(path)"
    expect((Module, DumpedModule, type(None)), after, "explore", takes, hint)
    if isinstance(subject, DumpDirectory) and after is not None:
        raise ValueError("hm.explore: expected no `after` with a dump directory, which has its own stages")
    if isinstance(subject, DumpDirectory):
        return _assemble(*_of_dump(subject))
    given = {getattr(subject, "stage", ""): subject} if after is None else {"before": subject, "after": after}
    modules = [(stage, one.load() if isinstance(one, DumpedModule) else one) for stage, one in given.items()]
    return _assemble([_Subject(printable(m.name), stage, m) for stage, m in modules], [] if after is None else [(0, 1)])


class _Subject(NamedTuple):
    """A module of the page, or the reason why it is missing."""

    name: str
    stage: str
    module: Module | None
    error: str = ""


def _of_dump(dump: DumpDirectory) -> tuple[list[_Subject], list[tuple[int, int]]]:
    """The first and the last stage of every compilation, and pairs of positions in this list to compare."""
    subjects: list[_Subject] = []
    pairs: list[tuple[int, int]] = []
    n_left = MAX_INSTRUCTIONS
    for stages in dump._groups():
        shown: list[int] = []
        for one in dict.fromkeys((stages[0], stages[-1])):
            found = _of_file(one, n_left)
            if found.module is not None:
                n_left -= found.module.n_instructions
                shown.append(len(subjects))
            subjects.append(found)
        pairs += pairwise(shown)
    return subjects, pairs


def _of_file(one: DumpedModule, n_left: int) -> _Subject:
    name, stage = printable(one.name), printable(one.stage)
    if n_left <= 0:
        reason = f"left out: the page has {plural(MAX_INSTRUCTIONS, 'instruction')} already; open the file itself"
        return _Subject(name, stage, None, reason)
    try:
        module = one.load()
    except (ValueError, OSError) as error:
        return _Subject(name, stage, None, printable(str(error).split("\n", 1)[0], 300))
    if module.n_instructions > n_left and n_left < MAX_INSTRUCTIONS:
        reason = f"left out: {plural(module.n_instructions, 'instruction')}, {n_left:,} fit; open the file itself"
        return _Subject(name, stage, None, reason)
    return _Subject(name, stage, module)


def _assemble(subjects: list[_Subject], pairs: list[tuple[int, int]]) -> ExplorerPage:
    blocks: list[str] = []
    rows: list[dict[str, Any]] = []
    sides: dict[int, tuple[Module, dict[Instruction, int]]] = {}
    for k, one in enumerate(subjects):
        row = {"name": one.name, "stage": one.stage, "n": 0, "error": one.error, "block": None}
        rows.append(row)
        if one.module is not None:
            numbers = instruction_numbers(one.module)
            sides[k] = one.module, numbers
            row |= {"n": len(numbers), "block": f"module-{k}"}
            blocks.append(_block(f"module-{k}", module_contents(one.module, numbers)))
    diffs: list[dict[str, Any]] = []
    for k, (before, after) in enumerate(pairs):
        (old, old_numbers), (new, new_numbers) = sides[before], sides[after]
        blocks.append(_block(f"diff-{k}", change_contents(diff(old, new), old_numbers, new_numbers)))
        diffs.append({"before": before, "after": after, "block": f"diff-{k}"})
    start = pairs[0][1] if pairs else next(iter(sides), None)  # start with the result of a change
    names = tuple(subjects[k].name for k in sides)
    return ExplorerPage(
        _fill([_block("index", {"modules": rows, "diffs": diffs, "start": start}), *blocks], names), names
    )


def _fill(blocks: list[str], names: tuple[str, ...]) -> str:
    parts = (_read(f"{name}.js").replace('\n"use strict";\n', "\n") for name in _SCRIPTS)
    script = '"use strict";\n' + "\n".join(parts)
    style = _read("page.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    title = f"{printable(names[0], 80)} – hlomap explore" if names else "hlomap explore"
    return Template(_read("page.html")).substitute(
        policy=policy,
        generator=f"hlomap {__version__}",
        title=html(title),
        style=style,
        blocks="\n".join(blocks),
        script=script,
    )


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _block(name: str, value: Any) -> str:
    """A block of data: ASCII, and without ``<``, ``>`` and ``&``."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{name}">{text}</script>'
