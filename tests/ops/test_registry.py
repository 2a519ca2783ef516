"""The registry imports the module of an operation when its rule is first needed.

``HLOMAP_BLESS=1`` writes the table of traits, which are known before that.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BLESS

from hlomap._core import known_opcodes
from hlomap.ops import _registry, _traits, lookup, registered
from hlomap.ops._rule import RuleTraits


def test_a_module_named_after_an_operation_has_its_rule() -> None:
    """So that the first lookup imports it alone."""
    assert {name.replace("_", "-") for name in _registry._modules()[0]} <= {*registered()}


# Rules of the module of that name, of a family, of the module of another operation, of a derived step, and none.
@pytest.mark.parametrize("opcode", ["dot", "while", "rng-bit-generator", "dot-start", "my-op"])
def test_first_lookup_finds_the_rule_that_later_ones_find(opcode: str) -> None:
    code = f"""
from hlomap.ops import lookup, registered
first = lookup({opcode!r})
registered()
print(first is lookup({opcode!r}), first.opcode, first.semantics.evaluate.__module__)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", opcode, lookup(opcode).semantics.evaluate.__module__]


def test_every_opcode_has_a_rule_and_its_number_of_operations() -> None:
    assert [opcode for opcode in known_opcodes() if opcode not in registered()] == []
    rules = [lookup(opcode) for opcode in registered()]
    assert [op.opcode for op in rules if not (op.semantics.operations or op.calls.runs)] == []


def test_the_table_has_the_traits_of_every_rule() -> None:
    """They are what the module of an operation says, and known without importing it."""
    rules = {opcode: lookup(opcode) for opcode in registered()}
    rows = [f"    {opcode!r}: {tuple(RuleTraits.of(op, op))!r},\n" for opcode, op in rules.items()]
    text = f"""# ruff: noqa: E501
\"\"\"The traits of op rules by opcode, as their modules say; ``tests/ops/test_registry.py`` writes this file.\"\"\"

from __future__ import annotations

# fmt: off
TRAITS: dict[str, tuple[bool, bool, bool, bool, str | None, str, bool, bool, str | None]] = {{
{"".join(rows)}}}
"""
    path = Path(_traits.__file__)
    if BLESS:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
