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


@pytest.mark.parametrize("library", ["cu", "hip", "oneapi"])
def test_pivots_are_permutations(library: str) -> None:
    pivots = np.array([[2, 1, 4, 3], [0, 1, 2, 3]], np.int32)
    (found,) = call(f"{library}_lu_pivots_to_permutation", [("s32", (2, 5))], pivots)
    expected = pytest.importorskip("jax.lax").linalg.lu_pivots_to_permutation(pivots, 5)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(hm.errors.UnsupportedError, match=r"a pivot is outside \[0, 2\]"):
        call(f"{library}_lu_pivots_to_permutation", [("s32", (2, 3))], pivots)


def test_factorizations_on_tpus() -> None:
    a = matrices("d", 2, 4, 3)
    both, pivots, order = call("LuDecomposition", [("f64", (2, 4, 3)), ("s32", (2, 3)), ("s32", (2, 4))], a)
    assert pivots.min() >= 0 and pivots.max() <= 3
    lower = np.tril(both, -1) + np.eye(4, 3)
    np.testing.assert_allclose(lower @ np.triu(both)[:, :3], np.take_along_axis(a, order[..., None], 1), atol=1e-12)
    made, factors = call("Qr", [("f64", (2, 4, 3)), ("f64", (2, 3))], a)
    (q,) = call("ProductOfElementaryHouseholderReflectors", [("f64", (2, 4, 3))], made, factors)
    np.testing.assert_allclose(q @ np.triu(made)[:, :3], a, atol=1e-12)
    h = matrices("d", 2, 3, 3)
    for config, triangle in (("1,1,100,1e-6", np.tril), ("0,1,100,1e-6", np.triu)):
        text = """ENTRY e {
          p = f64[2,3,3] parameter(0)
          ROOT r = (f64[2,3,3], f64[2,3]) custom-call(p), custom_call_target="Eigh", backend_config="CONFIG"
        }"""
        vectors, found = hm.execute(hm.parse(text.replace("CONFIG", config)), h)
        part = triangle(h)
        whole = part + np.swapaxes(part, -1, -2) - part * np.eye(3)
        np.testing.assert_allclose(vectors * found[:, None] @ np.swapaxes(vectors, -1, -2), whole, atol=1e-12)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_reflectors_times_a_matrix(kind: str, left: bool, transpose: bool) -> None:
    a, name = matrices(kind, 2, 4, 3), TYPES[kind][0]
    c = matrices(kind, 2, 4, 5) if left else matrices(kind, 2, 5, 4)
    made, factors = call(f"lapack_{kind}geqrf_ffi", [(name, a.shape), (name, (2, 3))], a)
    config = f"left = {str(left).lower()}, transpose = {str(transpose).lower()}"
    for target in (f"lapack_{kind}{'or' if kind in 'sd' else 'un'}mqr_ffi", "hipsolver_ormqr_ffi"):
        (found,) = call(target, [(name, c.shape)], made, factors, c, config=config)
        whole = np.linalg.qr(a, mode="complete").Q
        q = np.swapaxes(whole.conj(), -1, -2) if transpose else whole
        np.testing.assert_allclose(found, q @ c if left else c @ q, atol=1e-4)


