"""Layouts by example: documented positions, text and fields, errors, parts, conversions, pictures, the command."""

from __future__ import annotations

import copy
import pickle
import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support.layout_reference import indices, positions, random_shape

import hlomap as hm
from hlomap.base.answers import Unknown
from hlomap.base.dtypes import element_types, numpy_dtype
from hlomap.cli.main import main

S = hm.Shape.parse

# ------------------------------------------------------------------------------------------------------ text and fields

EVERYTHING = "{0,1:D(D,C)T(8,128)(*,2,1)L(1024)#(u32)*(u8)E(16)S(5)SC(0:1,2)(1:7)P(s8[64]{0})M(32)}"


def test_fields_agree_with_the_text() -> None:
    built = hm.Layout(
        [0, -1],
        tiles=[(8, 128), (None, 2, 1)],
        tail_padding_alignment=1024,
        element_size_in_bits=16,
        memory_space=5,
        split_configs=[(0, [1, 2]), (-1, [7])],
        dim_level_types="D,C",
        index_type="u32",
        pointer_type="u8",
        physical_shape=S("s8[64]{0}"),
        dynamic_shape_metadata_prefix_bytes=32,
    )
    assert str(built) == EVERYTHING and built == hm.Layout.parse(EVERYTHING)
    assert built.replace() == built and built.problem is None
    assert built.tiles == ((8, 128), (None, 2, 1)) and built.split_configs == ((0, (1, 2)), (1, (7,)))
    assert (built.physical_shape, built.index_type, built.dim_level_types) == (S("s8[64]{0}"), "u32", "D,C")
    assert built.dynamic_shape_metadata_prefix_bytes == 32 and built.pointer_type == "u8"
    assert built.replace(tiles=[]) != built


@pytest.mark.parametrize(
    ("text", "leaves", "n_bytes"),
    [
        ("f32[3,5]{1,0:T(2,2)}", {(): "f32[3,5]{1,0:T(2,2)}"}, 96),
        ("token[]", {(): "token[]"}, 0),
        ("opaque[]", {(): "opaque[]"}, 0),
        ("b(bf16[7])", {(): "b(bf16[7])"}, 14),
        ("()", {}, 0),
        ("(f32[2], ())", {(0,): "f32[2]"}, 8),
        ("(s4[3]{0:E(4)}, (s4[3], token[]))", {(0,): "s4[3]{0:E(4)}", (1, 0): "s4[3]", (1, 1): "token[]"}, 5),
        ("((f32[0], b(f64[2])), f32[3]{0:S(5)})", {(0, 0): "f32[0]", (0, 1): "b(f64[2])", (1,): "f32[3]{0:S(5)}"}, 28),
    ],
)  # fmt: skip
def test_leaves_and_their_bytes(text: str, leaves: dict[tuple[int, ...], str], n_bytes: int) -> None:
    shape = S(text)
    assert {index: str(leaf) for index, leaf in shape.leaves()} == leaves
    assert all(shape.at(index) == leaf for index, leaf in shape.leaves())
    assert shape.buffer_bytes == n_bytes == sum(leaf.buffer_bytes for _, leaf in shape.leaves())


def test_bytes_of_a_tuple_are_refused_as_those_of_its_arrays() -> None:
    with pytest.raises(hm.errors.ShapeError, match="bounded"):
        _ = S("(f32[2], (f32[?], s8[]))").buffer_bytes
    with pytest.raises(hm.errors.SizeError):
        _ = S("(s8[9223372036854775807], s8[1])").buffer_bytes
    assert S("(s8[9223372036854775806], s8[1])").buffer_bytes == 2**63 - 1


def test_dtypes_of_numpy() -> None:
    for name in element_types():
        found = S(f"{name}[2,3]{{0,1}}").numpy_dtype
        assert found == numpy_dtype(name) and np.zeros(1, found).dtype == found
    names = [S(f"{name}[]").numpy_dtype.name for name in ("pred", "s32", "c64", "bf16", "u4", "f8e4m3fn")]
    assert names == ["bool", "int32", "complex64", "bfloat16", "uint4", "float8_e4m3fn"]
    assert S("b(f32[2])").numpy_dtype == np.float32
    for text in ("(f32[2])", "token[]", "opaque[]", "()"):
        with pytest.raises(hm.errors.ShapeError, match="expected an array"):
            _ = S(text).numpy_dtype


