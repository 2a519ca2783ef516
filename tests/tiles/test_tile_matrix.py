"""Legal or not beside the enumeration of every tile: facts of single programs, and a sample of the published table."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BLESS, CASES
from support.schedules import blocks_of
from support.tile_matrix import KINDS, count, count_kind, count_random, program

import hlomap as hm

FILE = CASES / "tiles.txt"
FACTS = blocks_of(FILE)


@pytest.mark.parametrize(("name", "lines"), FACTS, ids=[name for name, _ in FACTS])
def test_facts(name: str, lines: list[tuple[str, str]]) -> None:
    module = program("\n".join(value for key, value in lines if key == "hlo"))
    t, n = hm.tile(module.entry), count(module, np.random.default_rng(0))
    printed = [*str(t).splitlines(), *(f"write {w}" for w in t.writes[1:]), *map(str, dict.fromkeys(t.legal))]
    total = n.boxes + n.legal_others + n.refused_others
    printed.append(f"{n.legal_boxes + n.legal_others} of {total} legal, {n.boxes} boxes")
    assert n.legal_others == 0 and n.refused_boxes == 0, printed
    if BLESS:
        blocks = FILE.read_text(encoding="utf-8").strip().split("\n\n")
        at = next(i for i, block in enumerate(blocks) if block.splitlines()[0] == name)
        kept = [line for line in blocks[at].splitlines() if not line.startswith("is:")]
        blocks[at] = "\n".join([*kept, *(f"is: {line}" for line in printed)])
        FILE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    else:
        assert printed == [value for key, value in lines if key == "is"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_the_matrix(kind: str) -> None:
    n = count_kind(kind, at_most=30, n_programs=8)
    assert n.legal_others == 0
    assert n.legal_boxes >= 0.99 * n.boxes > 0, n.refused


def test_random_fusions_of_the_matrix() -> None:
    n = count_random(40, seed=1, at_most=8)
    assert n.legal_others == 0 and n.legal_boxes >= 0.99 * n.boxes, n.refused
