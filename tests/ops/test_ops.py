"""Op cases: the maps of each root match the comments of its case, and every registered opcode has a case."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from pkgutil import iter_modules

import pytest
from conftest import BLESS, Case, all_cases, leaves, map_lines, read_cases

import hlomap as hm
from hlomap import ops
from hlomap.ops import registered


def _label(direction: str, shape_index: tuple[int, ...]) -> str:
    return f"{direction}[{','.join(map(str, shape_index))}]" if shape_index else direction


def _lines(label: str, found: hm.MapSet) -> list[str]:
    return [f"// {label}{line}" if line.startswith(", ") else f"// {label}: {line}" for line in map_lines(found)]


def found_lines(root: hm.Instruction) -> list[str]:
    """All maps of an instruction in the format of a case's comments."""
    lines: list[str] = []
    for shape_index, _ in leaves(root.shape):
        for k, found in enumerate(hm.output_to_input(root, shape_index)):
            lines += _lines(f"{_label('o2i', shape_index)} {k}", found)
    for k, operand in enumerate(root.operands):
        for shape_index, _ in leaves(operand.shape):
            sets = hm.input_to_output(root, (k, *shape_index))
            for i, found in enumerate(sets):
                output = f" -> {i}" if len(sets) > 1 else ""
                lines += _lines(f"{_label('i2o', shape_index)} {k}{output}", found)
    return lines


def test_maps_are_as_expected(case: Case) -> None:
    if BLESS:
        bless(case.file)
    else:
        assert found_lines(case.module.entry.root) == case.expected


#: Their results are values that something else computes, with its type, or bits.
KEEP_TYPES = {
    "async-done", "async-start", "async-update", "bitcast", "bitcast-convert", "call", "conditional", "constant",
    "copy-done", "copy-start", "custom-call", "domain", "fusion", "get-tuple-element", "infeed", "opt-barrier",
    "parameter", "recv", "recv-done", "send", "tuple", "while",
}  # fmt: skip


def test_a_result_of_another_float_type_has_the_same_maps() -> None:
    """XLA's backends let most operations round their results."""
    checked = set()
    for case in all_cases():
        opcode = case.module.entry.root.opcode
        line = re.search(r"ROOT \S+ = ([^=]*?) [a-z-]+\(", case.text.split("ENTRY")[-1])
        if line is None or "f32[" not in line[1] or opcode in KEEP_TYPES or opcode.endswith(("-done", "-update")):
            continue
        at = case.text.rindex(line[0]) + line[0].index(line[1])
        rounded = case.text[:at] + line[1].replace("f32[", "bf16[") + case.text[at + len(line[1]) :]
        assert found_lines(hm.parse(rounded).entry.root) == case.expected, case.id
        checked.add(opcode)
    assert len(checked) > 70, sorted(checked)


def test_expected_maps_parse_and_print_back() -> None:
    for line in (line for case in all_cases() for line in case.expected):
        text = line.partition(": ")[2].removeprefix("over ")
        text = text[text.index("(") :] if "(" in text else ""
        if "->" in text and not line.partition(": ")[2].startswith("unknown"):
            assert str(hm.IndexingMap.parse(text)) == text


def test_every_op_has_a_case() -> None:
    covered = {case.module.entry.root.opcode for case in all_cases()}
    assert not (missing := set(registered()) - covered), f"add a file to tests/cases/ops for {sorted(missing)}"


@pytest.mark.parametrize("module", [m.name for m in iter_modules(ops.__path__) if not m.name.startswith("_")])
def test_every_module_registers_a_rule(module: str) -> None:
    """A module that forgets to would be ignored."""
    tree = ast.parse(inspect.getsource(importlib.import_module(f"{ops.__name__}.{module}")))
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert called & {"register", "register_moving", "register_derived"}, "end the module with register(...)"


def test_no_case_expects_a_missing_rule() -> None:
    """Blessing a case of an operation that is not registered would hide that."""
    missing = [f"no rule for {opcode}" for opcode in registered() if opcode != "custom-call"]
    wrong = [case.id for case in all_cases() for line in case.expected if line.endswith(tuple(missing))]
    assert not wrong


def test_case_names_are_distinct() -> None:
    ids = [case.id for case in all_cases()]
    assert len(set(ids)) == len(ids)


def bless(file: Path) -> None:
    """Rewrite the expected maps of a case file."""
    text = ""
    for case in read_cases(file):
        lines = [*case.notes, *found_lines(case.module.entry.root)]
        text += "\n".join(lines) + "\n" * bool(lines) + case.text + "\n"
    file.write_text(text.rstrip("\n") + "\n")
