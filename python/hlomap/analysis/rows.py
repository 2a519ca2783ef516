"""The table of a module: the elements that every instruction reads.

:func:`analyze` is the entry point.  One call of the compiled propagation computes all rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from .._core import Computation, Module
from ..base.types import expect_paths, module_hint, wrong_type
from .questions import Questions
from .table import Table

if TYPE_CHECKING:
    from ..hlo.dump_directory import DumpDirectory, DumpedModule

_Path: TypeAlias = "str | os.PathLike[str]"


def analyze(source: Module | DumpedModule | DumpDirectory | _Path | Iterable[_Path], /) -> Table:
    """The elements read from each operand: a row per instruction outside fused computations, output and operand.

    Args:
        source: a module; or a :class:`~hlomap.DumpDirectory` (each stage of each compilation once) or an item of it; or
            the path of a file, or of a folder with everything below it, or several paths.  All rows are held in memory;
            for more files use :func:`hlomap.analyze_corpus`.

    Returns:
        A :class:`~hlomap.Table` with the columns :data:`hlomap.analysis.table.COLUMNS`; for anything but a module they
        come after :data:`hlomap.analysis.table.FILE_COLUMNS`: the file, its stage and its form.

    Raises:
        TypeError: ``source`` is of another type.
        FileNotFoundError: a path does not exist.
        HlomapError: the only path is a file that :func:`hlomap.load` rejects.  Other files that are not HLO are
            skipped, unreadable files have a row with their ``error``, and equal content counts once.

    A fusion is one instruction, with the composed maps of its computation.  A tuple has rows for the arrays in it: as
    an output for every array, as an operand for the arrays that are read.  An operand that is not read has one row
    without maps, except that tuple and get-tuple-element have rows only for the elements that are read.

    A failed query is also a row: ``unknown`` is the reason, ``error`` the message of an error.

    >>> module = hm.parse('''
    ... HloModule m
    ... ENTRY e {
    ...   p = f32[4,8] parameter(0)
    ...   ROOT t = f32[8,4] transpose(p), dimensions={1,0}
    ... }''')
    >>> table = hm.analyze(module)
    >>> table["instruction"], table["operand_name"], table["exact"], table["distinct_bytes"]
    (['t'], ['p'], [True], [128])
    >>> table["maps"][0]
    ('(d0, d1) -> (d1, d0), domain: d0 in [0, 7], d1 in [0, 3]',)
    """
    if isinstance(source, Module):
        return Table(Questions(source, of_all=True).rows())
    from ..hlo.dump_directory import DumpDirectory, DumpedModule
    from . import files

    if isinstance(source, (DumpedModule, DumpDirectory)):
        return files.analyze_dump([source] if isinstance(source, DumpedModule) else source)
    if isinstance(source, (str, os.PathLike)):
        only = os.fspath(source)
        return files.analyze_paths([only]) if os.path.isdir(only) else files.analyze_file(only)
    takes = "a Module, a DumpDirectory or an item of it, or paths"
    given: object = source
    if isinstance(given, Computation):  # an iterable of instructions
        raise wrong_type("analyze", takes, given, module_hint(given))
    return files.analyze_paths(expect_paths(source, "analyze", takes, module_hint(source)))