@pytest.mark.parametrize("library", ["cu", "hip"])
def test_solves_and_products_of_gpus(library: str) -> None:
    d, b = [matrices("d", 4) for _ in range(3)], matrices("d", 4, 2)
    (x,) = call(f"{library}sparse_gtsv2_ffi", [("f64", (4, 2))], *d, b)
    full = np.diag(d[1]) + np.diag(d[0][1:], -1) + np.diag(d[2][:-1], 1)
    np.testing.assert_allclose(full @ x, b, atol=1e-10)
    a, c, alpha, beta = matrices("d", 2, 3, 4), matrices("d", 2, 3, 3), np.float64(2), np.float64(-1)
    target = f"{library}solver_syrk_ffi"
    (y,) = call(target, [("f64", c.shape)], a, c, alpha, beta, config="transpose = false")
    np.testing.assert_allclose(np.tril(y), np.tril(2 * a @ np.swapaxes(a, 1, 2) - c), atol=1e-12)
    (y,) = call(target, [("f64", (3, 3))], a[0].T, c[0], alpha, beta, config="transpose = true")
    np.testing.assert_allclose(np.tril(y), np.tril(2 * a[0] @ a[0].T - c[0]), atol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_running_sum(reverse: bool) -> None:
    x = np.arange(2 * 5 * 3, dtype=np.float32).reshape(2, 5, 3)
    options = {"vector_length": "3 : i64", "row_length": "5 : i64", "column_length": "2 : i64", "kind": "1 : i32"}
    config = ", ".join(f"{name} = {value}" for name, value in options.items())
    config += f", is_reverse = {str(reverse).lower()}"
    found, scratch = call("xla.gpu.ext.cub_scan", [("f32", x.shape), ("u8", (7,))], x, config=config)
    expected = np.cumsum(x[:, ::-1], axis=1)[:, ::-1] if reverse else np.cumsum(x, axis=1)
    np.testing.assert_array_equal(found, expected)
    assert not scratch.any()


def test_running_sum_in_the_order_of_memory() -> None:
    text = """ENTRY e {
      p = f32[4,2]{0,1} parameter(0)
      ROOT r = (f32[4,2]{1,0}, u8[1]{0}) custom-call(p), custom_call_target="xla.gpu.ext.cub_scan",
        backend_config={"vector_length":"1","row_length":"4","column_length":"2","kind":"SUM","is_reverse":false}
    }"""
    x = np.arange(8, dtype=np.float32).reshape(4, 2) + 1
    # The result has another layout: its elements in memory are the sums, a matrix of two rows.
    sums = np.cumsum(x.T, axis=1)
    np.testing.assert_array_equal(hm.execute(hm.parse(text), x)[0].reshape(-1), sums.reshape(-1))


def test_products_of_cublas() -> None:
    def product(a: str, b: str, batch: str = "") -> str:
        names = {"lhs_contracting": a, "rhs_contracting": b, "lhs_batch": batch, "rhs_batch": batch}
        return ",".join(f'"{name}_dimensions":[{dims}]' for name, dims in names.items())

    x, w, bias = matrices("s", 3, 4), matrices("s", 4, 5), matrices("s", 5)
    config = f'"gemm_backend_config":{{"epilogue":"BIAS_SILU","dot_dimension_numbers":{{{product("1", "0")}}}}}'
    (y,) = call("__cublas$lt$matmul", [("f32", (3, 5))], x, w, bias, config=config)
    z = x @ w + bias
    np.testing.assert_allclose(y, z / (1 + np.exp(-z)), rtol=1e-5)

    added = matrices("s", 3, 5)
    config = f'"gemm_backend_config":{{"alpha_real":3,"beta":2,"dot_dimension_numbers":{{{product("1", "0")}}}}}'
    (y,) = call("__cublas$lt$matmul", [("f32", (3, 5))], x, w, added, config=config)
    np.testing.assert_allclose(y, 3 * x @ w + 2 * added, rtol=1e-5, atol=1e-6)

    rows, groups, sizes = matrices("s", 6, 4), matrices("s", 3, 4, 5), np.array([2, 0, 3], np.int32)
    ragged = (
        f'"dot_dimension_numbers":{{{product("1", "1")}}},"lhs_ragged_dimensions":["0"],"rhs_group_dimensions":["0"]'
    )
    config = f'"grouped_gemm_backend_config":{{"gemm_backend_config":{{}},"ragged_dot_dimension_numbers":{{{ragged}}}}}'
    results = [("f32", (6, 5)), ("s8", (9,))]
    (y, _) = call("__cublas$lt$groupedMatmul", results, rows, groups, sizes, config=config)
    expected = np.concatenate([rows[:2] @ groups[0], rows[2:5] @ groups[2], np.zeros((1, 5))])
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_products_of_small_integers_have_32_bits() -> None:
    row = np.full((1, 3), 100, np.int8)
    config = '"onednn_matmul_config":{}'
    (found,) = call("__onednn$matmul", [("s32", (1, 1))], row, row.T.copy(), config=config)
    assert found.tolist() == [[30000]]


def test_block_scales_and_a_scale_of_the_product() -> None:
    text = """ENTRY e {
      a = f32[3,64] parameter(0)
      b = f32[5,64] parameter(1)
      s = f32[3,2] parameter(2)
      t = f32[5,2] parameter(3)
      all = f32[] parameter(4)
      ROOT r = f32[3,5] custom-call(a, b, s, t, all), custom_call_target="__op$block_scaled_dot"
    }"""
    a, b, s, t = (matrices("s", *sizes) for sizes in ((3, 64), (5, 64), (3, 2), (5, 2)))
    expected = 3 * (a * np.repeat(s, 32, 1)) @ (b * np.repeat(t, 32, 1)).T
    np.testing.assert_allclose(hm.execute(hm.parse(text), a, b, s, t, np.float32(3)), expected, rtol=1e-4, atol=1e-4)


def test_activations_of_neuron() -> None:
    nn = pytest.importorskip("jax.nn")
    x, scale = matrices("s", 2, 3, 4), matrices("s", 3)

    def run(target: str, *operands: np.ndarray, config: str = "") -> Any:
        shapes = [f"f32[{','.join(map(str, one.shape))}]" for one in operands]
        lines = "".join(f"p{k} = {shape} parameter({k})\n" for k, shape in enumerate(shapes))
        given = ", ".join(f"p{k}" for k in range(len(operands)))
        text = f"ENTRY e {{ {lines} ROOT r = {shapes[0]} custom-call({given}), "
        return hm.execute(hm.parse(text + f'custom_call_target="{target}", backend_config="{config}" }}'), *operands)

    np.testing.assert_allclose(run("AwsNeuronGelu", x), nn.gelu(x, approximate=False), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run("AwsNeuronSilu", x), nn.silu(x), rtol=1e-5)
    for axis in (1, -1):
        np.testing.assert_allclose(run("AwsNeuronSoftmax", x, config=str(axis)), nn.softmax(x, axis), rtol=1e-5)
    found = run("AwsNeuronRmsNorm", x, scale, np.float32(0.5), config="1")
    expected = x / np.sqrt((x * x).mean(1, keepdims=True) + 0.5) * scale[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_array_equal(run("AwsNeuronTransferWithStaticRing", x), x)


def test_calls_without_a_result() -> None:
    text = """ENTRY e {
      p = f32[3] parameter(0)
      s = ((f32[3]), f32[3], s32[]) negate-start(p)
      c = () custom-call(s, p), custom_call_target="control_dep", custom_call_has_side_effect=true
      ROOT d = f32[3] negate-done(s)
    }"""
    assert hm.execute(hm.parse(text), np.arange(3, dtype=np.float32)).tolist() == [0, -1, -2]


def test_top_k() -> None:
    x = np.array([[1, 3, 3, -1], [0, np.nan, -0.0, 5]], np.float32)
    values, indices = call("TopK", [("f32", (2, 3)), ("s32", (2, 3))], x)
    np.testing.assert_array_equal(values, np.array([[3, 3, 1], [np.nan, 5, 0]], np.float32))
    assert indices.tolist() == [[1, 2, 0], [1, 3, 0]]


@pytest.mark.parametrize("target", ["__cub$DeviceRadixSort", "xla.gpu.ext.cub_sort_pairs"])
@pytest.mark.parametrize("descending", [False, True])
def test_radix_sort(target: str, descending: bool) -> None:
    keys = np.array([[2, -0.0, 0.0, np.nan, -np.inf], [1, 1, -np.nan, 3, 1]], np.float32)
    values = np.arange(10, dtype=np.int32).reshape(2, 5)
    results = [("f32", (2, 5)), ("s32", (2, 5)), ("u8", (3,))]
    config = f'"descending":{str(descending).lower()}'
    if target.startswith("xla"):
        config = f"descending = {str(descending).lower()}, batch_size = 2 : i64"
    _, order, _ = call(target, results, keys, values, config=config)
    expected = [[4, 1, 2, 0, 3], [7, 5, 6, 9, 8]] if not descending else [[3, 0, 2, 1, 4], [8, 5, 6, 9, 7]]
    assert order.tolist() == expected


@pytest.mark.parametrize("target", ["cu_threefry2x32", "hip_threefry2x32_ffi"])
def test_random_bits(target: str) -> None:
    operands = [RNG.integers(0, 2**32, 50, dtype=np.uint32) for _ in range(4)]
    found = call(target, [("u32", (50,))] * 2, *operands)
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
