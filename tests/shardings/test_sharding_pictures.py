"""Pictures of shardings."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import hlomap as hm

SVG = "{http://www.w3.org/2000/svg}"


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
