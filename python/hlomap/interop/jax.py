"""Gets modules from JAX: from a jitted function with its arguments, a ``Lowered`` or a ``Compiled``, or during
compilation.

:func:`from_jax` reads the module's proto, since the text elides large constants.  This module imports jax only to jit a
plain function, and in :func:`watch`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from .._core import Module, Sharding
from ..base.attached import Judged
from ..base.types import expect, json_fields, needs, wrong_type
from ..errors import RefusedError, UnsupportedError
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
    xla, at = _hook("watch", stage)
    failures: list[BaseException] = []

    def seen(proto: bytes) -> None:
        if not failures:
            try:
                callback(parse(proto))
            except BaseException as error:  # inside XLA it would end the process
                failures.append(error)

    name = f"hlomap-watch-{next(_watches)}"
    xla.register_hlo_module_transformation(seen, name=name, stage=at)
    try:
        yield
    finally:
        xla.clear_hlo_module_transformation(name, stage=at)
        if failures:
            raise failures[0]


def _hook(function: str, stage: str) -> tuple[Any, Any]:
    """The module of JAX with the hook of the compiler, and the point where it calls."""
    names = " or ".join(map(repr, _WATCH_STAGES))
    expect(str, stage, f"interop.jax.{function}", f"{names} as `stage`")
    if stage not in _WATCH_STAGES:
        raise ValueError(f"hm.interop.jax.{function}: expected {names} as `stage`, got {stage!r}")
    with needs("jax", function):
        import jax
    xla: Any = None
    with suppress(ImportError):
        from jax.extend import xla
    if not hasattr(xla, "register_hlo_module_transformation"):
        raise UnsupportedError(
            f"{function} needs a JAX of June 2026 or later, with jax.extend.xla.register_hlo_module_transformation; "
            f"this is {jax.__version__}"
        )
    return xla, xla.PipelineStage[_WATCH_STAGES[stage]]


@dataclass(frozen=True, eq=False)
class ModuleChange(Judged):
    """A module that a function changed while XLA compiled it."""

    #: The module that XLA had.
    before: Module
    #: The module that the function returned.
    after: Module
    #: How the values are known to be the same: ``"proved"``, ``"3 runs"``, ``"check"``, ``"unchecked"``; or
    #: ``"refused"``, and XLA compiles the module before.
    how: str
    #: Why the change is refused; None if it is not.
    reason: str | None

    def __str__(self) -> str:
        return f"{self.before.name}: {self.how}" + (f": {self.reason}" if self.reason else "")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values, with the names of the modules."""
        return json_fields(self, "before after how reason")


