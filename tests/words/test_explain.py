"""Explanations of instructions: goldens as text, hostile names, arguments, every op case.

A case is an HLO file that begins with lines ``// explain NAME [element=I,J] [depth=N|all]``; the golden has
what they print.  ``HLOMAP_BLESS=1 pytest tests/words`` rewrites the goldens; read the diff.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BLESS, CASES, Case, relation

import hlomap as hm

FILES = sorted((CASES / "explain").glob("*.hlo"))


def options(line: str) -> tuple[str, dict[str, Any]]:
    name, *words = line.removeprefix("// explain ").split()
    found: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        parts = value.split(",")
        found[key] = {
            "element": lambda: tuple(map(int, parts)),  # noqa: B023
            "output": lambda: tuple(map(int, parts)),  # noqa: B023
            "depth": lambda: None if value == "all" else int(value),  # noqa: B023
        }[key]()
    return name, found


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_golden(file: Path) -> None:
    text = file.read_text()
    module = hm.parse(text)
    lines = [line for line in text.splitlines() if line.startswith("// explain")]
    assert lines
    shown = []
    for line in lines:
        name, keywords = options(line)
        shown.append(f"{line}\n{hm.explain(module[name], **keywords)}\n")
    found, golden = "\n".join(shown), file.with_suffix(".txt")
    if BLESS:
        golden.write_text(found)
    assert found == golden.read_text()


def test_every_op_case(case: Case) -> None:
    """Explains every instruction, as text and JSON; at an index the elements are those of the maps."""
    module = case.module
    assert hm.explain(module.entry.root)._repr_html_()
    for number in range(module.n_instructions):
        instruction = module.instruction(number)
        found = hm.explain(instruction)
        assert str(found) and json.loads(json.dumps(found.to_dict()))
        shape = found.shape
        if not shape.is_array or 0 in shape.dimensions:
            continue
        point = tuple(size - 1 for size in shape.dimensions)
        at_point = hm.explain(instruction, point, found.shape_index, depth=None)
        json.dumps(at_point.to_dict())
        whole = {(read.operand, read.shape_index): read for read in found.reads}
        for read in at_point.reads:
            maps = whole[read.operand, read.shape_index].maps
            if read.shape.is_array and read.elements is not None and not any(m.runtime for m in maps):
                expected = np.zeros(read.shape.n_elements, np.bool_)
                for m in maps:
                    expected |= relation(m, shape, read.shape, {})[-1]
                flat = np.ravel_multi_index(tuple(read.elements.T), read.shape.dimensions) if read.shape.rank else [0]
                assert np.flatnonzero(expected).tolist() == np.sort(flat).tolist()[: len(read.elements)]


HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e\u200b\U000e0041\ufeff\"'&"


def hostile_module() -> hm.Module:
    """A module whose metadata and custom call target are markup and control characters; names cannot be."""
    quoted = json.dumps(HOSTILE, ensure_ascii=False)[1:-1].replace("\\u001b", "\x1b")
    return hm.parse(
        f'HloModule m\nENTRY e {{ p = f32[2,3] parameter(0), metadata={{op_name="{quoted}" source_file="{quoted}"}}\n'
        f' c = f32[2,3] custom-call(p), custom_call_target="{quoted}"\n'
        f' t = f32[3,2] transpose(p), dimensions={{1,0}}, metadata={{op_name="{quoted}"}}\n'
        f" ROOT r = (f32[2,3], f32[3,2]) tuple(c, t) }}"
    )


def test_hostile_texts_stay_text() -> None:
    module = hostile_module()
    assert module["p"].metadata.op_name == HOSTILE
    t = module["t"]
    for found in (hm.explain(t), hm.explain(t, (1, 1), depth=None), hm.explain(module["p"]), hm.explain(module["c"])):
        for text in (str(found), repr(found)):
            assert not re.search("[\x1b\u202e\u200b\U000e0041\ufeff]", text)
        html = found._repr_html_()
        assert not re.search("[\u200b\U000e0041\ufeff]", html)
        assert "<img" not in html and "\x1b" not in html and "&lt;img" in html
        json.dumps(found.to_dict())
    changes = hm.diff(module, SMALL)
    assert "\x1b" not in str(changes) + repr(changes) + changes._repr_html_() and "<img" not in changes._repr_html_()


SMALL = hm.parse("HloModule m\nENTRY e { p = f32[2,3] parameter(0) ROOT t = f32[3,2] transpose(p), dimensions={1,0} }")


def test_index_of_a_tuple_names_the_output() -> None:
    module = hm.parse("ENTRY e { p = f32[] parameter(0) q = f32[3] parameter(1) ROOT t = (f32[], f32[3]) tuple(p, q) }")
    with pytest.raises(hm.errors.ShapeError) as caught:
        hm.explain(module["t"], (2,))
    assert str(caught.value) == (
        "hm.explain: element (2,): output 0 of 2 of t is f32[], so expected 0 numbers; `output` chooses another one"
    )
    assert "  note: this is output 0 of 2 of t; `output` chooses another one" in str(hm.explain(module["t"]))
    with pytest.raises(
        hm.errors.ShapeError, match=r"expected 0 numbers.*; output 0 of 2 of t is f32\[\], `output` choo"
    ):
        hm.draw(module["t"], element=(2,))
    single = hm.parse("ENTRY e { p = f32[3] parameter(0) ROOT t = (f32[3]) tuple(p) }")
    assert hm.explain(single["t"]).notes == ()


@pytest.mark.parametrize(
    "index", [("a", 1), (1.5, 1), "01", 7, (None, 0), np.array(1), np.array([[1, 1]]), np.zeros(2)]
)
def test_index_is_a_sequence_of_int(index: Any) -> None:
    with pytest.raises(TypeError, match=r"^hm.explain: expected a sequence of int as `element`, got "):
        hm.explain(SMALL["t"], index)


def test_index_may_be_an_array() -> None:
    class Array:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([2, 1])

    for index in (np.array([2, 1]), Array(), range(2, 0, -1)):
        assert hm.explain(SMALL["t"], index).element == (2, 1)  # type: ignore[arg-type]


def test_depth_is_a_number() -> None:
    with pytest.raises(TypeError, match="depth"):
        hm.explain(SMALL["t"], (0, 0), depth="all")  # type: ignore[arg-type]


def test_counts_of_a_dot() -> None:
    module = hm.parse(
        "ENTRY e { x = f32[8,16] parameter(0) w = f32[16,32] parameter(1) "
        "ROOT y = f32[8,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"
    )
    found = hm.explain(module["y"])
    assert found.reads[0].reuse == 32 and found.distinct_bytes == 4 * (8 * 16 + 16 * 32) and found.bytes_written == 1024


def test_wide_tuples_are_listed_in_part() -> None:
    lines = "\n".join(f"p{i} = f32[2] parameter({i})" for i in range(200))
    names = ", ".join(f"p{i}" for i in range(200))
    shape = ", ".join(["f32[2]"] * 200)
    module = hm.parse(f"ENTRY e {{ {lines}\n ROOT t = ({shape}) tuple({names}) }}")
    found = hm.explain(module["t"], output=150)
    assert [read.operand for read in found.reads] == [150] and len(found.unread) == 199
    assert len(str(found)) < 800


def test_stack_of_frames() -> None:
    """A frame's parent is printed plus 1; 1 means that it has no parent."""
    text = """HloModule m

FileNames
1 "a.py"

FunctionNames
1 "outer"
2 "inner"

FileLocations
1 {file_name_id=1 function_name_id=1 line=10 end_line=10 column=1 end_column=2}
2 {file_name_id=1 function_name_id=2 line=20 end_line=20 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

ENTRY e { ROOT p = f32[2] parameter(0), metadata={op_name="x" stack_frame_id=2} }
"""
    source = hm.explain(hm.parse(text).entry.root).source
    assert source is not None
    assert source.stack == ("a.py:10 in outer", "a.py:20 in inner") and source.line == 20
    own = hm.explain(hm.parse(text.replace("a.py", "lib/hlomap/interop/jax.py")).entry.root).source
    assert own is not None and own.stack == ()  # hlomap is not part of the program
    frozen = text.replace('1 "a.py"', '1 "<frozen importlib._bootstrap>"')
    imported = hm.explain(hm.parse(frozen).entry.root).source
    assert imported is not None and imported.stack == ()  # nor is the import system
