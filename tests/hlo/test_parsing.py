"""Parsing from Python: all kinds of sources, equality, errors with their locations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hlomap as hm

MODULES = Path(__file__).parents[1] / "cases" / "modules"
TEXT = """HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  p = f32[2,3]{1,0} parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[2]{0} reduce(p, z), dimensions={1}, to_apply=sum
}
"""


@pytest.mark.parametrize("kind", [str, str.encode, lambda t: bytearray(t.encode()), lambda t: memoryview(t.encode())])
def test_sources(kind: object, tmp_path: Path) -> None:
    module = hm.parse(kind(TEXT))  # type: ignore[operator]
    assert module.name == "m" and module["r"].called_computations[0].name == "sum"
    file = tmp_path / "any.name"
    file.write_text(TEXT)
    assert hm.load(file).same_as(module) and hm.load(str(file)) != module


def test_same_as_compares_content() -> None:
    module = hm.parse(TEXT)
    other_spelling = TEXT.replace("dimensions={1}, to_apply=sum", "to_apply=%sum, dimensions={ 1 }, metadata={}")
    assert hm.parse(other_spelling).same_as(module)
    other_names = (
        TEXT.replace("sum", "plus").replace("HloModule m", "HloModule n").replace("p,", "q,").replace("p =", "q =")
    )
    assert not hm.parse(other_names).same_as(module)
    assert hm.parse(other_names).same_as(module, names=False)
    for change in (("constant(0)", "constant(-0)"), ("add(a, b)", "add(b, a)"), ("{1,0} parameter", "{0,1} parameter")):
        assert not hm.parse(TEXT.replace(*change)).same_as(module, names=False), change


def test_strict_and_several() -> None:
    loose = TEXT.replace("to_apply=sum", "to_apply=sum, colour=red")
    assert len(hm.parse(loose).diagnostics) == 1
    with pytest.raises(hm.errors.HloSyntaxError, match="colour"):
        hm.parse(loose, strict=True)
    assert len(hm.parse_all(TEXT * 3)) == 3
    with pytest.raises(hm.errors.HloSyntaxError, match="found 3"):
        hm.parse(TEXT * 3)


def test_a_path_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "a b").write_text(TEXT)
    for path in (str(tmp_path / "a b"), "dump/module_0001.jit_f.txt"):
        with pytest.raises(hm.errors.HloSyntaxError) as caught:
            hm.parse(path)
        assert str(caught.value).endswith(f"note: this is a path: hm.load({path!r}) reads the file")


def test_a_directory_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"hm.DumpDirectory\(path\) finds the modules in it"):
        hm.load(tmp_path)


LOSSES = """HloModule losses
f {
  a = f32[5] parameter(0)
  b = f32[5] parameter(1)
  n = f32[5] reverse(a), dimensions=
  ROOT s = f32[5] add(n, b)
}
ENTRY e {
  p = f32[5] parameter(0)
  q = f32[5] parameter(1)
  x = f32[5] fusion(p, q), kind=kLoop, calls=f
  ROOT r = f32[5] abs(p)
}"""


def test_frames_that_the_tables_do_not_resolve_are_none() -> None:
    """As in XLA: an id that is not in the tables, or whose stack has a cycle or a row that is not there."""
    tables = """HloModule m

FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=2 end_column=3}
2 {file_name_id=7 function_name_id=1 line=4 end_line=4 column=2 end_column=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}
3 {file_location_id=1 parent_frame_id=5}
4 {file_location_id=1 parent_frame_id=4}
5 {file_location_id=1 parent_frame_id=4}
6 {file_location_id=1 parent_frame_id=31}
7 {file_location_id=2 parent_frame_id=1}
8 {file_location_id=9 parent_frame_id=1}
9 {file_location_id=1 parent_frame_id=0}

"""
    for frame in range(-1, 12):
        entry = f'ENTRY e {{ ROOT p = f32[] parameter(0), metadata={{op_name="p" stack_frame_id={frame}}} }}\n'
        for source in (tables + entry, hm.parse(tables + entry).to_proto()):
            metadata = hm.parse(source)["p"].metadata
            assert metadata is not None and metadata.op_name == "p"
            found = (metadata.stack_frame_id, metadata.source_file, metadata.function)
            assert found == ((frame, "a.py", "f") if frame in (1, 2) else (None, None, None)), frame
    # A part of a module may come without the tables.
    alone = hm.parse("p = f32[] parameter(0), metadata={stack_frame_id=7}")["p"].metadata
    assert alone is not None and alone.stack_frame_id == 7


def test_a_line_that_cannot_be_read_may_read_anything() -> None:
    module = hm.parse(LOSSES)
    assert [(d.line, d.expected) for d in module.diagnostics] == [(6, "`{`")]
    # As a text that is printed and read again, too.
    for lossy in (module, hm.parse(str(module))):
        for found in (*hm.output_to_input(lossy["x"]), *(hm.input_to_output(lossy["x"], k) for k in range(2))):
            for maps in found if isinstance(found, tuple) else (found,):
                assert (maps.reason or "").startswith("n: the text ")
        assert all(maps.exact for maps in hm.output_to_input(lossy["r"]))
    module = hm.parse(LOSSES.replace("ROOT r = f32[5] abs(p)", "ROOT r = f32[5] abs("))
    rows = [row for row in hm.analyze(module).rows() if row["instruction"] == "r"]
    assert [row["unknown"] for row in rows] == ["the text cannot be read"]
    with pytest.raises(hm.errors.UnsupportedError, match="no semantics for unreadable"):
        hm.execute(module, *np.zeros((2, 5), "f4"))
    with pytest.raises(hm.errors.HloSyntaxError, match=r"6:3: expected `\{`"):
        hm.parse(LOSSES, strict=True)


@pytest.mark.parametrize("path", sorted(MODULES.glob("*.hlo")), ids=lambda path: path.stem)
def test_a_cut_text_keeps_what_is_whole(path: Path) -> None:
    text = path.read_text()
    wholes = {computation.name: computation for computation in hm.parse(text).computations}
    start = text.index("parameter(0)", text.index("ENTRY"))
    ends = [k for k in range(start, len(text)) if text[k] == "\n" and "ROOT" not in text[start:k]]
    assert ends
    for end in [*ends, *(end - 7 for end in ends[1:])]:
        module = hm.parse(text[:end])
        last = module.computations[-1]
        assert module.diagnostics and last.root.opcode == "unreadable"
        kept = [i for i in last.instructions if i.opcode != "unreadable"]
        # The last one may lack attributes.
        assert [str(i) for i in kept[:-1]] == [str(i) for i in wholes[last.name].instructions[: len(kept) - 1]]
