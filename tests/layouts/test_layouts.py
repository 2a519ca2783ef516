"""Layouts by example: documented positions, text and fields, errors, parts, conversions, pictures, the command."""

from __future__ import annotations

import copy
import pickle
import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from support.layout_reference import indices, positions, random_shape

import hlomap as hm
from hlomap.answers import Unknown
from hlomap.cli.main import main
from hlomap.layouts import bridges
from hlomap.layouts.bridges import CuteLayout, LinearLayout

S = hm.Shape.parse

# ------------------------------------------------------------------------------------------------- documents' numbers


def test_positions_from_the_documentation() -> None:
    shape = S("f32[3,5]{1,0:T(2,2)}")
    assert hm.ravel_index(shape, (2, 3)) == 17 and shape.buffer_elements == 24
    figure = hm.unpack(np.arange(32), S("s64[4,8]{1,0:T(2,4)(2,1)}")).tolist()
    assert figure == [
        [0, 2, 4, 6, 8, 10, 12, 14],
        [1, 3, 5, 7, 9, 11, 13, 15],
        [16, 18, 20, 22, 24, 26, 28, 30],
        [17, 19, 21, 23, 25, 27, 29, 31],
    ]
    combined, plain = S("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"), S("f32[112,110]{1,0:T(2,3)}")
    every = np.arange(12320, dtype=np.float32)
    assert (hm.pack(every.reshape(2, 7, 8, 11, 10), combined) == hm.pack(every.reshape(112, 110), plain)).all()
    letters = np.frombuffer(b"abcdef", np.uint8).reshape(2, 3)
    packed = hm.pack(letters, hm.Layout([0, 1], padded_dimensions=[3, 5]), fill=ord("0"))
    assert packed.tobytes() == b"ad0be0cf0000000"
    assert hm.pack(np.array([1, 2], ml_dtypes.int4), "{0:E(4)}").tobytes() == b"\x21"


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


def test_padded_dimensions_are_part_of_equality_and_pickle() -> None:
    layout = hm.Layout([1, 0], padded_dimensions=[3, 5])
    assert layout != hm.Layout([1, 0]) and "padded_dimensions=[3, 5]" in repr(layout)
    shape = hm.Shape.tuple([hm.Shape("f32", [2, 3], layout), S("token[]"), hm.Shape.tuple([S("s32[<=4]{0}")])])
    for value in (layout, shape, S(f"f32[2,300]{EVERYTHING}")):
        assert pickle.loads(pickle.dumps(value)) == value and copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(shape)).tuple_shapes[0].layout.padded_dimensions == (3, 5)


def test_equality_and_other_forms() -> None:
    a, b, c = S("f32[2,3]"), S("f32[2,3]{1,0}"), S("f32[2,3]{0,1}")
    assert a != b and a.equals(b, layout="meant") and not a.equals(c, layout="meant")
    assert b.equals(c, layout="ignored") and not b.equals(S("f32[3,2]"), layout="ignored")
    assert S("(f32[2]{0}, s8[])").without_layout() == S("(f32[2], s8[])")
    assert c.with_layout(None) == a and a.with_layout(c.layout) == c
    assert [c.size(0), c.size(-1), S("f32[?]").size(0)] == [2, 3, -1]
    with pytest.raises(ValueError, match=r"expected written, meant or ignored as .layout."):
        a.equals(b, layout="some")  # type: ignore[arg-type]
    physical = S("f32[3,5,7]{0,2,1:T(8,128)L(64)}").physical
    assert str(physical) == "f32[5,7,3]{2,1,0:T(8,128)L(64)}"
    assert str(physical.logical([0, -1, 1])) == "f32[3,5,7]{0,2,1:T(8,128)L(64)}"
    padded = hm.Shape("f32", [2, 3], hm.Layout([0, 1], padded_dimensions=[4, 5])).physical
    assert padded.dimensions == (3, 2) and padded.layout and padded.layout.padded_dimensions == (5, 4)
    assert str(S("s4[3,5]{1,0:T(2,2)E(4)}").tiled) == "s4[2,3,2,2]{3,2,1,0:E(4)}"


