"""Questions and their answers as text: the files in a folder ``answers`` beside the tests of a package.

In a ``.hlo`` file ``// >>> EXPRESSION`` asks about the module below, in a ``.txt`` file ``>>> EXPRESSION``; the lines
that follow are the answer: the text of a value, or the kind and the message of an error.  ``>>> NAME := EXPRESSION``
has no answer; the rest of the block knows the name.  Expressions know the names of hlomap, ``hm``, ``np`` and
``imported(MODULE)``, and with a module its instructions, ``module``, ``entry`` and ``root``.  A block is a test with
the name of its module or its first line.  HLOMAP_BLESS=1 rewrites answers; read the diff.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BLESS, Case, map_lines, read_cases

import hlomap as hm

NAMES: dict[str, Any] = {
    **{name: getattr(hm, name) for name in hm.__all__},
    "np": np,
    "hm": hm,
    "imported": import_module,
}


class OtherAnswers(Exception):
    """The answers differ from those in the file; the message has both."""


@dataclass
class Block:
    """Questions, and the module that they are about."""

    lines: list[str]
    case: Case | None = None

    @property
    def name(self) -> str:
        return self.case.id.partition(":")[2] if self.case else self.lines[0].strip("# ")

    def answered(self) -> list[str]:
        """The lines with the answers of today."""
        known, mark = dict(NAMES), "// " if self.case else ""
        if self.case is not None:
            module = self.case.module
            names = Counter(i.name for c in module.computations for i in c.instructions)
            known |= {name: module[name] for name, n in names.items() if n == 1}
            known |= {"module": module, "entry": module.entry, "root": module.entry.root}
        ask = f"{mark}>>> "
        questions = [line for line in self.lines if line.startswith(ask)]
        found = self.lines[: self.lines.index(questions[0])]
        for line in questions:
            name, _, question = line.removeprefix(ask).rpartition(" := ")
            try:
                value = eval(question, known)
                answer = [] if name else list(_lines_of(value))
                known[name] = value
            except (NameError, SyntaxError, AttributeError):
                raise  # a mistake in the question
            except Exception as error:
                answer = f"{type(error).__name__}: {error}".splitlines()
            found += [line, *(f"{mark}{text}".rstrip() or "." for text in answer)]
        return found


class AnswersFile(pytest.File):
    """A file of blocks."""

    def collect(self) -> Iterator[pytest.Item]:
        blocks = list(_read_blocks(self.path))
        repeated = [name for name, n in Counter(block.name for block in blocks).items() if n > 1]
        if repeated:
            raise self.CollectError(f"{self.path}: several blocks {', '.join(repeated)}")
        for block in blocks:
            yield BlockItem.from_parent(self, name=block.name, block=block)


class BlockItem(pytest.Item):
    """The test of one block."""

    def __init__(self, *, block: Block, **given: Any) -> None:
        super().__init__(**given)
        self._block = block

    def runtest(self) -> None:
        old, new = self._block.lines, self._block.answered()
        if BLESS:
            head = [f"HloModule {self.name}"] if self._block.case else []
            text = self.path.read_text(encoding="utf-8")
            before, after = ("\n".join([*lines, *head]) for lines in (old, new))
            text = re.sub(rf"{re.escape(before)}(?!\w)", lambda _: after, text, count=1)
            self.path.write_text(text, encoding="utf-8")
        elif old != new:
            raise OtherAnswers("\n".join(difflib.unified_diff(old, new, "expected", "answered", n=1, lineterm="")))

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.path.name}: {self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, OtherAnswers) else super().repr_failure(excinfo, style)


def _read_blocks(file: Path) -> Iterator[Block]:
    if file.suffix == ".hlo":
        yield from (Block(case.comments, case) for case in read_cases(file))
    else:
        blocks = file.read_text(encoding="utf-8").strip().split("\n\n")
        yield from (Block(block.splitlines()) for block in blocks)


def _in_line(value: Any) -> str:
    """A value in one line, as Python writes it but for names and texts."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_in_line, value))})" if value else "nothing"
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype.name} {value.tolist()}"
    return value.name if isinstance(value, (hm.Instruction, hm.Computation)) else str(value)


def _lines_of(value: Any) -> Iterator[str]:
    if isinstance(value, hm.MapSet):
        yield from map_lines(value)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from (f"{_in_line(key)}: {line}" for line in _lines_of(part))
    elif isinstance(value, (tuple, list)) and (_has_sets(value) or len(_in_line(value)) > 110):
        for k, part in enumerate(value):
            yield from (f"{k}: {line}" for line in _lines_of(part))
    else:
        yield from _in_line(value).splitlines()


def _has_sets(value: Any) -> bool:
    parts = value if isinstance(value, (tuple, list)) else ()
    return isinstance(value, (hm.MapSet, Mapping)) or any(map(_has_sets, parts))
