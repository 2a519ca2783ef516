"""The data of a diff in the page: pairs of instructions, what came and went, what was fused into what, and words.

Read :func:`change_contents`.
"""

from __future__ import annotations

from typing import Any

from .._core import Instruction
from ..differences.diff import ModuleDiff
from ..text import printable

_MOST_LINES = 200


def change_contents(found: ModuleDiff, old: dict[Instruction, int], new: dict[Instruction, int]) -> dict[str, Any]:
    """A diff as JSON values; ``old`` and ``new`` number the instructions of both sides."""
    how = list(dict.fromkeys(match.how for match in found.matches))
    return {
        "title": printable(found.title, 300),
        "how": how,
        "pairs": [[old[m.before], new[m.after], how.index(m.how)] for m in found.matches],
        "again": [[old[m.before], new[m.after]] for m in found.duplicates],
        "removed": [old[i] for i in found.removed],
        "added": [new[i] for i in found.added],
        "fusions": [
            {"fusion": new[f.fusion], "parts": [new[m.after] for m in f.parts], "new": [new[i] for i in f.new]}
            for f in found.fusions
        ],
        "sections": [
            {"heading": heading, "lines": [printable(line, 300) for line in lines[:_MOST_LINES]], "n": len(lines)}
            for heading, lines in found.sections()
            if lines
        ],
    }
