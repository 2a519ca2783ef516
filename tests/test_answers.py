"""Questions about small programs and their answers as text: ``tests/cases/answers/*.hlo``.

Above each module ``// >>> EXPRESSION`` asks, and the comments below it are the answer: the text of a value, or the kind
and the message of an error; ``// >>> NAME := EXPRESSION`` has none.  An expression knows these names, those of hlomap
and of the module's instructions, ``module``, ``entry`` and ``root``.  HLOMAP_BLESS=1 rewrites answers; read the diff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from conftest import BLESS, CASES, Case, map_lines, read_cases

import hlomap as hm

ASKED = "// >>> "
FILES = sorted((CASES / "answers").glob("*.hlo"))


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


def asked(case: Case) -> list[str]:
    """The comments of a case with the answers of today."""
    module = case.module
    names = Counter(i.name for c in module.computations for i in c.instructions)
    known: dict[str, Any] = {name: getattr(hm, name) for name in hm.__all__}
    known |= {name: module[name] for name, n in names.items() if n == 1}
    known |= {"module": module, "entry": module.entry, "root": module.entry.root, "np": np, "hm": hm}
    questions = [line for line in case.comments if line.startswith(ASKED)]
    found = case.comments[: case.comments.index(questions[0])]
    for line in questions:
        found.append(line)
        name, _, value = line.removeprefix(ASKED).rpartition(" := ")
        try:
            known["_"] = eval(value, known)
            answer = list(lines_of(known["_"])) if not name else []
            known[name] = known["_"]
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".splitlines()
        found += [f"// {text}".rstrip() for text in answer]
    return found


@pytest.mark.parametrize("asking", [c for file in FILES for c in read_cases(file)], ids=lambda asking: asking.id)
def test_answers(asking: Case) -> None:
    if BLESS:
        old, new = ("\n".join([*comments, asking.text]) for comments in (asking.comments, asked(asking)))
        asking.file.write_text(asking.file.read_text().replace(old, new))
    else:
        assert asked(asking) == asking.comments
