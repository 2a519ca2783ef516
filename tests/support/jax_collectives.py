"""Prints the optimized HLO of programs of JAX on 8 devices, as JSON: run in a process of its own."""

from __future__ import annotations

import json
import os

os.environ |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

MESHES = {
    "8": (("i",), (8,)),
    "2x4": (("x", "y"), (2, 4)),
    "4x2": (("x", "y"), (4, 2)),
    "2x2x2": (("a", "b", "c"), (2, 2, 2)),
}


def mesh(name: str) -> Mesh:
    axes, sizes = MESHES[name]
    return Mesh(np.array(jax.devices()).reshape(sizes), axes)


def ring(axis: str, n: int) -> list[tuple[int, int]]:
    return [(k, (k + 1) % n) for k in range(n)]


# name: mesh, the body on one device, the spec of its input and output, the shape of the whole input, its type
MAPPED = {
    "psum of all": ("8", lambda x: lax.psum(x, "i"), P("i"), P(), (64, 6), "float32"),
    "psum along x": ("2x4", lambda x: lax.psum(x, "x"), P("x", "y"), P(None, "y"), (4, 24), "float32"),
    "psum along y": ("2x4", lambda x: lax.psum(x, "y"), P("x", "y"), P("x", None), (4, 32), "float32"),
    "psum of both axes": ("4x2", lambda x: lax.psum(x, ("x", "y")), P("x", "y"), P(), (16, 4), "float32"),
    "psum of integers": ("8", lambda x: lax.psum(x, "i"), P("i"), P(), (64,), "int32"),
    "psum along one of three axes": ("2x2x2", lambda x: lax.psum(x, "b"), P("a", "b"), P("a"), (4, 4), "float32"),
    "psum along two of three": ("2x2x2", lambda x: lax.psum(x, ("a", "c")), P(("a", "c")), P(), (16, 8), "float32"),
    "pmax": ("8", lambda x: lax.pmax(x, "i"), P("i"), P(), (64, 3), "float32"),
    "mean": ("8", lambda x: lax.pmean(x, "i"), P("i"), P(), (8, 16), "float32"),
    "psum of two arrays": ("8", lambda x: lax.psum((x, x[:, :2] * 2), "i"), P("i"), P(), (64, 6), "float32"),
    "gather of all": ("8", lambda x: lax.all_gather(x, "i", tiled=True), P("i"), P("i"), (16, 5), "float32"),
    "gather along y": ("2x4", lambda x: lax.all_gather(x, "y", tiled=True), P("x", "y"), P("x", "y"), (4, 8), "int16"),
    "gather along x": ("4x2", lambda x: lax.all_gather(x, "x", axis=1, tiled=True), P("x"), P("x"), (8, 3), "float32"),
    "gather of bytes": ("8", lambda x: lax.all_gather(x, "i", tiled=True), P("i"), P("i"), (24,), "int8"),
    "gather of a new dimension": ("8", lambda x: lax.all_gather(x, "i"), P("i"), P("i"), (8, 3), "float32"),
    "scatter of all": ("8", lambda x: lax.psum_scatter(x, "i", tiled=True), P(), P("i"), (16, 3), "float32"),
    "scatter along y": ("2x4", lambda x: lax.psum_scatter(x, "y", tiled=True), P("x"), P("x"), (16, 3), "float32"),
    "exchange of all": ("8", lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True), P("i"), P("i"), (64, 3), "float32"),
    "exchange along x": ("4x2", lambda x: lax.all_to_all(x, "x", 0, 1, tiled=True), P("x"), P("x"), (16, 2), "float32"),
    "exchange of halves": ("8", lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True), P("i"), P("i"), (8, 16), "int16"),
    "ring": ("8", lambda x: lax.ppermute(x, "i", ring("i", 8)), P("i"), P("i"), (16, 5), "float32"),
    "ring along y": ("2x4", lambda x: lax.ppermute(x, "y", ring("y", 4)), P("x", "y"), P("x", "y"), (4, 8), "float32"),
    "some stay": ("8", lambda x: lax.ppermute(x, "i", [(0, 0), (1, 3), (3, 1)]), P("i"), P("i"), (16, 5), "float32"),
    "one sends": ("8", lambda x: lax.ppermute(x, "i", [(2, 7)]), P("i"), P("i"), (16, 5), "float32"),
}  # fmt: skip


def products(name: str, specs: tuple[P, P, P], sizes: tuple[int, int, int]) -> str:
    m, k, n = sizes
    where = mesh(name)
    shapes = ((m, k), (k, n))
    given = [
        jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(where, spec))
        for shape, spec in zip(shapes, specs[:2], strict=True)
    ]
    result = NamedSharding(where, specs[2])
    return jax.jit(lambda a, b: a @ b, out_shardings=result).lower(*given).compile().as_text()


# name: mesh, specs of both factors and of the product
PRODUCTS = {
    "product of split sums": ("8", (P(None, "i"), P("i", None), P()), (16, 64, 24)),
    "product with a gathered factor": ("8", (P("i", None), P("i", None), P("i", None)), (16, 64, 24)),
    "product along y": ("2x4", (P("x", "y"), P("y", None), P("x", None)), (16, 64, 24)),
    "product along x": ("4x2", (P(None, "x"), P("x", "y"), P(None, "y")), (16, 64, 24)),
    "product that is moved": ("2x4", (P("x", None), P(None, "y"), P("x", None)), (16, 64, 24)),
    "product of three axes": ("2x2x2", (P("a", "b"), P("b", "c"), P("a", "c")), (16, 64, 24)),
}


def main() -> None:
    found = {}
    for name, (where, body, spec, out, shape, dtype) in MAPPED.items():
        mapped = jax.shard_map(body, mesh=mesh(where), in_specs=spec, out_specs=out, check_vma=False)
        found[name] = jax.jit(mapped).lower(jax.ShapeDtypeStruct(shape, dtype)).compile().as_text()
    found |= {name: products(*case) for name, case in PRODUCTS.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
