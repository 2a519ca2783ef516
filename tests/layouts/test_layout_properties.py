"""Random layouts against a NumPy reference: maps in both directions, buffers, strides, bitcasts."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from support.layout_reference import indices, positions, random_shape

import hlomap as hm

# The number of layouts; HLOMAP_LAYOUTS=20000 checks more.
N = int(os.environ.get("HLOMAP_LAYOUTS", "400"))


def describe(shape: hm.Shape) -> str:
    return f"{shape!r} {shape.layout!r}"


def test_maps() -> None:
    rng = random.Random(1)
    for _ in range(N):
        shape = random_shape(rng)
        at, held = positions(shape)
        points = indices(shape.dimensions)
        assert shape.buffer_elements == len(held), describe(shape)
        if shape.n_elements == 0:
            assert hm.layouts.linear_index(shape).is_known_empty and not (held >= 0).any()
            continue
        for there in (hm.layouts.linear_index(shape), hm.layouts.linear_index(shape).simplify(keep_point_dims=True)):
            assert (there.evaluate(points)[:, 0] == at).all(), describe(shape)
        all_positions = np.arange(len(held)).reshape(-1, 1)
        for back in (hm.layouts.logical_index(shape), hm.layouts.logical_index(shape).simplify(keep_point_dims=True)):
            assert (back.in_domain(all_positions) == (held >= 0)).all(), describe(shape)
            assert (back.evaluate(at.reshape(-1, 1)) == points).all(), describe(shape)


def test_ravel_and_unravel_are_inverse() -> None:
    rng = random.Random(2)
    for _ in range(N // 4):
        shape = random_shape(rng, largest=500)
        if shape.n_elements == 0:
            continue
        there, back = hm.layouts.linear_index(shape), hm.layouts.logical_index(shape)
        found = there.then(back).equivalent(hm.IndexingMap.identity(shape.dimensions))
        assert found.value, f"{describe(shape)}: {found}"
        again = back.then(there)
        assert again.equivalent(again).value
        _, held = positions(shape)
        all_positions = np.arange(len(held)).reshape(-1, 1)
        assert (again.in_domain(all_positions) == (held >= 0)).all(), describe(shape)
        assert (again.evaluate(all_positions[held >= 0])[:, 0] == all_positions[held >= 0, 0]).all(), describe(shape)
        inverse = there.inverse()
        if isinstance(inverse, hm.IndexingMap):
            assert (inverse.in_domain(all_positions) == (held >= 0)).all(), describe(shape)


@pytest.mark.parametrize("dtype", ["s32", "bf16", "s8", "u64", "c128"])
def test_buffers(dtype: str) -> None:
    rng = random.Random(3)
    for _ in range(N // 2):
        shape = random_shape(rng, dtype=dtype)
        _, held = positions(shape)
        n = shape.n_elements
        array = (np.arange(n) % 120).reshape(shape.dimensions)
        array = array.astype(hm.layouts.unpack(b"", hm.Shape(dtype, [0])).dtype)
        for threads in (1, 3):
            buffer = hm.layouts.pack(array, shape, fill=121, threads=threads)
            assert (buffer == np.where(held >= 0, held % 120, 121).astype(array.dtype)).all(), describe(shape)
            assert (hm.layouts.unpack(buffer, shape, threads=threads) == array).all(), describe(shape)


@pytest.mark.parametrize("dtype", ["s4", "u4", "s2", "u2", "f4e2m1fn", "s1", "u1", "pred", "s8", "bf16"])
def test_packed_buffers(dtype: str) -> None:
    rng = random.Random(4)
    width = {"pred": [1, 4], "s8": [8, 12, 16], "bf16": [16, 24, 32]}.get(dtype)
    for _ in range(N // 8):
        plain = random_shape(rng, dtype=dtype, largest=300)
        if plain.n_elements == 0:
            continue
        least = int(dtype[1]) if dtype[1].isdigit() else 8
        bits = rng.choice(width or [least, least, least + 1, 8])
        assert plain.layout or plain.rank == 0
        layout = (plain.layout or hm.Layout([])).replace(element_size_in_bits=bits)
        shape = plain.with_layout(layout)
        n_bytes = hm.layouts.unpack(b"", hm.Shape(dtype, [0])).dtype.itemsize
        raw = np.array([rng.randrange(256) for _ in range(shape.n_elements * n_bytes)], np.uint8)
        value = {"pred": 1, "s8": 8, "bf16": 16}.get(dtype, least)
        if value < 8:
            raw &= (1 << value) - 1
            if dtype.startswith("s"):
                raw = (raw ^ (1 << (value - 1))) - np.uint8(1 << (value - 1))
        array = raw.view(hm.layouts.unpack(b"", hm.Shape(dtype, [0])).dtype).reshape(shape.dimensions)
        buffer = hm.layouts.pack(array, shape)
        assert buffer.nbytes == shape.buffer_bytes
        found = np.unpackbits(buffer.view(np.uint8), bitorder="little")
        expected = np.zeros(len(found), np.uint8)
        ours = np.unpackbits(raw.reshape(-1, n_bytes), axis=1, bitorder="little")[:, :bits]
        firsts = hm.layouts.linear_index(shape, unit="bit").evaluate(indices(shape.dimensions))[:, 0]
        for at, element in zip(firsts, ours, strict=True):
            expected[at : at + min(value, bits)] = element[: min(value, bits)]
        mask = np.zeros(len(found), np.bool_)
        for at in firsts:
            mask[at : at + min(value, bits)] = True
        assert (found[mask] == expected[mask]).all(), describe(shape)
        in_bytes = hm.layouts.linear_index(shape, unit="byte").evaluate(indices(shape.dimensions))[:, 0]
        assert (in_bytes == firsts // 8).all()
        assert hm.layouts.unpack(buffer, shape).tobytes() == array.tobytes(), describe(shape)
        assert hm.layouts.unpack(buffer.tobytes(), shape).tobytes() == array.tobytes()


def test_reshapes_and_transposes_that_are_bitcasts() -> None:
    rng = random.Random(6)
    n_equal = n_unknown = 0
    for _ in range(N):
        a = random_shape(rng, largest=300)
        at, _ = positions(a)
        b = neighbour(rng, a)
        expected = a.buffer_elements == b.buffer_elements and bool((positions(b)[0] == at).all())
        answer = hm.layouts.reshape_is_bitcast(a, b)
        check(answer, expected, a, b, at, positions(b)[0])
        fits = hm.layouts.is_valid_bitcast(a, b)
        holds = a.buffer_elements == b.buffer_elements and set(positions(b)[0].tolist()) == set(at.tolist())
        assert fits.value in (holds, None), f"{describe(a)} {describe(b)}"
        order = list(range(a.rank))
        rng.shuffle(order)
        c = hm.Shape("s32", [a.dimensions[d] for d in order], random_layout_like(rng, a, order))
        turned = at.reshape(a.dimensions).transpose(order).reshape(-1)
        there = hm.layouts.transpose_is_bitcast(a, c, order)
        same = a.buffer_elements == c.buffer_elements and bool((positions(c)[0] == turned).all())
        check(there, same, a, c, turned, positions(c)[0])
        n_equal += expected + same
        n_unknown += (answer.value is None) + (there.value is None) + (fits.value is None)
    assert n_equal > N // 4 and n_unknown == 0, (n_equal, n_unknown)


def check(answer: hm.Answer, expected: bool, a: hm.Shape, b: hm.Shape, at: np.ndarray, bt: np.ndarray) -> None:
    assert answer.value in (expected, None), f"{describe(a)} {describe(b)}: {answer}"
    if answer.witness is not None and a.buffer_elements == b.buffer_elements:
        number = np.ravel_multi_index(answer.witness, b.dimensions) if b.rank else 0
        assert at[number] != bt[number], f"{describe(a)} {describe(b)}: {answer}"


def neighbour(rng: random.Random, a: hm.Shape) -> hm.Shape:
    """A shape with as many elements: the same, with an extra 1, split in two, or flat, in a random order."""
    dims, layout = list(a.dimensions), a.layout or hm.Layout([])
    order = list(layout.minor_to_major)
    padded = list(layout.padded_dimensions)
    kind = rng.randrange(5)
    if kind == 0:
        return a.with_layout(layout.replace(memory_space=1))
    if kind == 1:
        at = rng.randint(0, len(dims))
        dims.insert(at, 1)
        order = [d + (d >= at) for d in order] + [at]
        padded = [*padded[:at], 1, *padded[at:]] if padded else []
        return hm.Shape("s32", dims, layout.replace(minor_to_major=order, padded_dimensions=padded))
    if kind == 2 and dims and not padded:
        at = rng.randrange(len(dims))
        factor = next((f for f in (2, 3, 5) if dims[at] % f == 0 and dims[at] > f), 1)
        dims[at : at + 1] = [dims[at] // factor, factor]
        order = [e for d in order for e in ([at + 1, at] if d == at else [d + (d > at)])]
        return hm.Shape("s32", dims, layout.replace(minor_to_major=order))
    if kind == 3 and not padded:
        return hm.Shape("s32", [a.n_elements], hm.Layout([0], tail_padding_alignment=layout.tail_padding_alignment))
    rng.shuffle(order)
    return a.with_layout(layout.replace(minor_to_major=order))


def random_layout_like(rng: random.Random, a: hm.Shape, order: list[int]) -> hm.Layout:
    """Mostly the layout that makes the transpose a bitcast."""
    layout = a.layout or hm.Layout([])
    back = {d: i for i, d in enumerate(order)}
    new = [back[d] for d in layout.minor_to_major]
    if rng.random() < 0.3:
        rng.shuffle(new)
    padded = [layout.padded_dimensions[d] for d in order] if layout.padded_dimensions else []
    return layout.replace(minor_to_major=new, padded_dimensions=padded)
