"""The built-in custom calls: the properties of LAPACK's factors, batches, failures; sorts, bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlomap as hm

RNG = np.random.default_rng(5)
TYPES = {"s": ("f32", np.float32), "d": ("f64", np.float64), "c": ("c64", np.complex64), "z": ("c128", np.complex128)}


def matrices(kind: str, *sizes: int) -> np.ndarray:
    dtype = TYPES[kind][1]
    made = RNG.normal(size=sizes) + (1j * RNG.normal(size=sizes) if kind in "cz" else 0)
    return made.astype(dtype)


def call(target: str, results: list[tuple[str, tuple[int, ...]]], *operands: np.ndarray, config: str = "") -> list[Any]:
    names = {np.dtype(dtype): name for name, dtype in TYPES.values()}
    names |= {np.dtype(f"{kind}{n}"): f"{code}{n * 8}" for kind, code in (("i", "s"), ("u", "u")) for n in (1, 4, 8)}

    def shape(name: str, sizes: tuple[int, ...]) -> str:
        return f"{name}[{','.join(map(str, sizes))}]"

    lines = [f"  p{k} = {shape(names[x.dtype], x.shape)} parameter({k})" for k, x in enumerate(operands)]
    given = ", ".join(f"p{k}" for k in range(len(operands)))
    out = ", ".join(shape(name, sizes) for name, sizes in results)
    out = f"({out})" if len(results) > 1 else out
    lines.append(
        f'  ROOT r = {out} custom-call({given}), custom_call_target="{target}", '
        f"api_version=API_VERSION_TYPED_FFI, backend_config={{{config}}}"
    )
    found = hm.execute(hm.parse("HloModule m\nENTRY e {\n" + "\n".join(lines) + "\n}\n"), *operands)
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("kind", TYPES)
def test_cholesky(kind: str) -> None:
    a = matrices(kind, 2, 4, 4)
    a = (a @ np.swapaxes(a.conj(), -1, -2) + 4 * np.eye(4)).astype(a.dtype)
    name = TYPES[kind][0]
    for letter, cut in ((76, np.tril), (85, np.triu)):
        results = [(name, a.shape), ("s32", (2,))]
        factor, info = call(f"lapack_{kind}potrf_ffi", results, a, config=f"uplo = {letter} : ui8")
        assert info.tolist() == [0, 0]
        part = cut(factor)
        whole = part @ np.swapaxes(part.conj(), -1, -2) if letter == 76 else np.swapaxes(part.conj(), -1, -2) @ part
        np.testing.assert_allclose(whole, a, rtol=1e-4, atol=1e-4)
        assert (cut(factor - a, -1 if letter == 76 else 1) != 0).any() and np.allclose(factor - part, a - cut(a))
    a[1, 2, 2] = -9
    assert call(f"lapack_{kind}potrf_ffi", results, a)[1].tolist() == [0, 3]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("side", "LR")
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("transposed", "NTC")
@pytest.mark.parametrize("diagonal", "NU")
def test_triangular_solve(kind: str, side: str, uplo: str, transposed: str, diagonal: str) -> None:
    a, b = matrices(kind, 3, 3) + 3 * np.eye(3, dtype=TYPES[kind][1]), matrices(kind, 3, 3)
    options = {"side": side, "uplo": uplo, "trans_x": transposed, "diag": diagonal}
    config = ", ".join(f"{key} = {ord(letter)} : ui8" for key, letter in options.items())
    (x,) = call(f"lapack_{kind}trsm_ffi", [(TYPES[kind][0], b.shape)], a, b, config=config)
    part = np.tril(a) if uplo == "L" else np.triu(a)
    if diagonal == "U":
        np.fill_diagonal(part, 1)
    part = {"N": part, "T": part.T, "C": part.conj().T}[transposed]
    np.testing.assert_allclose(part @ x if side == "L" else x @ part, b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sizes", [(2, 4, 4), (3, 5), (5, 3)])
def test_lu(sizes: tuple[int, ...]) -> None:
    a = matrices("d", *sizes)
    n = min(sizes[-2:])
    results = [("f64", sizes), ("s32", (*sizes[:-2], n)), ("s32", sizes[:-2])]
    both, swaps, info = call("lapack_dgetrf_ffi", results, a)
    assert not info.any()
    for matrix, made, rows in zip(
        a.reshape(-1, *sizes[-2:]), both.reshape(-1, *sizes[-2:]), swaps.reshape(-1, n), strict=True
    ):
        lower = np.tril(made, -1)[:, :n] + np.eye(sizes[-2], n)
        moved = matrix.copy()
        for k, row in enumerate(rows):
            moved[[k, row - 1]] = moved[[row - 1, k]]
        np.testing.assert_allclose(lower @ np.triu(made)[:n], moved, atol=1e-12)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("sizes", [(2, 4, 4), (5, 3)])
def test_qr(kind: str, sizes: tuple[int, ...]) -> None:
    a, name = matrices(kind, *sizes), TYPES[kind][0]
    n = min(sizes[-2:])
    made, factors = call(f"lapack_{kind}geqrf_ffi", [(name, sizes), (name, (*sizes[:-2], n))], a)
    product = "orgqr" if kind in "sd" else "ungqr"
    (q,) = call(f"lapack_{kind}{product}_ffi", [(name, sizes)], made, factors)
    np.testing.assert_allclose(q @ np.triu(made)[..., :n, :], a, atol=1e-4)
    np.testing.assert_allclose(
        np.swapaxes(q.conj(), -1, -2) @ q, np.broadcast_to(np.eye(n), (*sizes[:-2], n, n)), atol=1e-4
    )


def test_svd_eigenvalues_and_tridiagonal_systems() -> None:
    a = matrices("d", 2, 4, 3)
    shapes = [("f64", s) for s in ((2, 4, 3), (2, 3), (2, 4, 3), (2, 3, 3))]
    _, s, u, v, info = call("lapack_dgesdd_ffi", [*shapes, ("s32", (2,))], a, config="mode = 83 : ui8")
    np.testing.assert_allclose(u * s[:, None] @ v, a, atol=1e-12)
    assert not info.any()
    h = matrices("z", 3, 3)
    h = h + h.conj().T
    results = [("c128", (3, 3)), ("f64", (3,)), ("s32", ())]
    vectors, found, _ = call("lapack_zheevd_ffi", results, h, config="mode = 86 : ui8, uplo = 76 : ui8")
    np.testing.assert_allclose(vectors * found @ vectors.conj().T, h, atol=1e-12)
    d = [matrices("d", 4) for _ in range(3)]
    b = matrices("d", 4, 2)
    x = call("lapack_dgtsv_ffi", [("f64", (4,))] * 3 + [("f64", (4, 2)), ("s32", ())], *d, b)[3]
    full = np.diag(d[1]) + np.diag(d[0][1:], -1) + np.diag(d[2][:-1], 1)
    np.testing.assert_allclose(full @ x, b, atol=1e-10)


def test_sparse_solve() -> None:
    a = np.array([[2, 0, 1], [0, 3, 0], [0, 4, 5]], np.float64)
    rows = [row.nonzero()[0] for row in a]
    values, columns = a[a != 0], np.concatenate(rows).astype(np.int32)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    b = np.array([1.0, 2.0, 3.0])
    config = "reorder = 1 : i32, tol = 1.0e-6 : f64"
    (x,) = call("cusolver_csrlsvqr_ffi", [("f64", (3,))], values, columns, offsets, b, config=config)
    np.testing.assert_allclose(a @ x, b)
    with pytest.raises(hm.errors.UnsupportedError, match="row offsets"):
        call("cusolver_csrlsvqr_ffi", [("f64", (3,))], values, columns, offsets + 1, b, config=config)
    with pytest.raises(hm.errors.UnsupportedError, match="column"):
        call("cusolver_csrlsvqr_ffi", [("f64", (3,))], values, columns + 2, offsets, b, config=config)


def test_top_k() -> None:
    x = np.array([[1, 3, 3, -1], [0, np.nan, -0.0, 5]], np.float32)
    values, indices = call("TopK", [("f32", (2, 3)), ("s32", (2, 3))], x)
    np.testing.assert_array_equal(values, np.array([[3, 3, 1], [np.nan, 5, 0]], np.float32))
    assert indices.tolist() == [[1, 2, 0], [1, 3, 0]]


@pytest.mark.parametrize("descending", [False, True])
def test_radix_sort(descending: bool) -> None:
    keys = np.array([[2, -0.0, 0.0, np.nan, -np.inf], [1, 1, -np.nan, 3, 1]], np.float32)
    values = np.arange(10, dtype=np.int32).reshape(2, 5)
    results = [("f32", (2, 5)), ("s32", (2, 5)), ("u8", (3,))]
    config = f'"descending":{str(descending).lower()}'
    _, order, _ = call("__cub$DeviceRadixSort", results, keys, values, config=config)
    expected = [[4, 1, 2, 0, 3], [7, 5, 6, 9, 8]] if not descending else [[3, 0, 2, 1, 4], [8, 5, 6, 9, 7]]
    assert order.tolist() == expected


def test_random_bits() -> None:
    operands = [RNG.integers(0, 2**32, 50, dtype=np.uint32) for _ in range(4)]
    found = call("cu_threefry2x32", [("u32", (50,))] * 2, *operands)
    expected = pytest.importorskip("jax.extend.random").threefry2x32_p.bind(*operands)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, np.asarray(other))


def test_halves_of_64_bits() -> None:
    whole = RNG.integers(-(2**63), 2**63 - 1, 50, dtype=np.int64)
    (low,) = call("X64SplitLow", [("u32", (50,))], whole)
    (high,) = call("X64SplitHigh", [("s32", (50,))], whole)
    assert (low == whole.astype(np.uint32)).all() and (high == whole >> 32).all()
    np.testing.assert_array_equal(call("X64Combine", [("s64", (50,))], low, high)[0], whole)


def test_dynamic_arrays() -> None:
    text = """ENTRY e {
      x = f32[4,3] parameter(0)
      rows = s32[] parameter(1)
      columns = s32[] parameter(2)
      part = f32[<=4,<=3] custom-call(x, rows, columns), custom_call_target="SliceToDynamic"
      ROOT whole = (f32[4,3], s32[], s32[]) custom-call(part), custom_call_target="PadToStatic"
    }"""
    x = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
    padded, rows, columns = hm.execute(hm.parse(text), x, 3, 2)
    assert (rows, columns) == (3, 2)
    np.testing.assert_array_equal(padded, np.pad(x[:3, :2], [(0, 1), (0, 1)]))