@pytest.mark.parametrize(
    ("text", "positions", "n_bytes", "percent"),
    [
        ("f32[]", 1, 4, 0),
        ("f32[0,7]{1,0:T(2,2)}", 0, 0, 0),
        ("pred[3]", 3, 3, 0),
        ("s4[3]", 3, 3, 0),
        ("s4[3]{0:E(4)}", 3, 2, 0),
        ("u2[9]{0:E(2)}", 9, 3, 0),
        ("c128[2]", 2, 32, 0),
        ("bf16[5,7]{1,0:T(8,128)(2,1)}", 1024, 2048, (1024 - 35) / 35 * 100),
        ("f32[7]{0:L(4)}", 8, 32, 100 / 7),
        ("f32[]{:T(4)}", 4, 16, 300),
        ("f32[<=6,2]", 12, 48, 0),
        ("f32[4]{0:M(32)}", 4, 16, 0),
        ("s8[9223372036854775807]", 2**63 - 1, 2**63 - 1, 0),
    ],
)
def test_sizes_of_buffers(text: str, positions: int, n_bytes: int, percent: float) -> None:
    shape = S(text)
    assert (shape.buffer_elements, shape.buffer_bytes) == (positions, n_bytes)
    assert shape.padding_percent == pytest.approx(percent)


