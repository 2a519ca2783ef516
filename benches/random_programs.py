"""Judges hlomap by random JAX programs that XLA compiles: ``python benches/random_programs.py [COUNT] [--seed N]``.

Each program chains elementwise operations, products, windows, loops, conditionals, sorts, gathers, scatters and library
calls; every fourth is sharded over two CPU devices.  XLA optimizes it for the CPU.  The interpreter must give XLA's
values, and no map of the optimized module may miss an element whose change :func:`hlomap.verify` sees.  Prints what
fails with the seed that makes it again, and counts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2 --xla_allow_excess_precision=false"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

import hlomap as hm

Array = Any


def steps(rng: np.random.Generator) -> list[Any]:
    """Operations on an array of two dimensions, whose sizes are at most 8; each leads to such an array."""
    k = int(rng.integers(1, 4))
    weights = jnp.asarray(rng.uniform(0.1, 0.9, (8, 8)))
    picked = jnp.asarray(rng.integers(0, 64, 8))

    def rows(x: Array) -> Array:
        return lax.fori_loop(0, x.shape[0], lambda i, y: y.at[i].add(x[(i * k) % x.shape[0]]), x)

    def chosen(x: Array) -> Array:
        return x[(jnp.abs(x[:, 0]) * 7).astype(jnp.int32) % x.shape[0]]

    return [
        lambda x: x.T,
        lambda x: x[::k],
        lambda x: jnp.flip(x, 1),
        lambda x: jnp.roll(x, k, 0),
        lambda x: jnp.pad(x, ((k, 0), (0, 1)))[:8, :8],
        lambda x: x.reshape(-1)[: x.size // 2 * 2].reshape(2, -1)[:, :8],
        lambda x: jnp.concatenate([x, x * k], 0)[-8:],
        lambda x: x @ weights[: x.shape[1]],
        lambda x: jnp.einsum("ij,kj->ik", x, x),
        lambda x: jax.nn.softmax(x),
        lambda x: (x - x.mean(-1, keepdims=True)) / (1 + x.var(-1, keepdims=True)),
        lambda x: jnp.cumsum(x, 1),
        lambda x: lax.cummax(x, axis=0),
        lambda x: jnp.sort(x, 1),
        lambda x: x[picked % x.shape[0]],
        lambda x: jnp.zeros_like(x).at[picked % x.shape[0]].add(x[0]),
        lambda x: lax.reduce_window(x, 0.0, lax.add, (k, 2), (1, 1), "SAME"),
        lambda x: lax.conv(x[None, None], weights[None, None, :k, :2], (1, 1), "SAME")[0, 0],
        lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c + r), x[0], x)[1],
        lambda x: lax.map(lambda r: r * r.sum(), x),
        lambda x: lax.cond(x[0, 0] > 0.5, lambda y: y * 2, lambda y: y[::-1], x),
        lambda x: lax.dynamic_slice(x, ((x[0, 0] * 5).astype(int), 0), (max(1, x.shape[0] - 1), x.shape[1])),
        lambda x: jnp.linalg.cholesky(x @ x.T + 8 * jnp.eye(x.shape[0])),
        lambda x: lax.top_k(x, min(k, x.shape[1]))[0],
        lambda x: jnp.where(x > 0.4, jnp.sin(x), x),
        jax.grad(lambda x: (jnp.tanh(x @ x.T) ** 2).sum()),
        rows,
        chosen,
    ]


def judge(seed: int, counts: Counter[str]) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 7, 2) * (2 if seed % 4 == 0 else 1)
    x = rng.uniform(0.1, 0.9, tuple(np.minimum(sizes, 8)))
    chain = [steps(rng)[i] for i in rng.integers(0, len(steps(rng)), int(rng.integers(2, 6)))]

    def program(x: Array) -> Array:
        for step in chain:
            x = step(x)
        return x

    jitted = jax.jit(program)
    if seed % 4 == 0:
        mesh = jax.make_mesh((2,), ("d",))
        jitted = jax.jit(program, in_shardings=NamedSharding(mesh, PartitionSpec("d")))
    compiled = jitted.lower(x).compile()
    module = hm.from_jax(compiled)
    counts["programs"] += 1
    counts["instructions"] += module.n_instructions
    if seed % 4:
        counts["values compared"] += 1
        if not np.allclose(hm.execute(module, x), compiled(x), rtol=1e-9, atol=1e-9):
            counts["WRONG VALUE"] += 1
            print(f"seed {seed}: another value than XLA's", flush=True)
    for result in hm.verify(module, max_changes=40):
        counts[str(result.status)] += 1
        if str(result.status) == "unsound":
            print(f"seed {seed}: {result}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    counts: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.count):
        try:
            judge(seed, counts)
        except (hm.HlomapError, OverflowError) as error:
            counts[f"{type(error).__name__}"] += 1
            print(f"seed {seed}: {error}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.most_common()))
    sys.exit(bool(counts["unsound"] or counts["WRONG VALUE"]))


if __name__ == "__main__":
    main()
