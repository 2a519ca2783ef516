"""Three passes over what XLA compiles: merge transposes, drop a pair of conversions, fuse what saves bytes.

``docs/passes.md`` explains them.  Needs a JAX of June 2026 or later:

    python docs/examples/passes.py
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import hlomap as hm


def opened(module: hm.Module) -> hm.Module:
    """The program without loop fusions and optimization barriers in its entry."""
    b = hm.edit(module)
    for barrier in [i for i in module.entry if i.opcode == "opt-barrier"]:
        b.replace(b[barrier.name], b[barrier.operands[0].name])
    for fusion in [i for i in module.entry if i.opcode == "fusion" and i.attributes["kind"] == "kLoop"]:
        b.inline(b[fusion.name])
    return b.build()


def permuted(instruction: hm.Instruction) -> tuple[hm.Instruction, list[int], int]:
    """The value under a chain of transposes and copies, its dimension for each of the result, and their number."""
    order, n_transposes = list(range(instruction.shape.rank)), 0
    while instruction.opcode in ("transpose", "copy"):
        if instruction.opcode == "transpose":
            order = [instruction.attributes["dimensions"][d] for d in order]
            n_transposes += 1
        instruction = instruction.operands[0]
    return instruction, order, n_transposes


def merge_transposes(module: hm.Module) -> hm.Module:
    """Make a chain of transposes one transpose, or none."""
    module = opened(module)
    b = hm.edit(module)
    for instruction in module.entry:
        x, order, n_transposes = permuted(instruction)
        if n_transposes > 1:
            if order == sorted(order) and x.shape == instruction.shape:
                b.replace(b[instruction.name], b[x.name])
            else:
                merged = b.transpose(b[x.name], order).annotated(layout=instruction.shape.layout)
                b.replace(b[instruction.name], merged)
    return b.build()


def drop_conversions(module: hm.Module) -> hm.Module:
    """Drop conversions to another type and back, with the rounding between."""
    module = opened(module)
    b = hm.edit(module)
    for back in module.entry:
        if back.opcode == "convert" and back.operands[0].opcode == "convert":
            x = back.operands[0].operands[0]
            if x.shape == back.shape:
                b.replace(b[back.name], b[x.name])
    return b.build()


def within_rounding(before: hm.Module, after: hm.Module) -> bool:
    """Whether results are as near as bf16 rounds, 2**-8 of each, and depend on the same elements."""
    if any(output.status != "same" for output in hm.diff(before, after).outputs):
        return False
    for seed in range(3):
        rng = np.random.default_rng(seed)
        given = [rng.normal(size=p.shape.dimensions).astype(np.float32) for p in before.entry.parameters]
        rounded, exact = hm.execute(before, *given), hm.execute(after, *given)
        if not np.allclose(rounded, exact, rtol=2**-8 + 2**-20, atol=0):
            return False
    return True


def fuse_by_bytes(module: hm.Module) -> hm.Module:
    """Fuse the pair that saves most bytes, until no pair is left that a compiler may fuse without computing more."""
    while True:
        rows = hm.fusions(module, columns=["why_not", "xla", "bytes_saved", "recomputed"])
        free = [row for row in rows if row.n_others == 0 and row.recomputed == 1]
        best = next((row for row in free if not row.why_not and row.xla is None), None)
        if best is None:
            return module
        b = hm.edit(module)
        b.fuse(b[best.consumer.name], b[best.producer.name])
        module = b.build()


@jax.jit
def layer(x: jax.Array, scale: jax.Array) -> jax.Array:
    x = jax.lax.optimization_barrier(x.T).T + x
    x = jax.lax.optimization_barrier(x.astype(jnp.bfloat16)).astype(jnp.float32)
    return jnp.tanh(x * scale)


def main() -> None:
    x = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)
    plain = np.asarray(layer(x, x))
    with (
        hm.interop.jax.transform(merge_transposes, check="proof") as merged,
        hm.interop.jax.transform(drop_conversions, check=within_rounding) as dropped,
        hm.interop.jax.transform(fuse_by_bytes, check="proof") as fused,
    ):
        changed = np.asarray(layer(x, x))
    for name, changes in (("merge", merged), ("drop", dropped), ("fuse", fused)):
        for change in changes:
            before, after = hm.cost(change.before), hm.cost(change.after)
            print(f"{name:5} {change}; bytes read: {before.distinct_bytes:,} -> {after.distinct_bytes:,}")
    print("as near as bf16 rounds:", np.allclose(plain, changed, rtol=2**-8 + 2**-20, atol=0))


if __name__ == "__main__":
    main()
