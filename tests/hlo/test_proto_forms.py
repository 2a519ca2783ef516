"""Protos beside the plain case: parts that do not fit each other, and texts that it holds only with care.

The cases are in ``tests/cases/proto``.
"""

from __future__ import annotations

import ast
import re

import pytest
from conftest import CASES
from support.corpus import read_corpus
from support.proto import edited
from support.xla import readable, reads_recent, reprint, serialized

import hlomap as hm

FOLDERS = ["pre", "opt", "opt_gpu", "variants"]


def misfits() -> tuple[str, list[tuple[str, bytes | int, str, str]]]:
    """The module, and per case: path, value, `=>` or `!`, and message."""
    text = (CASES / "proto" / "misfits.txt").read_text()
    module, _, rest = text.partition("HloModule")[2].partition("\n}\n\n#")
    cases = []
    for line in rest.splitlines():
        if match := re.fullmatch(r"(\d\S*) = (\S+) (=>|!) (.*)", line):
            path, value, sign, message = match.groups()
            parsed = ast.literal_eval(f"b{value}" if value.startswith('"') else value)
            cases.append((path, parsed, sign, message))
    return f"HloModule{module}\n}}\n", cases


def test_parts_that_do_not_fit_are_reported() -> None:
    text, cases = misfits()
    data = hm.parse(text).to_proto()
    assert len(cases) >= 15 and not hm.parse(data, strict=True).diagnostics
    for path, value, sign, message in cases:
        changed = edited(data, path, value)
        with pytest.raises(hm.errors.HloSyntaxError) as caught:
            hm.parse(changed, name="a.pb", strict=True)
        assert message in str(caught.value), (path, value)
        if sign == "!":
            with pytest.raises(hm.errors.HloSyntaxError) as caught:
                hm.parse(changed)
            assert message in str(caught.value), (path, value)
            continue
        module = hm.parse(changed)
        assert message in [str(d.message) for d in module.diagnostics], (path, value, module.diagnostics)
        # What is unknown is not guessed: operands that no id gives.
        assert "operand ids" not in message or any(i.has_unnamed_operands for i in module.entry), (path, value)
        assert hm.analyze(module) is not None


def test_reports_point_at_what_they_name() -> None:
    text, cases = misfits()
    data = hm.parse(text).to_proto()
    n_names = 0
    for path, value, sign, message in cases:
        if sign == "=>":
            [report] = [d for d in hm.parse(edited(data, path, value)).diagnostics if d.message == message]
            *_, line, mark = str(report).split("\n")
            names = re.findall(r"(?:computation|instruction) `([^`]+)`", message.partition(": expected")[0])
            n_names += len(names)
            assert not names or line[mark.index("^") :].startswith(tuple(names)), str(report)
    assert n_names >= 10


def test_the_number_of_unknown_operands_is_checked() -> None:
    data = hm.parse("HloModule m\nENTRY e { p = f32[] parameter(0) ROOT s = f32[] add(p, p) }").to_proto()
    module = hm.parse(edited(data, "3[0]/2[1]/36", b"\x63\x64\x65"))
    assert "expected 2 operands of add, found 3" in [d.message for d in module.diagnostics]


def test_unknown_fields_are_reported_once_and_only_with_a_value() -> None:
    data = hm.parse(misfits()[0]).to_proto()
    assert not hm.parse(edited(edited(data, "26", 0), "3[3]/2[2]/104", b"")).diagnostics
    twice = edited(edited(data, "3[3]/2[2]/104", 1), "3[0]/2[0]/104", 2)
    assert len(hm.parse(twice).diagnostics) == 1
    # Of an operation that is not known, everything but what every operation has.
    other = edited(edited(edited(data, "3[3]/2[2]/2", b"plus"), "3[3]/2[2]/14", 3), "3[3]/2[2]/28", b"")
    assert [d.message for d in hm.parse(other).diagnostics if "known fields" in d.message] == [
        "computation `e`, instruction `s`: expected known fields, found field 14 of HloInstructionProto, which is lost"
    ]


