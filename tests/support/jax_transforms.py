"""Blocks of ``hm.interop.jax.transform`` in a child process with four devices.

Tests call :func:`ask`; each request names a function of this file.  ``HLOMAP_XLA_PYTHON`` names the Python whose jax
compiles, 0.12 or later, and which imports hlomap, too; :func:`why_not` says what is missing.  An older jax compiles no
scatter outside fusions and does not reuse every donated buffer.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

import numpy as np

from support.child import Child, Ended, serve

PYTHON = os.environ.get("HLOMAP_XLA_PYTHON", sys.executable)
ENVIRONMENT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
_CHILD = Child(PYTHON, __file__, **ENVIRONMENT)


def ask(name: str, *arguments: object, child: Child = _CHILD) -> Any:
    """What the function of this name returns in the child."""
    answer = child.ask((name, arguments))
    assert not isinstance(answer, Ended), answer.errors[-3000:]
    return answer


def new_process() -> Child:
    return Child(PYTHON, __file__, **ENVIRONMENT)


@functools.cache
def why_not() -> str | None:
    """Why the Python of the child cannot change what XLA compiles; None if it can."""
    return ask("missing")


def missing() -> str | None:
    for name in ("hlomap", "jax"):
        if importlib.util.find_spec(name) is None:
            return f"{PYTHON} has no {name}"
    import jax

    version = jax.__version__
    return None if jax.__version_info__ >= (0, 12) else f"{PYTHON} has jax {version}, older than 0.12"


def _renamed(module: Any) -> Any:
    import hlomap as hm

    b = hm.edit(module)
    b.root.named("renamed_root")
    return b.build()


def _negated(module: Any) -> Any:
    import hlomap as hm

    b = hm.edit(module)
    b.replace(b.root, b.neg(b.root))
    return b.build()


def _inlined(module: Any) -> Any:
    """Every fusion inlined: of the entry, of loops and of branches."""
    import hlomap as hm

    b = hm.edit(module)
    for fusion in [i for i in module.instructions if i.opcode == "fusion"]:
        b.inline(b[fusion.name])
    return b.build()


def program(source: str, arguments: list[Any]) -> dict[str, Any]:
    """The results of a program: plain, and for each pass with the records and whether the text has the new name."""
    import jax

    import hlomap as hm

    space = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
    function = eval(source, space)
    results: dict[str, Any] = {"plain": [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(function)(*arguments))]}
    passes = {
        "renamed before scheduling": (_renamed, "before_scheduling"),
        "renamed after scheduling": (_renamed, "after_scheduling"),
        "inlined": (_inlined, "before_scheduling"),
    }
    for name, (change, stage) in passes.items():
        with hm.interop.jax.transform(change, stage=stage) as changes:  # type: ignore[arg-type]
            compiled = jax.jit(function).lower(*arguments).compile()
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(compiled(*arguments))]
        is_renamed = "renamed_root" in compiled.as_text()
        results[name] = leaves, [change.how for change in changes], is_renamed
    return results


def donation() -> tuple[Any, list[str], bool, bool]:
    """The result of a changed program with a donated argument, and whether the buffer is donated and reused."""
    import jax

    import hlomap as hm

    function = jax.jit(lambda x: x * 2 + 1, donate_argnums=0)
    x = jax.numpy.arange(8.0) + 0
    pointer = x.unsafe_buffer_pointer()
    with hm.interop.jax.transform(_negated, check="none") as changes:
        y = function(x)
        how = [change.how for change in changes]
    return np.asarray(y), how, x.is_deleted(), y.unsafe_buffer_pointer() == pointer


def lost_donation() -> str:
    """The error for a change that drops the aliases."""
    import jax

    import hlomap as hm

    def dropped(module: Any) -> Any:
        text = str(module)
        start = text.index(", input_output_alias=")
        return hm.parse(text[:start] + text[text.index(", entry_computation_layout") :])

    x = np.arange(8, dtype=np.float32)
    try:
        with hm.interop.jax.transform(dropped):
            jax.jit(lambda x: x * 2 + 1, donate_argnums=0)(x)
    except hm.errors.RefusedError as error:
        return str(error)
    return ""


def sharded() -> tuple[Any, Any, list[str], int, bool]:
    """A matrix product on four devices, plain and with its fusions inlined; the records, devices and collectives."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    import hlomap as hm

    mesh = Mesh(np.array(jax.devices()), ("d",))
    x = np.arange(128, dtype=np.float32).reshape(8, 16) / 64
    given = jax.device_put(x, NamedSharding(mesh, PartitionSpec(None, "d")))
    whole = NamedSharding(mesh, PartitionSpec())
    function = jax.jit(lambda x: jax.numpy.tanh(x * 2 + 1) @ x.T, out_shardings=whole)
    plain = np.asarray(function(given))
    with hm.interop.jax.transform(_inlined) as changes:
        result = function(given)
        how = [change.how for change in changes]
    collectives = {i.opcode for change in changes for i in change.after.entry}
    return plain, np.asarray(result), how, len(result.sharding.device_set), "all-reduce" in collectives


