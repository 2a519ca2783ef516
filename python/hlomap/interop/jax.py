"""Gets modules from JAX: from a jitted function with its arguments, a ``Lowered`` or a ``Compiled``, or during
compilation.

:func:`from_jax` reads the module's proto, since the text elides large constants.  This module imports jax only to jit a
plain function, and in :func:`watch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from .._core import Module, Sharding
from ..base.types import expect, needs, wrong_type
from ..errors import UnsupportedError
from ..hlo.dump_directory import DumpDirectory
from ..hlo.load import parse

_STAGES = ("optimized", "before_partitioning", "unoptimized")


def from_jax(
    function: Any,
    /,
    *args: Any,
    stage: Literal["optimized", "before_partitioning", "unoptimized"] = "optimized",
    **kwargs: Any,
) -> Module:
    """The HLO module of a JAX function, after or before XLA's optimizations.

    ``function`` is a jitted or a plain function, called with ``args`` and ``kwargs`` (arrays, or
    ``jax.ShapeDtypeStruct`` if only shapes matter); or a ``Lowered`` or a ``Compiled`` without arguments.
    ``stage="optimized"`` compiles for the default backend, ``"unoptimized"`` does not compile.
    ``"before_partitioning"`` compiles and returns the input of XLA's partitioner, for a program on several devices:
    each value has the shape of the whole array and its propagated sharding, as :func:`hlomap.partitioned` needs.  If
    the program compiles to several modules, the result is the first.  JAX drops arguments that the function does not
    use, so the module has no parameters for them, unless the function is ``jax.jit(f, keep_unused=True)``.

    Raises :class:`~hlomap.errors.UnsupportedError` for the earlier stages of a ``Compiled``, which does not keep them,
    for the stage before partitioning of a program on one device, and if JAX is needed and missing; raises
    ``TypeError`` for other objects.

    >>> import jax, jax.numpy as jnp
    >>> module = from_jax(jax.jit(jnp.tanh), jax.ShapeDtypeStruct((2, 3), "float32"), stage="unoptimized")
    >>> str(module.entry.root.shape), module.entry.root.opcode
    ('f32[2,3]{1,0}', 'tanh')
    """
    names = ", ".join(map(repr, _STAGES))
    expect(str, stage, "from_jax", f"one of {names} as `stage`")
    if stage not in _STAGES:
        raise ValueError(f"hm.from_jax: expected one of {names} as `stage`, got {stage!r}")
    stages = function
    if hasattr(stages, "runtime_executable") or hasattr(stages, "compiler_ir"):
        if args or kwargs:
            kind, n = type(function).__name__, len(args) + len(kwargs)
            raise TypeError(f"hm.from_jax: expected no arguments with a {kind}, got {n}")
    elif callable(stages):
        if not hasattr(stages, "lower"):
            stages = _jitted(stages)
        stages = stages.lower(*args, **kwargs)
    else:
        raise wrong_type("from_jax", "a function, a Lowered or a Compiled", function, _advice(function))
    if hasattr(stages, "runtime_executable"):
        if stage != "optimized":
            module = "unoptimized module" if stage == "unoptimized" else "module before partitioning"
            raise UnsupportedError(f"a Compiled has no {module}; pass the function or its Lowered")
        return _compiled(stages)
    if stage == "unoptimized":
        return parse(stages.compiler_ir("hlo").as_serialized_hlo_module_proto())
    return _before_partitioning(stages) if stage == "before_partitioning" else _compiled(stages.compile())


def named_sharding(sharding: Sharding, mesh: Any) -> Any:
    """The ``jax.sharding.NamedSharding`` of a sharding; see :meth:`hlomap.hlo.Sharding.to_jax`."""
    if not hasattr(mesh, "axis_names"):
        raise wrong_type("hlo.Sharding.to_jax", "a jax.sharding.Mesh", mesh)
    with needs("jax", "hlo.Sharding.to_jax"):
        import jax
    text = sharding.partition_spec(mesh.shape)
    if ":" in text:
        raise UnsupportedError(f"hm.hlo.Sharding.to_jax: JAX has no spec {text}, with a part of an axis")
    entries = eval(text, {"__builtins__": {}, "P": lambda *entries: entries})
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*entries))


def _before_partitioning(lowered: Any) -> Module:
    """The input of the partitioner, which XLA dumps to a folder on request."""
    with TemporaryDirectory() as folder:
        options = {
            "xla_dump_to": folder,
            "xla_dump_hlo_pass_re": ".*(spmd|shardy).*",
            "xla_dump_hlo_as_proto": True,
            "xla_dump_hlo_as_text": False,
        }
        lowered.compile(compiler_options=options)
        found = [dumped for dumped in DumpDirectory(folder) if dumped.before == "spmd-partitioning"]
        if not found:
            raise UnsupportedError("the program is not partitioned: it has one device, or its compilation was cached")
        return found[-1].load()


def _jitted(function: Any) -> Any:
    if isinstance(function, np.ufunc):
        advice = "JAX cannot trace a NumPy function, use the one in jax.numpy"
        raise wrong_type("from_jax", "a function of JAX, a Lowered or a Compiled", function, advice)
    with needs("jax", "from_jax"):
        import jax
    return jax.jit(function)


def _advice(value: Any) -> str:
    """Advice on what to pass instead of a JAX program in another form."""
    if hasattr(value, "mlir_module"):  # jax.export.Exported
        return (
            "hm.parse(exported.mlir_module()) reads its program, hm.from_jax(jax.jit(exported.call), *args) compiles it"
        )
    if hasattr(value, "jaxpr") or hasattr(value, "eqns"):
        return "pass the function that was traced, and its arguments"
    return ""


def _compiled(compiled: Any) -> Module:
    executable = compiled.runtime_executable()
    if executable is None:
        raise UnsupportedError("the Compiled has no runtime executable")
    return parse(executable.hlo_modules()[0].as_serialized_hlo_module_proto())


_WATCH_STAGES = {"before_scheduling": "PRE_SCHEDULER", "after_scheduling": "POST_SCHEDULER"}
_watches = count()


@contextmanager
def watch(
    callback: Callable[[Module], object],
    /,
    *,
    stage: Literal["before_scheduling", "after_scheduling"] = "after_scheduling",
) -> Iterator[None]:
    """Call ``callback(module)`` with each module that XLA compiles for JAX inside the ``with`` block, on any backend.

    ``stage`` is ``"before_scheduling"`` (optimized, not scheduled yet) or ``"after_scheduling"`` (in the order of
    execution).  The callback runs in the compiling thread, while XLA waits, and cannot change the module.  Functions in
    JAX's cache are not compiled again, so the callback does not see them; ``jax.clear_caches()`` empties the cache.

    If the callback raises, the compilation continues, later modules are not passed to it, and the exception is raised
    at the end of the block.  Raises :class:`~hlomap.errors.UnsupportedError` if JAX is missing or older than June 2026,
    which has no such hook, and ``TypeError`` and ``ValueError`` for other arguments.

    >>> import jax
    >>> names = []
    >>> with watch(lambda module: names.append(module.name)):  # doctest: +SKIP
    ...     jax.jit(lambda x: x + 1)(3.0)
    """
    if not callable(callback):
        raise wrong_type("interop.jax.watch", "a function of a module", callback)
    names = " or ".join(map(repr, _WATCH_STAGES))
    expect(str, stage, "interop.jax.watch", f"{names} as `stage`")
    if stage not in _WATCH_STAGES:
        raise ValueError(f"hm.interop.jax.watch: expected {names} as `stage`, got {stage!r}")
    with needs("jax", "watch"):
        import jax
    xla: Any = None
    with suppress(ImportError):
        from jax.extend import xla
    if not hasattr(xla, "register_hlo_module_transformation"):
        raise UnsupportedError(
            f"watch needs a JAX of June 2026 or later, with jax.extend.xla.register_hlo_module_transformation; this is "
            f"{jax.__version__}"
        )
    failures: list[BaseException] = []

    def seen(proto: bytes) -> None:
        if not failures:
            try:
                callback(parse(proto))
            except BaseException as error:  # inside XLA it would end the process
                failures.append(error)

    name, at = f"hlomap-watch-{next(_watches)}", xla.PipelineStage[_WATCH_STAGES[stage]]
    xla.register_hlo_module_transformation(seen, name=name, stage=at)
    try:
        yield
    finally:
        xla.clear_hlo_module_transformation(name, stage=at)
        if failures:
            raise failures[0]
