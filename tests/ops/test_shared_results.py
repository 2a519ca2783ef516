"""Results of rules are shared only by instructions of which the rule reads the same.

Each op case is changed in one place: a constant, an attribute, a called computation.  What a program answers after
another one has filled the caches has to be what it answers with empty ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from conftest import Case, leaves, map_lines

import hlomap as hm
from hlomap.analysis import rule_cache
from hlomap.errors import HlomapError

_OTHERS = {
    "true": "false", "false": "true", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ",
    "add(": "multiply(", "multiply(": "add(", "maximum(": "add(", "minimum(": "maximum(", "and(": "or(",
    "compare(": "compare(", "dynamic-slice(": "dynamic-slice(", "negate(": "abs(",
}  # fmt: skip


def answers(text: str) -> list[str]:
    """What hlomap says of the root of the entry, in both directions, and the rows of the whole program."""
    module = hm.parse(text)
    root = module.entry.root
    found = []
    for shape_index, _ in leaves(root.shape):
        found += [
            line for maps in _of(lambda shape_index=shape_index: hm.output_to_input(root, shape_index)) for line in maps
        ]
    for k, operand in enumerate(root.operands):
        for shape_index, _ in leaves(operand.shape):
            index = (k, *shape_index)
            found += [line for maps in _of(lambda index=index: hm.input_to_output(root, index)) for line in maps]
    table = hm.analyze(module)
    found += map(str, zip(table["maps"], table["unknown"], table["flops"], table["exact"], strict=True))
    return found


def _of(question) -> list[list[str]]:  # type: ignore[no-untyped-def]
    try:
        return [map_lines(found) for found in question()]
    except HlomapError as error:
        return [[str(error)]]


def changed_texts(text: str) -> Iterator[str]:
    """The text with one thing changed in each: every constant and attribute, and what called computations do."""
    for at in re.finditer(r"\bconstant\((.*?)\)(?=,|$|\s)", text, re.MULTILINE):
        for new in _changed_values(at[1]):
            yield text[: at.start(1)] + new + text[at.end(1) :]
    for line in re.finditer(r"^.*? = .*$", text, re.MULTILINE):
        for attribute in re.finditer(r", ([a-z_]+)=(\"[^\"]*\"|\{[^=]*?\}(?=,|$)|[^,\s{}]+)", line[0]):
            for new in _changed_values(attribute[2]):
                start = line.start() + attribute.start(2)
                yield text[:start] + new + text[start + len(attribute[2]) :]
    called = text[: text.rindex("ENTRY")]
    for word in re.finditer(r"[a-z-]+\(", called):
        if word[0] in _OTHERS and _OTHERS[word[0]] != word[0]:
            yield text[: word.start()] + _OTHERS[word[0]] + text[word.end() :]


def _changed_values(value: str) -> Iterator[str]:
    numbers = list(re.finditer(r"(?<![\w.])\d+(?![\w.])", value))
    for number in {at.start(): at for at in (*numbers[:1], *numbers[-1:])}.values():
        yield value[: number.start()] + str(int(number[0]) + 1) + value[number.end() :]
    if value in _OTHERS:
        yield _OTHERS[value]


def test_answers_do_not_depend_on_what_was_asked_before(case: Case) -> None:
    rule_cache.clear()
    alone = answers(case.text)
    for changed in changed_texts(case.text):
        try:
            after = answers(changed)
        except hm.errors.HloSyntaxError:
            continue
        assert answers(case.text) == alone, changed
        rule_cache.clear()
        assert answers(changed) == after, changed
        assert answers(case.text) == alone, changed


TEXT = """HloModule m, num_partitions={partitions}

f {{
  a = f32[9] parameter(0)
  b = s32[] parameter(1)
  d = s32[] add(b, b)
  ROOT c = f32[4] custom-call(a, d), custom_call_target="my_call", metadata={{op_name="{name}"}}
}}

