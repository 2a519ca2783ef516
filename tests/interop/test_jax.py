"""Modules from JAX objects and StableHLO programs of the installed JAX."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import hlomap as hm
from hlomap.errors import UnsupportedError

if TYPE_CHECKING:
    import jax

pytestmark = pytest.mark.jax


def spec(*sizes: int) -> jax.ShapeDtypeStruct:
    import jax

    return jax.ShapeDtypeStruct(sizes, "float32")


def program(x: jax.Array, y: jax.Array) -> jax.Array:
    import jax.numpy as jnp

    return jnp.tanh(x @ y.T) + 1.0


@pytest.mark.parametrize("stage", ["optimized", "unoptimized"])
def test_function_lowered_and_compiled_agree(stage: str) -> None:
    import jax

    x = spec(2, 3)
    jitted = jax.jit(program)
    lowered = jitted.lower(x, x)
    modules = [
        hm.from_jax(source, *args, stage=stage) for source, *args in ((jitted, x, x), (program, x, x), (lowered,))
    ]
    assert all(module.same_as(modules[0]) for module in modules)
    assert [str(p.shape).partition("{")[0] for p in modules[0].entry.parameters] == ["f32[2,3]", "f32[2,3]"]
    if stage == "optimized":
        assert hm.from_jax(lowered.compile()).same_as(modules[0])
    else:
        values = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_allclose(hm.execute(modules[0], values, values), program(values, values), rtol=1e-5)
        with pytest.raises(hm.errors.UnsupportedError):
            hm.from_jax(lowered.compile(), stage=stage)


def test_large_constants_are_not_elided() -> None:
    import jax

    table = np.arange(5000, dtype=np.float32)
    module = hm.from_jax(jax.jit(lambda x: x + table), spec(5000), stage="unoptimized")
    (constant,) = [i for i in module.entry if i.opcode == "constant"]
    np.testing.assert_array_equal(constant.literal, table)


def test_wrong_objects() -> None:
    import jax

    x = spec(2, 3)
    with pytest.raises(TypeError, match=r"hm.from_jax: expected .*, got int"):
        hm.from_jax(3)
    with pytest.raises(TypeError, match="no arguments"):
        hm.from_jax(jax.jit(program).lower(x, x), x)
    with pytest.raises(
        TypeError, match=r"got numpy.ufunc .JAX cannot trace a NumPy function, use the one in jax.numpy"
    ):
        hm.from_jax(np.sin, x)
    with pytest.raises(TypeError, match=r"got jax.*Exported \(hm.parse\(exported.mlir_module\(\)\) reads"):
        hm.from_jax(jax.export.export(jax.jit(program))(x, x))
    with pytest.raises(TypeError, match=r"got jax.*ClosedJaxpr .pass the function that was traced"):
        hm.from_jax(jax.make_jaxpr(program)(x, x))
    with pytest.raises(ValueError, match="stage"):
        hm.from_jax(jax.jit(program), x, x, stage="best")


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(hm.errors.UnsupportedError, match=r"from_jax needs jax: pip install 'hlomap\[jax\]'"):
        hm.from_jax(program, np.ones(3))


def test_advice_for_an_exported_program_works() -> None:
    import jax

    x = spec(2, 3)
    exported = jax.export.export(jax.jit(program))(x, x)
    for module in (hm.parse(exported.mlir_module()), hm.from_jax(jax.jit(exported.call), x, x)):
        assert len(module.entry.parameters) == 2


def test_unused_arguments_are_dropped_unless_they_are_kept() -> None:
    import jax

    x = spec(3)
    module = hm.from_jax(jax.jit(lambda a, b: a + 1), x, x)
    assert len(module.entry.parameters) == 1
    assert len(hm.from_jax(jax.jit(lambda a, b: a + 1, keep_unused=True), x, x).entry.parameters) == 2
    values = np.ones(3, np.float32)
    with pytest.raises(hm.errors.ShapeError, match=r"2 arguments were given; JAX drops arguments .* keep_unused=True"):
        hm.execute(module, values, values)


def test_stablehlo_text_and_bytecode() -> None:
    import jax

    x = spec(2, 3)
    exported = jax.export.export(jax.jit(program))(x, x)
    from_text = hm.parse(exported.mlir_module())
    from_bytes = hm.parse(exported.mlir_module_serialized)
    for module in (from_text, from_bytes):
        assert [i.opcode for i in module.entry.parameters] == ["parameter"] * 2
        assert "dot" in {i.opcode for i in module.entry}


FOUR_DEVICES = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import hlomap as hm
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
place = lambda *axes: NamedSharding(mesh, P(*axes))
f = jax.jit(lambda a, b: jnp.tanh(a @ b), in_shardings=(place("x", "y"), place("y")), out_shardings=place("x"))
shapes = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((8, 16), (16, 4))]
for source, arguments in ((f, shapes), (f.lower(*shapes), ())):
    module = hm.from_jax(source, *arguments, stage="before_partitioning")
    (dot,) = (i for i in module.entry if i.opcode == "dot")
    print(dot.shape.dimensions, dot.attributes["sharding"], hm.partitioned(dot).least_bytes)
"""


def test_before_partitioning() -> None:
    """The values of the whole program, each with its sharding: those of a product have to be added up."""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    run = [sys.executable, "-c", FOUR_DEVICES]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["(8, 4) {devices=[2,1,2]<=[4] last_tile_dim_replicate} 256"] * 2, done.stderr


def test_a_program_that_is_not_partitioned() -> None:
    import jax

    lowered = jax.jit(lambda x: x * 3).lower(spec(4))
    with pytest.raises(UnsupportedError, match="not partitioned: it has one device"):
        hm.from_jax(lowered, stage="before_partitioning")
    with pytest.raises(UnsupportedError, match="no module before partitioning; pass the function or its Lowered"):
        hm.from_jax(lowered.compile(), stage="before_partitioning")
