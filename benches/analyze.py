"""Times the analysis of whole modules (``hm.parse``, ``hm.analyze``, reading every column) against XLA's parser.

``python benches/analyze.py [FILE … | MEGABYTES]`` needs jaxlib.  Without files it also needs jax: XLA then compiles
training steps and other programs for the CPU, each with at least ``MEGABYTES`` (default 1) of text; families that
tests/test_growth.py counts follow.  hlomap and XLA run
alternately in one process, on one thread.  ``cold`` times the first analysis in a new process, with empty caches;
``warm`` times later analyses of the same module.  Every figure is the minimum of several CPU times, since noise only
adds to a time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

COLD, WARM = 3, 5

CHILD = """
import gc, sys, time
import hlomap as hm
from jaxlib._hlo import hlo_module_from_text

def seconds(work, n):
    best = float("inf")
    for _ in range(n):
        gc.collect()
        start = time.thread_time()
        kept = work()
        best = min(best, time.thread_time() - start)
        del kept
    return best

def analyze():
    table = hm.analyze(hm.parse(text))
    for column in table.columns:
        table[column]
    return table

text = "HloModule m  ENTRY e { p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }"
hlo_module_from_text(text), analyze()
text = open(sys.argv[1]).read()
cold = seconds(analyze, 1)
warm, xla = seconds(analyze, int(sys.argv[2])), seconds(lambda: hlo_module_from_text(text), int(sys.argv[2]))
print(cold, warm, xla)
"""


def transformer(n_layers: int) -> Any:
    """A training step of a transformer with dropout and Adam, with its layers unrolled."""
    import jax
    import jax.numpy as jnp

    def layer(x: Any, p: Any, key: Any) -> Any:
        h = p["g"] * (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        q, k, v = ((h @ p[name]).reshape(2, 32, 4, 16).transpose(0, 2, 1, 3) for name in "qkv")
        scores = jnp.where(jnp.tril(jnp.ones((32, 32), bool)), q @ k.transpose(0, 1, 3, 2) / 4, -1e9)
        weights = jax.nn.softmax(scores)
        weights = weights * jax.random.bernoulli(key, 0.9, weights.shape) / 0.9
        x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(2, 32, 64) @ p["o"]
        return x + jax.nn.gelu(x @ p["a"]) @ p["b"]

    def loss(p: Any, tokens: Any, key: Any) -> Any:
        x = p["e"][tokens]
        for one, own in zip(p["l"], jax.random.split(key, n_layers), strict=True):
            x = layer(x, one, own)
        logits = jax.nn.log_softmax((x @ p["e"].T)[:, :-1])
        return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()

    def step(state: Any, tokens: Any, key: Any) -> Any:
        p, m, v, t = state
        g = jax.grad(loss)(p, tokens, key)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        scale = jnp.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
        return jax.tree.map(lambda a, b, c: a - 1e-3 * scale * b / (jnp.sqrt(c) + 1e-8), p, m, v), m, v, t + 1

    sizes = {"q": (64, 64), "k": (64, 64), "v": (64, 64), "o": (64, 64), "g": (64,), "a": (64, 256), "b": (256, 64)}
    p = {"e": jnp.ones((1000, 64)), "l": [{k: jnp.ones(v) for k, v in sizes.items()} for _ in range(n_layers)]}
    return step, ((p, p, p, 0.0), jnp.zeros((2, 32), int), jax.random.PRNGKey(0))


def convolutions(n_layers: int) -> Any:
    """The gradient of a chain of residual blocks with normalization and pooling."""
    import jax
    import jax.numpy as jnp

    def conv(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(p: Any, x: Any) -> Any:
        for i, (a, g, b, c) in enumerate(p):
            h = conv(x, a)
            h = jax.nn.relu((h - h.mean((0, 1, 2))) * jax.lax.rsqrt(h.var((0, 1, 2)) + 1e-5) * g + b)
            x = jax.nn.relu(x + conv(h, c))
            if i % 8 == 7:
                x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        return (x**2).mean()

    weights = [(jnp.ones((3, 3, 16, 16)), jnp.ones(16), jnp.ones(16), jnp.ones((3, 3, 16, 16)))] * n_layers
    return jax.grad(loss), (weights, jnp.ones((2, 32, 32, 16)))


def recurrence(n_steps: int) -> Any:
    """The gradient of an unrolled LSTM."""
    import jax
    import jax.numpy as jnp

    def loss(w: Any, xs: Any) -> Any:
        h = c = jnp.zeros((4, 32))
        total = jnp.zeros(())
        for x in xs:
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            total = total + (h**2).sum()
        return total

    return jax.grad(loss), (jnp.ones((64, 128)), list(jnp.ones((n_steps, 4, 32))))


def mixture(n: int) -> Any:
    """Sorts, gathers, windows and loops on distinct sizes, so that few instructions repeat."""
    import jax
    import jax.numpy as jnp

    def every(key: Any, xs: Any) -> Any:
        found = []
        for i, x in enumerate(xs):
            key, a, b = jax.random.split(key, 3)
            s, flat = jnp.cumsum(jnp.sort(x, 0), 1), x.reshape(-1)
            found += [s @ x.T, jax.lax.top_k(x, 2)[0], jnp.fft.fft(x).real, jnp.pad(x, 1)[::2], flat[jnp.argsort(flat)]]
            found += [jnp.roll(x, 3, 0), jax.random.normal(a, (7 + i, 5)), jax.random.permutation(b, 11 + i)]
        return found

    return every, (jax.random.PRNGKey(0), [jnp.ones((4 + i % 11, 3 + i % 13)) for i in range(n)])


PROGRAMS: dict[str, tuple[Callable[[int], Any], int]] = {
    "transformer": (transformer, 2),
    "convolutions": (convolutions, 8),
    "recurrence": (recurrence, 8),
    "mixture": (mixture, 4),
}


def modules(megabytes: float) -> Iterator[tuple[str, str]]:
    """Name and optimized HLO of every program, with enough layers to reach this size of text."""
    import jax

    for name, (program, n) in PROGRAMS.items():
        text = ""
        while len(text) < megabytes * 1e6:
            n = n if not text else int(n * max(1.3, 1.1 * megabytes * 1e6 / len(text)))
            function, arguments = program(n)
            text = jax.jit(function).lower(*arguments).compile().as_text()
        yield f"{name} {n}", text


def chain(n: int, is_diamond: bool) -> str:
    """A fusion of ``n`` operations in a chain; with ``is_diamond``, each one uses the previous one twice."""
    lines = ["p0 = f32[64,64] parameter(0)"]
    for i in range(n):
        last = f"p{i}"
        other = f"{last}, {last}" if is_diamond else last
        kind = "add" if is_diamond else ("transpose", "reverse", "negate")[i % 3]
        attribute = {"transpose": ", dimensions={1,0}", "reverse": ", dimensions={0}"}.get(kind, "")
        lines.append(f"p{i + 1} = f32[64,64] {kind}({other}){attribute}")
    lines[-1] = "ROOT " + lines[-1]
    body = "\n  ".join(lines)
    entry = "a = f32[64,64] parameter(0)\n  ROOT r = f32[64,64] fusion(a), kind=kLoop, calls=f"
    return f"HloModule m\nf {{\n  {body}\n}}\nENTRY e {{\n  {entry}\n}}\n"


def measured(path: str, n: int) -> list[float]:
    done = subprocess.run([sys.executable, "-c", CHILD, path, str(n)], stdout=subprocess.PIPE, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def show(name: str, text: str) -> None:
    import hlomap as hm

    n = hm.parse(text).n_instructions
    with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
        file.write(text)
        file.flush()
        runs = [measured(file.name, WARM) for _ in range(COLD)]
    cold, warm, xla = (min(times) for times in zip(*runs, strict=True))
    print(
        f"{name:20} {len(text) / 1e6:5.2f} {n:8} {xla * 1e3:9.1f} {cold * 1e3:9.1f} {cold / n * 1e6:8.1f}"
        f" {cold / xla:6.2f} {warm * 1e3:9.1f} {warm / xla:6.2f}",
        flush=True,
    )


def show_families(divisor: int) -> None:
    """Programs that the growth tests generate: loops of unknown length, conditionals and whole training steps."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from support.families import FAMILIES
    from support.training import training_step

    sizes = {
        "layers": (FAMILIES["unrolled_layers"], 64),
        "branches": (FAMILIES["wide_conditional"], 50),
        "loops": (FAMILIES["running_loops"], 8),
        "step": (training_step, 40),
    }
    for name, (family, size) in sizes.items():
        for n in (max(size // divisor, 3), 2 * max(size // divisor, 3)):
            show(f"{name} {n}", family(n))


def main() -> None:
    print(f"{'module':20} {'MB':>5} {'instr.':>8} {'xla ms':>9} {'cold ms':>9} {'us each':>8} {'ratio':>6}", end="")
    print(f" {'warm ms':>9} {'ratio':>6}", flush=True)
    files = [Path(word) for word in sys.argv[1:] if Path(word).exists()]
    if files:
        for path in files:
            show(path.name, path.read_text())
        return
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    for name, text in modules(megabytes):
        show(name, text)
    for n in (1000, 2000, 4000) if megabytes >= 1 else (100,):
        show(f"chain of {n}", chain(n, is_diamond=False))
        show(f"diamonds of {n}", chain(n, is_diamond=True))
    show_families(1 if megabytes >= 1 else 10)


if __name__ == "__main__":
    main()
