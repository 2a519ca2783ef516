"""Random programs of one operation: gather and scatter, sorting, and library routines such as fft.

:func:`programs` feeds the tests and the agreement table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from support.elements import COMPLEX, FLOATS, SMALL, Program
from support.structures import RUNNABLE, GeneratedProgram, Rng, filled, program, sizes_of
from support.text import commas

_REAL = ("f32", "f64")
_NO_COMPLEX = tuple(name for name in RUNNABLE if name not in COMPLEX)
_WHOLE_BYTES = tuple(name for name in RUNNABLE if name not in ("s2", "u2", "s4", "u4", "f4e2m1fn"))


def sort(name: str, rng: Rng) -> GeneratedProgram:
    """Keys with ties together with their indices, which shows whether a sort is stable."""
    x = filled(name, [max(1, n) for n in sizes_of(rng, 2, 9)], rng)
    x = rng.choice(x.reshape(-1), x.size).reshape(x.shape)
    along = int(rng.integers(2))
    direction = rng.choice(["LT", "GT"])
    kind = ", type=TOTALORDER" if name in FLOATS else ""
    before = (
        f"f {{\n  x = {name}[] parameter(0)\n  y = {name}[] parameter(1)\n  i = s32[] parameter(2)\n"
        f"  j = s32[] parameter(3)\n  ROOT r = pred[] compare(x, y), direction={direction}{kind}\n}}\n"
    )
    shape = commas(x.shape)
    lines = f"n = s32[{shape}] iota(), iota_dimension={along}\n"
    lines += f"  ROOT r = ({name}[{shape}], s32[{shape}]) sort(a, n), dimensions={{{along}}}, "
    return before, lines + "is_stable=true, to_apply=f", [x]


def _lookup(rng: Rng) -> tuple[list[int], list[int], list[int], list[int], list[int], int]:
    """Operand and window sizes, dropped dimensions, indexed dimensions, outer sizes, and the index vector dimension."""
    rank = int(rng.integers(1, 4))
    operand = [int(n) for n in rng.integers(1, 6, rank)]
    named = rng.permutation(rank)[: int(rng.integers(1, rank + 1))].tolist()
    dropped = sorted(i for i in named if rng.random() < 0.6)
    window = [1 if i in dropped else int(rng.integers(1, n + 1)) for i, n in enumerate(operand)]
    outer = sizes_of(rng, int(rng.integers(0, 3)), 4)
    vector_dim = int(rng.integers(0, len(outer) + 1))
    return operand, window, dropped, named, outer, vector_dim


def _indices(rng: Rng, outer: list[int], n_named: int, vector_dim: int) -> tuple[np.ndarray, list[int]]:
    sizes = [*outer[:vector_dim], n_named, *outer[vector_dim:]]
    return rng.integers(-2, 6, sizes).astype(np.int32), sizes


def _windows(rng: Rng, window: list[int], dropped: list[int], outer: list[int]) -> tuple[list[int], list[int]]:
    """The dimensions along which windows lie in an array of windows, at random, and the sizes of that array."""
    kept = [n for i, n in enumerate(window) if i not in dropped]
    dims = sorted(rng.permutation(len(kept) + len(outer))[: len(kept)].tolist())
    rest, inner = iter(outer), iter(kept)
    return dims, [next(inner) if i in dims else next(rest) for i in range(len(kept) + len(outer))]


def gather(name: str, rng: Rng) -> GeneratedProgram:
    operand, window, dropped, named, outer, vector_dim = _lookup(rng)
    index, _ = _indices(rng, outer, len(named), vector_dim)
    offset, out = _windows(rng, window, dropped, outer)
    lines = (
        f"ROOT r = {name}[{commas(out)}] gather(a, b), offset_dims={{{commas(offset)}}}, "
        f"collapsed_slice_dims={{{commas(dropped)}}}, start_index_map={{{commas(named)}}}, "
        f"index_vector_dim={vector_dim}, slice_sizes={{{commas(window)}}}"
    )
    return "", lines, [filled(name, operand, rng), index]


def scatter(name: str, rng: Rng) -> GeneratedProgram:
    operand, window, dropped, named, outer, vector_dim = _lookup(rng)
    index, _ = _indices(rng, outer, len(named), vector_dim)
    updates, sizes = _windows(rng, window, dropped, outer)
    opcode = str(rng.choice(["add", "multiply"] if name in COMPLEX else ["add", "maximum", "minimum", "multiply"]))
    if name == "pred":
        opcode = "or"
    before = f"f {{\n  x = {name}[] parameter(0)\n  y = {name}[] parameter(1)\n  ROOT r = {name}[] {opcode}(x, y)\n}}\n"
    lines = (
        f"ROOT r = {name}[{commas(operand)}] scatter(a, b, c), update_window_dims={{{commas(updates)}}}, "
        f"inserted_window_dims={{{commas(dropped)}}}, scatter_dims_to_operand_dims={{{commas(named)}}}, "
        f"index_vector_dim={vector_dim}, to_apply=f"
    )
    return before, lines, [filled(name, operand, rng), index, filled(name, sizes, rng)]


def select_and_scatter(name: str, rng: Rng) -> GeneratedProgram:
    sizes = [int(n) for n in rng.integers(2, 7, 2)]
    window = [int(rng.integers(1, min(3, n) + 1)) for n in sizes]
    stride = [int(n) for n in rng.integers(1, 3, 2)]
    out = [(n - w) // s + 1 for n, w, s in zip(sizes, window, stride, strict=True)]
    before = (
        f"ge {{\n  x = {name}[] parameter(0)\n  y = {name}[] parameter(1)\n"
        f"  ROOT r = pred[] compare(x, y), direction=GE\n}}\n"
        f"f {{\n  x = {name}[] parameter(0)\n  y = {name}[] parameter(1)\n  ROOT r = {name}[] add(x, y)\n}}\n"
    )
    lines = (
        f"z = {name}[] constant(0)\n  ROOT r = {name}[{commas(sizes)}] select-and-scatter(a, b, z), "
        f"window={{size={'x'.join(map(str, window))} stride={'x'.join(map(str, stride))}}}, select=ge, scatter=f"
    )
    return before, lines, [filled(name, sizes, rng), filled(name, out, rng)]


def top_k(name: str, rng: Rng) -> GeneratedProgram:
    x = filled(name, [int(rng.integers(1, 4)), int(rng.integers(1, 9))], rng)
    k = int(rng.integers(1, x.shape[1] + 1))
    lines = f"ROOT r = ({name}[{x.shape[0]},{k}], s32[{x.shape[0]},{k}]) topk(a), k={k}, largest=true"
    return "", lines, [x]


def fft(name: str, rng: Rng) -> GeneratedProgram:
    kind = str(rng.choice(["FFT", "IFFT", "RFFT", "IRFFT"]))
    part = {"c64": "f32", "c128": "f64"}[name]
    lengths = [int(n) for n in rng.integers(1, 7, int(rng.integers(1, 4)))]
    batch = sizes_of(rng, int(rng.integers(0, 2)), 3)
    half = [*lengths[:-1], lengths[-1] // 2 + 1]
    source, target, given, out = name, name, lengths, lengths
    if kind == "RFFT":
        source, out = part, half
    elif kind == "IRFFT":
        target, given = part, half
    x = filled(source, [*batch, *given], rng)
    text = f"ROOT r = {target}[{commas([*batch, *out])}] fft(a), fft_type={kind}, fft_length={{{commas(lengths)}}}"
    return "", text, [x]


def _definite(name: str, sizes: list[int], rng: Rng) -> np.ndarray:
    x = filled(name, sizes, rng)
    definite = x @ np.swapaxes(x.conj(), -1, -2) + sizes[-1] * np.eye(sizes[-1], dtype=x.dtype)
    return definite.astype(x.dtype)


def cholesky(name: str, rng: Rng) -> GeneratedProgram:
    """Some real matrices are not positive definite, and the triangle that is not read has other numbers."""
    n = int(rng.integers(1, 6))
    sizes = [*sizes_of(rng, int(rng.integers(0, 2)), 3), n, n]
    is_lower = bool(rng.integers(2))
    noise, a = filled(name, sizes, rng), _definite(name, sizes, rng)
    a += np.triu(noise, 1) if is_lower else np.tril(noise, -1)
    if name in _REAL and rng.random() < 0.3:
        a -= 99 * np.eye(n, dtype=a.dtype)
    return "", f"ROOT r = {name}[{commas(sizes)}] cholesky(a), lower={str(is_lower).lower()}", [a]


def triangular_solve(name: str, rng: Rng) -> GeneratedProgram:
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    batch = sizes_of(rng, int(rng.integers(0, 2)), 3)
    left = bool(rng.integers(2))
    a, b = _definite(name, [*batch, n, n], rng), filled(name, [*batch, *([n, m] if left else [m, n])], rng)
    flags = ", ".join(f"{key}={'true' if rng.integers(2) else 'false'}" for key in ("lower", "unit_diagonal"))
    turned = rng.choice(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
    lines = f"ROOT r = {name}[{commas(b.shape)}] triangular-solve(a, b), left_side={str(left).lower()}, {flags}, "
    return "", lines + f"transpose_a={turned}", [a, b]


def rng_bit_generator(name: str, rng: Rng) -> GeneratedProgram:
    """Most counters are about to overflow."""
    algorithm = str(rng.choice(["rng_three_fry", "rng_philox", "rng_default"]))
    n = 2 if algorithm == "rng_three_fry" else int(rng.choice([2, 3, 3]))
    sizes = sizes_of(rng, int(rng.integers(0, 4)), 9)
    state = rng.integers(0, 2**64, n, dtype=np.uint64)
    if rng.random() < 0.7:
        state[1] = np.uint64(2**64 - int(rng.integers(1, 4)))
    return "", f"ROOT r = (u64[{n}], {name}[{commas(sizes)}]) rng-bit-generator(a), algorithm={algorithm}", [state]


def batch_norm_inference(name: str, rng: Rng) -> GeneratedProgram:
    sizes = [int(n) for n in rng.integers(1, 5, 3)]
    along = int(rng.integers(3))
    x, rows = filled(name, sizes, rng), [filled(name, [sizes[along]], rng) for _ in range(3)]
    variance = np.abs(filled(name, [sizes[along]], rng)).astype(x.dtype)
    lines = f"ROOT r = {name}[{commas(sizes)}] batch-norm-inference(a, b, c, d, e), epsilon=0.001, "
    return "", lines + f"feature_index={along}", [x, *rows, variance]


def batch_norm_training(name: str, rng: Rng) -> GeneratedProgram:
    sizes = [int(n) for n in rng.integers(2, 6, 3)]
    along = int(rng.integers(3))
    row = f"{name}[{sizes[along]}]"
    lines = f"ROOT r = ({name}[{commas(sizes)}], {row}, {row}) batch-norm-training(a, b, c), epsilon=0.001, "
    arguments = [filled(name, sizes, rng), *(filled(name, [sizes[along]], rng) for _ in range(2))]
    return "", lines + f"feature_index={along}", arguments


def batch_norm_grad(name: str, rng: Rng) -> GeneratedProgram:
    sizes = [int(n) for n in rng.integers(1, 5, 3)]
    along = int(rng.integers(3))
    row = f"{name}[{sizes[along]}]"
    x, dy = (filled(name, sizes, rng) for _ in range(2))
    scale, mean, variance = (filled(name, [sizes[along]], rng) for _ in range(3))
    lines = f"ROOT r = ({name}[{commas(sizes)}], {row}, {row}) batch-norm-grad(a, b, c, d, e), epsilon=0.01, "
    return "", lines + f"feature_index={along}", [x, scale, mean, np.abs(variance).astype(x.dtype), dy]


GENERATORS: dict[str, tuple[Callable[[str, Rng], GeneratedProgram], tuple[str, ...]]] = {
    "sort": (sort, _NO_COMPLEX),
    "gather": (gather, RUNNABLE),
    "scatter": (scatter, _WHOLE_BYTES),
    "select-and-scatter": (select_and_scatter, tuple(n for n in _WHOLE_BYTES if n not in ("pred", *SMALL, *COMPLEX))),
    "topk": (top_k, ("f32", "bf16", "s32", "f64", "f16")),
    "fft": (fft, COMPLEX),
    "cholesky": (cholesky, (*_REAL, *COMPLEX)),
    "triangular-solve": (triangular_solve, (*_REAL, *COMPLEX)),
    "rng-bit-generator": (rng_bit_generator, ("u8", "u16", "u32", "u64")),
    "batch-norm-inference": (batch_norm_inference, ("f16", "bf16", *_REAL)),
    "batch-norm-training": (batch_norm_training, ("f16", "bf16", *_REAL)),
    "batch-norm-grad": (batch_norm_grad, ("f16", "bf16", *_REAL)),
}


def programs(seed: int = 0, n: int = 4) -> Iterator[Program]:
    """``n`` programs of each operation on each type."""
    rng = np.random.default_rng(seed)
    for opcode, (make, types) in GENERATORS.items():
        for name in types:
            for _ in range(n):
                yield program(opcode, name, make, rng)
