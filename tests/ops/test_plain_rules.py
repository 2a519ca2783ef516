"""Plain rules: the texts that they may have, when they say nothing, and that programs of them import no op rule.

What they say is compared with the maps of ``tests/cases/ops``, and with runs.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

import hlomap as hm
from hlomap._core import PlainRule
from hlomap.ops import lookup, registered


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'expected [, found ""'),
        ("[a]", 'expected <-, found ""'),
        ("[a] <- [a", 'expected ,, found ""'),
        ("[a] <- [a b]", 'expected ,, found "b]"'),
        ("[a] <- [2]", 'expected the name of an index, found "]"'),
        ("[a] <- [a + b]", 'expected one index, found "]"'),
        ("[a] <- [index]", 'expected an index of one letter, found "]"'),
        ("[a] <- [slice.3 + a]", 'expected the number of a field, found "+ a]"'),
        ("[a] <- [a={dimensions]", 'expected }, found "]"'),
        ("[a] <- [a], []...", 'expected the end, found "..."'),
        ("[a] <- [a] if dense", 'expected the end, found "if dense"'),
        ("[a] <- [a * (2 - ]", 'expected a number, a size, a field of an attribute or an index, found "]"'),
    ],
)
def test_a_text_that_is_no_rule(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="plain rule") as error:
        PlainRule(text)
    assert str(error.value).endswith(message)


def _root(lines: str) -> hm.Instruction:
    return hm.parse(
        f"add {{ x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }}\n{lines}"
    ).entry.root


SAYS_NOTHING = {
    "the operation copies a tuple": "ENTRY e { p = (f32[2]) parameter(0)  ROOT r = (f32[2]) copy(p) }",
    "a dimension is dynamic": "ENTRY e { p = f32[<=6] parameter(0)  ROOT r = f32[<=6] reverse(p), dimensions={0} }",
    "a layout has tiles": "ENTRY e { p = f32[6,4]{1,0:T(2,2)} parameter(0)  ROOT r = f32[24] bitcast(p) }",
    "whether elements matter depends on a computation": (
        "ENTRY e { p = f32[6] parameter(0)  z = f32[] constant(0)  "
        "ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=add }"
    ),
}


@pytest.mark.parametrize("lines", SAYS_NOTHING.values(), ids=SAYS_NOTHING)
def test_where_a_plain_rule_says_nothing_the_functions_do(lines: str) -> None:
    root = _root(lines)
    plain = lookup(root.opcode).maps.plain
    assert plain is not None and plain.parts(root, (), -1) is None
    assert [*hm.output_to_input(root)[0]]


def test_a_plain_rule_of_an_object_is_that_of_the_instruction() -> None:
    """The operation in an asynchronous one is an object with its shape, operands and attributes."""

    class Wrapped:
        def __init__(self, instruction: hm.Instruction) -> None:
            self.shape, self.operands = instruction.shape, instruction.operands
            self.attributes = instruction.attributes

    for lines in (
        "ENTRY e { p = f32[6,4] parameter(0)  ROOT r = f32[4,6] transpose(p), dimensions={1,0} }",
        "ENTRY e { p = f32[6] parameter(0)  ROOT r = f32[2] slice(p), slice={[1:6:3]} }",
        "ENTRY e { p = f32[6] parameter(0)  z = f32[] constant(0)  ROOT r = f32[9] pad(p, z), padding=1_2 }",
    ):
        root = _root(lines)
        plain = lookup(root.opcode).maps.plain
        assert plain is not None
        for direction in range(-1, len(root.operands)):
            found = plain.parts(root, (), direction)
            assert found is not None and found == plain.parts(Wrapped(root), (), direction)


def test_plain_operations_are_analyzed_without_their_modules() -> None:
    """Neither for their traits nor for their maps."""
    plain = [opcode for opcode in registered() if lookup(opcode).maps.plain is not None]
    assert {"add", "bitcast", "broadcast", "concatenate", "dot", "pad", "reduce", "reshape", "slice"} <= {*plain}
    code = '''
import sys
import hlomap as hm
table = hm.analyze(hm.parse("""
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }
ENTRY e {
  p = f32[6,4] parameter(0)
  z = f32[] constant(0)
  t = f32[4,6] transpose(p), dimensions={1,0}
  d = f32[4,4] dot(t, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[4] reduce(d, z), dimensions={1}, to_apply=add
  b = f32[4,6] broadcast(r), dimensions={0}
  ROOT s = f32[4,6] add(b, t)
}"""))
assert all(table["exact"]), table
print(*sorted(name for name in sys.modules if name.startswith("hlomap.ops.") and "._" not in name))
'''
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
