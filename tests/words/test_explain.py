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
from hlomap.words.names import Names
from hlomap.words.phrases import phrase
from hlomap.words.source import Source

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
    assert imported is not None and len(imported.stack) == 2


USER, FLAX, MODEL, JAX = (
    "/home/me/train.py:10 in main",
    "/env/lib/python3.12/site-packages/flax/linen/module.py:3 in __call__",
    "/home/me/model.py:5 in loss",
    "/src/jax/jax/_src/api.py:9 in vjp",
)
FRAMES: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "only the user's": ((USER, MODEL), ["/home/me/model.py:5  in loss  mul", f"called from {USER}"]),
    "inside a library": (
        ("<frozen runpy>:198 in run", USER, FLAX, MODEL, JAX),
        ["/home/me/model.py:5  in loss  mul", f"called from {USER}", "… 3 frames inside python, flax, jax"],
    ),
    "a library alone": ((FLAX, JAX), ["/src/jax/jax/_src/api.py:9  in vjp  mul", "… 1 frame inside flax"]),
    "many libraries": (
        (USER, *(f"C:\\env\\Lib\\site-packages\\lib{k}.py:1 in f" for k in range(6))),
        ["/home/me/train.py:10  in main  mul", "… 6 frames inside lib0, lib1, lib2, lib3 and 2 more"],
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_the_frame_of_the_user_comes_first(name: str) -> None:
    """Frames in libraries, as their paths tell, are one line; all of them stay in the record."""
    stack, expected = FRAMES[name]
    place, _, function = stack[-1].partition(" in ")
    file, _, line = place.rpartition(":")
    source = Source("mul", file, int(line), function, stack)
    assert [str(source), *source.callers()] == expected and source.stack == stack


TRIANGLES = {
    "(s0, d1), domain: d0 - s0 in [0, 6]": "xs[0:i + 1, j] (at most 7 elements)",
    "(s0, d1), domain: s0 - d0 in [0, 6]": "xs[i:7, j] (at most 7 elements)",
    "(d0 + s0 - 6, d1), domain: d0 + s0 in [6, 12]": "xs[0:i + 1, j] (at most 7 elements)",
    "(d0 - s0, d1), domain: d0 - s0 in [0, 6]": "xs[0:i + 1, j] (at most 7 elements)",
    # The first row reads nothing; in the next case the slice would end at -1.
    "(s0, d1), domain: d0 - s0 in [1, 6]": "xs[0:i, j] (at most 7 elements)",
    "(s0, d1), domain: d0 - s0 in [2, 6]": "xs[r, j] (at most 7 elements) where r in [0, 6] and i - r in [2, 6]",
    # Either limit may be the tighter one.
    "(s0, d1), domain: d0 - s0 in [0, 3]": "xs[r, j] (at most 7 elements) where r in [0, 6] and i - r in [0, 3]",
}


@pytest.mark.parametrize("triangle", TRIANGLES)
def test_a_range_that_ends_at_an_index_is_a_slice(triangle: str) -> None:
    """As in a scan; the words are a slice only if they name exactly the elements of the map."""
    results, _, constraint = triangle.partition(", domain: ")
    domain = "d0 in [0, 6], d1 in [0, 2], s0 in [0, 6]"
    m = hm.IndexingMap.parse(f"(d0, d1)[s0] -> {results}, domain: {domain}, {constraint}")
    words = phrase(Names(("i", "j"), sizes=(7, 3)).of(m, 0), "xs", (7, 3))
    assert words == TRIANGLES[triangle]
    if " where " in words:
        return
    xs = np.arange(21).reshape(7, 3)
    for i, j in np.ndindex(7, 3):
        own = [
            (row, j) for r in range(7) for row in m.evaluate([i, j], [r], check=False)[:1] if m.in_domain([i, j], [r])
        ]
        named = np.atleast_1d(eval(words.removesuffix(" (at most 7 elements)"), {"xs": xs, "i": i, "j": j}))
        assert sorted(named.tolist()) == sorted(int(xs[at]) for at in own)


def test_no_variable_has_the_name_of_an_operand() -> None:
    text = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
    text += "ENTRY e { r = f32[4,6] parameter(0)  i = f32[] parameter(1)\n"
    text += " ROOT d = f32[4] reduce(r, i), dimensions={1}, to_apply=add }"
    (first, _) = hm.explain(hm.parse(text)["d"]).reads
    assert first.texts == ("(j)[s] -> (j, s), domain: j in [0, 3], s in [0, 5]",)
