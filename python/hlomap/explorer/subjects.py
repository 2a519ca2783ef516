"""Chooses the modules of a page: one, two stages of one, or those of a dump directory within a limit.

A file that cannot be read, and a module beyond the limit, is a row of the page with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from .._core import Module
from ..hlo.dump_directory import DumpDirectory, DumpedModule
from ..text import plural, printable

MAX_INSTRUCTIONS = 20_000
"""How many instructions of a dump directory a page has; a single module is shown whole."""


@dataclass(frozen=True)
class Subject:
    """A module of the page, or the reason why it is not there."""

    name: str
    stage: str
    module: Module | None
    error: str = ""


@dataclass(frozen=True)
class Choice:
    """The modules in order, and the pairs that are compared, as places in the list."""

    subjects: list[Subject]
    pairs: list[tuple[int, int]] = field(default_factory=list)


def choose(subject: Module | DumpedModule | DumpDirectory, after: Module | DumpedModule | None) -> Choice:
    """The modules of a page."""
    if isinstance(subject, DumpDirectory):
        return _of_dump(subject)
    given = [one for one in (subject, after) if one is not None]
    modules = [one.load() if isinstance(one, DumpedModule) else one for one in given]
    stages = ["before", "after"] if after is not None else [getattr(subject, "stage", "")]
    found = [Subject(printable(module.name), stage, module) for module, stage in zip(modules, stages, strict=True)]
    return Choice(found, [(0, 1)] if after is not None else [])


def _of_dump(dump: DumpDirectory) -> Choice:
    """The first and the last stage of every compilation."""
    subjects: list[Subject] = []
    pairs: list[tuple[int, int]] = []
    n_left = MAX_INSTRUCTIONS
    for stages in dump._groups():
        shown: list[int] = []
        for one in dict.fromkeys((stages[0], stages[-1])):
            found = _read(one, n_left)
            if found.module is not None:
                n_left -= found.module.n_instructions
                shown.append(len(subjects))
            subjects.append(found)
        pairs += pairwise(shown)
    return Choice(subjects, pairs)


def _read(one: DumpedModule, n_left: int) -> Subject:
    name, stage = printable(one.name), printable(one.stage)
    if n_left <= 0:
        reason = f"left out: the page has {plural(MAX_INSTRUCTIONS, 'instruction')} already; open the file itself"
        return Subject(name, stage, None, reason)
    try:
        module = one.load()
    except (ValueError, OSError) as error:
        return Subject(name, stage, None, printable(str(error).split("\n", 1)[0], 300))
    if module.n_instructions > n_left and n_left < MAX_INSTRUCTIONS:
        reason = f"left out: {plural(module.n_instructions, 'instruction')}, {n_left:,} fit; open the file itself"
        return Subject(name, stage, None, reason)
    return Subject(name, stage, module)
