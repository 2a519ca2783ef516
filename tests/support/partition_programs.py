"""Writes ``tests/cases/partitioned.hlo``: programs with a sharding on every value, and what XLA's partitioner makes of
them.  ``python tests/support/partition_programs.py`` needs jax; tests read the file alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = Path(__file__).parent.parent / "cases" / "partitioned.hlo"
FLAGS = "--xla_force_host_platform_device_count=8 --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=.*(shardy|spmd).*"


def programs() -> dict[str, tuple[object, list[object], list[str]]]:
    """By name: the function, then for each argument and for the result the sharding as axes, ``-`` for none."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def arg(*sizes: int, dtype: str = "float32") -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(sizes, dtype)

    def mlp(x, up, down):  # type: ignore[no-untyped-def]
        return jnp.maximum(x @ up, 0) @ down

    def softmax(x):  # type: ignore[no-untyped-def]
        e = jnp.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def attention(q, k, v):  # type: ignore[no-untyped-def]
        return softmax(q @ k.swapaxes(-1, -2)) @ v

    def conv(x, w):  # type: ignore[no-untyped-def]
        return lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))

    def pool(x):  # type: ignore[no-untyped-def]
        return lax.reduce_window(x, -jnp.inf, lax.max, (3, 1), (1, 1), "SAME")

    def dynamic_slice(a, i):  # type: ignore[no-untyped-def]
        return lax.dynamic_slice(a, (i, 0), (16, 32))

    def normalize(a, g):  # type: ignore[no-untyped-def]
        return a * lax.rsqrt((a * a).mean(-1, keepdims=True)) * g

    big, square = arg(64, 32), arg(64, 64)
    return {
        "add_same": (lambda a, b: a + b, [big, big], ["x,y", "x,y", "x,y"]),
        "add_swapped": (lambda a, b: a + b, [square, square], ["x,y", "y,x", "x,y"]),
        "add_gathered": (lambda a, b: a + b, [big, big], ["x,y", "x,-", "x,-"]),
        "negate_gather": (lambda a: -a, [big], ["xy,-", "-,-"]),
        "negate_gather_y": (lambda a: -a, [big], ["x,y", "x,-"]),
        "negate_slice": (lambda a: -a, [big], ["-,-", "x,y"]),
        "negate_to_columns": (lambda a: -a, [big], ["xy,-", "-,xy"]),
        "negate_columns_y": (lambda a: -a, [big], ["y,x", "-,xy"]),
        "negate_permute": (lambda a: -a, [square], ["x,y", "y,x"]),
        "negate_permute_axes": (lambda a: -a, [big], ["xy,-", "yx,-"]),
        "negate_uneven": (lambda a: -a, [arg(64, 32, 3)], ["xy,-,-", "-,-,-"]),
        "exp_bf16": (lambda a: jnp.exp(a), [arg(64, 32, dtype="bfloat16")], ["x,-", "-,x"]),
        "convert": (lambda a: a.astype("float32"), [arg(64, 32, dtype="bfloat16")], ["x,y", "x,-"]),
        "transpose_free": (lambda a: a.T, [big], ["x,y", "y,x"]),
        "transpose_moved": (lambda a: a.T, [square], ["x,y", "x,y"]),
        "transpose_gathered": (lambda a: a.T, [big], ["x,y", "-,-"]),
        "reshape_split": (lambda a: a.reshape(8, 8, 32), [big], ["x,-", "x,-,-"]),
        "reshape_merge": (lambda a: a.reshape(64 * 32), [big], ["-,y", "y"]),
        "broadcast_rows": (lambda a: jnp.broadcast_to(a, (64, 32)), [arg(32)], ["y", "x,y"]),
        "broadcast_gathered": (lambda a: jnp.broadcast_to(a, (64, 32)), [arg(32)], ["y", "x,-"]),
        "sum_rows": (lambda a: a.sum(axis=1), [big], ["x,y", "x"]),
        "sum_free": (lambda a: a.sum(axis=1), [big], ["x,-", "x"]),
        "sum_scattered": (lambda a: a.sum(axis=1), [big], ["-,y", "y"]),
        "sum_all": (lambda a: a.sum(), [big], ["x,y", ""]),
        "max_columns": (lambda a: a.max(axis=0), [big], ["xy,-", "-"]),
        "mean": (lambda a: a.mean(axis=0), [big], ["x,y", "y"]),
        "matmul_free": (lambda a, b: a @ b, [big, arg(32, 16)], ["x,-", "-,y", "x,y"]),
        "matmul_contracted": (lambda a, b: a @ b, [big, arg(32, 16)], ["x,y", "y,-", "x,-"]),
        "matmul_scattered": (lambda a, b: a @ b, [big, arg(32, 16)], ["-,y", "y,-", "y,-"]),
        "matmul_all": (lambda a, b: a @ b, [big, arg(32, 16)], ["-,xy", "xy,-", "-,-"]),
        "matmul_gather_a": (lambda a, b: a @ b, [big, arg(32, 16)], ["x,y", "-,-", "x,-"]),
        "matmul_gather_b": (lambda a, b: a @ b, [big, arg(32, 64)], ["x,-", "y,-", "x,-"]),
        "matmul_fsdp": (lambda a, b: a @ b, [big, arg(32, 64)], ["xy,-", "xy,-", "xy,-"]),
        "matmul_one_sided": (lambda a, b: a @ b, [big, arg(32, 64)], ["x,-", "-,y", "x,-"]),
        "batched_free": (lambda a, b: a @ b, [arg(8, 16, 32), arg(8, 32, 16)], ["y,-,-", "y,-,-", "y,-,-"]),
        "batched_contracted": (lambda a, b: a @ b, [arg(4, 16, 32), arg(4, 32, 16)], ["x,-,y", "x,y,-", "x,-,-"]),
        "einsum_outer": (lambda a, b: jnp.einsum("i,j->ij", a, b), [arg(64), arg(32)], ["x", "x", "x,y"]),
        "mlp_megatron": (mlp, [big, arg(32, 128), arg(128, 32)], ["x,-", "-,y", "y,-", "x,-"]),
        "mlp_fsdp": (mlp, [big, arg(32, 128), arg(128, 32)], ["xy,-", "x,y", "y,x", "xy,-"]),
        "softmax_free": (softmax, [big], ["x,-", "x,-"]),
        "softmax_sharded": (softmax, [big], ["x,y", "x,y"]),
        "attention_heads": (attention, [arg(2, 4, 16, 8)] * 3, ["x,y,-,-"] * 4),
        "attention_sequence": (attention, [arg(2, 16, 8)] * 3, ["x,y,-", "x,y,-", "x,y,-", "x,y,-"]),
        "conv_halo": (conv, [arg(2, 32, 4), arg(3, 4, 8)], ["-,y,-", "-,-,-", "-,y,-"]),
        "conv_batch": (conv, [arg(8, 32, 4), arg(3, 4, 8)], ["xy,-,-", "-,-,-", "xy,-,-"]),
        "conv_features": (conv, [arg(2, 32, 4), arg(3, 4, 8)], ["-,-,-", "-,-,xy", "-,-,xy"]),
        "pool_halo": (pool, [big], ["xy,-", "xy,-"]),
        "slice_free": (lambda a: a[:, 4:20], [big], ["x,-", "x,-"]),
        "slice_sharded": (lambda a: a[8:40], [big], ["x,-", "x,-"]),
        "shift": (lambda a: jnp.concatenate([a[1:], a[:1]]), [big], ["xy,-", "xy,-"]),
        "pad": (lambda a: jnp.pad(a, ((16, 48), (0, 0))), [big], ["x,-", "x,-"]),
        "reverse": (lambda a: a[::-1], [big], ["xy,-", "xy,-"]),
        "concatenate_free": (lambda a, b: jnp.concatenate([a, b], 1), [big, big], ["x,-", "x,-", "x,-"]),
        "concatenate_sharded": (lambda a, b: jnp.concatenate([a, b]), [big, big], ["xy,-", "xy,-", "xy,-"]),
        "take": (lambda a, i: a[i], [big, arg(16, dtype="int32")], ["-,y", "-", "-,y"]),
        "embedding": (lambda a, i: a[i], [big, arg(16, dtype="int32")], ["x,-", "-", "-,-"]),
        "dynamic_slice": (dynamic_slice, [big, arg(dtype="int32")], ["-,y", "", "-,y"]),
        "sort_free": (lambda a: jnp.sort(a, axis=1), [big], ["x,-", "x,-"]),
        "normalize": (normalize, [big, arg(32)], ["x,y", "y", "x,y"]),
        "gradient": (lambda a, g: a.T @ g, [big, arg(64, 16)], ["xy,-", "xy,-", "-,-"]),
    }  # fmt: skip