def test_padded_dimensions_are_part_of_equality_and_pickle() -> None:
    layout = hm.Layout([1, 0], padded_dimensions=[3, 5])
    assert layout != hm.Layout([1, 0]) and "padded_dimensions=[3, 5]" in repr(layout)
    shape = hm.Shape.tuple([hm.Shape("f32", [2, 3], layout), S("token[]"), hm.Shape.tuple([S("s32[<=4]{0}")])])
    for value in (layout, shape, S(f"f32[2,300]{EVERYTHING}")):
        assert pickle.loads(pickle.dumps(value)) == value and copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(shape)).tuple_shapes[0].layout.padded_dimensions == (3, 5)


def test_parts_of_a_split_array() -> None:
    shape = S("f32[5,6]{0,1:T(2,2)SC(0:2,3)(1:4)}")
    assert len(shape.parts) == 6
    array = np.arange(30, dtype=np.float32).reshape(5, 6)
    seen = 0
    for number, (start, part) in enumerate(shape.parts):
        inside = tuple(slice(i, i + n) for i, n in zip(start, part.dimensions, strict=True))
        buffer = hm.layouts.pack(array[inside], part, fill=-1)
        there = hm.layouts.linear_index(shape, part=number)
        back = hm.layouts.logical_index(shape, part=number)
        points = indices(part.dimensions) + start
        assert (buffer[there.evaluate(points)[:, 0]] == array[inside].reshape(-1)).all()
        assert (back.evaluate(there.evaluate(points)) == points).all()
        assert there.then(back).equivalent(there.then(back)).value
        assert back.in_domain(np.arange(len(buffer)).reshape(-1, 1)).sum() == len(points)
        seen += len(points)
    assert seen == 30
    with pytest.raises(hm.errors.ShapeError, match="expected a part number below 6, found 6"):
        hm.layouts.linear_index(shape, part=6)


# ---------------------------------------------------------------------------------------------------------- operations


def test_physical_maps_through_tiles() -> None:
    """Physical maps relate positions as the logical maps relate indices, without padding on either side."""
    module = hm.parse(
        """HloModule m
ENTRY e {
  p = f32[3,5]{1,0:T(2,2)} parameter(0)
  t = f32[5,3]{1,0:T(4,2)} transpose(p), dimensions={1,0}
  n = f32[5,3]{0,1:T(2,2)(2,1)} negate(t)
  b = f32[2,5,3]{2,1,0:T(*,3,2)} broadcast(n), dimensions={1,2}
  ROOT s = f32[2,2,3]{2,1,0:T(2,2)} slice(b), slice={[0:2],[1:5:2],[0:3]}
}"""
    )
    for name in "tnbs":
        instruction = module[name]
        source, target = instruction.shape, instruction.operands[0].shape
        (logical,), (there,) = hm.output_to_input(instruction), hm.output_to_input(instruction, physical=True)
        (back,) = hm.input_to_output(instruction, physical=True)
        points = indices(source.dimensions)
        expected = set(zip(positions(source)[0].tolist(), _at(target, logical[0].evaluate(points)), strict=True))
        all_positions = np.arange(source.buffer_elements).reshape(-1, 1)
        (m,) = there
        held = m.in_domain(all_positions)
        assert (
            set(zip(all_positions[held, 0].tolist(), m.evaluate(all_positions[held])[:, 0].tolist(), strict=True))
            == expected
        )
        found = set()
        for m in back:
            ranges = indices(tuple(v.upper - v.lower + 1 for v in m.ranges))
            for position in range(target.buffer_elements):
                at = np.full((len(ranges), 1), position)
                inside = m.in_domain(at, ranges)
                found |= {(int(o), position) for o in m.evaluate(at[inside], ranges[inside])[:, 0]}
        assert found == expected


def _at(shape: hm.Shape, points: np.ndarray) -> list[int]:
    return [int(p) for p in np.atleast_1d(hm.layouts.ravel_index(shape, points))]