ENTRY e {{
  p = f32[9] parameter(0)
  n = s32[] constant({constant})
  other = s32[] {operation}(n)
  c = f32[4] custom-call(p, n), custom_call_target="my_call", {more_of_call}
  d = f32[4] custom-call(p, other), custom_call_target="my_call"
  g = f32[4] custom-call(p, n), custom_call_target="my_call"{effect}
  x = f32[4] fusion(p, n), kind=kCustom, calls=f
  ROOT t = (f32[4], f32[4], f32[4], f32[4]{more}) tuple(c, d, x, g{user})
}}""".replace("{more_of_call}", """frontend_attributes={{offset="{offset}"}}, metadata={{op_name="{name}"}}""")
PLAIN = {
    "partitions": 1, "name": "2", "constant": 2, "operation": "negate", "offset": 2, "more": "", "user": "",
    "effect": ", custom_call_has_side_effect=false",
}  # fmt: skip


def _has(call: hm.Instruction, name: str) -> int:
    return int(name in call.attributes)


READS = {
    "literal": (lambda call: int(call.operands[1].literal or 0), {"constant": 3}),
    "integer": (lambda call: call.operands[1]._integer(0) or 0, {"constant": 3}),
    "literal of an operand of an operand": (
        lambda call: int(call.operands[1].operands[0].literal or 0) if call.operands[1].operands else 0,
        {"constant": 3},
    ),
    "opcode": (lambda call: len(call.operands[1].opcode) - 3, {"operation": "abs"}),
    "text of an operand": (lambda call: int("negate" in str(call.operands[1])), {"operation": "abs"}),
    "op_name": (lambda call: int(call.metadata.op_name or 0), {"name": "3"}),
    "frontend attributes": (
        lambda call: int(call.attributes.get("frontend_attributes", {}).get("offset", 0)),
        {"offset": 3},
    ),
    "an attribute": (
        lambda call: int(call.attributes.get("custom_call_has_side_effect") is True),
        {"effect": ", custom_call_has_side_effect=true"},
    ),
    "an attribute that is its default": (
        lambda call: int("custom_call_has_side_effect" in call.attributes),
        {"effect": ""},
    ),
    "number of attributes": (
        lambda call: len(call.attributes),
        {"effect": ", custom_call_has_side_effect=false, sharding={replicated}"},
    ),
    "users": (lambda call: len(call.users[0].operands) - 4 if call.users else 0, {"more": ", f32[9]", "user": ", p"}),
    "header": (lambda call: call.module.attributes["num_partitions"], {"partitions": 2}),
    "text": (lambda call: int('"3"' in str(call)), {"name": "3"}),
    "the whole program": (lambda call: int("abs" in str(call.module)), {"operation": "abs"}),
    "the computation around": (
        lambda call: sum(one.opcode == "abs" for one in call.computation.instructions),
        {"operation": "abs"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", READS)
def test_a_rule_may_read_anything(what: str) -> None:
    """The map follows what it reads, whichever program was asked about before, also through a fusion."""
    read, change = READS[what]

    def rule(call: hm.Instruction, index: tuple[int, ...]) -> list[object]:
        return [hm.IndexingMap([4], [hm.Expr.dim(0) + read(call)]), []]

    texts = [TEXT.format(**values) for values in (PLAIN, {**PLAIN, **change})]
    with hm.register_rule("my_call", rule):
        alone = []
        for text in texts:
            rule_cache.clear()
            alone.append(_maps(text))
        assert alone[0] != alone[1]
        rule_cache.clear()
        assert [_maps(text) for text in (*texts, *texts)] == [*alone, *alone]


def _maps(text: str) -> list[object]:
    module = hm.parse(text)
    calls = [module.entry[name] for name in "cdxg"]
    return [str(hm.output_to_input(call)[0]) for call in calls] + list(hm.analyze(module)["maps"])


def test_a_cost_may_read_anything() -> None:
    with hm.register_rule("my_call", cost=lambda call: (int(call.operands[1].literal or 0), 0)):
        flops = [sorted(set(hm.analyze(hm.parse(TEXT.format(**{**PLAIN, "constant": n})))["flops"])) for n in (2, 3)]
    assert flops[0] != flops[1]


def test_instructions_share_what_reads_the_same() -> None:
    """A rule is asked once for a hundred calls that differ in what it does not read."""
    asked = []

    def rule(call: hm.Instruction, index: tuple[int, ...]) -> list[object]:
        asked.append(call.operands[1].literal)
        return [hm.IndexingMap([4], [hm.Expr.dim(0) + int(call.operands[1].literal)]), []]

    calls = [
        f'n{i} = s32[] constant({i % 2}) c{i} = f32[4] custom-call(p, n{i}), custom_call_target="my_call", '
        f'metadata={{op_name="{i}"}}'
        for i in range(100)
    ]
    text = "\n".join(["ENTRY e {", "p = f32[9] parameter(0)", *calls, "ROOT z = f32[4] copy(c0)", "}"])
    with hm.register_rule("my_call", rule):
        hm.analyze(hm.parse(text))
        hm.analyze(hm.parse(text))
    assert len(asked) <= 3, asked


DEPTH = 100


def _deepest(call: hm.Instruction) -> int:
    """What a chain of more operands than are told apart ends in."""
    value = call.operands[1]
    while value.operands:
        value = value.operands[0]
    return int(value.literal)


LONG_READS = {
    "an operand far away": _deepest,
    "more attributes than are told apart": lambda call: int(
        [call.attributes.get(f"attribute_{i}", 0) for i in range(1000)][-1]
    ),
}


@pytest.mark.parametrize("what", LONG_READS)
def test_a_rule_may_read_more_than_is_told_apart(what: str) -> None:
    """Past the limits of what is noted, results are shared with nothing, not with too much."""
    read = LONG_READS[what]

    def rule(call: hm.Instruction, index: tuple[int, ...]) -> list[object]:
        return [hm.IndexingMap([4], [hm.Expr.dim(0) + read(call)]), []]

    chain = "\n".join(f"n{i} = s32[] negate(n{i - 1})" for i in range(1, DEPTH))
    texts = [
        f"""ENTRY e {{
          p = f32[9] parameter(0)
          n0 = s32[] constant({n})
          {chain}
          ROOT c = f32[4] custom-call(p, n{DEPTH - 1}), custom_call_target="my_call", attribute_999={n}
        }}"""
        for n in (2, 3)
    ]
    with hm.register_rule("my_call", rule):
        found = [str(hm.output_to_input(hm.parse(text).entry.root)[0]) for text in (*texts, *texts)]
        rows = [list(hm.analyze(hm.parse(text))["maps"]) for text in (*texts, *texts)]
    assert found[0] != found[1] and found[:2] == found[2:]
    assert rows[0] != rows[1] and rows[:2] == rows[2:]
