"""Factorizations that JAX calls and that no HLO defines, by NumPy and SciPy's LAPACK.

:data:`CALLS` maps targets to functions.  Results are as the routines document them: factors, solutions and the info
code; if a routine overwrites an operand with working values, the operand is returned unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import Instruction
from ..base.types import needs
from ..errors import UnsupportedError
from ..ops._evaluation import Array, Value

CountSteps = Callable[[int], None]


def _option(instruction: Instruction, name: str, default: str) -> str:
    """An option such as ``uplo = 76 : ui8`` as a letter."""
    found = re.search(rf"\b{name} = (\d+)", _config(instruction))
    return chr(int(found[1])) if found else default


def _batched(count_steps: CountSteps, function: Callable[..., tuple[Any, ...]], *batched: Array) -> tuple[Array, ...]:
    """Applies a function to each matrix of a batch."""
    outer = batched[0].shape[:-2]
    flat = [x.reshape(-1, *x.shape[len(outer) :]) for x in batched]
    count_steps(len(flat[0]) * flat[0].shape[-1])
    results = [function(*matrices) for matrices in zip(*flat, strict=True)]
    return tuple(np.reshape(part, (*outer, *np.shape(part)[1:])) for part in zip(*results, strict=True))


def _config(instruction: Instruction) -> str:
    return instruction.attributes.text("backend_config") or ""


def _is_lower(instruction: Instruction) -> bool:
    """Whether the lower triangle is used: ``uplo`` of LAPACK, ``lower`` of the libraries for GPUs."""
    if "lower = " in _config(instruction):
        return "lower = true" in _config(instruction)
    return _option(instruction, "uplo", "L") == "L"


def _lapack(name: str, a: Array) -> Callable[..., Any]:
    """A routine for the element type of a matrix."""
    with needs("scipy", f"a call of LAPACK's {name}"):
        from scipy.linalg.lapack import get_lapack_funcs
    return get_lapack_funcs(name, (a,))  # type: ignore[no-any-return]


def cholesky(a: Array, *, instruction: Instruction, count_steps: CountSteps) -> Value:
    """The factor in its triangle, the other triangle unchanged; info is the order of the first failing minor."""
    lower = _is_lower(instruction)

    def one(matrix: Array) -> tuple[Array, np.int32]:
        factor, info = _lapack("potrf", matrix)(matrix, lower=lower, clean=False)
        return factor, np.int32(info)

    return _batched(count_steps, one, a)


def lu(a: Array, *, count_steps: CountSteps) -> Value:
    """Both factors in one matrix, the swapped rows and the first zero pivot, counted from 1."""

    def one(matrix: Array) -> tuple[Array, Array, np.int32]:
        both, swaps, info = _lapack("getrf", matrix)(matrix)
        return both, swaps + np.int32(1), np.int32(info)

    return _batched(count_steps, one, a)


def lu_on_tpu(a: Array, *, count_steps: CountSteps) -> Value:
    """Both factors in one matrix, the swapped rows, counted from 0, and the resulting permutation."""
    factors, swaps, _ = lu(a, count_steps=count_steps)
    return factors, swaps - 1, _permutation(swaps - 1, a.shape[-2])


def pivots_to_permutation(pivots: Array, *, instruction: Instruction) -> Value:
    """The order of rows after each is swapped with the row that its pivot names, counted from 0."""
    return _permutation(pivots, instruction.shape.dimensions[-1])


def _permutation(pivots: Array, n: int) -> Array:
    outside = (pivots < 0) | (pivots >= n)
    if outside.any():
        raise UnsupportedError(f"a pivot is outside [0, {n - 1}]")
    order = np.broadcast_to(np.arange(n, dtype=np.int32), (*pivots.shape[:-1], n)).copy()
    for k in range(pivots.shape[-1]):
        other = pivots[..., k : k + 1].astype(np.intp)
        taken = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., k : k + 1].copy(), -1)
        order[..., k : k + 1] = taken
    return order


def qr(a: Array, *, count_steps: CountSteps) -> Value:
    """R with the reflectors below its diagonal, and their factors."""
    return _batched(count_steps, lambda matrix: _lapack("geqrf", matrix)(matrix)[:2], a)


def householder_product(a: Array, factors: Array, *, count_steps: CountSteps) -> Value:
    """The first columns of the product of the reflectors below the diagonal of a."""
    return _batched(count_steps, lambda matrix, taus: _lapack("orgqr", matrix)(matrix, taus)[:1], a, factors)[0]


def householder_apply(
    a: Array, factors: Array, c: Array, *, instruction: Instruction, count_steps: CountSteps
) -> Value:
    """The product of the reflectors below the diagonal of a, times c from the left or the right."""
    side = "L" if "left = true" in _config(instruction) else "R"
    adjoint = "C" if np.iscomplexobj(a) else "T"
    form = adjoint if "transpose = true" in _config(instruction) else "N"

    def one(matrix: Array, taus: Array, other: Array) -> tuple[Array]:
        n_work = 64 * max(other.shape)  # more than the routines need
        return _lapack("ormqr", matrix)(side, form, matrix, taus, other, n_work)[:1]  # type: ignore[no-any-return]

    return _batched(count_steps, one, a, factors, c)[0]


def svd(a: Array, *, instruction: Instruction) -> Value:
    """Singular values and vectors; the operand, which LAPACK overwrites, is returned unchanged."""
    mode = _option(instruction, "mode", "S")
    shapes = [shape.dimensions for shape in instruction.shape.tuple_shapes]
    info = np.zeros(a.shape[:-2], np.int32)
    if mode == "N":
        s = np.linalg.svd(a, compute_uv=False)
        u, v = (np.zeros(sizes, a.dtype) for sizes in shapes[2:4])
    else:
        u, s, v = np.linalg.svd(a, full_matrices=mode == "A")
    return (a, s.astype(a.real.dtype), u.astype(a.dtype), v.astype(a.dtype), info)


def eigen_symmetric(a: Array, *, instruction: Instruction) -> Value:
    """Eigenvectors and eigenvalues in ascending order."""
    uplo: Any = "L" if _is_lower(instruction) else "U"
    values, vectors = np.linalg.eigh(a, UPLO=uplo)
    info = np.zeros(a.shape[:-2], np.int32)
    return (vectors.astype(a.dtype), values.astype(a.real.dtype), info)


def eigen_symmetric_on_tpu(a: Array, *, instruction: Instruction) -> Value:
    """Eigenvectors and eigenvalues; the first option of the configuration selects the lower triangle."""
    uplo: Any = "U" if str(instruction.attributes.get("backend_config", "")).startswith("0") else "L"
    values, vectors = np.linalg.eigh(a, UPLO=uplo)
    return (vectors.astype(a.dtype), values.astype(a.real.dtype))


def eigen(a: Array, *, instruction: Instruction, count_steps: CountSteps) -> Value:
    """Eigenvalues, with separate real and imaginary parts for real matrices; left and right eigenvectors."""
    with needs("scipy", "a call of LAPACK's geev"):
        from scipy.linalg import eig
    wide = np.result_type(a.dtype, np.complex64)

    def one(matrix: Array) -> tuple[Array, ...]:
        if not np.isfinite(matrix).all():
            return tuple(np.full_like(part, np.nan, wide) for part in (matrix[0], matrix, matrix))
        return tuple(part.astype(wide) for part in eig(matrix, left=True, right=True))

    values, *both = _batched(count_steps, one, a)
    is_asked = (_option(instruction, f"compute_{side}", "V") == "V" for side in ("left", "right"))
    sides = (vectors if asked else np.zeros_like(vectors) for vectors, asked in zip(both, is_asked, strict=True))
    parts = (values,) if np.iscomplexobj(a) else (values.real, values.imag)
    return (*parts, *sides, np.zeros(a.shape[:-2], np.int32))


def to_hessenberg(a: Array, *, instruction: Instruction, count_steps: CountSteps) -> Value:
    """The Hessenberg form with its reflectors, and their factors."""
    low, high = (re.search(rf"\b{name} = (\d+)", _config(instruction)) for name in ("low", "high"))
    if (low and int(low[1]) != 1) or (high and int(high[1]) != a.shape[-1]):
        raise UnsupportedError("a reduction of a part of a matrix to Hessenberg form")
    parts = _batched(count_steps, lambda matrix: _lapack("gehrd", matrix)(matrix)[:2], a)
    return (*parts, np.zeros(a.shape[:-2], np.int32))


def to_tridiagonal(a: Array, *, instruction: Instruction, count_steps: CountSteps) -> Value:
    """The tridiagonal form with its reflectors, the diagonal, the off-diagonal, and the factors."""
    name, lower = "hetrd" if np.iscomplexobj(a) else "sytrd", _is_lower(instruction)
    parts = _batched(count_steps, lambda matrix: _lapack(name, matrix)(matrix, lower=lower)[:4], a)
    return (*parts, np.zeros(a.shape[:-2], np.int32))


def svd_of_gpu(a: Array, *, instruction: Instruction) -> Value:
    """Singular values and vectors.  Right vectors are transposed, and come first if the matrix is transposed; the
    Jacobi routine does neither."""
    config, shapes = _config(instruction), [shape.dimensions for shape in instruction.shape.tuple_shapes]
    info = np.zeros(a.shape[:-2], np.int32)
    if "compute_uv = false" in config:
        s = np.linalg.svd(a, compute_uv=False)
        first, second = (np.zeros(sizes, a.dtype) for sizes in shapes[2:4])
    else:
        first, s, second = np.linalg.svd(a, full_matrices="full_matrices = true" in config)
        if str(instruction.attributes["custom_call_target"]).endswith(("gesvdj_ffi", "gesvdp_ffi")):
            second = np.swapaxes(second.conj(), -1, -2)
        elif "transposed = true" in config:
            first, second = second, first
    return (a, s.astype(a.real.dtype), first.astype(a.dtype), second.astype(a.dtype), info)


def tridiagonal_solve(lower: Array, middle: Array, upper: Array, b: Array) -> Value:
    """x for a matrix given by three diagonals; ``lower`` may begin and ``upper`` may end with an unused element."""
    n = middle.shape[-1]
    rows = np.arange(n)
    full = np.zeros((*middle.shape, n), middle.dtype)
    full[..., rows, rows] = middle
    below, above = lower[..., lower.shape[-1] - (n - 1) :], upper[..., : n - 1]
    full[..., rows[1:], rows[:-1]] = below
    full[..., rows[:-1], rows[1:]] = above
    x = np.linalg.solve(full, b).astype(b.dtype)
    return (lower, middle, upper, x, np.zeros(middle.shape[:-1], np.int32))


def tridiagonal_solution(lower: Array, middle: Array, upper: Array, b: Array) -> Value:
    """Only the solution ``x`` of :func:`tridiagonal_solve`."""
    return tridiagonal_solve(lower, middle, upper, b)[3]


_LAPACK: tuple[tuple[str, str, Callable[..., Value]], ...] = (
    ("sdcz", "potrf", cholesky),
    ("sdcz", "getrf", lu),
    ("sdcz", "geqrf", qr),
    ("sd", "orgqr", householder_product),
    ("cz", "ungqr", householder_product),
    ("sd", "ormqr", householder_apply),
    ("cz", "unmqr", householder_apply),
    ("sdcz", "gesdd", svd),
    ("sd", "syevd", eigen_symmetric),
    ("cz", "heevd", eigen_symmetric),
    ("sdcz", "geev", eigen),
    ("sdcz", "gehrd", to_hessenberg),
    ("sd", "sytrd", to_tridiagonal),
    ("cz", "hetrd", to_tridiagonal),
    ("sdcz", "gtsv", tridiagonal_solve),
)

_GPU: dict[str, Callable[..., Value]] = {
    "potrf": cholesky,
    "getrf": lu,
    "geqrf": qr,
    "orgqr": householder_product,
    "ormqr": householder_apply,
    "gesdd": svd_of_gpu,
    "gesvd": svd_of_gpu,
    "gesvdj": svd_of_gpu,
    "gesvdp": svd_of_gpu,
    "syevd": eigen_symmetric,
    "sytrd": to_tridiagonal,
}

CALLS: dict[str, Callable[..., Value]] = {
    **{f"lapack_{kind}{name}_ffi": function for kinds, name, function in _LAPACK for kind in kinds},
    **{f"{gpu}solver_{name}_ffi": function for gpu in ("cu", "hip", "oneapi") for name, function in _GPU.items()},
    **{f"{gpu}_lu_pivots_to_permutation": pivots_to_permutation for gpu in ("cu", "hip", "oneapi")},
    **{f"{gpu}sparse_gtsv2_ffi": tridiagonal_solution for gpu in ("cu", "hip")},
    "Eigh": eigen_symmetric_on_tpu,
    "LuDecomposition": lu_on_tpu,
    "ProductOfElementaryHouseholderReflectors": householder_product,
    "Qr": qr,
}
"""Functions by custom call target."""
