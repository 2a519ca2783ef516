"""The registry imports the module of an operation when its rule is first needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hlomap._core import known_opcodes
from hlomap.ops import _registry, lookup, registered


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
