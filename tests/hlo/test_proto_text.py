"""The text format of protos, and protos that hold several modules."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.proto import field

import hlomap as hm
from hlomap.hlo.content import content_of

TEXT = """# a dump, by hand
name: "m" entry_computation_name: 'e'
computations {
  name: "add" id: 1 root_id: 0xB
  instructions { name: "a" opcode: "parameter" id: 9 shape: { element_type: F32 layout {} } };
  instructions { name: "b" opcode: "parameter" parameter_number: 1 id: 012 shape < element_type: 11 > }
  instructions {
    name: "c" opcode: "add" id: 11 operand_ids: [9, 10] shape { element_type: F32 }
    metadata { op_name: "a \\"b\\" \\303\\251\\x41" ' and \\u00e9' "\\n" }
  }
}
computations: [{
  name: "e", id: 2, root_id: 5,
  instructions { name: "p" opcode: "parameter" id: 1 shape { element_type: F32 dimensions: 2 dimensions: 3 is_dynamic_dimension: [false, false] layout { minor_to_major: [1, 0] } } }
  instructions { name: "v" opcode: "constant" id: 3 shape { element_type: F32 dimensions: [2] layout { minor_to_major: 0 } }
    literal { shape { element_type: F32 dimensions: 2 layout { minor_to_major: 0 } } f32s: 1.5f f32s: [-inf] } }
  instructions { name: "n" opcode: "constant" id: 4 shape { element_type: S64 } literal { shape { element_type: S64 } s64s: - 7 } }
  instructions { name: "z" opcode: "constant" id: 6 shape { element_type: F32 } literal { shape { element_type: F32 } f32s: 0 } }
  instructions { name: "r" opcode: "reduce" id: 7 operand_ids: 1 operand_ids: 6 dimensions: 1 called_computation_ids: 1 shape { element_type: F32 dimensions: 2 layout { minor_to_major: 0 } } }
  instructions { name: "t" opcode: "tuple" id: 5 operand_ids: [7, 3, 4]
    shape { element_type: TUPLE tuple_shapes { element_type: F32 dimensions: 2 layout { minor_to_major: 0 } }
      tuple_shapes { element_type: F32 dimensions: 2 layout { minor_to_major: 0 } } tuple_shapes { element_type: S64 } } }
}]
entry_computation_id: 2
"""  # noqa: E501

HLO = """HloModule m

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b), metadata={op_name="a \\"b\\" \\303\\251A and \\303\\251\\n"}
}

