"""Questions and their answers as text: ``tests/cases/answers``.

In a ``.hlo`` file ``// >>> EXPRESSION`` asks about the module below, in a ``.txt`` file ``>>> EXPRESSION``; the lines
that follow are the answer: the text of a value, or the kind and the message of an error.  Of ``>>> NAME := EXPRESSION``
there is none; the rest of the block knows the name.  Expressions know the names of hlomap, ``hm``, ``np`` and
``imported(MODULE)``, and with a module its instructions, ``module``, ``entry`` and ``root``.  HLOMAP_BLESS=1 rewrites
answers; read the diff.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BLESS, CASES, map_lines, read_cases

import hlomap as hm

NAMES: dict[str, Any] = {
    **{name: getattr(hm, name) for name in hm.__all__},
    "np": np,
    "hm": hm,
    "imported": import_module,
}


@dataclass
class Block:
    """Questions, and the module that they are about."""

    file: Path
    lines: list[str]
    module: hm.Module | None
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.file.stem}:{self.module.name if self.module else self.lines[0].strip('# ')}"


def read_blocks() -> Iterator[Block]:
    for file in sorted((CASES / "answers").iterdir()):
        if file.suffix == ".hlo":
            yield from (Block(file, case.comments, case.module, "// ") for case in read_cases(file))
        else:
            blocks = file.read_text(encoding="utf-8").strip().split("\n\n")
            yield from (Block(file, block.splitlines(), None) for block in blocks)


def in_line(value: Any) -> str:
    """A value in one line, as Python writes it but for names and texts."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(in_line, value))})" if value else "nothing"
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype.name} {value.tolist()}"
    return value.name if isinstance(value, (hm.Instruction, hm.Computation)) else str(value)


def lines_of(value: Any) -> Iterator[str]:
    if isinstance(value, hm.MapSet):
        yield from map_lines(value)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from (f"{in_line(key)}: {line}" for line in lines_of(part))
    elif isinstance(value, (tuple, list)) and (has_sets(value) or len(in_line(value)) > 110):
        for k, part in enumerate(value):
            yield from (f"{k}: {line}" for line in lines_of(part))
    else:
        yield from in_line(value).splitlines()


def has_sets(value: Any) -> bool:
    parts = value if isinstance(value, (tuple, list)) else ()
    return isinstance(value, (hm.MapSet, Mapping)) or any(map(has_sets, parts))


def asked(block: Block) -> list[str]:
    """The lines of a block with the answers of today."""
    known, module = dict(NAMES), block.module
    if module is not None:
        names = Counter(i.name for c in module.computations for i in c.instructions)
        known |= {name: module[name] for name, n in names.items() if n == 1}
        known |= {"module": module, "entry": module.entry, "root": module.entry.root}
    ask = f"{block.mark}>>> "
    questions = [line for line in block.lines if line.startswith(ask)]
    found = block.lines[: block.lines.index(questions[0])]
    for line in questions:
        name, _, question = line.removeprefix(ask).rpartition(" := ")
        try:
            value = eval(question, known)
            answer = [] if name else list(lines_of(value))
            known[name] = value
        except (NameError, SyntaxError, AttributeError):
            raise  # a mistake in the question
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".splitlines()
        found += [line, *(f"{block.mark}{text}".rstrip() or "." for text in answer)]
    return found


@pytest.mark.parametrize("block", list(read_blocks()), ids=str)
def test_answers(block: Block) -> None:
    found = asked(block)
    if BLESS:
        head = f"HloModule {block.module.name}" if block.module else ""
        old, new = ("\n".join([*lines, head]) for lines in (block.lines, found))
        text = re.sub(rf"{re.escape(old)}(?!\w)", lambda _: new, block.file.read_text(encoding="utf-8"), count=1)
        block.file.write_text(text, encoding="utf-8")
    else:
        assert found == block.lines
