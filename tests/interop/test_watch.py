"""Modules as XLA compiles them, where the JAX that is installed has a hook for that."""

from __future__ import annotations

from typing import Any

import pytest

import hlomap as hm
from hlomap.errors import UnsupportedError

pytestmark = pytest.mark.jax

jax = pytest.importorskip("jax")


def _compiled(stage: Any, callback: Any = None) -> list[hm.Module]:
    jax.clear_caches()
    modules: list[hm.Module] = []
    with hm.interop.jax.watch(callback or modules.append, stage=stage):
        jax.jit(lambda x: jax.numpy.tanh(x) @ x.T).lower(jax.ShapeDtypeStruct((5, 7), "float32")).compile()
    return modules


def test_stages() -> None:
    for stage, is_scheduled in (("before_scheduling", False), ("after_scheduling", True)):
        (module,) = (m for m in _compiled(stage) if m.name.startswith("jit__lambda"))
        assert [str(p.shape.dimensions) for p in module.entry.parameters] == ["(5, 7)"]
        assert bool(module.attributes.get("is_scheduled")) == is_scheduled
    jax.jit(lambda x: x - 2).lower(3.0).compile()  # the watch has ended
    assert hm.cost(module).flops >= 2 * 5 * 5 * 7


def test_what_the_callback_raises_is_raised_at_the_end() -> None:
    seen = []

    def fail(module: hm.Module) -> None:
        seen.append(module.name)
        raise KeyError(module.name)

    with pytest.raises(KeyError, match="jit__lambda"):
        _compiled("after_scheduling", fail)
    assert len(seen) == 1


def test_a_jax_without_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax.extend.xla

    monkeypatch.delattr(jax.extend.xla, "register_hlo_module_transformation")
    with pytest.raises(UnsupportedError, match="needs a JAX of June 2026"):
        _compiled("after_scheduling")


def test_arguments() -> None:
    for arguments, error in (((print,), ValueError), ((3,), TypeError)):
        with pytest.raises(error), hm.interop.jax.watch(*arguments, stage="linking"):  # type: ignore[arg-type]
            raise AssertionError("not reached")
