"""Shape inference: shapes that the text omits, and checks of those that it states.

The cases are in `cases/shapes.txt`: `=> shape` is the shape that XLA's parser infers (`refused` if it requires one),
`~> shape` the same for operands that do not fit, `: shape` a stated shape that fits. Behind a case that XLA before
August 2026 cannot read, there is `// xla 2026-08`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import CASES
from support.xla import reads_recent, reprint

import hlomap as hm

FILE = CASES / "shapes.txt"
RECENT = "  // xla 2026-08"

CALLED = """HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
add2 {
  a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] parameter(2)  d = f32[] parameter(3)
  e = f32[] add(a, c)  f = f32[] add(b, d)  ROOT t = (f32[], f32[]) tuple(e, f)
}
lt { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=GE }
lt2 {
  a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
  ROOT e = pred[] compare(a, b), direction=LT
}
bits { a = f32[] parameter(0)  ROOT c = u32[] bitcast-convert(a) }
neg { a = f32[2,3] parameter(0)  ROOT c = f32[2,3] negate(a) }
cond { a = f32[2,3] parameter(0)  ROOT c = pred[] constant(true) }
scanner {
  a = f32[3] parameter(0)  b = f32[3] parameter(1)
  c = f32[3] add(a, b)  ROOT t = (f32[3], f32[3]) tuple(c, c)
}
scanner2 {
  a = f32[3] parameter(0)  b = f32[3] parameter(1)  c = f32[3] parameter(2)
  d = f32[3] add(a, b)  e = f32[3] add(d, c)  ROOT t = (f32[3], f32[3]) tuple(d, e)
}
scanner3 {
  a = f32[3] parameter(0)  b = f32[3] parameter(1)
  c = f32[3] add(a, b)  d = f32[] constant(0)  ROOT t = (f32[], f32[3], f32[3]) tuple(d, c, c)
}
"""

# Operations whose shapes only the text determines, wholly or in part.
FREE = {"parameter", "constant", "custom-call", "bitcast", "iota", "recv", "rng"}


def cases(separator: str) -> list[tuple[str, str]]:
    lines = [line.removesuffix(RECENT) for line in FILE.read_text().splitlines()]
    return [tuple(line.split(separator)) for line in lines if separator in line]  # type: ignore[misc]


def is_readable(case: tuple[str, str], separator: str) -> bool:
    """Whether this XLA reads a case."""
    return reads_recent() or f"{separator.join(case)}{RECENT}" not in FILE.read_text().splitlines()


def operands(call: str) -> tuple[str, list[str], str]:
    """``add(f32[2], (f32[], s32[])), x={}`` as opcode, shapes of operands and the rest."""
    opcode, _, rest = call.partition("(")
    depth, start, found = 1, 0, []
    for at, c in enumerate(rest):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 or (depth == 1 and c == ","):
            found.append(rest[start:at].strip())
            start = at + 1
        if depth == 0:
            return opcode, [shape for shape in found if shape], rest[at + 1 :]
    raise AssertionError(call)


def program(call: str, shape: str = "") -> str:
    opcode, shapes, attributes = operands(call)
    if opcode in ("parameter", "constant"):
        return f"{CALLED}ENTRY e {{ ROOT r = {shape} {call} }}\n"
    lines = "".join(f"  p{k} = {s} parameter({k})\n" for k, s in enumerate(shapes))
    names = ", ".join(f"p{k}" for k in range(len(shapes)))
    return f"{CALLED}ENTRY e {{\n{lines}  ROOT r = {shape} {opcode}({names}){attributes}\n}}\n"


def root_shape(text: str | None) -> str:
    """The shape of the root in a text that XLA printed, or ``refused``."""
    found = text and re.search(r"ROOT \S+ = (.*?) [a-z0-9-]+\(", text.split("ENTRY")[-1])
    return re.sub(r"/\*.*?\*/", "", found.group(1)) if found else "refused"


def read(call: str) -> hm.Module | None:
    """The program of a call, or None where the call cannot be read."""
    try:
        module = hm.parse(program(call))
    except hm.errors.HloSyntaxError:
        return None
    return None if module["r"].opcode == "unreadable" else module


def opcode_of(call: str) -> str:
    return call.partition("(")[0]


@pytest.mark.jax
def test_inferred_shapes_agree_with_xla() -> None:
    all_cases = [case for sign in (" => ", " ~> ") for case in cases(sign) if is_readable(case, sign)]
    assert len(all_cases) > 250
    printed, failures = [], []
    for call, shape in all_cases:
        module = read(call)
        if module is None:
            printed.append("")
            if shape != "refused":
                failures.append(f"{call}: refused")
            continue
        printed.append(str(module))
        if shape == "refused":
            failures.append(f"{call}: {module['r'].shape}, which XLA requires in the text")
    assert not failures, "\n".join(failures)
    # The printed shape and layout are those that XLA infers.
    as_read = reprint([program(call) for call, _ in all_cases])
    for (call, shape), theirs, ours in zip(all_cases, as_read, reprint(printed), strict=True):
        assert root_shape(theirs) == shape, call
        assert root_shape(ours) == shape, call


def shape_diagnostics(module: hm.Module) -> list[Any]:
    """The diagnostics of shapes; operands are parameters here, which breaks rules on which instruction they are."""
    return [d for d in module.diagnostics if not d.message.startswith("rule ")]


@pytest.mark.parametrize("separator", [" => ", " : "])
def test_matching_shapes_have_no_diagnostic(separator: str) -> None:
    for call, shape in cases(separator):
        if shape != "refused":
            assert not shape_diagnostics(hm.parse(program(call, shape))), call


@pytest.mark.parametrize("separator", [" => ", " : "])
def test_mismatching_shapes_have_a_diagnostic_with_both_shapes(separator: str) -> None:
    checked, n_both = set(), 0
    for call, shape in cases(separator):
        opcode = opcode_of(call)
        if shape == "refused" or opcode in FREE or "?" in call or call.startswith("broadcast(f32[])"):
            continue
        # One more dimension in the first array; a token or empty tuple becomes an array.
        other = re.sub(r"\[([^\]]*)\](\{[^}]*\})?", lambda m: f"[7{',' if m[1] else ''}{m[1]}]", shape, count=1)
        if "token" in other or shape == "()":
            other = "f32[7]"
        module = hm.parse(program(call, other))
        [diagnostic] = shape_diagnostics(module)
        assert module["r"].inconsistency, call
        # The stated shape of a broadcast supplies the sizes that the operand does not determine.
        if diagnostic.expected is not None and opcode != "broadcast":
            found, expected = hm.Shape.parse(diagnostic.found or ""), hm.Shape.parse(diagnostic.expected)
            assert (str(found), expected.dimensions) == (str(hm.Shape.parse(other)), hm.Shape.parse(shape).dimensions)
            n_both += 1
        with pytest.raises(hm.errors.HloSyntaxError):
            hm.parse(program(call, other), strict=True)
        checked.add(opcode)
    assert len(checked) > 40 and n_both > 35


def test_every_operation_has_a_case() -> None:
    words = {opcode_of(call) for separator in (" => ", " : ") for call, _ in cases(separator)}
    table = (Path(__file__).parent.parent.parent / "rust" / "hlo" / "src" / "opcode.rs").read_text()
    opcodes = set(re.findall(r'^    \w+ "([a-z0-9-]+)" (?:Fixed|Any)', table, re.M))
    assert len(opcodes) > 130
    assert not (missing := sorted(opcodes - words)), f"add a line to tests/cases/shapes.txt for {missing}"
