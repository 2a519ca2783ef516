"""Values of fused attention, layer normalization and oneDNN's calls, against JAX's own of the same mathematics.

The calls are the op cases, so that their configurations are in one place.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import CASES, read_cases

import hlomap as hm

jax = pytest.importorskip("jax")
jnp = jax.numpy
pytestmark = pytest.mark.jax

MODULES = {
    case.id.partition(":")[2]: case.module
    for name in ("attention", "norm", "onednn")
    for case in read_cases(CASES / "ops" / f"library_{name}.hlo")
}


def operands_of(module: hm.Module, **given: Any) -> list[np.ndarray]:
    """Random floats, and lengths or pages within their bounds."""
    rng = np.random.default_rng(3)
    made = [rng.normal(size=p.shape.dimensions).astype(np.float32) for p in module.entry.parameters]
    return [np.asarray(given.get(p.name, value)) for p, value in zip(module.entry.parameters, made, strict=True)]


def reference(
    config: dict[str, Any], head_first: bool, bias: Any = None, lengths: Any = None
) -> Callable[..., tuple[Any, Any]]:
    """Attention over arrays in the call's order: the result with heads first, and the statistics of the rows."""
    order = (0, 1, 2, 3) if head_first else (0, 2, 1, 3)
    causal, window = "CAUSAL" in config["mask_type"], config["sliding_window_length"]

    def run(q: Any, k: Any, v: Any, bias: Any = bias) -> tuple[Any, Any]:
        q, k, v = (jnp.transpose(x, order) for x in (q, k, v))
        k, v = (jnp.repeat(x, q.shape[1] // k.shape[1], axis=1) for x in (k, v))
        scores = config["fmha_scale"] * jnp.einsum("bnth,bnsh->bnts", q, k, precision="highest")
        scores = scores if bias is None else scores + bias
        t, s = jnp.arange(scores.shape[2])[:, None], jnp.arange(scores.shape[3])[None, :]
        seen = jnp.broadcast_to((t >= s) | (not causal), scores.shape)
        seen = seen & ((t - s < window) | (window == 0))
        if lengths is not None:
            at = [x[:, None, None, None] for x in lengths]
            seen = seen & (t < at[0]) & (s < at[1])
        scores = jnp.where(seen, scores, -1e30)
        weights = jnp.where(seen, jax.nn.softmax(scores), 0)
        return jnp.einsum("bnts,bnsh->bnth", weights, v, precision="highest"), jax.nn.logsumexp(scores, axis=-1)

    return jax.jit(run)  # type: ignore[no-any-return]


def config_of(module: hm.Module) -> dict[str, Any]:
    return dict(json.loads(module.entry.root.attributes["backend_config"].text)["cudnn_fmha_backend_config"])


LENGTHS = (np.array([3, 2], np.int32), np.array([4, 2], np.int32))


@pytest.mark.parametrize(
    ("name", "n_lengths", "has_bias"),
    [
        ("attention", 0, False),
        ("attention_head_first", 0, False),
        ("attention_grouped", 0, False),
        ("attention_causal", 0, False),
        ("attention_window", 0, False),
        ("attention_bias", 0, True),
        ("attention_padded", 2, False),
        ("attention_bias_padded_causal", 2, True),
    ],
)
def test_attention(name: str, n_lengths: int, has_bias: bool) -> None:
    module = MODULES[name]
    names = [p.name for p in module.entry.parameters]
    given = dict(zip(names[len(names) - n_lengths :], LENGTHS, strict=False)) if n_lengths else {}
    operands = operands_of(module, **given)
    bias = operands[3] if has_bias else None
    run = reference(config_of(module), name == "attention_head_first", bias, LENGTHS if n_lengths else None)
    expected, statistics = run(*operands[:3])
    found = hm.execute(module, *operands)
    np.testing.assert_allclose(found[0], expected, rtol=2e-5, atol=2e-6)
    if len(found) > 2:
        seen = np.asarray(statistics) > -1e29
        np.testing.assert_allclose(found[1][seen], np.asarray(statistics)[seen], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("name", "has_bias", "padded"),
    [
        ("attention_backward", False, False),
        ("attention_backward_grouped", False, False),
        ("attention_backward_bias_causal", True, False),
        ("attention_backward_padded", False, True),
    ],
)
def test_gradients_of_attention(name: str, has_bias: bool, padded: bool) -> None:
    module = MODULES[name]
    operands = operands_of(module)
    q, k, v, _, dy = operands[:5]
    arguments = (q, k, v, operands[5]) if has_bias else (q, k, v)
    run = reference(config_of(module), False, lengths=LENGTHS if padded else None)

    @jax.jit
    def gradients(dy: Any, *arguments: Any) -> Any:
        (o, statistics), back = jax.vjp(run, *arguments)
        return o, statistics, back((jnp.transpose(dy, (0, 2, 1, 3)), jnp.zeros_like(statistics)))

    o, statistics, expected = gradients(dy, *arguments)
    operands[3], operands[5 + has_bias] = np.asarray(statistics), np.asarray(jnp.transpose(o, (0, 2, 1, 3)))
    if padded:
        operands[-2:] = LENGTHS
    found = hm.execute(module, *operands)
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_allclose(one, jnp.transpose(other, (0, 2, 1, 3)), rtol=1e-4, atol=1e-5)
    if has_bias:
        np.testing.assert_allclose(found[3], expected[3], rtol=1e-4, atol=1e-5)


def test_pages_are_put_one_after_the_other() -> None:
    module = MODULES["attention_paged"]
    tables = [np.array([[3, 0], [1, 2]], np.int32), np.array([[0, 1], [3, 2]], np.int32)]
    lengths = (np.array([3, 2], np.int32), np.array([5, 4], np.int32))
    names = [p.name for p in module.entry.parameters]
    pages = [table[:, None, :, None] for table in tables]
    operands = operands_of(module, **dict(zip(names[3:], (*lengths, *pages), strict=True)))
    k, v = (x[table].reshape(2, 6, 1, 2) for x, table in zip(operands[1:3], tables, strict=True))
    expected, _ = reference(config_of(module), False, lengths=lengths)(operands[0], k, v)
    np.testing.assert_allclose(hm.execute(module, *operands)[0], expected, rtol=2e-5, atol=2e-6)


def test_dropout_takes_its_mask_from_a_function() -> None:
    module = MODULES["attention_dropout"]
    operands = operands_of(module)
    with pytest.raises(hm.errors.UnsupportedError, match=r"cudnn\.dropout_mask"):
        hm.execute(module, *operands)
    everything = hm.execute(module, *operands, custom_calls={"cudnn.dropout_mask": lambda: np.ones((1, 1, 3, 2), "f4")})
    config = config_of(module)
    expected, _ = reference(config, False)(*operands)
    np.testing.assert_allclose(everything[0], expected / (1 - config["dropout_rate"]), rtol=2e-5)


def test_f8_attention_scales_and_saturates() -> None:
    module = MODULES["attention_f8"]
    narrow = jnp.float8_e4m3fn
    operands = [
        x.astype(narrow) if k < 3 else np.full(x.shape, 2.0**-k, "f4") for k, x in enumerate(operands_of(module))
    ]
    operands[6], operands[7] = np.full((1, 1, 1, 1), 1 / 256, "f4"), np.full((1, 1, 1, 1), 256, "f4")
    wide = [np.asarray(x, "f4") * s for x, s in zip(operands[:3], (2.0**-3, 2.0**-4, 2.0**-5), strict=True)]
    config = config_of(module) | {"sliding_window_length": 0}
    expected, statistics = reference(config, False)(*wide)
    found = hm.execute(module, *operands)
    np.testing.assert_allclose(np.asarray(found[0], "f4"), expected * operands[8].item(), rtol=0.13, atol=2**-9)
    np.testing.assert_allclose(found[2].item(), np.abs(expected).max(), rtol=0.07)
    np.testing.assert_allclose(found[3], statistics, rtol=1e-5)


@pytest.mark.parametrize("name", ["norm", "norm_train"])
def test_layer_norm(name: str) -> None:
    module = MODULES[name]
    x, scale, bias = operands_of(module)
    found = hm.execute(module, x, scale, bias)
    axes = (1, 2, 3)
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    np.testing.assert_allclose(found[0], (x - mean) / np.sqrt(variance + 1e-3) * scale + bias, rtol=1e-4, atol=1e-5)
    if name == "norm_train":
        np.testing.assert_allclose(found[1], mean, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found[2], 1 / np.sqrt(variance + 1e-3), rtol=1e-4)


def test_gradients_of_layer_norm() -> None:
    module = MODULES["norm_backward"]
    x, scale, dy, _, _ = operands_of(module)
    mean, deviation = x.mean((1, 2, 3), keepdims=True), 1 / np.sqrt(x.var((1, 2, 3), keepdims=True) + 1e-3)

    def run(x: Any, scale: Any, bias: Any) -> Any:
        centred = x - x.mean((1, 2, 3), keepdims=True)
        return centred / jnp.sqrt((centred**2).mean((1, 2, 3), keepdims=True) + 1e-3) * scale + bias

    back = jax.jit(lambda dy, *given: jax.vjp(run, *given)[1](dy))
    expected_all = back(dy, x, scale, np.zeros_like(scale))
    for found, expected in zip(hm.execute(module, x, scale, dy, mean, deviation)[:3], expected_all, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)


ONEDNN: dict[str, Callable[..., Any]] = {
    "onednn_matmul": lambda a, b: a @ b,
    "onednn_matmul_transposed": lambda a, b: np.swapaxes(a, 1, 2) @ np.swapaxes(b, 1, 2),
    "onednn_matmul_fused": lambda a, b, c, d: jax.nn.swish(a @ b + c + d),
    "onednn_matmul_linear": lambda a, b, c: jax.nn.gelu(a @ b * 0.5 + c, approximate=False),
    "onednn_matmul_relu": lambda a, b: jax.nn.relu(a @ b),
    "onednn_matmul_relu6": lambda a, b: jax.nn.relu6(a @ b),
    "onednn_matmul_tanh": lambda a, b: np.tanh(a @ b),
    "onednn_matmul_sigmoid": lambda a, b: jax.nn.sigmoid(a @ b),
    "onednn_matmul_elu": lambda a, b: jax.nn.elu(a @ b),
    "onednn_convolution": lambda x, w, b: np.tanh(
        jax.lax.conv_general_dilated(x, w, (2, 2), [(1, 1)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")) + b
    ),
    "onednn_convolution_groups": lambda x, w: jax.lax.conv_general_dilated(
        x, w, (1,), [(1, 1)], rhs_dilation=(2,), dimension_numbers=("NWC", "WIO", "NWC"), feature_group_count=2
    ),
    "onednn_layernorm": lambda x, g, b: jax.nn.standardize(x, epsilon=1e-3) * g + b,
    "onednn_softmax": lambda x: jax.nn.softmax(x, axis=1),
}


@pytest.mark.parametrize("name", ONEDNN)
def test_onednn(name: str) -> None:
    module = MODULES[name]
    operands = operands_of(module)
    found = hm.execute(module, *operands)
    np.testing.assert_allclose(
        found[0] if isinstance(found, list) else found, ONEDNN[name](*operands), rtol=2e-4, atol=2e-5
    )