ENTRY %e (p: f32[2,3]) -> (f32[2], f32[2], s64[]) {
  %p = f32[2,3]{1,0} parameter(0)
  %v = f32[2]{0} constant({1.5, -inf})
  %n = s64[] constant(-7)
  %z = f32[] constant(0)
  %r = f32[2]{0} reduce(%p, %z), dimensions={1}, to_apply=%add
  ROOT %t = (f32[2]{0}, f32[2]{0}, s64[]) tuple(%r, %v, %n)
}
"""


def test_a_text_is_what_its_bytes_are() -> None:
    module = hm.parse(TEXT, strict=True)
    assert module.same_as(hm.parse(HLO), names=True) and not module.diagnostics
    assert module["c"].metadata.op_name == 'a "b" éA and é\n'
    for wrapped in (
        f"hlo_module {{\n{TEXT}\n}}",
        f"hlo < hlo_module: {{ {TEXT} }} >",
        f"\ufeffhlo_module {{ {TEXT} }}",
    ):
        assert hm.parse(wrapped).same_as(module) and hm.parse(wrapped.encode()).same_as(module)
    assert hm.parse(hm.parse(TEXT).to_proto()).same_as(module)


def test_files_are_found_by_content(tmp_path: Path) -> None:
    (tmp_path / "m.pbtxt").write_text(f"hlo_module {{ {TEXT} }}")
    assert hm.load(tmp_path / "m.pbtxt").name == "m"
    assert content_of((tmp_path / "m.pbtxt").read_bytes())[:2] == ("HLO", "proto")
    for other in (
        'name: "CI"\non: push\njobs: { test: 1 }',
        'name: "x"',
        "hlo_module",
        "id: 3\nname: x",
    ):
        assert content_of(other.encode()).kind != "HLO", other
    assert hm.parse("name { ROOT p = f32[] parameter(0) }").entry.name == "name"


def test_several_modules_in_a_text() -> None:
    other = TEXT.replace('name: "m"', 'name: "other"')
    both = f"hlo_module {{ {TEXT} }} hlo_module {{ {other} }}"
    assert [m.name for m in hm.parse_all(both)] == ["m", "other"]
    with pytest.raises(hm.errors.HloSyntaxError, match="found 2; use parse_all"):
        hm.parse(both)


def test_unknown_fields_are_reported() -> None:
    new = 'opcode: "reduce" new: { a: "}" b <x: [1, "]"]> } new: 2 [xla.extension] { c: 1 } 77: 0x1'
    text = TEXT.replace('opcode: "reduce"', new)
    module = hm.parse(text)
    lost = ["`new`, which is lost", "`xla.extension`, which is lost", "`77`, which is lost"]
    assert [d.found for d in module.diagnostics] == lost and module.same_as(hm.parse(TEXT))
    assert all(d.message.startswith("line 19, column ") for d in module.diagnostics)
    with pytest.raises(hm.errors.HloSyntaxError) as error:
        hm.parse(text, strict=True)
    assert error.value.line == 19 and "a known field of HloInstructionProto" in str(error.value)


@pytest.mark.parametrize(
    ("before", "after", "expected", "word"),
    [
        ("element_type: F32 layout", "element_type: F33 layout", "a word of PrimitiveType as `element_type`", "F33"),
        ("id: 9", "id: nine", "an integer of 64 bits as `id`", "nine"),
        ("id: 9", "id: 18446744073709551616", "an integer of 64 bits as `id`", "18446744073709551616"),
        ("id: 9", "id: 1.5", "", ".5"),
        ("id: 9", "id: -true", "an integer of 64 bits as `id`", "-true"),
        ("id: 9", "id: { }", "an integer of 64 bits as `id`", "{"),
        ("id: 9", "id", "`:` after `id`", "shape"),
        ('name: "a"', "name: a", "a string as `name`", "a"),
        ('name: "a"', 'name: "a', "a string", '"'),
        ('name: "a"', 'name: "\\q"', "an escape sequence", "\\q"),
        ('name: "a"', 'name: "\\400"', "an escape sequence", "\\400"),
        ('name: "a"', 'name: "\\ud800"', "an escape sequence", "\\ud800"),
        ("f32s: 1.5f", "f32s: one", "a number as `f32s`", "one"),
        ("[9, 10]", "[9 10]", "`,` or `]` in a list", "10"),
        ("[9, 10]", "[9, 10", "", ""),
        ("layout {}", "layout 3", "`{` of a LayoutProto", "3"),
        ("entry_computation_id: 2", "entry_computation_id: 2 }", "the name of a field of HloModuleProto", "}"),
        ("}]", "", "", ""),
    ],
)
def test_errors_say_where(before: str, after: str, expected: str, word: str) -> None:
    text = TEXT.replace(before, after, 1)
    assert text != TEXT
    with pytest.raises(hm.errors.HloSyntaxError) as error:
        hm.parse(text, name="m.pbtxt")
    first = error.value.problems[0] if hasattr(error.value, "problems") else error.value
    assert expected in str(error.value) and "m.pbtxt:" in str(error.value)
    line = text.split("\n")[first.line - 1]
    assert line[first.column - 1 :].startswith(word), (line, first.column)


def test_a_misspelled_field_is_named() -> None:
    """Though what fails is that the opcode is missing."""
    with pytest.raises(hm.errors.HloSyntaxError, match="found `opcdoe`, which is lost"):
        hm.parse(TEXT.replace("opcode", "opcdoe"))


def test_deep_and_broken_texts_end() -> None:
    head = f"hlo_module {{ {TEXT.replace('entry_computation_id: 2', '')}"
    for text in (
        head + "computations { instructions { shape { " + "tuple_shapes { " * 100_000,
        head + "new { " * 100_000,
        head + "new: " + "[" * 100_000,
        head + "new: " + "-" * 100_000,
        *(TEXT[:n] for n in range(0, len(TEXT), 7)),
        *(f"hlo_module {{ {TEXT[:n]}\x00{TEXT[n:]}" for n in range(0, len(TEXT), 31)),
    ):
        with pytest.raises(hm.errors.HloSyntaxError):
            hm.parse(text)


# ----------------------------------------------------------------------------------------------------- several modules


def module(name: str) -> bytes:
    return hm.parse(
        f"HloModule {name}\nENTRY {name}_e {{ p = f32[2] parameter(0)\n ROOT n = f32[2] negate(p) }}"
    ).to_proto()


A, B, C = module("a"), module("b"), module("c" * 200)


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (A, ["a"]),
        (field(1, A), ["a"]),
        (field(1, A) + field(1, B), ["a", "b"]),
        (field(1, field(1, A)) + field(1, field(1, B)) + field(1, field(1, C)), ["a", "b", "c" * 200]),
        (field(1, field(1, A) + field(1, B)) + field(3, b"x"), ["a", "b"]),
        (field(1, A) + field(3, b"") + field(1, A), ["a", "a"]),
        (A + B, ["a", "b"]),
        (C + A + B, ["c" * 200, "a", "b"]),
    ],
)
def test_all_modules_of_a_proto(data: bytes, names: list[str], tmp_path: Path) -> None:
    """As of TuningData, and of files that were joined."""
    for strict in (False, True):
        found = hm.parse_all(data, strict=strict)
        assert [m.name for m in found] == names and not any(m.diagnostics for m in found)
    assert [m.entry.name for m in found] == [f"{name}_e" for name in names]
    (tmp_path / "m.pb").write_bytes(data)
    assert hm.analyze(tmp_path / "m.pb").columns and content_of(data)[:2] == ("HLO", "proto")
    summary = hm.analyze_corpus(tmp_path / "m.pb", tmp_path / "out")
    assert summary.report.modules == summary.report.rows == len(names)
    if len(names) > 1:
        for read in (lambda: hm.parse(data), lambda: hm.load(tmp_path / "m.pb")):
            with pytest.raises(
                hm.errors.HloSyntaxError, match=f"expected one module, found {len(names)}; use parse_all"
            ):
                read()


def test_no_part_of_a_proto_is_dropped() -> None:
    """A second module that is cut, or that strict reading refuses, is an error."""
    both = field(1, A) + field(1, B)
    for n in range(len(field(1, A)) + 1, len(both)):
        with pytest.raises(hm.errors.HloSyntaxError):
            hm.parse_all(both[:n])
    new = field(1, A) + field(1, B + field(111, 7))
    assert [len(m.diagnostics) for m in hm.parse_all(new)] == [0, 1]
    with pytest.raises(hm.errors.HloSyntaxError, match="field 111"):
        hm.parse_all(new, strict=True)
