"""The builder's methods write the instructions that XLA's own builder writes.

``cases/builder/lowering.txt`` holds calls with the instructions that they write, and after ``|`` a StableHLO program.
jaxlib lowers that with XLA's builder, so it must result in the same instructions.  HLOMAP_BLESS=1 rewrites the
instructions; read the diff.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import BLESS, CASES
from support import generate_builder

import hlomap as hm
from hlomap._core import _operands_of
from hlomap.ops import lookup, registered

FILE = CASES / "builder" / "lowering.txt"
# Attributes that do not affect the semantics.
IGNORED = {"metadata", "sharding", "origin"}


class Case(NamedTuple):
    title: str
    call: str
    listed: list[str]
    stablehlo: list[str]


def read() -> tuple[str, list[Case]]:
    head, *blocks = FILE.read_text(encoding="utf-8").split("\n\n# ")
    cases = []
    for block in blocks:
        title, *lines = block.rstrip().splitlines()
        stablehlo = [line[2:] for line in lines if line.startswith("| ")]
        listed = [line for line in lines if re.match(r" *\d+ ", line)]
        code = [line for line in lines if line not in listed and not line.startswith("| ")]
        cases.append(Case(title, "\n".join(code), listed, stablehlo))
    return head, cases


HEAD, CASES = read()


def listing(root: hm.Instruction, indent: str = "") -> list[str]:
    """The instructions that a value depends on, operands first, numbered instead of named."""
    numbers: dict[hm.Instruction, int] = {}
    lines = []
    pending = [root]
    while pending:
        one = pending[-1]
        todo = [operand for operand in one.operands if operand not in numbers]
        if todo:
            pending.append(todo[0])
            continue
        pending.pop()
        if one in numbers:
            continue
        numbers[one] = len(numbers)
        given = [str(numbers[operand]) for operand in one.operands]
        if one.opcode == "parameter":
            given = [str(one.parameter_number)]
        elif one.opcode == "constant":
            given = [str(np.asarray(one.literal).tolist())]
        attributes = {name: one.attributes.text(name) or "" for name in sorted(one.attributes)}
        called = {name: text for name, text in attributes.items() if "%" in text}
        texts = [
            f", {name}={canonical(one, name, text)}"
            for name, text in attributes.items()
            if is_semantic(one, name, text)
        ]
        shape = one.shape.without_layout()
        lines.append(f"{indent}{numbers[one]} {shape} {one.opcode}({', '.join(given)}){''.join(texts)}")
        for name in re.findall(r"%([\w.-]+)", " ".join(called.values())):
            lines += listing(one.module.computation(name).root, indent + "  ")
    return lines


def is_semantic(instruction: hm.Instruction, name: str, text: str) -> bool:
    """Whether an attribute affects the semantics; called computations are listed separately."""
    from_stablehlo = name == "frontend_attributes" and "_xla" in text
    return name not in IGNORED and "%" not in text and text != "false" and not from_stablehlo


def canonical(instruction: hm.Instruction, name: str, text: str) -> str:
    """The canonical text of an attribute."""
    if name == "outfeed_shape":
        return str(instruction.attributes[name].without_layout())
    return re.sub(r"(\[\d+:\d+):1\]", r"\1]", text) if name == "slice" else text


def run_statements(case: Case) -> list[str]:
    b = hm.Builder("m")

    def p(shape: str) -> hm.builder.Value:
        number = len(b._scopes[-1].parameters)
        return b.parameter(number, shape, f"p{number}")

    space: dict[str, Any] = {"b": b, "p": p, "np": np}
    *before, last = case.call.splitlines()
    exec("\n".join(before), space)
    return listing(b.build(eval(last, space)).entry.root)


def bless() -> None:
    blocks = [HEAD]
    for case in CASES:
        blocks.append(
            "\n".join([f"# {case.title}", case.call, *run_statements(case), *(f"| {line}" for line in case.stablehlo)])
        )
    FILE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if BLESS:
    bless()
    HEAD, CASES = read()


@pytest.mark.parametrize("lowered", CASES, ids=[case.title for case in CASES])
def test_instructions(lowered: Case) -> None:
    assert run_statements(lowered) == lowered.listed


WITH_ORACLE = [case for case in CASES if case.stablehlo]


@pytest.mark.jax
@pytest.mark.parametrize("lowered", WITH_ORACLE, ids=[case.title for case in WITH_ORACLE])
def test_as_xla(lowered: Case) -> None:
    """XLA's builder writes the same instructions for the same operation in StableHLO."""
    head, *rest = lowered.stablehlo
    module = hm.parse("\n".join([f"func.func public @main{head}", *rest]))
    assert listing(module.entry.root) == lowered.listed


def test_every_written_method_has_a_case() -> None:
    """Generated methods write a single instruction."""
    called = {name for case in CASES for name in re.findall(r"b\.(\w+)\(", case.call)}
    assert set(generate_builder.written()) - called == set()


POINTWISE = [
    (opcode, row)
    for opcode in registered()
    for row in lookup(opcode).semantics.builder_methods
    if not isinstance(row, str)
]


@pytest.mark.parametrize(("opcode", "row"), POINTWISE, ids=[row.name for _, row in POINTWISE])
def test_elementwise_methods_write_one_instruction(opcode: str, row: Any) -> None:
    n_operands, kinds = _operands_of(opcode)
    dtype = {"int": "s32", "float": "f32"}.get(kinds[0], "pred")
    b = hm.Builder("m")
    operands = [b.parameter(k, f"{dtype}[3]") for k in range(n_operands)]
    value = getattr(b, row.name)(*operands)
    assert (value.opcode, value.operands) == (opcode, tuple(operands))
    assert len(b.build(value).entry) == n_operands + 1
