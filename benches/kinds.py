"""Times the analysis of an instruction by the kind of program that it is in: ``python benches/kinds.py [KIND...]``.

A kind is a shape that programs have: layers as one loop or unrolled, a generation loop of unknown length, branches,
wide tuples, one layer in every size, compiled modules.  For each kind several programs are made, which differ in size,
in the number of layers and in what a loop carries.  ``cold`` is an analysis with empty caches of rules, ``warm`` one of
the same text, read again; the op rules are imported before, which takes 50 to 100 ms once.  The table has CPU
microseconds an instruction, of ``hm.analyze`` alone: the median and the worst of the programs.  Needs jax; XLA compiles
the modules of one kind.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from analyze import PROGRAMS, chain

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.families import FAMILIES
from support.training import training_step

CHILD = """
import gc, sys, time
import hlomap as hm
from hlomap.analysis import rule_cache

def seconds(is_cold):
    module = hm.parse(text)
    if is_cold:
        rule_cache.clear()
    gc.collect()
    start = time.thread_time()
    hm.analyze(module)
    return time.thread_time() - start

text = open(sys.argv[1]).read()
n = hm.parse(text).n_instructions
seconds(True)
print(*(min(seconds(is_cold) for _ in range(5)) / n * 1e6 for is_cold in (True, False)))
"""


def scanned_step(layers: int, carried: int, generates: bool = False) -> str:
    """A training step whose layers are one loop with gradients through it, or with ``generates`` a loop that appends
    tokens to histories until one of them is the last; ``carried`` small arrays accompany the weights of a layer."""
    import jax
    import jax.numpy as jnp

    width, inner, length, words = 192, 640, 48, 1000
    sizes: dict[str, tuple[int, ...]] = {
        "a": (width, 3, width),
        "b": (width, width),
        "c": (width, inner),
        "d": (inner, width),
    }
    sizes |= {f"s{i}": (inner,) for i in range(carried)}

    def layer(x: Any, weights: Any) -> Any:
        q, k, v = jnp.einsum("tw,wpo->pto", x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6), weights["a"])
        scores = jnp.where(jnp.arange(len(x))[:, None] >= jnp.arange(len(x)), q @ k.T, -1e9)
        x = x + jax.nn.softmax(scores) @ v @ weights["b"]
        h = jnp.tanh(x @ weights["c"])
        for i in range(carried):
            h = h * weights[f"s{i}"]
        return x + h @ weights["d"], v

    def loss(weights: Any, tokens: Any) -> Any:
        x, _ = jax.lax.scan(jax.checkpoint(layer), weights["embedding"][tokens], weights["layers"])
        return jax.nn.logsumexp(x @ weights["embedding"].T, -1).mean()

    def step(weights: Any, tokens: Any) -> Any:
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, jax.grad(loss)(weights, tokens))

    def generate(weights: Any, tokens: Any) -> Any:
        def more(state: Any) -> Any:
            at, history, values = state
            x, new = jax.lax.scan(layer, weights["embedding"][history], weights["layers"])
            values = jax.lax.dynamic_update_slice(values, new[:, :1], (0, at, 0))
            word = (x[at] @ weights["embedding"].T).argmax().astype(history.dtype)
            return at + 1, history.at[at + 1].set(word), values

        start = 0, tokens, jnp.zeros((layers, length, width))
        return jax.lax.while_loop(lambda s: (s[0] < length - 1) & (s[1][s[0]] != 0), more, start)

    def floats(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    weights = {
        "embedding": floats(words, width),
        "layers": {name: floats(layers, *shape) for name, shape in sizes.items()},
    }
    tokens = jax.ShapeDtypeStruct((length,), jnp.int32)
    lowered = jax.jit(generate if generates else step).lower(weights, tokens)
    return str(lowered.compiler_ir("hlo").as_hlo_text())


def compiled(name: str, n: int) -> str:
    import jax

    function, arguments = PROGRAMS[name][0](n)
    return str(jax.jit(function).lower(*arguments).compile().as_text())


def of_family(name: str, *numbers: int) -> list[Callable[[], str]]:
    return [partial(FAMILIES[name], n) for n in numbers]


Program = Callable[[], str]
KINDS: dict[str, list[Program]] = {
    "training step, one loop": [
        partial(scanned_step, layers, carried) for layers, carried in ((12, 0), (12, 9), (126, 9), (1000, 9), (126, 30))
    ],
    "training step, unrolled": [partial(training_step, n) for n in (4, 8, 16, 32)],
    "generation, one loop": [partial(scanned_step, layers, carried, True) for layers, carried in ((12, 0), (126, 9))],
    "generation, unrolled": of_family("unrolled_layers", 16, 32, 64, 128),
    "compiled module": [partial(compiled, name, n) for name, (_, n) in PROGRAMS.items()],
    "one layer again and again": [partial(chain, n, is_diamond) for n in (1000, 4000) for is_diamond in (False, True)],
    "each instruction of another size": of_family("distinct_sizes", 200, 400, 800, 1600),
    "many arrays in a loop": of_family("wide_while", 30, 60, 120),
    "many arrays in branches": of_family("wide_conditional", 30, 60, 120),
    "many operands of a call": of_family("wide_call", 30, 60, 120),
    "many operands of a fusion": of_family("wide_fusion", 300, 600, 1200),
    "loops that run to be counted": of_family("running_loops", 8, 16, 32),
}


def microseconds(text: str) -> tuple[float, float]:
    """An instruction of a text, cold and warm: the least of several times, since noise only adds to a time."""
    with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
        file.write(text)
        file.flush()
        command = [sys.executable, "-c", CHILD, file.name]
        cold, warm = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return float(cold), float(warm)


def measured(names: list[str]) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    for kind, programs in KINDS.items():
        if not names or any(name in kind for name in names):
            yield kind, [microseconds(program()) for program in programs]


def show(kind: str, found: list[tuple[float, float]]) -> None:
    figures = [figure(times) for times in zip(*found, strict=True) for figure in (median, max)]
    print(f"{kind:34} {len(found):8}" + "".join(f" {figure:12.1f}" for figure in figures), flush=True)


def main(names: list[str]) -> None:
    heads = ("cold median", "cold worst", "warm median", "warm worst")
    print(f"{'us an instruction':34} programs" + "".join(f" {head:>12}" for head in heads), flush=True)
    found = []
    for kind, times in measured(names):
        show(kind, times)
        found += times
    show("all", found)


if __name__ == "__main__":
    main(sys.argv[1:])
