"""Writes the gallery: pictures, each drawn at build time by the lines under it."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

import hlomap as hm

# Title, what there is to see, and the lines that draw it; the last one is the picture.
PICTURES = [
    (
        "What a tile of a product reads",
        "The tile of `y` that holds element (3, 4), and the rows and columns that it needs. Greys count reads.",
        'module = hm.parse("""ENTRY e {\n'
        "  x = f32[6,12] parameter(0)\n"
        "  w = f32[12,9] parameter(1)\n"
        "  ROOT y = f32[6,9] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        '}""")\n'
        'hm.draw(module["y"], element=(3, 4), tile=(2, 3))',
    ),
    (
        "A convolution, plane by plane",
        "A window at the border reads fewer elements: the padding has none.",
        'module = hm.parse("""ENTRY e {\n'
        "  x = f32[1,9,10,2] parameter(0)\n"
        "  k = f32[3,3,2,4] parameter(1)\n"
        "  ROOT c = f32[1,9,10,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
        '}""")\n'
        'hm.draw(module["c"], element=(0, 0, 5, 1))',
    ),
    (
        "A slice whose start is not known",
        "Elements that may be read, depending on a value at run time, have a stroke. Zigzags cut long axes.",
        'module = hm.parse("""ENTRY e {\n'
        "  x = f32[64,40] parameter(0)\n"
        "  i = s32[] parameter(1)\n"
        "  z = s32[] constant(0)\n"
        "  ROOT s = f32[8,40] dynamic-slice(x, i, z), dynamic_slice_sizes={8,40}\n"
        '}""")\n'
        'hm.draw(module["s"])',
    ),
    (
        "A map alone",
        "Windows of six that move by four: two of every four elements are read twice.",
        'hm.draw(hm.IndexingMap.parse("(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 9], s0 in [0, 5]"))',
    ),
    (
        "A tiling",
        "One tile of the output in one step of the contraction.",
        'module = hm.parse("""ENTRY e {\n'
        "  x = f32[8,16] parameter(0)\n"
        "  w = f32[16,32] parameter(1)\n"
        "  ROOT y = f32[8,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        '}""")\n'
        'hm.draw(hm.tile(module["y"]), tile=(4, 8, 4), element=(4, 16, 4))',
    ),
    (
        "A loop",
        "What each iteration does with every array that it carries.",
        'module = hm.load("tests/cases/modules/while_simple.hlo")\n'
        'hm.draw(hm.loop(next(i for i in module.entry if i.opcode == "while")))',
    ),
    (
        "Bytes that a module moves",
        "The instructions that read and write the most.",
        'hm.draw(hm.load("tests/cases/modules/attention_causal.hlo"))',
    ),
    (
        "Two stages of a module",
        "The bytes before and after, and of the operations that changed.",
        'dump = hm.DumpDirectory("tests/cases/dumps")\nhm.draw(hm.diff(dump[7], dump[8]))',
    ),
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
