"""Instructions of one signature share their maps, so what a signature leaves out must not change any."""

from __future__ import annotations

import re
from collections import defaultdict

from conftest import Case, all_cases
from test_ops import found_lines

import hlomap as hm
from hlomap.analysis.rule_cache import clear
from hlomap.ops import lookup, registered

#: Annotations and hints, of any instruction.
BESIDE = {
    "backend_config": '"one"',
    "control-predecessors": "{}",
    "frontend_attributes": '{one="1"}',
    "metadata": '{op_name="one"}',
    "origin": '{{"one"}}',
    "sharding": "{replicated}",
    "statistics": "{visualizing_index=0,nan=percent(0)}",
}


def _written(case: Case) -> dict[str, str]:
    """The attributes of the root as the text has them, without computations, whose names differ from case to case."""
    root = case.module.entry.root
    found = {name: root.attributes.text(name) for name in root.attributes}
    last = case.text[case.text.rindex("ROOT") :]
    return {name: value for name, value in found.items() if f", {name}={value}" in last}


def _changed(case: Case, old: str, new: str) -> hm.Instruction | None:
    """The root with another attribute in its line; None if that cannot be read."""
    start = case.text.rindex("ROOT")
    end = case.text.find("\n", start)
    line = case.text[start:end]
    line = line.replace(old, new, 1) if old else line + new
    try:
        return hm.parse(case.text[:start] + line + case.text[end:]).entry.root
    except hm.HlomapError:
        return None


def _assert_alike(case: Case, changed: hm.Instruction, what: str) -> bool:
    """Whether the signature is that of the case; its maps, from rules that are asked again, are then equal."""
    if changed.signature() != case.module.entry.root.signature():
        return False
    clear()
    assert found_lines(changed) == case.expected, f"{case.id}: {what}"
    return True


def test_another_value_of_an_attribute_has_another_signature_or_the_same_maps() -> None:
    values = defaultdict(set)
    written = [(case, _written(case)) for case in all_cases()]
    for _, attributes in written:
        for name, value in attributes.items():
            values[name].add(value)
            values[name].update(re.sub(r"\d+", lambda n: str(int(n[0]) + 1), value, count=k) for k in (0, 1))
    n_changed, alike = 0, set()
    for case, attributes in written:
        for name, value in attributes.items():
            for other in sorted(values[name] - {value}):
                changed = _changed(case, f", {name}={value}", f", {name}={other}")
                if changed is not None:
                    n_changed += 1
                    if _assert_alike(case, changed, f"{name}={other}"):
                        alike.add(name)
    assert n_changed > 5000, n_changed
    assert "window" in alike, "values that differ in spelling alone"


def test_annotations_and_hints_change_no_maps() -> None:
    alike = set()
    for case in all_cases():
        root = case.module.entry.root
        new = "".join(f", {name}={value}" for name, value in BESIDE.items() if name not in root.attributes)
        changed = _changed(case, "", new)
        assert changed is not None, case.id
        if _assert_alike(case, changed, new):
            alike.add(root.opcode)
    assert len(alike) > 100, sorted(alike)


def _sizes_class(module: hm.Module) -> tuple[object, ...] | None:
    """What roots that share results by their sizes alone have in common."""
    root = module.entry.root
    shared = lookup(root.opcode).maps.sizes_class
    shapes = (root.shape, *(operand.shape for operand in root.operands))
    if shared is None or not all(shape.is_array for shape in shapes):
        return None
    return shared, *(shape.dimensions for shape in shapes)


def _other_sizes(text: str) -> list[str]:
    """The text, and with other sizes in place of all that are equal."""
    sizes = sorted(set(re.findall(r"(?<=[\[,])\d+(?=[\],])", text)))
    return [text, *(re.sub(rf"(?<=[\[,]){n}(?=[\],])", str(int(n) + k), text) for n in sizes for k in (1, 7))]


def test_operations_of_one_class_and_of_the_same_sizes_have_the_same_maps() -> None:
    """A rule may look at more than the sizes that its class promises; then two operations or types differ here."""
    groups = defaultdict(set)
    for text in (text for case in all_cases() for text in _other_sizes(case.text) if _sizes_class(case.module)):
        try:
            module = hm.parse(text)
        except hm.HlomapError:
            continue
        if module.entry.root.inconsistency is None and (sizes := _sizes_class(module)) is not None:
            groups[sizes].add((module.entry.root.opcode, text))
    for sizes, members in groups.items():
        alone = {}
        for opcode, text in members:
            clear()
            alone[opcode, text] = found_lines(hm.parse(text).entry.root)
        assert len({tuple(lines) for lines in alone.values()}) == 1, (sizes, sorted({opcode for opcode, _ in members}))
        assert alone == {member: found_lines(hm.parse(member[1]).entry.root) for member in members}, sizes
    together = [{opcode for opcode, _ in members} for members in groups.values()]
    opcodes = {opcode for opcode in registered() if lookup(opcode).maps.sizes_class is not None}
    assert opcodes == set().union(*(group for group in together if len(group) > 1))


def test_a_rule_of_an_unknown_operation_may_read_its_configuration() -> None:
    module = hm.parse("""HloModule m
ENTRY e {
  p = f32[3] parameter(0)
  a = f32[3] turned(p), backend_config="0"
  ROOT b = f32[3] turned(a), backend_config="1"
}""")

    def rule(turned: hm.Instruction, index: tuple[int, ...]) -> list[hm.MapSet]:
        shift = turned.attributes["backend_config"]
        return [hm.MapSet([hm.IndexingMap.parse(f"(d0) -> ((d0 + {shift}) mod 3), domain: d0 in [0, 2]")])]

    with hm.register_rule("turned", rule):
        a, b = (hm.output_to_input(module[name])[0] for name in "ab")
    assert [str(m.results[0]) for (m,) in (a, b)] == ["d0 mod 3", "(d0 + 1) mod 3"]
