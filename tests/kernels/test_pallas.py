"""Grids, block specs and index maps of JAX."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import hlomap as hm

pytestmark = pytest.mark.jax
pytest.importorskip("jax")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402

FUNCTIONS: list[Any] = [
    lambda i, j: (jnp.minimum(i, 3), jax.lax.div(j, 2), pl.cdiv(i, 4)),
    lambda i, j: (jax.lax.select(i < j, i, 0), jnp.where(i == j, 1, j), jnp.where((i > 2) & (j != 3), i, j)),
    lambda i, j: (jax.lax.rem(i - 4, 3), jax.lax.div(i - 4, 3), jnp.clip(j - 1, 0, 2)),
    lambda i, j: (jnp.maximum(i - 3, -2) // 2, jnp.maximum(i - 3, -2) % 3, jnp.int32(2)),
    lambda i, j: (jax.jit(lambda a: a * 2 + 1)(i), abs(jnp.minimum(i, 9) - j), jnp.sign(i - jnp.minimum(j, 3))),
    lambda i, j: jnp.where(jnp.logical_not(i >= j), jnp.where(i <= 2, 0, 5), jax.lax.min(i, j)),
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_functions_of_jax(f: Any) -> None:
    """The map has the values that JAX computes."""
    m = hm.IndexingMap.from_function(f, [7, 5])
    for point in product(range(7), range(5)):
        values = f(*map(jnp.int32, point))
        expected = [int(value) for value in (values if isinstance(values, tuple) else (values,))]
        assert m.evaluate(point).tolist() == expected, point


@pytest.mark.parametrize(
    "f", [lambda i: jnp.sin(i), lambda i: jnp.arange(4)[i], lambda i: 0 if i < jnp.int32(1) else i]
)
def test_what_has_no_map(f: Any) -> None:
    with pytest.raises(TypeError, match=r"^hm\.IndexingMap\.from_function: expected a function of 1 argument"):
        hm.IndexingMap.from_function(f, [4])


def shape(*sizes: int, dtype: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, dtype)


def test_block_specs_as_pallas_runs_them() -> None:
    """A kernel that counts its steps in every element: the interpreter of Pallas and the maps agree."""
    grid, spec = (3, 2), pl.BlockSpec((4, None), lambda i, j: (i, j))
    seen = pl.BlockSpec((4, 2), lambda i, j: (i, 0))

    def body(x: Any, y: Any, out: Any) -> None:
        out[...] = x[...] + y[..., 0]

    x, y = np.ones((10, 2), np.float32), np.ones((10, 2), np.float32)
    call = pl.pallas_call(
        body, out_shape=shape(10, 2), grid=grid, in_specs=[spec, seen], out_specs=spec, interpret=True
    )
    assert np.asarray(call(x, y)).tolist() == [[2.0, 2.0]] * 10
    kernel = hm.kernel(grid, zip([x, y], [spec, seen], strict=True), (shape(10, 2), spec))
    assert kernel.problems == () and kernel.exact
    own, other = kernel.inputs
    assert own.block_shape == (4, 1) and own.reuse == 1 and own.n_moves == 6
    assert other.reuse == 2 and other.n_moves == 3 and other.moved_bytes == 80


def test_grid_specs() -> None:
    specs = {
        "in_specs": [pl.BlockSpec((8, 8), lambda i, j, k: (i, k)), pl.BlockSpec((8, 8), lambda i, j, k: (k, j))],
        "out_specs": pl.BlockSpec((8, 8), lambda i, j, k: (i, j)),
    }
    kernel = hm.kernel(pl.GridSpec(grid=(2, 3, 4), **specs), [shape(16, 32), shape(32, 24)], shape(16, 24))
    assert kernel.problems == () and kernel.grid == (2, 3, 4)
    assert [operand.reuse for operand in kernel.inputs] == [3, 2]
    plain = hm.kernel(
        (2, 3, 4),
        zip([shape(16, 32), shape(32, 24)], specs["in_specs"], strict=True),
        ("f32[16,24]", specs["out_specs"]),
    )
    assert plain == kernel
    with pytest.raises(hm.errors.ShapeError, match="expected 2 arrays as `inputs`, got 1 array"):
        hm.kernel(pl.GridSpec(grid=(2, 3, 4), **specs), [shape(16, 32)], shape(16, 24))
    whole = hm.kernel(pl.GridSpec(grid=(2,)), [shape(16)], shape(16))
    assert whole.inputs[0].block_shape == (16,) and whole.inputs[0].n_moves == 1


def test_scalar_prefetch() -> None:
    def spec(blocks: Any) -> pltpu.PrefetchScalarGridSpec:
        return pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4, 2),
            in_specs=[pl.BlockSpec((8, 8), lambda i, j, which: (which[i], j))],
            out_specs=pl.BlockSpec((8, 8), lambda i, j, which: (i, j)),
        )

    rows = np.array([2, 0, 0, 1], np.int32)
    known = hm.kernel(spec(rows), [rows, shape(24, 16)], shape(32, 16))
    assert known.problems == () and known.exact and known.inputs[0].most_reads == 2
    assert known.inputs[0].distinct_elements == 24 * 16
    unknown = hm.kernel(spec(rows), [shape(4, dtype="int32"), shape(24, 16)], shape(32, 16))
    assert unknown.inputs[0].is_in_bounds.reason == "the blocks depend on prefetched values"
    assert unknown.outputs[0].is_covered.value is True and unknown.outputs[0].exact
    assert unknown.inputs[0].most_reads.upper == 4 and not unknown.inputs[0].most_reads.exact
    bounded = hm.kernel(spec(rows), [("s32[4]", 0, 2), shape(24, 16)], shape(32, 16))
    assert bounded.inputs[0].is_in_bounds.value is True and bounded.inputs[0].reads == 4 * 2 * 64


def test_kinds_of_block_dims() -> None:
    kernel = hm.kernel(
        (3,), [(shape(8, 3), pl.BlockSpec((pl.Element(4, (1, 1)), pl.squeezed), lambda i: (i * 2, i)))], shape(3)
    )
    own = kernel.inputs[0]
    assert own.block_shape == (4, 1) and own.is_in_bounds.value is True
    assert own.reads == 3 + 4 + 4  # the first block begins with one virtual element
    blocked = pl.BlockSpec((pl.Blocked(4),), lambda i: i)
    assert hm.kernel((2,), [(shape(8), blocked)], shape(1)).inputs[0].reuse == 1
    with pytest.raises(hm.errors.UnsupportedError, match=r"pl\.BoundedSlice in input"):
        hm.kernel((2,), [(shape(8), pl.BlockSpec((pl.BoundedSlice(4),), lambda i: pl.ds(i, 4)))], shape(1))
    whole = hm.kernel((2,), [(shape(8), pl.BlockSpec())], shape(1)).inputs[0]
    assert whole.n_moves == 1 and whole.reads == 16
    by_hand = hm.kernel((2,), [(shape(8), pl.BlockSpec(memory_space=pl.ANY))], shape(1))
    assert "the kernel itself moves" in str(by_hand.inputs[0].reason) and not by_hand.inputs[0].reads.exact