def test_bitcasts_as_transpose_reshape_transpose() -> None:
    rng = random.Random(8)
    for _ in range(60):
        a, b = (hm.Shape("s32", rng.sample(s, 3), hm.Layout(rng.sample(range(3), 3))) for s in ([2, 6, 4], [3, 8, 2]))
        factors = hm.layouts.decompose_bitcast(a, b)
        assert not isinstance(factors, Unknown)
        array = np.arange(48, dtype=np.int32).reshape(a.dimensions)
        moved = array.transpose(factors.operand_permutation)
        assert moved.shape == factors.operand_sizes
        moved = moved.reshape(factors.output_sizes).transpose(np.argsort(factors.output_permutation))
        assert (moved == hm.layouts.unpack(hm.layouts.pack(array, a), b)).all()
    ones = hm.layouts.decompose_bitcast(hm.Shape.parse("f32[1,6,1]{0,2,1}"), hm.Shape.parse("f32[3,2]"))
    assert ones == ((0, 1, 2), (1, 6, 1), (3, 2), (0, 1))
    widths = hm.layouts.decompose_bitcast(hm.Shape.parse("s4[8]{0:E(4)}"), hm.Shape.parse("s4[8]"))
    assert isinstance(widths, Unknown)


# ------------------------------------------------------------------------------------------------------------- pictures

DRAWN = [
    "f32[3,5]{1,0:T(2,2)}",
    "bf16[4,8]{1,0:T(2,4)(2,1)}",
    "f32[8,16]{1,0:T(4,4)}",
    "f32[1000,1000]{0,1:T(8,128)}",
    "f32[2,3,4]{2,1,0:T(2,2)}",
    "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}",
    "f32[7]{0:T(4)L(16)}",
    "f32[5]{0:T(2,2)}",
    "f32[0,5]{1,0:T(2,2)}",
    "s32[]",
    "s8[9223372036854775807]",
]


@pytest.mark.parametrize("text", DRAWN)
def test_pictures_agree_with_the_maps(text: str) -> None:
    shape = S(text)
    picture = shape.draw()
    root = ET.fromstring(picture.svg)
    written = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert text in written and len(written) < 900
    lines = str(picture).splitlines()
    assert lines[0] == text and all(len(line) < 200 for line in lines) and len(lines) < 120
    shown = (
        [line.split(":", 1) for line in lines[lines.index(next(x for x in lines if x.startswith("memory"))) + 1 :]]
        if shape.buffer_elements
        else []
    )
    for start, *rest in shown:
        for i, cell in enumerate("".join(rest).replace("│", " ").split()):
            position = int(start) + i
            if cell == "·":
                assert not hm.layouts.logical_index(shape).in_domain([[position]])[0]
            else:
                index = tuple(int(x) for x in cell.strip("()").split(",") if x)
                assert hm.layouts.ravel_index(shape, index) == position


def test_notebook_pictures() -> None:
    assert "svg" in (S("f32[3,5]{1,0:T(2,2)}")._repr_svg_() or "")
    assert S("(f32[2], f32[3])")._repr_svg_() is None and S("f32[3]{0:T(0)}")._repr_svg_() is None
    assert "svg" in (hm.Layout.parse("{1,0:T(8,128)(2,1)}")._repr_svg_() or "")
    assert "[3,5]" in str(hm.Layout.parse("{1,0:T(2,2)}").draw([3, 5]))
    assert "padded to [3, 5]" in str(hm.Shape("f32", [2, 3], hm.Layout([0, 1], padded_dimensions=[3, 5])).draw())
    rng = random.Random(10)
    for _ in range(60):
        shape = random_shape(rng, largest=5000)
        assert shape.draw().svg.count("<text") > 1 and str(shape.draw())
        layout = shape.layout
        assert layout is None or layout.draw().svg


IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("layout_tiles", "f32[3,5]{1,0:T(2,2)}"),
        ("layout_repeated_tiles", "bf16[4,8]{1,0:T(2,4)(2,1)}"),
        ("layout_large", "bf16[1000,1000]{1,0:T(8,128)(2,1)}"),
    ],
)
def test_images_in_the_documentation_are_up_to_date(name: str, text: str) -> None:
    from conftest import BLESS

    file = IMAGES / f"{name}.svg"
    if BLESS:
        file.write_text(S(text).draw().svg, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == S(text).draw().svg


# ------------------------------------------------------------------------------------------------------------- command


def test_the_command_prints_the_documented_output(tmp_path: Path) -> None:
    text = (IMAGES.parent / "layouts.md").read_text(encoding="utf-8")
    ((arguments, shown),) = re.findall(r'^```console\n\$ hlomap layout "(.*?)"\n(.*?)^```', text, re.M | re.S)
    file = tmp_path / "picture.svg"
    result = CliRunner().invoke(main, ["layout", arguments, "--svg", str(file)])
    assert (result.exit_code, result.stdout) == (0, shown) and ET.parse(file)