def test_addresses() -> None:
    shape = S("s4[3,5]{0,1:T(4,2)E(4)}")
    at = hm.linear_index(shape).evaluate(indices((3, 5)))[:, 0]
    assert (hm.linear_index(shape, unit="bit").evaluate(indices((3, 5)))[:, 0] == at * 4).all()
    assert (hm.linear_index(shape, unit="byte").evaluate(indices((3, 5)))[:, 0] == at // 2).all()
    tuple_shape = S("(s32[], (f32[2,3]{0,1}, token[]))")
    assert hm.linear_index(tuple_shape, shape_index=(1, 0), unit="byte").evaluate([1, 2]) == [20]
    assert hm.logical_index(tuple_shape, shape_index=(1, 0)).evaluate([5]).tolist() == [1, 2]
    with pytest.raises(ValueError, match='expected element, byte or bit as `unit`, got "word"'):
        hm.linear_index(shape, unit="word")  # type: ignore[arg-type]


def test_parts_of_a_split_array() -> None:
    shape = S("f32[5,6]{0,1:T(2,2)SC(0:2,3)(1:4)}")
    assert len(shape.parts) == 6
    array = np.arange(30, dtype=np.float32).reshape(5, 6)
    seen = 0
    for number, (start, part) in enumerate(shape.parts):
        inside = tuple(slice(i, i + n) for i, n in zip(start, part.dimensions, strict=True))
        buffer = hm.pack(array[inside], part, fill=-1)
        there = hm.linear_index(shape, part=number)
        back = hm.logical_index(shape, part=number)
        points = indices(part.dimensions) + start
        assert (buffer[there.evaluate(points)[:, 0]] == array[inside].reshape(-1)).all()
        assert (back.evaluate(there.evaluate(points)) == points).all()
        assert there.then(back).equivalent(there.then(back)).value
        assert back.in_domain(np.arange(len(buffer)).reshape(-1, 1)).sum() == len(points)
        seen += len(points)
    assert seen == 30
    with pytest.raises(hm.errors.ShapeError, match="expected a part number below 6, found 6"):
        hm.linear_index(shape, part=6)


# --------------------------------------------------------------------------------------------------------------- errors

BAD_LAYOUTS = {
    "f32[3,5]{1,0:T(0,2)}": "tiles: expected positive sizes, found 0 in (0,2)",
    "f32[3,5]{1,0:T(2,-2)}": "tiles: expected positive sizes, found -2 in (2,-2)",
    "f32[3,5]{1,0:T(2,*)}": "tiles: expected a size as the last entry of (2,*), found `*`",
    "f32[3,5]{1,1}": "minor_to_major: dimension 1 appears twice",
    "f32[3,5]{2,0}": "minor_to_major: dimension 2 is out of range for rank 2",
    "f32[3,5]{1,0:L(0)}": "tail_padding_alignment: expected a positive number, found 0",
    "f32[3,5]{1,0:L(-4)}": "tail_padding_alignment: expected a positive number, found -4",
    "f32[3,5]{1,0:E(-4)}": "element_size_in_bits: expected 0 or more, found -4",
    "f32[3,5]{1,0:SC(2:1)}": "split_configs: physical dimension 2 is out of range for rank 2",
    "f32[3,5]{1,0:SC(0:2,1)}": "split_configs: expected positive increasing indices, found [2, 1]",
    "f32[3,5]{1,0:SC(0:3)}": "split_configs: index 3 is out of range for a dimension of size 3",
}


@pytest.mark.parametrize("text", BAD_LAYOUTS)
def test_invalid_layouts_parse_and_have_no_map(text: str) -> None:
    shape = S(text)
    assert str(shape) == text
    for ask in (hm.linear_index, hm.logical_index, lambda s: s.buffer_elements, lambda s: s.draw(), bridges.digits):
        with pytest.raises(hm.errors.ShapeError, match=re.escape(f"invalid layout: {BAD_LAYOUTS[text]}")):
            ask(shape)
    with pytest.raises(hm.errors.ShapeError, match=re.escape(BAD_LAYOUTS[text])):
        hm.pack(np.zeros((3, 5), np.float32), shape)
    module = f"HloModule m\nENTRY e {{\n  ROOT p = {text} parameter(0)\n}}\n"
    if "index 3" not in BAD_LAYOUTS[text]:
        assert [str(d.message) for d in hm.parse(module).diagnostics] == [f"invalid layout: {BAD_LAYOUTS[text]}"]


def test_errors_of_positions() -> None:
    shape = S("f32[3,5]{1,0:T(2,2)}")
    for index, message in [
        ((3, 0), "index 3 in dimension 0 lies outside"),
        ((0, -1), "index -1 in dimension 1 lies outside"),
        ([[0, 0], [0, 7]], "index 7 in dimension 1 of point 1 lies outside"),
    ]:
        with pytest.raises(hm.errors.DomainError, match=message):
            hm.ravel_index(shape, index)
    for position, message in [
        (24, "position 24 lies outside the 24 positions"),
        (-1, "position -1"),
        (9, "9 of .* padding"),
    ]:
        with pytest.raises(hm.errors.DomainError, match=message):
            hm.unravel_index(shape, position)
        with pytest.raises(hm.errors.DomainError, match=message):
            hm.unravel_index(shape, [0, position])
    with pytest.raises(hm.errors.ShapeError, match="expected 2 numbers for each point"):
        hm.ravel_index(shape, [1, 2, 3])
    with pytest.raises(TypeError, match="expected integers"):
        hm.ravel_index(shape, [1.5, 2])
    assert hm.ravel_index(S("f32[]"), ()) == 0 and hm.unravel_index(S("f32[]"), 0) == ()
    assert hm.ravel_index(shape, np.zeros((0, 2), np.int64)).shape == (0,)


def test_errors_of_buffers() -> None:
    shape = S("s4[3,5]{1,0:T(2,2)E(4)}")
    with pytest.raises(hm.errors.ShapeError, match=r"expected a buffer of 12 bytes for .*, found 13"):
        hm.unpack(bytes(13), shape)
    with pytest.raises(hm.errors.ShapeError, match=r"expected a buffer of 96 bytes for .*, found 8"):
        hm.unpack(np.zeros(2, np.float32), S("f32[3,5]{1,0:T(2,2)}"))
    with pytest.raises(hm.errors.ShapeError, match=r"expected an array of sizes \(3, 5\) for .*, found \(3, 4\)"):
        hm.pack(np.zeros((3, 4), ml_dtypes.int4), shape)
    with pytest.raises(hm.errors.ShapeError, match=r"expected an array of int4 for .*, found int8"):
        hm.pack(np.zeros((3, 5), np.int8), shape)
    with pytest.raises(hm.errors.ShapeError, match="fill: expected one element, found 2"):
        hm.pack(np.zeros((3, 5), np.float32), "{1,0}", fill=[1, 2])
    for dtype, fill in ((np.uint8, -1), (np.int32, 1.5), (np.int8, 128), (np.bool_, 2)):
        with pytest.raises(hm.errors.ShapeError, match="fill: expected an element of"):
            hm.pack(np.zeros((3, 5), dtype), "{1,0:T(2,2)}", fill=fill)
    with pytest.raises(hm.errors.ShapeError, match="element_size_in_bits: 4 bits cannot hold"):
        hm.pack(np.zeros(3, np.float32), "{0:E(4)}")
    with pytest.raises(hm.errors.UnsupportedError, match="no element type for arrays of"):
        hm.pack(np.zeros(3, "datetime64[s]"), "{0}")
    for wrong in ("token[]", "(f32[2])"):
        with pytest.raises(hm.errors.ShapeError, match="expected an array"):
            hm.linear_index(S(wrong))
    with pytest.raises(hm.errors.ShapeError, match="found an unbounded one"):
        hm.linear_index(S("f32[?]"))
    with pytest.raises(hm.errors.UnsupportedError, match="dim_level_types"):
        hm.linear_index(S("f32[3,5]{1,0:D(D,C)}"))
    with pytest.raises(hm.errors.SizeError):
        hm.linear_index(S("f32[9223372036854775807]{0:T(2)}"))
    with pytest.raises(hm.errors.SizeError):
        S("f32[9223372036854775807]").buffer_bytes  # noqa: B018
    with pytest.raises(hm.errors.ShapeError, match="dimensions: dimension 0 appears twice"):
        hm.layouts.transpose_is_bitcast(S("f32[3,5]"), S("f32[3,5]"), [0, 0])
    with pytest.raises(hm.errors.ShapeError, match="does not transpose"):
        hm.layouts.transpose_is_bitcast(S("f32[3,5]"), S("f32[3,5]"), [1, 0])


def test_layouts_that_exceed_memory_are_errors() -> None:
    many = hm.Layout.parse("{0:T" + "(2)" * 50_000 + "}")
    with pytest.raises(hm.errors.ShapeError, match="tiles: 50000 tiles add more than 65536 dimensions"):
        hm.linear_index(hm.Shape("f32", [4], many))
    with pytest.raises(hm.errors.ShapeError, match="bytes for 12 bytes of elements"):
        hm.pack(np.zeros(3, np.float32), f"{{0:T({2**34})}}")
    with pytest.raises(
        hm.errors.ShapeError, match=r"expected a buffer of 4611686018427387904 bytes for s8\[\d+\], found 3"
    ):
        hm.unpack(bytes(3), "s8[4611686018427387904]")
    assert hm.Layout.parse(f"{{1,0:T({2**62},{2**62})}}")._repr_svg_() is None
    with pytest.raises(hm.errors.ShapeError, match="expected at most 65536 parts, found"):
        cuts = ",".join(str(i) for i in range(1, 400))
        S(f"s8[400,400]{{1,0:SC(0:{cuts})(1:{cuts})}}").parts  # noqa: B018


def test_large_and_deep_layouts() -> None:
    """Rank 30, sizes near 2**63 and many tiles give a result or an error quickly."""
    rank = 30
    deep = hm.Shape("f32", [2] * rank, hm.Layout(list(range(rank)), tiles=[(2, 1, 2)] * 12))
    assert deep.buffer_elements == 2**30 and hm.linear_index(deep).evaluate([1] * rank) == [2**30 - 1]
    assert isinstance(bridges.to_cute(deep), CuteLayout)
    wide = S("s8[4611686018427387904,1]{1,0:T(2,1)}")
    assert hm.ravel_index(wide, (2**62 - 1, 0)) == 2**62 - 1 and "4,611,686,018,427,387,904" in str(wide.draw())
    assert hm.layouts.reshape_is_bitcast(wide, S("s8[4611686018427387904]")).value
    with pytest.raises(hm.errors.SizeError):
        hm.linear_index(S("s8[4611686018427387904]{0:T(2,1,3)}"))


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
    return [int(p) for p in np.atleast_1d(hm.ravel_index(shape, points))]


def test_instructions_that_are_bitcasts() -> None:
    module = hm.parse(
        """HloModule m
ENTRY e {
  p = f32[3,5]{1,0:T(2,2)} parameter(0)
  t = f32[5,3]{0,1:T(2,2)} transpose(p), dimensions={1,0}
  u = f32[5,3]{1,0:T(2,2)} transpose(p), dimensions={1,0}
  r = f32[3,1,5]{2,0,1:T(2,2)} reshape(p)
  c = f32[3,5]{1,0} copy(p)
  d = f32[3,5]{1,0:T(2,2)} copy(p)
  ROOT w = (f32[5,3], f32[5,3], f32[3,1,5], f32[3,5], f32[3,5]) tuple(t, u, r, c, d)
}"""
    )
    answers = {name: hm.is_bitcast(module[name]) for name in "turcd"}
    assert [answers[name].value for name in "turcd"] == [True, False, True, False, True]
    assert answers["c"].reason == "buffers of different sizes: f32[3,5]{1,0:T(2,2)} and f32[3,5]{1,0}"
    assert answers["u"].witness == (0, 1)  # an index, not a position
    assert hm.is_bitcast(module["p"]).reason == "p has no operands"
    undecided = hm.is_bitcast(module["w"])
    assert undecided.value is None and undecided.reason == "a value that is not an array"
    with pytest.raises(hm.errors.UndecidedError, match="not an array"):
        assert undecided
    with pytest.raises(hm.errors.ShapeError, match="no operand 1"):
        hm.is_bitcast(module["t"], 1)


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
        assert (moved == hm.unpack(hm.pack(array, a), b)).all()


# -------------------------------------------------------------------------------------------------------------- bridges


def test_conversions() -> None:
    """Layouts have the same positions in another notation."""
    rng = random.Random(9)
    seen = {"cute": 0, "strides": 0, "bits": 0}
    for _ in range(400):
        shape = random_shape(rng, largest=600)
        if rng.random() < 0.4:
            layout = hm.Layout(list(range(shape.rank)), tiles=[(2, 4), (2, 1)][: rng.randint(0, 2)])
            shape = hm.Shape("s32", [rng.choice([1, 2, 4, 8]) for _ in range(shape.rank)], layout)
        if shape.n_elements == 0:
            continue
        at, _ = positions(shape)
        cute = bridges.to_cute(shape)
        if isinstance(cute, CuteLayout):
            seen["cute"] += 1
            assert _of_cute(cute, shape.dimensions) == at.tolist()
        strides = bridges.to_strides(shape)
        if isinstance(strides, tuple):
            seen["strides"] += 1
            buffer = hm.pack(np.arange(len(at), dtype=np.int32).reshape(shape.dimensions), shape)
            view = np.lib.stride_tricks.as_strided(buffer, shape.dimensions, strides)
            assert (view.reshape(-1) == np.arange(len(at))).all()
        bits = bridges.to_linear_layout(shape)
        if isinstance(bits, LinearLayout):
            seen["bits"] += 1
            for position in range(len(at)):
                index = np.zeros(shape.rank, np.int64)
                for b, basis in enumerate(bits.bases):
                    index ^= np.array(basis, np.int64) * (position >> b & 1)
                assert hm.unravel_index(shape, position) == tuple(index)
    assert min(seen.values()) > 20, seen


def _of_cute(layout: CuteLayout, sizes: tuple[int, ...]) -> list[int]:
    """The value of a CuTe layout at every coordinate, the first digit of each mode fastest."""

    def mode(n: int, shape: bridges.Nested, stride: bridges.Nested) -> int:
        if isinstance(shape, int):
            assert isinstance(stride, int)
            return n * stride
        total = 0
        assert isinstance(stride, tuple)
        for s, d in zip(shape, stride, strict=True):
            assert isinstance(s, int)
            total += mode(n % s, s, d)
            n //= s
        return total

    assert isinstance(layout.shape, tuple) and isinstance(layout.stride, tuple)
    return [
        sum(mode(int(i), s, d) for i, s, d in zip(index, layout.shape, layout.stride, strict=True))
        for index in indices(sizes)
    ]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (lambda: bridges.to_strides(S("s4[8]{0:E(4)}")), "elements of 4 bits"),
        (lambda: bridges.to_linear_layout(S("f32[4]{0:T(8)}")), "4 positions are padding"),
    ],
)
def test_layouts_without_a_conversion(found: object, reason: str) -> None:
    answer = found()  # type: ignore[operator]
    assert isinstance(answer, Unknown) and re.match(reason, answer.reason), answer


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
                assert not hm.logical_index(shape).in_domain([[position]])[0]
            else:
                index = tuple(int(x) for x in cell.strip("()").split(",") if x)
                assert hm.ravel_index(shape, index) == position


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


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["f32[3"], 1, "expected `,` or `]`"),
        (["f32[3,5]{1,0:T(0,2)}"], 1, "invalid layout: tiles: expected positive sizes, found 0"),
        (["token[]"], 1, "expected an array"),
        (["(f32[2], s8[])", "--shape-index", "2"], 1, "no element 2"),
        (["(f32[2], s8[])", "--shape-index", "x"], 2, "expected comma-separated integers"),
        (["f32[2]", "--svg", "no/such/folder/x.svg"], 1, "No such file"),
        (["f32[2]", "--positions", "-1"], 2, "positions"),
    ],
)
def test_errors_of_the_command(arguments: list[str], code: int, message: str) -> None:
    result = CliRunner().invoke(main, ["layout", *arguments])
    assert result.exit_code == code and message in result.output


def test_the_command_without_a_picture() -> None:
    result = CliRunner().invoke(main, ["layout", "(s8[], f32[0,4])", "--shape-index", "1", "--no-picture"])
    assert result.exit_code == 0 and "positions  0" in result.stdout and "array:" not in result.stdout
    result = CliRunner().invoke(main, ["layout", "s4[9]{0:E(4)SC(0:3)}", "--positions", "2", "--no-picture"])
    assert "bit " in result.stdout and "part 1" in result.stdout and "(0,)  (1,)  … 7 more" in result.stdout
