"""Eigenvalues and reduced forms against JAX's results on CPU; factorizations of the libraries for GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_execute_library import call, matrices

import hlomap as hm

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.jax
linalg = jax.lax.linalg


def close(function: Any, a: np.ndarray) -> None:
    """Both run the same program."""
    module = hm.from_jax(jax.jit(function), jax.ShapeDtypeStruct(a.shape, a.dtype), stage="unoptimized")
    found = hm.execute(module, a)
    expected = jax.jit(function)(a)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("kind", "sc")
@pytest.mark.parametrize("sizes", [(5, 5), (2, 3, 3), (1, 1)])
def test_hessenberg_form(kind: str, sizes: tuple[int, ...]) -> None:
    close(linalg.hessenberg, matrices(kind, *sizes))


@pytest.mark.parametrize("kind", "sc")
@pytest.mark.parametrize("lower", [True, False])
def test_tridiagonal_form(kind: str, lower: bool) -> None:
    a = matrices(kind, 2, 5, 5)
    a = (a + np.swapaxes(a.conj(), -1, -2)).astype(a.dtype)
    close(lambda x: linalg.tridiagonal(x, lower=lower), a)


@pytest.mark.parametrize("kind", "sc")
@pytest.mark.parametrize("side", ["left", "right"])
def test_eigenvalues_of_general_matrices(kind: str, side: str) -> None:
    """The order of values, and the signs of vectors, are those of a build of LAPACK."""
    a = matrices(kind, 4, 4)
    sides = {f"compute_{one}_eigenvectors": one == side for one in ("left", "right")}
    function = jax.jit(lambda x: linalg.eig(x, **sides))
    module = hm.from_jax(function, jax.ShapeDtypeStruct(a.shape, a.dtype), stage="unoptimized")
    values, vectors = hm.execute(module, a)
    np.testing.assert_allclose(np.sort_complex(values), np.sort_complex(function(a)[0]), rtol=2e-3, atol=2e-4)
    one, other = (a @ vectors, values) if side == "right" else (a.conj().T @ vectors, values.conj())
    np.testing.assert_allclose(one, vectors * other, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1, rtol=1e-5)
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    np.testing.assert_allclose(largest.imag, 0, atol=1e-6)


def test_a_matrix_without_a_basis_of_eigenvectors_has_eigenvalues() -> None:
    a = np.array([[1.0, 1.0], [0.0, 1.0]])
    results: list[tuple[str, tuple[int, ...]]] = [("f64", (2,)), ("f64", (2,)), ("c128", (2, 2)), ("c128", (2, 2))]
    real, imaginary, *_ = call("lapack_dgeev_ffi", [*results, ("s32", ())], a)
    assert real.tolist() == [1, 1] and imaginary.tolist() == [0, 0]


@pytest.mark.parametrize("library", ["cusolver", "hipsolver"])
def test_libraries_for_gpus(library: str) -> None:
    a = matrices("d", 4, 3)
    square = a.T @ a + np.eye(3)
    for flag, cut in (("true", np.tril), ("false", np.triu)):
        factor, info = call(f"{library}_potrf_ffi", [("f64", (3, 3)), ("s32", ())], square, config=f"lower = {flag}")
        part = cut(factor)
        np.testing.assert_allclose(part @ part.T if flag == "true" else part.T @ part, square)
        assert info == 0
    vectors, values, _ = call(
        f"{library}_syevd_ffi", [("f64", (3, 3)), ("f64", (3,)), ("s32", ())], square, config="lower = true"
    )
    np.testing.assert_allclose(vectors * values @ vectors.T, square)
    config = "compute_uv = true, full_matrices = false, transposed = {}"
    for transposed, x in (("false", a), ("true", a.T.copy())):
        m, n = x.shape
        sides: list[tuple[str, tuple[int, ...]]] = [("f64", (m, 3)), ("f64", (3, n))]
        results = [("f64", (m, n)), ("f64", (3,)), *(sides if transposed == "false" else sides[::-1]), ("s32", ())]
        _, s, u, v, _ = call(f"{library}_gesvd_ffi", results, x, config=config.format(transposed))
        u, v = (u, v) if transposed == "false" else (v, u)
        np.testing.assert_allclose(u * s @ v, x)
    results = [("f64", (4, 3)), ("f64", (3,)), ("f64", (4, 3)), ("f64", (3, 3)), ("s32", ())]
    _, s, u, v, _ = call(f"{library}_gesvdj_ffi", results, a, config="compute_uv = true, full_matrices = false")
    np.testing.assert_allclose(u * s @ v.T, a)