@contextmanager
def transform(
    function: Callable[[Module], Module | None],
    /,
    *,
    stage: Literal["before_scheduling", "after_scheduling"] = "before_scheduling",
    check: Literal["run", "proof", "none"] | Callable[[Module, Module], object] = "run",
    platforms: Sequence[str] | str | None = None,
) -> Iterator[list[ModuleChange]]:
    """Let XLA compile ``function(module)`` in the place of each module that JAX compiles inside the ``with`` block.

    ``function`` returns a changed module, such as :func:`hlomap.edit` builds, or None.  XLA gets it only if

    1. a strict reading accepts it, every array has a layout, and parameters of fusions and calls have those of their
       operands,
    2. parameters and result have the same shapes and layouts, and aliases, donations and the schedule's flag are equal,
    3. :func:`hlomap.diff` proves that its values are the same; or no output depends on other elements than before,
    4. and then both give the same results for three draws of random arguments: equal integers, and floats within 16
       units in the last place of the largest element.

    ``check="proof"`` demands the proof, ``"none"`` ends after step 2, and a function ``check(before, after)`` decides
    itself after step 2.  Otherwise XLA compiles the module that it had.  The first error, or a
    :class:`~hlomap.errors.RefusedError`, is raised at the end of the block.  The value of the block is a list with a
    record for each changed module: ``.before``, ``.after``, ``.how``, ``.reason``.

    The hook is that of the process: it sees all threads, and eager operations.  JAX's caches are cleared at both ends,
    and the persistent cache is off inside, since it would store the changed program as the unchanged one.  Functions
    of nested blocks run outermost first.  ``function`` cannot use JAX, which raises ``RecursionError``.  ``platforms``
    are the backends, by default all.  Raises :class:`~hlomap.errors.UnsupportedError` if JAX is missing or older than
    June 2026, and ``TypeError`` and ``ValueError`` for other arguments.

    >>> def unfused(module):
    ...     b = hm.edit(module)
    ...     for fusion in [i for i in module.entry if i.opcode == "fusion"]:
    ...         b.inline(b[fusion.name])
    ...     return b.build()
    >>> with transform(unfused) as changes:  # doctest: +SKIP
    ...     jax.jit(lambda x: x + 1)(3.0)
    """
    if not callable(function):
        raise wrong_type("interop.jax.transform", "a function of a module", function)
    if not callable(check):
        expect(str, check, "interop.jax.transform", "'run', 'proof', 'none' or a function as `check`")
        if check not in _CHECKS:
            names = ", ".join(map(repr, _CHECKS))
            raise ValueError(f"hm.interop.jax.transform: expected {names} or a function as `check`, got {check!r}")
    xla, at = _hook("transform", stage)
    import jax

    failures: list[BaseException] = []
    changes: list[ModuleChange] = []

    def change(proto: bytes) -> bytes | None:
        if any(map(_is_in_jax, list(_open_threads))):
            # Compiling goes on in another thread, and a third one would wait for ever.
            failures.append(RecursionError("hm.interop.jax.transform: the function of the block compiles with JAX"))
            return None
        thread = threading.get_ident()
        _open_threads.add(thread)
        try:
            before = parse(proto)
            after = function(before)
            if after is None or (isinstance(after, Module) and after.same_as(before)):
                return None
            if not isinstance(after, Module):
                raise wrong_type("interop.jax.transform", "a Module or None from the function", after)
            judge = Judged()
            verdict = judge._judge(before, after, check)
            changes.append(ModuleChange(before, after, verdict.how, verdict.reason))
            if verdict.reason is None:
                return judge._payload(after)
            refused = RefusedError(f"{before.name} is compiled unchanged: {verdict.reason}")
            refused.output, refused.element = verdict.output, verdict.element
            refused.before, refused.after = verdict.before, verdict.after
            raise refused
        except BaseException as error:  # inside XLA it would end the process
            failures.append(error)
            return None
        finally:
            _open_threads.discard(thread)

    name = f"hlomap-transform-{next(_watches)}"
    wanted = [None] if platforms is None else [platforms] if isinstance(platforms, str) else list(platforms)
    registered: list[str | None] = []
    with _no_persistent_cache(jax):
        try:
            for platform in wanted:
                xla.register_hlo_module_transformation(change, name=name, stage=at, platforms=platform)
                registered.append(platform)
            jax.clear_caches()
            yield changes
        finally:
            for platform in registered:
                xla.clear_hlo_module_transformation(name, stage=at, platforms=platform)
            jax.clear_caches()
    if failures:
        raise failures[0]


_CHECKS = ("run", "proof", "none")
# The threads that run the function of a block.
_open_threads: set[int] = set()


def _is_in_jax(thread: int) -> bool:
    """Whether the function of a block, which a thread runs, has called JAX."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_globals.get("__name__") != __name__:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "jax":
            return True
        frame = frame.f_back
    return False


_cache_lock = threading.Lock()
_n_open_blocks = 0
_cache_was_on = True


@contextmanager
def _no_persistent_cache(jax: Any) -> Iterator[None]:
    """A block without JAX's persistent cache; the first of several that overlap switches it off, the last one on."""
    from jax.experimental.compilation_cache import compilation_cache

    global _n_open_blocks, _cache_was_on
    with _cache_lock:
        _n_open_blocks += 1
        if _n_open_blocks == 1:
            _cache_was_on = jax.config.jax_enable_compilation_cache
            jax.config.update("jax_enable_compilation_cache", False)
            # It stays on after its first use, whatever the setting.
            compilation_cache.reset_cache()
    try:
        yield
    finally:
        with _cache_lock:
            _n_open_blocks -= 1
            if _n_open_blocks == 0:
                jax.config.update("jax_enable_compilation_cache", _cache_was_on)
                compilation_cache.reset_cache()
