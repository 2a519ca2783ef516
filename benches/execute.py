"""Times the interpreter (``hm.execute``) against XLA's compiled code on whole programs.

``python benches/execute.py [ROUNDS]`` needs jax.  Both run alternately in one process, after a check that their results
agree.  Every figure is the minimum over ``ROUNDS`` (default 15) wall-clock times.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import hlomap as hm

Array = Any


def transformer_block(x: Array, wqkv: Array, wo: Array, up: Array, down: Array) -> Array:
    """Causal attention with 8 heads, then an MLP of four times the width, each after a normalization."""
    batch, length, width = x.shape
    heads, depth = 8, width // 8

    def norm(y: Array) -> Array:
        return (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)

    q, k, v = jnp.moveaxis((norm(x) @ wqkv).reshape(batch, length, 3, heads, depth), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(depth)
    causal = jnp.tril(jnp.ones((length, length), bool))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(causal, scores, -1e9)), v)
    x = x + mixed.reshape(batch, length, width) @ wo
    return x + jax.nn.gelu(norm(x) @ up) @ down


def resnet_block(x: Array, first: Array, second: Array) -> Array:
    """Two 3x3 convolutions with normalization by channel, and a residual connection."""

    def step(y: Array, kernel: Array) -> Array:
        y = jax.lax.conv_general_dilated(y, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return (y - y.mean((0, 1, 2))) * jax.lax.rsqrt(y.var((0, 1, 2)) + 1e-5)

    return jax.nn.relu(step(jax.nn.relu(step(x, first)), second) + x)


def arrays(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32) for shape in shapes]


def transformer(batch: int, length: int, width: int) -> list[Array]:
    return arrays((batch, length, width), (width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))


PROGRAMS: list[tuple[str, Callable[..., Array], list[Array]]] = [
    ("transformer block, f32[4,128,512]", transformer_block, transformer(4, 128, 512)),
    ("transformer block, f32[1,64,128]", transformer_block, transformer(1, 64, 128)),
    ("ResNet block, f32[8,56,56,64]", resnet_block, arrays((8, 56, 56, 64), (3, 3, 64, 64), (3, 3, 64, 64))),
]


def timed(run: Callable[..., Any], arguments: list[Array]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(run(*arguments))
    return time.perf_counter() - start


def main() -> None:
    rounds = int(sys.argv[1]) if sys.argv[1:] else 15
    print(f"{'program':36}{'XLA ms':>10}{'hlomap ms':>11}{'ratio':>8}")
    for name, function, arguments in PROGRAMS:
        compiled = jax.jit(function).lower(*arguments).compile()
        module = hm.from_jax(function, *arguments, stage="unoptimized")
        # Both sum up to 2,048 products in f32, in different orders: results differ by at most 2,048 roundings of 2^-24.
        expected, found = np.asarray(compiled(*arguments)), hm.execute(module, *arguments)
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)
        by_xla, by_hlomap = [], []
        for _ in range(rounds):
            by_xla.append(timed(compiled, arguments))
            by_hlomap.append(timed(partial(hm.execute, module), arguments))
        xla, ours = min(by_xla) * 1e3, min(by_hlomap) * 1e3
        print(f"{name:36}{xla:10.1f}{ours:11.1f}{ours / xla:8.1f}")


if __name__ == "__main__":
    main()