def reordered() -> tuple[Any, Any, list[str], list[str], list[str]]:
    """Two independent kernels in the other order of a schedule, and the order that XLA has after it."""
    import jax

    import hlomap as hm

    def swapped(module: Any) -> Any:
        lines = str(module.entry).splitlines()
        at = [k for k, line in enumerate(lines) if " sort(" in line]
        first, second = at
        lines[first], lines[second] = lines[second], lines[first]
        return hm.parse(str(module).replace(str(module.entry).rstrip(), "\n".join(lines)))

    def sorts(text: str) -> list[str]:
        return [i.name for i in hm.parse(text).entry if i.opcode == "sort"]

    x = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    function = jax.jit(lambda x: (jax.numpy.sort(x, 0), jax.numpy.sort(x, 1)))
    plain = [np.asarray(leaf) for leaf in function(x)]
    before = sorts(function.lower(x).compile().as_text())
    with hm.interop.jax.transform(swapped, stage="after_scheduling") as changes:
        compiled = function.lower(x).compile()
        how = [change.how for change in changes]
        after = sorts(compiled.as_text())
        result = [np.asarray(leaf) for leaf in compiled(x)]
    return plain, result, how, before, after


def nested() -> tuple[Any, list[list[str]], list[str]]:
    """A refused change between two that are accepted: the result, the records, and the error."""
    import jax

    import hlomap as hm

    records: list[Any] = []
    error = ""
    result: Any = None
    x = np.arange(8, dtype=np.float32)
    try:
        with (
            hm.interop.jax.transform(_negated, check="none") as outer,
            hm.interop.jax.transform(_negated) as middle,
            hm.interop.jax.transform(_renamed) as inner,
        ):
            records = [outer, middle, inner]
            result = np.asarray(jax.jit(lambda x: x * 2 + 1)(x))
    except hm.errors.RefusedError as refused:
        error = str(refused)
    named = [change.after.entry.root.name for change in records[2]]
    return result, [[change.how for change in each] for each in records], [error, *named]


def cached(folder: str, is_changed: bool) -> tuple[Any, Any, int]:
    """The result of a program in this process, in a block or not, then after it, and the files of the cache."""
    from contextlib import nullcontext

    import jax

    import hlomap as hm

    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    function = jax.jit(lambda x: x * 2 + 1)
    x = np.arange(8, dtype=np.float32)
    with hm.interop.jax.transform(_negated, check="none") if is_changed else nullcontext():
        inside = np.asarray(function(x))
    return inside, np.asarray(function(x)), len(list(Path(folder).iterdir()))


def _answer(request: tuple[str, tuple[Any, ...]]) -> Any:
    name, arguments = request
    return globals()[name](*arguments)


if __name__ == "__main__":
    serve(_answer)
