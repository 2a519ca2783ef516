"""Writes the programs of ``tests/cases/masks``: kinds of masks times formulations, element types, sizes and stages.

``python tests/support/generate_masks.py`` needs JAX; the tests read the texts alone.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent.parent / "cases" / "masks.hlo.xz"
SEPARATOR = "// program "


def programs() -> dict[str, str]:
    """The texts by name; an assumption stands behind the last dot of a name."""
    parts = lzma.decompress(CASES.read_bytes()).decode().split(SEPARATOR)[1:]
    return {name.strip(): text for name, _, text in (part.partition("\n") for part in parts)}


def _masks() -> dict[str, Callable[[int, int], Any]]:
    """Which of the keys a query may see: a boolean array of queries by keys."""
    import jax.numpy as jnp
    import numpy as np

    def indices(t: int, s: int) -> tuple[Any, Any]:
        return jnp.arange(t)[:, None], jnp.arange(s)[None, :]

    def of(rule: Callable[[Any, Any], Any]) -> Callable[[int, int], Any]:
        return lambda t, s: rule(*indices(t, s))

    return {
        "causal": of(lambda i, j: j <= i),
        "tril": lambda t, s: jnp.tril(jnp.ones((t, s), bool)),
        "shifted": lambda t, s: jnp.tril(jnp.ones((t, s), bool), k=2),
        "window": of(lambda i, j: (j <= i) & (i - j < 3)),
        "band": of(lambda i, j: jnp.abs(i - j) <= 2),
        "padding": of(lambda i, j: (j < j.shape[1] - 2) & (i >= 0)),
        "blocks": of(lambda i, j: i // 2 == j // 2),
        "chunks": of(lambda i, j: j // 2 <= i // 2),
        "dilated": of(lambda i, j: (i - j) % 2 == 0),
        "prefix": of(lambda i, j: (j <= i) | (j < 3)),
        "segments": lambda t, s: (
            jnp.asarray(np.arange(t) * 2 // t)[:, None] == jnp.asarray(np.arange(s) * 2 // s)[None, :]
        ),
        "table": lambda t, s: jnp.asarray(np.tril(np.ones((t, s), bool))),
    }


def _scores(kind: str, scores: Any, mask: Any, large: float) -> Any:
    """The masked scores."""
    import jax.numpy as jnp

    dtype = scores.dtype
    if kind == "where":
        return jnp.where(mask, scores, -jnp.inf)
    if kind == "bias":
        return scores + jnp.where(mask, 0.0, -jnp.inf).astype(dtype)
    if kind == "large":
        return jnp.where(mask, scores, jnp.asarray(large, dtype))
    if kind == "large_bias":
        return scores + (1.0 - mask.astype(dtype)) * jnp.asarray(large, dtype)
    raise ValueError(kind)


def _attention(mask: Callable[[int, int], Any], kind: str, large: float = -1e30, heads: int = 0) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("...td,...sd->...ts", q, k) / jnp.sqrt(q.shape[-1]).astype(q.dtype)
        masked = _scores(kind, scores, mask(q.shape[-2], k.shape[-2]), large)
        return jnp.einsum("...ts,...sd->...td", jax.nn.softmax(masked, axis=-1), v)

    return attend


def _library(**options: Any) -> Callable[..., Any]:
    import jax

    return lambda q, k, v: jax.nn.dot_product_attention(q, k, v, **options)


def _linear(mask: Callable[[int, int], Any]) -> Callable[..., Any]:
    """Attention without softmax, as linear transformers have it: products with zeros."""
    import jax.numpy as jnp

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("td,sd->ts", q, k)
        return (scores * mask(*scores.shape).astype(q.dtype)) @ v

    return attend


def _by_hand(mask: Callable[[int, int], Any]) -> Callable[..., Any]:
    """The exponential masked after it was taken."""
    import jax

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.T
        return jax.nn.softmax(scores, where=mask(*scores.shape)) @ v

    return attend


def _masked_sums(t: int, n: int) -> Iterator[tuple[str, Callable[..., Any], tuple[tuple[int, ...], ...]]]:
    """Masks without attention."""
    import jax
    import jax.numpy as jnp

    yield "triangular_weight", lambda x, w: x @ jnp.triu(w), ((t, n), (n, n))
    yield "masked_weight", lambda x, w: x @ (w * jnp.tril(jnp.ones((n, n)), -1)), ((t, n), (n, n))
    yield "checkerboard", lambda x: jnp.where((jnp.arange(t)[:, None] + jnp.arange(n)) % 2 == 0, x, 0).sum(1), ((t, n),)
    yield "padded_sum", lambda x: jnp.pad(x, ((1, 2), (0, 3))) @ jnp.ones((n + 3, 2)), ((t, n),)
    yield "logsumexp", lambda x: jax.nn.logsumexp(jnp.where(jnp.arange(n) < n - 2, x, -jnp.inf), axis=1), ((t, n),)
    yield "masked_max", lambda x: jnp.where(jnp.tril(jnp.ones((t, n), bool)), x, -jnp.inf).max(1), ((t, n),)
    yield "masked_mean", lambda x: x.mean(1, where=jnp.arange(n) % 3 == 0), ((t, n),)
    yield "one_hot", lambda x: jax.nn.one_hot(jnp.arange(t) // 2, t) @ x, ((t, n),)


def _loops_and_data(t: int, n: int) -> Iterator[tuple[str, Callable[..., Any], tuple[tuple[int, ...], ...]]]:
    """Masks in loops and branches, and masks that data decide."""
    import jax
    import jax.numpy as jnp

    def causal() -> Any:
        return jnp.tril(jnp.ones((t, t), bool))

    def layer(x: Any, w: Any, mask: Any) -> Any:
        return x + jax.nn.softmax(jnp.where(mask, x @ w @ x.T, -jnp.inf)) @ x

    def layers(x: Any, ws: Any) -> Any:
        mask = causal()
        return jax.lax.scan(lambda x, w: (layer(x, w, mask), None), x, ws)[0]

    def layers_with_masks(x: Any, ws: Any) -> Any:
        return jax.lax.scan(lambda x, w: (layer(x, w, causal()), None), x, ws)[0]

    def blockwise(q: Any, k: Any, v: Any) -> Any:
        def step(carry: Any, j: Any) -> Any:
            most, total, out = carry
            key, value = (jax.lax.dynamic_slice(x, (j, 0), (1, n)) for x in (k, v))
            scores = jnp.where(jnp.arange(t)[:, None] >= j, q @ key.T, -jnp.inf)
            more = jnp.maximum(most, scores.max(1, keepdims=True))
            before, powers = jnp.exp(most - more), jnp.exp(scores - more)
            return (more, total * before + powers.sum(1, keepdims=True), out * before + powers @ value), None

        start = jnp.full((t, 1), -jnp.inf), jnp.zeros((t, 1)), jnp.zeros((t, n))
        (_, total, out), _ = jax.lax.scan(step, start, jnp.arange(t))
        return out / total

    def branches(x: Any, y: Any) -> Any:
        mask = jnp.tril(jnp.ones((t, t)))
        return jax.lax.cond(x[0, 0] > 0, lambda a, b: (a @ b.T * mask) @ b, lambda a, b: (a @ b.T) @ b, x, y)

    def segments(q: Any, k: Any, v: Any, of: Any) -> Any:
        return jax.nn.softmax(jnp.where((of[:, None] == of[None, :]) & causal(), q @ k.T, -jnp.inf)) @ v

    x, ws = (t, n), (2, n, n)
    yield "layers", layers, (x, ws)
    yield "layers_with_masks", layers_with_masks, (x, ws)
    yield "blockwise", blockwise, (x, x, x)
    yield "branches", branches, (x, x)
    yield "segments_of_data", segments, (x, x, x, (t,))


def _cases() -> Iterator[tuple[str, Callable[..., Any], tuple[tuple[int, ...], ...], str, str, str]]:
    """Name, function, sizes of its arguments, their type, stage and assumption."""
    masks = _masks()
    flat = ((6, 3), (7, 3), (7, 2))
    for name, mask in masks.items():
        yield f"{name}_where", _attention(mask, "where"), flat, "float32", "unoptimized", "finite"
        yield f"{name}_bias_optimized", _attention(mask, "bias"), flat, "float32", "optimized", "finite"
        yield f"{name}_large", _attention(mask, "large"), flat, "float32", "unoptimized", "masks"
    for name in ("causal", "window", "blocks"):
        yield f"{name}_linear", _linear(masks[name]), flat, "float32", "unoptimized", "finite"
        yield f"{name}_by_hand", _by_hand(masks[name]), flat, "float32", "optimized", "finite"
        heads = ((2, 5, 3), (2, 5, 3), (2, 5, 2))
        yield f"{name}_heads", _attention(masks[name], "where"), heads, "float32", "optimized", "finite"
        yield f"{name}_bfloat16", _attention(masks[name], "where"), flat, "bfloat16", "unoptimized", "finite"
        yield f"{name}_float16", _attention(masks[name], "large_bias", -6e4), flat, "float16", "unoptimized", "masks"
        yield (
            f"{name}_large_bias",
            _attention(masks[name], "large_bias", -1e9),
            flat,
            "float32",
            "optimized",
            "masks",
        )
    layout = ((1, 5, 2, 3), (1, 5, 2, 3), (1, 5, 2, 3))
    yield "library_causal", _library(is_causal=True), layout, "float32", "unoptimized", "masks"
    yield "library_causal_optimized", _library(is_causal=True), layout, "float32", "optimized", "masks"
    yield "library_window", _library(local_window_size=(1, 0)), layout, "float32", "unoptimized", "masks"
    for name, function, sizes in _masked_sums(5, 6):
        yield name, function, sizes, "float32", "unoptimized", "finite"
    for name, function, sizes in _loops_and_data(5, 2):
        yield name, function, sizes, "float32", "optimized", "finite"


def main() -> None:
    """Writes all programs."""
    import jax
    import jax.numpy as jnp

    import hlomap as hm

    texts = []
    for name, function, sizes, dtype, stage, assume in _cases():
        arrays = [jax.ShapeDtypeStruct(size, jnp.dtype(dtype)) for size in sizes]
        module = hm.from_jax(jax.jit(function), *arrays, stage=stage)  # type: ignore[arg-type]
        text = module.to_string(metadata=False, backend_config=False)
        texts.append(f"{SEPARATOR}{name}.{assume}\n{text}\n")
    CASES.write_bytes(lzma.compress("".join(texts).encode(), preset=9))
    print(len(texts), "programs,", CASES.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
