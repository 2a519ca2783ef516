"""Changed modules in the place of those that XLA compiles, where the JAX that is installed has a hook for that.

Each row of the table in ``docs/what_if.md`` of what XLA does with a wrong module has a test: none reaches XLA.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlomap as hm
from hlomap.errors import RefusedError, UnsupportedError
from hlomap.words.equality import judge

pytestmark = pytest.mark.jax

jax = pytest.importorskip("jax")

X = np.arange(128, dtype=np.float32).reshape(8, 16) / 7


def program(x: Any) -> Any:
    return jax.numpy.tanh(x * 2 + 1).sum(axis=1) @ x


def unfused(module: hm.Module) -> hm.Module | None:
    """Every fusion of the entry inlined."""
    b = hm.edit(module)
    fusions = [i for i in module.entry if i.opcode == "fusion"]
    for fusion in fusions:
        b.inline(b[fusion.name])
    return b.build() if fusions else None


def compiled(function: Callable[[hm.Module], Any], run: Callable[[Any], Any] = program, **options: Any) -> Any:
    """The result of a program, or the error, and the records of the changes."""
    records: list[Any] = []
    result: Any = None
    try:
        with hm.interop.jax.transform(function, **options) as changes:
            records = changes
            result = np.asarray(jax.jit(run)(X))
    except Exception as error:
        return error, result, records
    return None, result, records


@pytest.mark.parametrize("stage", ["before_scheduling", "after_scheduling"])
def test_a_proved_change_is_compiled(stage: str) -> None:
    seen: list[str] = []

    def renamed(module: hm.Module) -> hm.Module:
        b = hm.edit(module)
        b.root.named("renamed_root")
        return b.build()

    with hm.interop.jax.transform(renamed, stage=stage) as changes:  # type: ignore[arg-type]
        text = jax.jit(program).lower(X).compile().as_text()
        seen += [str(change) for change in changes]
    assert seen == ["jit_program: proved"]
    assert "renamed_root" in text


def test_an_unfused_program_computes_the_same() -> None:
    error, result, changes = compiled(unfused)
    assert error is None
    assert [change.how for change in changes] == ["proved"]
    np.testing.assert_allclose(result, program(X), rtol=2e-6)


def test_its_own_input_changes_nothing() -> None:
    error, _, changes = compiled(lambda module: hm.parse(str(module)))
    assert (error, changes) == (None, [])


def edited(*lines: tuple[str, str]) -> Callable[[hm.Module], hm.Module]:
    def function(module: hm.Module) -> hm.Module:
        text = str(module)
        for old, new in lines:
            text = text.replace(old, new)
        return hm.parse(text)

    return function


REFUSED = {
    "an array without a layout": (edited(("{1,0}", "")), "has no layout"),
    "another function": (edited(("tanh", "sine")), r"output 0 differs in a run, at \[\d+\]: "),
    "a constant": (edited(("constant(2)", "constant(3)")), r"output 0 differs in a run, at \[\d+\]: "),
    "another result": (lambda m: hm.edit(m).build([hm.edit(m).root]), "belongs to another builder"),
    "a flag of the header": (edited(("jit_program,", "jit_program, is_scheduled=true,")), "is_scheduled is true"),
    "bytes": (lambda m: b"garbage", "expected a Module or None from the function, got bytes"),
    "an exception": (lambda m: 1 / 0, "division by zero"),
    "JAX inside": (lambda m: jax.numpy.zeros(len(m.name)) + 1, "compiles with JAX"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_is_compiled_unchanged(kind: str) -> None:
    function, message = REFUSED[kind]
    error, result, _ = compiled(function)
    assert isinstance(error, Exception)
    with pytest.raises(type(error), match=message):
        raise error
    np.testing.assert_array_equal(result, program(X))


def test_a_layout_of_a_callee_is_refused() -> None:
    def turned(module: hm.Module) -> hm.Module:
        fusion = next(i for i in module.entry if i.opcode == "fusion" and i.operands[0].shape.layout is not None)
        (callee,) = fusion.called_computations
        inner = next(p for p in callee.parameters if len(p.shape.dimensions) == 2)
        shape = inner.shape.with_layout(hm.Layout([0, 1]))
        return hm.parse(str(module).replace(f"%{inner.name} = {inner.shape}", f"%{inner.name} = {shape}"))

    error, result, changes = compiled(turned)
    assert isinstance(error, RefusedError)
    assert "{0,1}, its operand" in str(error)
    assert [change.how for change in changes] == ["refused"]
    np.testing.assert_array_equal(result, program(X))


def test_checks() -> None:
    """A change of values is accepted if the caller says so; a proof can be demanded."""
    other = edited(("tanh", "sine"))
    for check, how in ((lambda before, after: True, "check"), ("none", "unchecked")):
        error, result, changes = compiled(other, check=check)
        assert error is None and [change.how for change in changes] == [how]
        assert not np.allclose(result, program(X))
    doubled = edited(("constant(2)", "constant(2)"))

    def halves(module: hm.Module) -> hm.Module:
        b = hm.edit(module)
        b.replace(b.root, b.mul(b.mul(b.root, 0.5), 2.0))
        return b.build()

    assert compiled(doubled)[0] is None
    assert compiled(halves)[2][0].how == "3 runs"
    assert "not proved to be the same" in str(compiled(halves, check="proof")[0])


def test_source_lines_stay() -> None:
    """The module that XLA gets has the file and line of every instruction."""
    plain = jax.jit(program).lower(X).compile().as_text()
    with hm.interop.jax.transform(unfused):
        changed = jax.jit(program).lower(X).compile().as_text()
    lines = [
        {(i.metadata.op_name, i.metadata.source_file, i.metadata.source_line) for i in hm.parse(text).instructions}
        for text in (plain, changed)
    ]
    assert lines[1] <= lines[0] | {(None, None, None)}


def test_a_platform_that_is_not_there_undoes_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax.extend.xla as xla

    register = xla.register_hlo_module_transformation

    def refusing(callback: Any, *, platforms: str, **more: Any) -> None:
        if platforms == "nowhere":
            raise RuntimeError("no such platform")
        register(callback, platforms=platforms, **more)

    monkeypatch.setattr(xla, "register_hlo_module_transformation", refusing)
    calls: list[str] = []
    block = hm.interop.jax.transform(lambda m: calls.append(m.name), platforms=["cpu", "nowhere"])
    with pytest.raises(RuntimeError, match="no such platform"), block:
        raise AssertionError("not reached")
    jax.jit(lambda x: x - 3).lower(X).compile()
    assert calls == []


def test_blocks_nest_and_watch_sees_the_change() -> None:
    calls: list[str] = []

    def renamed(module: hm.Module) -> hm.Module:
        calls.append("outer")
        b = hm.edit(module)
        b.root.named("renamed_root")
        return b.build()

    def inner(module: hm.Module) -> None:
        calls.append(f"inner {module.entry.root.name}")

    seen: list[str] = []
    with (
        hm.interop.jax.transform(renamed),
        hm.interop.jax.transform(inner),
        hm.interop.jax.watch(lambda m: seen.append(m.entry.root.name), stage="before_scheduling"),
    ):
        jax.jit(program).lower(X).compile()
    assert calls == ["outer", "inner renamed_root"]
    assert seen == ["renamed_root"]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """A persistent cache that keeps everything."""
    settings = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {key: getattr(jax.config, key) for key in settings}
    for key, value in settings.items():
        jax.config.update(key, value)
    yield tmp_path
    for key, old in before.items():
        jax.config.update(key, old)


def test_the_persistent_cache_never_has_a_changed_program(cache: Path) -> None:
    def negated(module: hm.Module) -> hm.Module:
        b = hm.edit(module)
        b.replace(b.root, b.neg(b.root))
        return b.build()

    plain = np.asarray(jax.jit(program)(X))
    n_files = len(list(cache.iterdir()))
    assert n_files > 0
    errors: list[Any] = []
    threads = [threading.Thread(target=lambda: errors.append(compiled(negated, check="none")[0])) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [None, None]
    np.testing.assert_array_equal(compiled(negated, check="none")[1], -plain)
    assert len(list(cache.iterdir())) == n_files
    jax.clear_caches()
    np.testing.assert_array_equal(jax.jit(program)(X), plain)
    assert jax.config.jax_enable_compilation_cache


def test_a_jax_without_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax.extend.xla

    monkeypatch.delattr(jax.extend.xla, "register_hlo_module_transformation", raising=False)
    needed = pytest.raises(UnsupportedError, match="transform needs a JAX of June 2026")
    with needed, hm.interop.jax.transform(unfused):
        raise AssertionError("not reached")


def test_arguments() -> None:
    wrong: list[tuple[Any, dict[str, Any], type[Exception]]] = [
        (3, {}, TypeError),
        (unfused, {"check": "maps"}, ValueError),
        (unfused, {"check": 3}, TypeError),
        (unfused, {"stage": "linking"}, ValueError),
    ]
    for function, options, error in wrong:
        raises = pytest.raises(error, match=r"hm\.interop\.jax\.transform: expected")
        with raises, hm.interop.jax.transform(function, **options):
            raise AssertionError("not reached")


COLLECTIVE = """HloModule m
add {{ p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }}
ENTRY e {{
  x = f32[4]{{0}} parameter(0)
  s = f32[4]{{0}} all-reduce(x), channel_id=1, replica_groups={{{{0,1,2,3}}}}, use_global_device_ids=true, to_apply=add
  c = f32[] constant({c})
  w = f32[4]{{0}} broadcast(c), dimensions={{}}
  ROOT m = f32[4]{{0}} multiply(s, w)
}}"""


def test_runs_use_as_many_devices_as_groups_need() -> None:
    before, same, other = (
        hm.parse(COLLECTIVE.format(c=c).replace("multiply(s, w)", operation))
        for c, operation in ((2, "multiply(s, w)"), (2, "multiply(w, s)"), (3, "multiply(s, w)"))
    )
    assert judge(before, same, "run").reason is None
    verdict = judge(before, other, "run")
    assert verdict.how == "refused" and verdict.output == 0 and verdict.element is not None
    assert "differs in a run" in str(verdict.reason)
