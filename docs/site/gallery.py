"""Writes the gallery: pictures, each drawn at build time by the lines under it."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

import hlomap as hm

# Title, what there is to see, and the lines that draw it; the last one is the picture.
PICTURES = [
    (
        "A padded, tiled layout",
        "Tiles of 2 by 2 do not divide an array of 3 by 5: nine of 24 positions are padding.",
        'hm.draw(hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"))',
    ),
    (
        "Tiles in tiles",
        "Two rows of 16-bit elements share a row of 32-bit words, as on a TPU, in tiles small enough to see.",
        'hm.draw(hm.Shape.parse("bf16[4,8]{1,0:T(4,4)(2,1)}"))',
    ),
    (
        "Column-major",
        "`{0,1}`: dimension 0 is the minor one.",
        'hm.draw(hm.Shape.parse("f32[4,6]{0,1}"))',
    ),
    (
        "A sharding over two axes of a mesh",
        "Eight devices hold four tiles; each tile is on two of them.",
        'sharding = hm.hlo.Sharding.parse("{devices=[2,2,2]<=[4,2]T(1,0) last_tile_dim_replicate}")\n'
        'hm.draw(sharding, hm.Shape.parse("f32[10,6]"))',
    ),
    (
        "A sharding that does not divide",
        "Seven rows over four devices: the last one holds a single row.",
        'hm.draw(hm.hlo.Sharding.parse("{devices=[4,1]<=[4]}"), hm.Shape.parse("f32[7,3]"))',
    ),
]


def on_files(files: Files, config: Any) -> Files:
    """Adds the page and its pictures, which are not in the tree."""
    lines = [
        "# Gallery",
        "",
        "Each picture is drawn by the lines under it; in a notebook, the value of a cell shows itself.",
        "",
    ]
    for number, (title, text, code) in enumerate(PICTURES):
        image = f"images/gallery_{number}.svg"
        files.append(File.generated(config, image, content=_draw(code).svg))
        lines += [f"## {title}", "", text, "", f"![{title}]({image})", "", "```python", code, "```", ""]
    files.append(File.generated(config, "gallery.md", content="\n".join(lines)))
    return files


def _draw(code: str) -> Any:
    """The value of the last line, as in a notebook."""
    *before, last = code.splitlines()
    space: dict[str, Any] = {"hm": hm}
    exec("\n".join(before), space)
    return eval(last, space)
