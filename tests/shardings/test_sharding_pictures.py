"""Pictures of shardings."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import hlomap as hm

SVG = "{http://www.w3.org/2000/svg}"


def picture(text: str, sizes: list[int], num_devices: int | None = None) -> str:
    return str(hm.draw(hm.hlo.Sharding.parse(text), hm.Shape("f32", sizes), num_devices=num_devices))


def test_tiles_and_devices() -> None:
    assert picture("{devices=[2,3]<=[6]}", [10, 8]) == (
        "f32[10,8] {devices=[2,3]<=[6]}\n"
        "6 tiles of [5,3], 60 bytes, on 1 device each\n"
        "\n"
        "array: the devices of each tile\n"
        "     0:3 │ 3:6 │ 6:8\n"
        " 0:5   0 │   1 │   2\n"
        "    ─────┼─────┼────\n"
        "5:10   3 │   4 │   5"
    )


def test_planes_and_what_is_left_out() -> None:
    planes = picture("{devices=[32,1,2]<=[64]}", [64, 8, 8])
    assert "   [0:2,:,:]\n" in planes and "   … and 24 more like these" in planes
    assert "4032:4096  63" in picture("{devices=[64,1]<=[64]}", [4096, 8])
    assert "0,1,2,3,…" in picture("{replicated}", [8, 8], 16)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("{replicated}", "[4,4], 64 bytes, on all devices"),
        ("{maximal device=3}", "[4,4], 64 bytes, on 1 device"),
        (
            "{devices=[2,1,2]<=[4] last_tile_dims={manual}}",
            "2 tiles of [2,4], 32 bytes, on 2 devices each; devices have",
        ),
    ],
)
def test_facts(text: str, facts: str) -> None:
    assert picture(text, [4, 4]).splitlines()[1].startswith(facts)


def test_svg_has_a_cell_for_each_tile() -> None:
    sharding = hm.hlo.Sharding.parse("{devices=[2,4]<=[2,2,2]T(2,1,0)}")
    tree = ElementTree.fromstring(hm.draw(sharding, hm.Shape("f32", [64, 32])).svg)
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert texts[:2] == [
        "f32[64,32] {devices=[2,4]<=[2,2,2]T(2,1,0)}",
        "8 tiles of [32,8], 1,024 bytes, on 1 device each",
    ]
    assert sorted(text for text in texts if re.fullmatch(r"\d", text or "")) == list("01234567")  # type: ignore[type-var]
    colours = {rect.get("class") for rect in tree.iter(f"{SVG}rect")} - {"paper"}
    assert len(colours) == 8


def test_shapes_and_layouts_have_pictures_too() -> None:
    shape = hm.Shape.parse("f32[2,3]{0,1}")
    assert str(hm.draw(shape)) == str(shape.draw())
    with pytest.raises(hm.errors.UnsupportedError, match="cannot be drawn: the sharding is not decided yet"):
        picture("{unknown}", [4])