def dump(folder: str) -> None:
    """Compiles all programs, whose dumps then have the names."""
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))

    def read(text: str) -> NamedSharding:
        axes = [tuple(part.replace("-", "")) or None for part in text.split(",")] if text else []
        return NamedSharding(mesh, PartitionSpec(*axes))

    for name, (function, arguments, shardings) in programs().items():
        *before, after = map(read, shardings)
        function.__name__ = name  # type: ignore[attr-defined]
        jax.jit(function, in_shardings=tuple(before), out_shardings=after).lower(*arguments).compile()  # type: ignore[call-overload]


def clean(text: str, name: str) -> str:
    """The module under another name, without metadata, tables of places and empty lines."""
    text = re.sub(r"\n(FileNames|FunctionNames|FileLocations|StackFrames)\n(.+\n)*", "\n", text)
    text = re.sub(r", metadata=\{[^}]*\}", "", text)
    text = re.sub(r", (frontend_attributes|backend_config)=\{(\{.*?\}|[^{}])*\}", "", text)
    text = re.sub(r"^HloModule [^,\n]*", f"HloModule {name}", text)
    return re.sub(r"\n\n+", "\n", text).strip() + "\n"


def main() -> None:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XLA_FLAGS": f"{FLAGS} --xla_dump_to={folder}", "JAX_PLATFORMS": "cpu"}
        subprocess.run([sys.executable, __file__, folder], env=environment, check=True)
        files = sorted(Path(folder).iterdir())
        for name in programs():
            own = [file for file in files if f".jit_{name}." in file.name]
            before = next(file for file in own if "before_spmd-partitioning" in file.name)
            after = next(file for file in own if "after_spmd-partitioning" in file.name)
            found += [clean(before.read_text(), name), clean(after.read_text(), f"{name}_partitioned")]
    CASES.write_text("\n".join(found))


if __name__ == "__main__":
    dump(sys.argv[1]) if len(sys.argv) > 1 else main()
