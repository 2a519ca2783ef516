"""Pictures: every case draws, what is lit and counted is what the maps enumerate, goldens, sizes, hostile texts.

The goldens are ``cases/pictures/NAME.svg`` and ``NAME.txt``.  ``HLOMAP_BLESS=1 pytest tests/pictures`` rewrites them;
look at the images.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest
from conftest import BLESS, CASES, Case, all_cases, relation
from support.map_pairs import points, spans

import hlomap as hm
from hlomap.maps.union_count import count_reads
from hlomap.pictures import notebook_html, notebook_svg
from hlomap.pictures.map_svg import render_map_svg
from hlomap.pictures.maps import explanation_scene
from hlomap.pictures.scenes import LIT, MAY, ArrayGrid

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = [case for k, case in enumerate(all_cases()) if k % 3 == 0 or case.file.stem == "while"]
"""They run every line of the pictures that all cases run."""
MODULES = sorted((CASES / "modules").glob("*.hlo"))


def checked(picture: Any) -> ElementTree.Element:
    """The image, well-formed and with what a screen reader needs."""
    root = ElementTree.fromstring(picture.svg)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img" and root.get("aria-label")
    assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"] and all(child.text for child in root[:2])
    assert not re.search("nan|inf\\b", picture.svg.split("</style>")[1].split('class="title"')[0])
    assert str(picture).strip()
    return root


@pytest.mark.parametrize("drawn", DRAWN, ids=[drawn.id for drawn in DRAWN])
def test_op_cases_draw(drawn: Case) -> None:
    module = drawn.module
    root = module.entry.root
    for value in (module, hm.analyze(module), root, *([hm.loop(root)] if root.opcode == "while" else [])):
        checked(hm.draw(value))
    ElementTree.fromstring(notebook_html(root) or "")
    try:
        sets = hm.output_to_input(root)
    except hm.HlomapError:
        return
    for m in (m for maps in sets for m in maps[:2]):
        ElementTree.fromstring(notebook_svg(m) or "")
    checked(hm.draw(sets))
    if root.operands and not any(operand.shape.is_tuple for operand in root.operands):
        checked(hm.draw(hm.input_to_output(root)))
    if not root.shape.is_tuple:
        checked(hm.draw(hm.indexing(root)))


@pytest.mark.parametrize("file", MODULES, ids=[file.stem for file in MODULES])
def test_every_module_draws(file: Path) -> None:
    module = hm.load(file)
    checked(hm.draw(module))
    for computation in module.computations:
        for instruction in computation:
            checked(hm.draw(instruction))
    for instruction in module.entry:
        if instruction.shape.is_array and instruction.operands:
            tiling = hm.tile(instruction)
            checked(hm.draw(tiling))
            ElementTree.fromstring(tiling._repr_html_() or "")


# ------------------------------------------------------------------------------------------------- what is in a picture


def whole(grid: ArrayGrid, values: list[npt.NDArray[Any]]) -> npt.NDArray[Any] | None:
    """The planes as one array in row-major order; None where something is left out."""
    if grid.n_hidden or grid.is_empty or None in (*grid.rows, *grid.columns):
        return None
    sizes = [hi - lo + 1 for lo, hi in grid.array.bounds]
    drawn = [d for d in grid.dims if d is not None]
    others = [d for d in range(len(sizes)) if d not in drawn]
    stacked = np.stack(values).reshape([sizes[d] for d in (*others, *drawn)])
    return np.moveaxis(stacked, range(len(sizes)), [*others, *drawn]).reshape(-1)


def test_what_is_lit_is_what_is_read(case: Case) -> None:
    """By enumeration of the maps, for three elements of every instruction whose arrays are drawn completely."""
    module = case.module
    for number in range(module.n_instructions):
        found = hm.explain(module.instruction(number))
        n = found.shape.n_elements if found.shape.is_array else 0
        for element in {0, n // 2, n - 1} if n else ():
            index = [int(i) for i in np.unravel_index(element, found.shape.dimensions)] if found.shape.rank else []
            scene = explanation_scene(found, index, None)
            for read, grid in zip(found.reads, scene.operands, strict=False):
                lit = whole(grid, [page.lit for page in grid.pages])
                counts = whole(grid, [page.counts for page in grid.pages])
                if lit is None or counts is None or read.maps.is_unknown or any(m.runtime for m in read.maps):
                    continue
                if not read.shape.is_array:
                    continue  # a token has no elements
                pairs = [relation(m, found.shape, read.shape, {}) for m in read.maps]
                expected = np.logical_or.reduce([pair[element] for pair in pairs])
                code = LIT if read.maps.exact and read.maps.devices is None else MAY
                assert (lit == np.where(expected, code, 0)).all(), (case.id, read.label, index)
                ever = np.logical_or.reduce([pair.any(axis=0) for pair in pairs])
                assert ((counts > 0) == ever).all() or (counts < 0).all()


def count_by_enumeration(m: hm.IndexingMap, sizes: tuple[int, ...]) -> npt.NDArray[np.int64] | None:
    if m.runtime or np.prod([float(len(span)) for span in spans((*m.dims, *m.ranges))]) > 20_000:
        return None
    _, image = points(m)
    flat = np.ravel_multi_index(tuple(image.T), sizes) if sizes else np.zeros(len(image), int)
    return np.bincount(flat, minlength=int(np.prod(sizes)))


def test_counts_are_those_of_enumeration() -> None:
    for read in (read for case in all_cases() for read in hm.explain(case.module.entry.root).reads):
        sizes = read.shape.dimensions
        for m in read.maps:
            expected = count_by_enumeration(m, sizes) if read.shape.is_array and not m.is_undefined else None
            if expected is None or not len(expected):
                continue
            elements = (
                np.stack(np.unravel_index(np.arange(len(expected)), sizes), -1) if sizes else np.zeros((1, 0), int)
            )
            found = count_reads([m], elements.astype(np.int64))
            assert found is not None and found.tolist() == expected.tolist(), m


@pytest.mark.parametrize(
    ("text", "element", "count"),
    [
        ("(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 1048575], d1 in [0, 31], s0 in [0, 1048575]", (7, 9), 32),
        ("(d0)[s0] -> (d0 * 2 + s0 - 1), domain: d0 in [0, 1073741823], s0 in [0, 2]", (10,), 1),
        ("(d0)[s0] -> (d0 * 2 + s0 - 1), domain: d0 in [0, 1073741823], s0 in [0, 2]", (11,), 2),
        ("(d0) -> (d0 floordiv 4096, d0 mod 4096), domain: d0 in [0, 1099511627775]", (5, 4095), 1),
        ("(d0) -> (d0 floordiv 4096, d0 mod 4096), domain: d0 in [0, 1099511627775], d0 mod 2 in [0, 0]", (5, 4095), 0),
        ("(d0) -> (-d0 + 1152921504606846975), domain: d0 in [0, 1152921504606846975]", (3,), 1),
        ("(d0) -> (7), domain: d0 in [0, 1152921504606846975]", (7,), 2**60),
        ("(d0) -> (7), domain: d0 in [0, 1152921504606846975]", (8,), 0),
    ],
)
def test_counts_in_large_arrays(text: str, element: tuple[int, ...], count: int) -> None:
    m = hm.IndexingMap.parse(text)
    found = count_reads([m], np.array([element]))
    assert found is not None and found.tolist() == [count]


# ------------------------------------------------------------------------------------------------------------- goldens

DOT = hm.parse(
    "ENTRY e { x = f32[4,6] parameter(0) w = f32[6,5] parameter(1) "
    "ROOT y = f32[4,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"
)
WINDOW = hm.parse(
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) } "
    "ENTRY e { p = f32[9] parameter(0) z = f32[] constant(0) "
    "ROOT r = f32[4] reduce-window(p, z), window={size=3 stride=2}, to_apply=add }"
)
SLICE = hm.parse(
    "ENTRY e { x = f32[2,3,64] parameter(0) i = s32[] parameter(1) z = s32[] constant(0) "
    "ROOT s = f32[2,1,64] dynamic-slice(x, z, i, z), dynamic_slice_sizes={2,1,64} }"
)
CHAIN = hm.parse(
    'ENTRY e { x.1 = f32[4,6] parameter(0), metadata={op_name="x"} w.1 = f32[6,5] parameter(1) '
    "y = f32[4,5] dot(x.1, w.1), lhs_contracting_dims={1}, rhs_contracting_dims={0} n = f32[4,5] negate(y) "
    "ROOT t = f32[5,4] transpose(n), dimensions={1,0} }"
)
SUM = hm.parse(
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) } "
    "ENTRY e { x = f32[5,9,40,6] parameter(0) z = f32[] constant(0) "
    "s = f32[5] reduce(x, z), dimensions={1,2,3}, to_apply=add "
    "ROOT t = f32[] reduce(x, z), dimensions={0,1,2,3}, to_apply=add }"
)
CHECK = hm.verify(DOT["y"])[0]
LOOP = hm.loop(next(i for i in hm.load(CASES / "modules" / "while_simple.hlo").entry if i.opcode == "while"))
PICTURES: dict[str, Callable[[], Any]] = {
    "dot": lambda: hm.draw(DOT["y"], element=(2, 3)),
    "dot_tile": lambda: hm.draw(hm.output_to_input(DOT["y"])[1], element=(3, 3), tile=(2, 2)),
    "sets": lambda: hm.draw(hm.output_to_input(DOT["y"]), element=(1, 2)),
    "several": lambda: hm.draw([DOT["y"], hm.draw(DOT)]),
    "planes": lambda: hm.draw(SUM["s"], element=(4,)),
    "all_of_it": lambda: hm.draw(SUM["t"]),
    "window": lambda: hm.draw(WINDOW["r"]),
    "dynamic_slice": lambda: hm.draw(SLICE["s"], element=(1, 0, 40)),
    "unknown": lambda: hm.draw(hm.MapSet.unknown("no rule for custom-call")),
    "backward_slice": lambda: hm.draw(hm.backward_slice(CHAIN["t"]), element=(2, 3)),
    "forward_slice": lambda: hm.draw(hm.forward_slice(CHAIN["x.1"]), element=(2, 3), tile=(2, 2)),
    "way_back": lambda: hm.draw(hm.explain(CHAIN["t"], (2, 3), depth=None)),
    "tiling": lambda: hm.draw(hm.tile(DOT["y"]), tile=(2, 2, 3), element=(2, 2, 3)),
    "check": lambda: hm.draw(replace(CHECK, status="unsound", witness=((3, 4), (2, 1)))),  # type: ignore[arg-type]
    "loop": lambda: hm.draw(LOOP),
    "sharding": lambda: hm.draw(hm.hlo.Sharding.parse("{devices=[2,4]<=[2,2,2]T(2,1,0)}"), hm.Shape("f32", [64, 32])),
    "module": lambda: hm.draw(DOT),
    "diff": lambda: hm.draw(hm.diff(hm.load(CASES / "cli" / "before.hlo"), hm.load(CASES / "cli" / "after.hlo"))),
}


@pytest.mark.parametrize("name", PICTURES)
def test_golden(name: str) -> None:
    picture = PICTURES[name]()
    checked(picture)
    for suffix, found in ((".svg", picture.svg), (".txt", f"{picture}\n")):
        file = CASES / "pictures" / (name + suffix)
        if BLESS:
            file.write_text(found, encoding="utf-8")
        assert found == file.read_text(encoding="utf-8")


def test_image_of_the_documentation() -> None:
    """The image of docs/explain.md is the one that its code draws."""
    module = hm.parse(
        "ENTRY e { x = f32[6,12] parameter(0) w = f32[12,9] parameter(1) "
        "ROOT y = f32[6,9] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"
    )
    file = CASES.parent.parent / "docs" / "images" / "reads_of_a_tile.svg"
    found = hm.draw(module["y"], element=(3, 4), tile=(2, 3)).svg
    if BLESS:
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8")


# -------------------------------------------------------------------------------------------------- sizes and hostility


@pytest.mark.parametrize(
    "text",
    [
        "p = f32[] parameter(0) ROOT n = f32[] negate(p)",
        "p = f32[0,4] parameter(0) ROOT n = f32[4,0] transpose(p), dimensions={1,0}",
        f"p = u8[{2**60}] parameter(0) ROOT n = u8[{2**60}] reverse(p), dimensions={{0}}",
        f"p = u8[{2**30},{2**30}] parameter(0) ROOT n = u8[{2**30},{2**30}] transpose(p), dimensions={{1,0}}",
        f"p = u8[{2**30},{2**30}] parameter(0) ROOT n = u8[{2**60}] reshape(p)",
        f"p = f32[{','.join(['2'] * 30)}] parameter(0) ROOT n = f32[{','.join(['2'] * 30)}] negate(p)",
        f"p = f32[{','.join(['1'] * 30)}] parameter(0) ROOT n = f32[] reshape(p)",
        'p = f32[2] parameter(0) ROOT n = (f32[2], (f32[2], token[]), ()) custom-call(p), custom_call_target="q"',
        "p = (f32[2], f32[3]) parameter(0) ROOT n = f32[3] get-tuple-element(p), index=1",
        "ROOT n = token[] after-all()",
        f"p = f32[4,4] parameter(0) ROOT n = f32[4,{4 * 40}] concatenate({', '.join(['p'] * 40)}), dimensions={{1}}",
    ],
)
def test_unusual_values_draw(text: str) -> None:
    module = hm.parse(f"HloModule m\nENTRY e {{ {text} }}")
    picture = hm.draw(module["n"])
    checked(picture)
    assert len(picture.svg) < 150_000 and len(str(picture)) < 30_000
    assert notebook_html(module["n"]) and notebook_html(module)
    if module["n"].shape.is_array and module["n"].operands:
        checked(hm.draw(hm.tile(module["n"])))
    for maps in hm.output_to_input(module["n"]) if module["n"].operands else ():
        checked(hm.draw(maps))


def test_undefined_and_empty_maps_draw() -> None:
    for m in (
        hm.IndexingMap.undefined([3]),
        hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 3], d0 * 2 in [8, 9]"),
        hm.IndexingMap.parse("(d0) -> (d0 - 5), domain: d0 in [-4, 3]"),
        hm.IndexingMap.parse("() -> ()"),
        hm.IndexingMap.identity([0, 2]),
        hm.IndexingMap.identity([2**62] * 300),
        hm.IndexingMap([10**6], [hm.Expr.dim(0) * k for k in range(200)]),
        hm.IndexingMap([(-(2**63), 2**63 - 1)], [hm.Expr.dim(0)]),
        hm.IndexingMap([1000] * 12, [sum((hm.Expr.dim(i) * (i + 3) // 7 for i in range(12)), hm.Expr.constant(0))] * 6),
    ):
        checked(hm.draw(m))
        checked(hm.draw(hm.MapSet([m])))
    checked(hm.draw(hm.MapSet()))
    checked(hm.draw(hm.MapSet([hm.IndexingMap([(k, k)], [hm.Expr.dim(0) + k]) for k in range(1200)])))


HOSTILE = "<script>alert(1)</script>]]>\x1b[31m\u202e\x00\ufffe\"'&"


def test_hostile_texts_stay_text() -> None:
    # A name of HLO cannot be markup, metadata and targets can.
    quoted = HOSTILE.replace('"', '\\"').replace("\x00", "")
    module = hm.parse(
        f'HloModule m\nENTRY e {{ p = f32[2,3] parameter(0), metadata={{op_name="{quoted}"}}\n'
        f' c = f32[2,3] custom-call(p), custom_call_target="{quoted}", metadata={{op_name="{quoted}"}}\n'
        " ROOT t = f32[3,2] transpose(p), dimensions={1,0} }"
    )
    check = replace(hm.verify(module["t"])[0], reason=HOSTILE)
    unknown = hm.MapSet.unknown(HOSTILE)
    for picture in (hm.draw(module["t"]), hm.draw(module["c"]), hm.draw(module), hm.draw(check), hm.draw(unknown)):
        checked(picture)
        for text in (picture.svg, str(picture), repr(picture)):
            assert not re.search("[\x00\x1b\u202e\ufffe]", text)
        assert "<script" not in picture.svg
    for value in (module["t"], module["c"], module, check, hm.analyze(module)):
        page = notebook_html(value)
        assert page and "<script" not in page and not re.search("[\x00\x1b\u202e\ufffe]", page)
        ElementTree.fromstring(page)


def test_an_explained_element_is_drawn() -> None:
    picture = hm.draw(hm.explain(DOT["y"], (3, 1)))
    assert "element (3, 1) is lit" in str(picture)
    assert picture.svg == hm.draw(DOT["y"], element=(3, 1)).svg


def test_maps_alone_do_not_claim_a_direction() -> None:
    """A set from input to output looks like one from output to input: neither array has a name, and nothing is read."""
    module = hm.parse("ENTRY e { p = f32[4,4] parameter(0) ROOT t = f32[4,4] transpose(p), dimensions={1,0} }")
    (forward,), (backward,) = hm.input_to_output(module["t"]), hm.output_to_input(module["t"])
    assert hm.draw(forward).svg == hm.draw(backward).svg and "read" not in hm.draw(forward).svg
    assert str(hm.draw(forward)).splitlines()[2].split() == ["from", "to"]


def test_planes_with_something_lit_are_in_the_text() -> None:
    """Of many planes those that are read come first, and a mark stands where planes are left out."""
    text = str(hm.draw(SUM["s"], element=(4,)))
    assert "… [4, 0, :, :]" in text and "… [4, 8, :, :]" in text and "\n" + " " * 31 + "0 ████████████" in text
    (width, height) = map(int, re.findall(r'(?:width|height)="(\d+)"', hm.draw(SUM["s"]).svg)[:2])
    assert width < 1200 and height < 1200


def test_a_whole_array_is_a_line() -> None:
    """Also an array of which a part is drawn, but only where a map proves that it reads the rest."""
    assert str(hm.draw(SUM["t"])).count("██ every element") == 1
    partly = hm.IndexingMap.parse("()[s0] -> (s0), domain: s0 in [0, 99], s0 mod 50 in [0, 47]")
    text = str(hm.draw(hm.MapSet([partly, hm.IndexingMap.parse("() -> (0)")])))
    assert "every element" not in text and "██████" in text


def test_slices_without_their_start() -> None:
    """A dictionary of sets does not know the array at which its maps start; sets of several arrays have no picture."""
    found = hm.backward_slice(CHAIN["t"])
    assert str(hm.draw(dict(found), element=(2, 3))).splitlines()[2].split() == ["from", "x", "w.1"]
    checked(hm.draw({}))
    both = hm.parse("ENTRY e { p = f32[3] parameter(0) q = f32[2] parameter(1) ROOT t = (f32[3], f32[2]) tuple(p, q) }")
    assert "p" in str(hm.draw(hm.backward_slice(both["t"], 0))) and "q" in str(hm.draw(hm.indexing(both["t"], 1)))
    for ask in (hm.backward_slice, hm.indexing):
        with pytest.raises(hm.errors.UnsupportedError, match="several arrays: choose one with `output`"):
            hm.draw(ask(both["t"], ()))


def test_a_picture_is_written_as_svg(tmp_path: Path) -> None:
    picture = hm.draw(DOT["y"])
    picture.write(tmp_path / "reads.svg")
    assert (tmp_path / "reads.svg").read_bytes() == picture.svg.encode()


def test_every_class_shows_itself() -> None:
    """Compiled classes, too: a notebook asks the value, not a function."""
    m = hm.output_to_input(DOT["y"])[0][0]
    assert m._repr_svg_() == notebook_svg(m) == hm.draw(m).svg
    for value in (DOT, DOT["y"]):
        assert value._repr_html_() == notebook_html(value)


def test_styles_stay_in_the_picture() -> None:
    """Every rule names the class of the picture, for light and for dark: a page with one inside keeps its own style."""
    style = render_map_svg(explanation_scene(hm.explain(DOT["y"]), None, None)).split("<style>")[1].split("</style>")[0]
    assert "@media (prefers-color-scheme:dark){" in style
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", style.replace("@media (prefers-color-scheme:dark){", ""))
    assert selectors and all(part.startswith(".hlomap ") for s in selectors for part in s.split(","))


# ----------------------------------------------------------------------------------------------------------- arguments


def test_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A converter gets the light scheme alone; without one the error says what to install."""
    picture = hm.Shape.parse("f32[3,5]").draw()
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    for ask in (picture.png, lambda: picture.write(tmp_path / "a.png")):
        with pytest.raises(hm.errors.UnsupportedError, match=r"pip install 'hlomap\[png\]'"):
            ask()
    assert not list(tmp_path.iterdir())
    given: list[bytes] = []

    def convert(bytestring: bytes, scale: float) -> bytes:
        given.append(bytestring)
        return b"PNG %g" % scale

    monkeypatch.setitem(sys.modules, "cairosvg", SimpleNamespace(svg2png=convert))
    picture.write(tmp_path / "a.PNG")
    assert (tmp_path / "a.PNG").read_bytes() == b"PNG 2" and picture.png(scale=1) == b"PNG 1"
    ElementTree.fromstring(given[0].decode())
    assert b"@media" not in given[0] and b"@media" in picture.svg.encode()


def test_pictures_have_alternative_texts() -> None:
    """Also where a page embeds them as files; lines of a sentence that is wrapped are joined by spaces."""
    text = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\nENTRY e {\n"
    text += " a_long_name_of_a_parameter = f32[29,31] parameter(0)\n z = f32[] constant(0)\n"
    text += " ROOT windows = f32[29,31] reduce-window(a_long_name_of_a_parameter, z), "
    text += "window={size=3x5 pad=1_1x2_2}, to_apply=add }"
    root = hm.parse(text).entry.root
    picture = hm.draw(root)
    assert hm.explain(root).sentence in unescape(picture.svg.split("<desc>")[1].split("</desc>")[0])
    data, metadata = picture._repr_mimebundle_()
    assert metadata == {"image/svg+xml": {"alt": picture.title}} and data["image/svg+xml"] == picture.svg