def test_bytes_that_are_not_utf8_survive() -> None:
    line = r'p = f32[] parameter(0), metadata={metadata_payload="a\377\"b"}, backend_config="\001c\377"'
    head, end = r'HloModule m, backend_config="d\376"', r'}, backend_config="e\375"'
    data = hm.parse(f"{head}\nENTRY e {{\n  ROOT {line}\n{end}\n").to_proto()
    assert b'a\xff"b' in data and b"\x01c\xff" in data and b"d\xfe" in data and b"e\xfd" in data
    printed = str(hm.parse(data)).replace("%", "")
    assert line in printed and r'backend_config="d\376"' in printed and end in printed


def odd_texts() -> dict[str, str]:
    parts = re.split(r"(?m)^---- (.*)\n", (CASES / "proto" / "odd_texts.txt").read_text())
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", odd_texts())
def test_odd_texts_are_what_their_protos_hold(name: str) -> None:
    module = hm.parse(odd_texts()[name])
    again = hm.parse(module.to_proto())
    names = [i.name for c in module.computations for i in c]
    is_same = module.same_as(again, names=len(set(names)) == len(names))
    assert is_same == ("unlike: " not in name), f"{module}\n{again}"
    assert hm.parse(again.to_proto()).same_as(again)


def test_a_recovery_table_holds_modules_as_hlo_text() -> None:
    """XLA refuses a table with a proto in the text format, so no proto has it."""
    inside = """name: 'r' entry_computation_id: 1
      computations { name: 'e' instructions { name: 'p' opcode: 'parameter' shape { element_type: F32 } id: 1 }
        id: 1 root_id: 1 }"""
    for text, is_kept in [("ENTRY e { ROOT p = f32[] parameter(0) }", True), (inside, False)]:
        assert len(hm.parse(text).instructions) == 1
        table = f'origin_recovery_table={{ {{"a"}} : {{"b"}}, "{text}" }}'
        module = hm.parse(f"HloModule m, {table}\nENTRY e {{ ROOT p = f32[] parameter(0) }}")
        assert ("origin_recovery_table" in hm.parse(module.to_proto()).attributes) == is_kept


@pytest.mark.jax
def test_xla_reads_constants_smaller_than_their_bounds() -> None:
    """Its proto has the elements up to the bounds and the sizes in use, which its text cannot express."""
    module = hm.parse(odd_texts()["constants that are smaller than the bounds of their dimensions"])
    [printed] = reprint([module.to_proto()])
    assert printed is not None and "s32[<=4]{0} constant({1, 2, 3})" in printed
    assert "f32[<=3,<=4]{0,1} constant({ { 1, 2 }, { 3, 4 } })" in printed and "pred[<=3]{0} constant({})" in printed
    assert hm.execute(module)[1].tolist() == [[1, 2], [3, 4]]


@pytest.mark.jax
def test_xla_reads_odd_texts_from_their_protos() -> None:
    texts = odd_texts()
    as_read = reprint(list(texts.values()))
    written = reprint([hm.parse(text).to_proto() for text in texts.values()])
    for (name, text), a, b in zip(texts.items(), as_read, written, strict=True):
        is_readable = name.startswith(("xla: ", "xla 2026-08: ") if reads_recent() else "xla: ")
        assert (a is not None) == is_readable, name
        if a is not None:
            assert b is not None, name
            # XLA makes up other names, and orders computations by the ids that it gives them.
            assert hm.parse(a).entry.fingerprint == hm.parse(b).entry.fingerprint, f"{name}\n{text}\n{a}\n{b}"


@pytest.mark.jax
@pytest.mark.parametrize("folder", FOLDERS)
def test_protos_that_xla_writes_are_read_entirely(folder: str) -> None:
    """XLA prints its proto, our print of that proto and our copy of it alike."""
    texts = [data.decode() for data in read_corpus(folder).values()]
    protos = [data for data in serialized(list(texts)) if data is not None]
    modules = [hm.parse(data) for data in protos]
    originals = reprint(list(protos))
    copies = reprint([module.to_proto() for module in modules])
    prints = reprint([readable(str(module)) for module in modules])
    n_read = 0
    for module, original, copy, printed in zip(modules, originals, copies, prints, strict=True):
        # XLA reads back all but a few of its own protos.
        if original is not None:
            n_read += 1
            assert copy == original, module.name
            # A text has no ids, by which XLA orders what it prints from a proto.
            assert printed is not None and lines(printed) == lines(original), module.name
    assert n_read > 200


def lines(text: str) -> list[str]:
    return sorted(line.removeprefix("ENTRY ") for line in text.splitlines()[1:])
