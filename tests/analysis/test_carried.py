"""Values that carry a dependence without naming it, or without elements."""

from __future__ import annotations

import pytest
from conftest import CASES

import hlomap as hm

_TEXT = (CASES / "analysis" / "carried.txt").read_text()
_PROGRAMS = ["HloModule " + part for part in _TEXT.split("HloModule ")[1:]]


@pytest.mark.parametrize("program", _PROGRAMS, ids=[p.split()[1] for p in _PROGRAMS])
def test_a_value_carries_dependence(program: str) -> None:
    lines = program.splitlines()
    module = hm.parse("\n".join(line for line in lines if not line.startswith("=")))
    found = hm.backward_slice(module.entry)
    assert [f"= {value.name}: {maps}" for value, maps in found.items()] == [x for x in lines if x.startswith("=")]
    for parameter in module.entry.parameters:  # forward the same values depend on it
        reached = hm.forward_slice(parameter)
        assert (module.entry.root in reached) == (parameter in found)
        if parameter in found:
            assert reached[module.entry.root].is_unknown == found[parameter].is_unknown
    assert len(hm.analyze(module)) or not module.entry.parameters


@pytest.mark.parametrize("is_in_order", [True, False])
def test_many_lines_that_cannot_be_read_cost_what_their_text_costs(is_in_order: bool) -> None:
    """Each depends on the one before, which depends on what stands before it; also where a text is out of order."""
    lines = "".join(f"  x{i} = f7[4] copy(p)\n  y{i} = f32[4] add(x{i}, y{max(i - 1, 0)})\n" for i in range(1, 4000))
    first, last = "p = f32[4] parameter(0)\n  y0 = f32[4] negate(p)", "ROOT r = f32[4] negate(y3999)"
    ahead = "" if is_in_order else "  z = f32[4] negate(y3999)\n"
    module = hm.parse(f"HloModule m\nENTRY e {{\n  {first}\n{ahead}{lines}  {last}\n}}")
    assert len(module.unread) == 3999
    assert hm.backward_slice(module.entry)["p"].is_unknown
