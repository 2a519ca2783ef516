"""Reductions to Hessenberg and tridiagonal form, and eigenvalues of general matrices, as LAPACK documents them.

Householder's reflectors are ``I - tau v v^H`` with ``v[0] = 1``; a reduced matrix has the rest of each ``v`` where it
has zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def hessenberg(matrix: Array) -> tuple[Array, Array]:
    """The matrix with zeros below its first subdiagonal, where the reflectors are, and their factors."""
    a = matrix.copy()
    n = len(a)
    taus = np.zeros(max(n - 1, 0), a.dtype)
    for k in range(n - 1):
        v, beta, taus[k] = _reflector(a[k + 1 :, k])
        a[:, k + 1 :] -= taus[k] * np.outer(a[:, k + 1 :] @ v, v.conj())
        a[k + 1 :, k + 1 :] -= taus[k].conj() * np.outer(v, v.conj() @ a[k + 1 :, k + 1 :])
        a[k + 1, k], a[k + 2 :, k] = beta, v[1:]
    return a, taus


def tridiagonal(matrix: Array, *, lower: bool) -> tuple[Array, Array, Array, Array]:
    """A Hermitian matrix with its reflectors, the diagonal, the subdiagonal, and the factors of the reflectors.

    The other triangle is neither read nor written.
    """
    n = len(matrix)
    if not lower:
        # The last column first: the same on the matrix turned round, whose lower triangle is the upper one.
        turned, d, e, taus = tridiagonal(matrix[::-1, ::-1], lower=True)
        return turned[::-1, ::-1], d[::-1], e[::-1], taus[::-1]
    strict = np.tril(matrix, -1)
    a = strict + strict.conj().T + np.diag(matrix.diagonal().real).astype(matrix.dtype)
    off = np.zeros(max(n - 1, 0), a.real.dtype)
    taus = np.zeros(max(n - 1, 0), a.dtype)
    reflectors = matrix.copy()
    for k in range(n - 1):
        v, beta, taus[k] = _reflector(a[k + 1 :, k])
        a[:, k + 1 :] -= taus[k] * np.outer(a[:, k + 1 :] @ v, v.conj())
        a[k + 1 :, :] -= taus[k].conj() * np.outer(v, v.conj() @ a[k + 1 :, :])
        off[k] = beta.real
        reflectors[k + 1, k], reflectors[k + 2 :, k] = beta, v[1:]
    diagonal = a.diagonal().real
    reflectors[np.arange(n), np.arange(n)] = diagonal
    return reflectors, diagonal, off, taus


def eigen_general(matrix: Array) -> tuple[Array, Array, Array]:
    """Eigenvalues, left and right eigenvectors as columns of length 1 whose largest element is real."""
    values, right = np.linalg.eig(matrix)
    try:
        left = np.linalg.inv(right).conj().T
    except np.linalg.LinAlgError:
        left = np.full_like(right, np.nan)  # a matrix without a basis of eigenvectors
    left = left / np.linalg.norm(left, axis=0)
    if np.iscomplexobj(left) and left.size:
        largest = np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], axis=0)
        left = left * (largest.conj() / np.abs(largest))
    return values, left, right


def _reflector(x: Array) -> tuple[Array, Any, Any]:
    """v, beta and tau with ``(I - tau v v^H)^H x = beta e1``, beta real."""
    alpha, rest = x[0], x[1:]
    v = np.concatenate([np.ones(1, x.dtype), np.zeros(len(rest), x.dtype)])
    if not np.any(rest) and alpha.imag == 0:
        return v, alpha, x.dtype.type(0)
    beta = x.dtype.type(-np.copysign(np.linalg.norm(x), alpha.real))
    v[1:] = rest / (alpha - beta)
    return v, beta, (beta - alpha) / beta
