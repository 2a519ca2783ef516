"""Changed programs under JAX 0.12 or later, in child processes with four devices: what becomes of each kind.

``HLOMAP_XLA_PYTHON`` names a Python that has it, and hlomap; without one, and in an older Python, these tests are
skipped.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import jax_transforms
from support.jax_transforms import ask

pytestmark = pytest.mark.jax

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _hook() -> None:
    reason = jax_transforms.why_not()
    if reason is not None:
        pytest.skip(reason)


def draw(*sizes: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=sizes).astype(np.float32)


A, B, SQUARE = draw(8, 16), draw(8, 16, seed=1), draw(16, 16)
# Programs of one expression, and their arguments.
PROGRAMS = {
    "attention": ("lambda q, k: jax.nn.softmax(q @ k.T / 4) @ q", [A, B]),
    "gradient of causal attention": (
        "jax.grad(lambda q, k: (jax.nn.softmax(jnp.where(jnp.tri(8) > 0, q @ k.T / 4, -1e9)) @ q).sum(), (0, 1))",
        [A, B],
    ),
    "layer norm": ("lambda x: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True) + 1e-5)", [A]),
    "gradient of a perceptron": ("jax.grad(lambda w, x: (jax.nn.gelu(x @ w) ** 2).mean())", [SQUARE, A]),
    "scan": ("lambda x: lax.scan(lambda c, row: (jnp.tanh(c + row), c * row), x[0], x)", [A]),
    "gradient of a scan": (
        "jax.grad(lambda x: lax.scan(lambda c, row: (jnp.sin(c * row), c), x[0], x)[0].sum())",
        [A],
    ),
    "while": ("lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, jnp.cos(c[1]) * 2), (0, x))", [A]),
    "cond": ("lambda x: lax.cond(x[0, 0] > 0, jnp.sin, lambda y: jnp.exp(y) + y, x)", [A]),
    "switch": ("lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x)", [np.int32(1), A]),
    "sort": ("lambda x: jnp.sort(x * 2, axis=1) + 1", [A]),
    "argsort": ("lambda x: jnp.argsort(-x, axis=0)", [A]),
    "largest four": ("lambda x: lax.top_k(x * 3, 4)", [A]),
    "FFT": ("lambda x: jnp.abs(jnp.fft.fft(x) * 2)", [A]),
    "Cholesky": ("lambda x: jnp.linalg.cholesky(x @ x.T + 8 * jnp.eye(8))", [A]),
    "QR": ("lambda x: jnp.linalg.qr(x + 1)", [SQUARE]),
    "triangular solve": (
        "lambda a, x: jax.scipy.linalg.solve_triangular(jnp.tril(a) + 4 * jnp.eye(16), x.T, lower=True)",
        [SQUARE, B],
    ),
    "random normal": ("lambda n: jax.random.normal(jax.random.key(n), (8, 16))", [np.int32(3)]),
    "random bits": ("lambda n: jax.random.bits(jax.random.key(n), (8, 16)) % 7", [np.int32(3)]),
    "scatter": ("lambda x, i: x.at[i].add(x[:3] * 2)", [A, np.array([1, 5, 1], np.int32)]),
    "gather": ("lambda x, i: jnp.take(x, i, axis=1) * 2", [A, np.array([3, 1, 15, 3], np.int32)]),
    "convolution": (
        "lambda x, k: jax.nn.relu(lax.conv_general_dilated(x, k, (1, 1), 'SAME'))",
        [draw(1, 2, 8, 8), draw(3, 2, 3, 3)],
    ),
    "pooling": ("lambda x: lax.reduce_window(x * 2, -jnp.inf, lax.max, (2, 2), (2, 2), 'VALID')", [A]),
    "bf16": ("lambda x, y: jnp.tanh(x.astype(jnp.bfloat16) * y.astype(jnp.bfloat16) + 1).sum(1)", [A, B]),
    "int8 product": (
        "lambda x, y: lax.dot(x, y, preferred_element_type=jnp.int32) * 2 + 1",
        [np.arange(48, dtype=np.int8).reshape(6, 8), np.arange(40, dtype=np.int8).reshape(8, 5)],
    ),
    "cumulative sum": ("lambda x: jnp.cumsum(x, axis=1) / jnp.arange(1, 17)", [A]),
    "complex numbers": ("lambda x, y: jnp.real(lax.complex(x, y) * jnp.exp(lax.complex(y, x)))", [A, B]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_jax(name: str) -> None:
    """A new name changes no bit, before scheduling and after it; without fusions XLA rounds elsewhere."""
    results = ask("program", *PROGRAMS[name])
    plain = results["plain"]
    for stage in ("before", "after"):
        leaves, how, is_renamed = results[f"renamed {stage} scheduling"]
        assert how == ["proved"] and is_renamed
        assert [leaf.tobytes() for leaf in leaves] == [leaf.tobytes() for leaf in plain]
    leaves, how, _ = results["inlined"]
    assert how in (["proved"], ["3 runs"])
    for leaf, wanted in zip(leaves, plain, strict=True):
        np.testing.assert_allclose(leaf, wanted, rtol=0, atol=2e-6 * np.abs(wanted).max())


def test_a_donated_buffer_is_reused() -> None:
    result, how, is_deleted, is_reused = ask("donation")
    np.testing.assert_array_equal(result, -(np.arange(8.0) * 2 + 1))
    assert how == ["unchecked"]
    assert is_deleted and is_reused
    assert "input_output_alias is None, expected {" in ask("lost_donation")


def test_a_program_on_four_devices() -> None:
    plain, result, how, n_devices, is_reduced = ask("sharded")
    assert (n_devices, is_reduced) == (4, True)
    assert how in (["proved"], ["3 runs"])
    np.testing.assert_allclose(result, plain, rtol=2e-6)


def test_another_schedule_is_the_one_that_runs() -> None:
    plain, result, how, before, after = ask("reordered")
    assert how == ["proved"]
    assert len(before) == 2 and after == before[::-1]
    for leaf, wanted in zip(result, plain, strict=True):
        np.testing.assert_array_equal(leaf, wanted)


def test_a_refused_change_between_two_blocks_leaves_theirs() -> None:
    result, how, said = ask("nested")
    np.testing.assert_array_equal(result, -(np.arange(8) * 2 + 1))
    assert how == [["unchecked"], ["refused"], ["proved"]]
    assert "output 0 differs in a run" in said[0] and said[1] == "renamed_root"


def test_processes_with_one_compilation_cache(tmp_path: Path) -> None:
    """Only inside the block the changed program runs; what is stored is the unchanged one."""
    plain = np.arange(8, dtype=np.float32) * 2 + 1
    other = jax_transforms.new_process()
    for child, is_changed in ((jax_transforms.new_process(), True), (other, False), (other, True)):
        inside, after, n_files = ask("cached", str(tmp_path), is_changed, child=child)
        np.testing.assert_array_equal(inside, -plain if is_changed else plain)
        np.testing.assert_array_equal(after, plain)
        assert n_files > 0


def test_the_example_prints_what_its_page_shows() -> None:
    command = [jax_transforms.PYTHON, ROOT / "docs" / "examples" / "passes.py"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    shown = re.findall(r"^```text\n(.*?)^```", (ROOT / "docs" / "passes.md").read_text(encoding="utf-8"), re.M | re.S)
    assert run.stdout == shown[-1]
