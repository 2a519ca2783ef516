"""Calls whose results mix whole arrays, or whole matrices of a batch: their maps are over-approximate.

:func:`mixing_of` is the entry point.  The calls have no definition by HLO: which elements matter depends on numbers, or
the call does not say how its arrays are laid out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from .._core import Instruction, Shape
from ..base.answers import Unknown
from . import attention
from .body import is_workspace
from .config import Config, NotUnderstood, require
from .gemm import gemm_config, product_dimensions

FACTORIZATIONS = (
    "potrf", "getrf", "geqrf", "geqp3", "orgqr", "ungqr", "ormqr", "unmqr", "gesdd", "gesvd", "gesvdj", "gesvdp",
    "syevd", "syevj", "heevd", "geev", "gees", "gtsv", "gtsv2", "sytrd", "hetrd", "gehrd",
)  # fmt: skip
"""Factorizations of LAPACK and of the libraries for GPUs, and related calls, whose results mix whole matrices."""

_FACTORIZATION = re.compile(
    rf"(?:lapack_[sdcz]?|(?:cu|hip|oneapi)(?:solver|sparse|blas)_)(?:{'|'.join(FACTORIZATIONS)})"
    r"(?:_batched|_f32|_f64)?(?:_ffi)?|(?:cublas_|hipblas_|blas_[sdcz])trsm(?:_batched)?"
)


CALLBACKS = tuple(
    f"xla_{form}python_{device}_callback" for form in ("", "ffi_", "ffi_partitioned_") for device in ("cpu", "gpu")
)
"""Calls of functions on the host, as JAX writes them; tokens order those with effects."""


def is_factorization(target: str) -> bool:
    """Whether a target is one of :data:`FACTORIZATIONS`, in any library and with the suffixes of any version.

    >>> is_factorization("hipsolver_syevd_ffi"), is_factorization("lapack_dgees"), is_factorization("lapack_strsm_ffi")
    (True, True, False)
    """
    return _FACTORIZATION.fullmatch(target) is not None


Shapes: TypeAlias = Sequence[Shape]


@dataclass(frozen=True)
class Mixing:
    """Every element of a result may depend on every element of an operand, but for dimensions that keep their identity.

    ``kept`` has these, as pairs of a dimension of the operand and one of the result, by the numbers of both.  Results
    in ``unread`` are workspace.
    """

    reason: str
    kept: Mapping[tuple[int, int], Sequence[tuple[int, int]]] = field(default_factory=dict)
    unread: Collection[int] = ()


Find: TypeAlias = Callable[[Instruction, Shapes, Shapes], Mixing | None]
"""How a call mixes its operands, from the shapes of operands and results; None for a call with a definition."""


def mixing_of(instruction: Instruction) -> Mixing | Unknown | None:
    """How a call mixes its operands; ``None`` for other targets.

    Unknown, with the reason, if the call does not fit.
    """
    target = str(instruction.attributes.get("custom_call_target", ""))
    find = _factorization if is_factorization(target) else MIXING.get(target)
    if find is None:
        return None
    shape, operands = instruction.shape, [operand.shape for operand in instruction.operands]
    results = shape.tuple_shapes if shape.is_tuple else [shape]
    try:
        if target not in CALLBACKS:
            require(all(one.is_array for one in operands), "an operand that is not an array")
            require(all(one.is_array for one in results), "a result that is not an array")
        return find(instruction, operands, results)
    except NotUnderstood as error:
        return Unknown(f"custom-call to {target!r}: {error}")


def _over_batches(reason: str, n: int, operands: Shapes, results: Shapes) -> Mixing:
    """The first ``n`` dimensions of the first operands and results are batches; other arrays have none."""
    arrays = [*operands, *results]
    fits = all(one.rank >= n for one in arrays) and len({one.dimensions[:n] for one in arrays}) <= 1
    require(fits, f"its arrays do not have {n} batch dimensions of the same sizes")
    batches = [(d, d) for d in range(n)]
    return Mixing(reason, {(k, i): batches for k in range(len(operands)) for i in range(len(results))})


def _factorization(instruction: Instruction, operands: Shapes, results: Shapes) -> Mixing:
    """The call gives the number of batch dimensions, as JAX writes it; if it does not, every matrix may matter."""
    text = (instruction.attributes.get("frontend_attributes") or {}).get("num_batch_dims", "0")
    require(text.isdecimal() and len(text) <= 2, f"its num_batch_dims is {text!r}")
    return _over_batches("a factorization mixes whole matrices", int(text), operands, results)


def _factorization_by_rank(_: Instruction, operands: Shapes, results: Shapes, *, n_own: int, reason: str) -> Mixing:
    """All dimensions of the first operand are batches but the last ones."""
    require(bool(operands) and operands[0].rank >= n_own, f"its operands are {[str(one) for one in operands]}")
    return _over_batches(reason, operands[0].rank - n_own, operands, results)


_on_tpu = partial(_factorization_by_rank, n_own=2, reason="a factorization mixes whole matrices")
_pivots = partial(_factorization_by_rank, n_own=1, reason="which rows are swapped is in the values of the pivots")


def _whole(reason: str) -> Find:
    return lambda _, operands, results: Mixing(reason, unread=_workspaces(results))


def _workspaces(results: Shapes) -> list[int]:
    """Bytes behind the first result."""
    return [k for k, part in enumerate(results) if k and is_workspace(part)]


def _sparse_product(_: Instruction, shapes: Shapes, results: Shapes) -> Mixing:
    """Three arrays are the sparse matrix; the columns of a dense one stay apart."""
    output = results[0]
    require(len(shapes) == 4 and shapes[3].rank == output.rank, "its operands are not a sparse and a dense array")
    kept = {(3, 0): [(1, 1)]} if output.rank == 2 and shapes[3].dimensions[1] == output.dimensions[1] else {}
    return Mixing("which elements a sparse product reads is in its indices", kept, _workspaces(results))


def block_scaled_gemm(instruction: Instruction, shapes: Shapes, results: Shapes) -> Mixing:
    """``__cublas$lt$matmul$mx``: a and b are factors of a product, the other operands have their own order."""
    output = results[0]
    require(len(shapes) >= 4, f"{len(shapes)} operands, but a product with scales has at least 4")
    config = gemm_config(instruction)
    dims, free = product_dimensions(shapes, config.part("dot_dimension_numbers"))
    n_batch, n_rows = len(dims["lhs_batch"]), len(free[0])
    a = [*enumerate(dims["lhs_batch"]), *enumerate(free[0], start=n_batch)]
    b = [*enumerate(dims["rhs_batch"]), *enumerate(free[1], start=n_batch + n_rows)]
    kept = {(k, 0): [(d, to) for to, d in pairs] for k, pairs in enumerate((a, b))}
    sizes = {to: shapes[k].dimensions[d] for (k, _), pairs in kept.items() for d, to in pairs}
    require(list(output.dimensions) == [sizes[d] for d in sorted(sizes)], f"a result {output} of the product")
    return Mixing("the order of the scales in memory is the library's own", kept, _workspaces(results))


def _some_of_a_row(instruction: Instruction, shapes: Shapes, results: Shapes) -> Mixing:
    """``ApproxTopK`` and ``PartialReduce``: pairs of operands and initial values, reduced along a dimension."""
    n = len(results)
    rank, along = results[0].rank, Config.whole(instruction).integer("reduction_dim")
    along += rank if along < 0 else 0
    kept = [(d, d) for d in range(rank) if d != along]
    arrays = [*shapes[:n], *results]
    rows = {tuple(size for d, size in enumerate(one.dimensions) if d != along) for one in arrays}
    fits = len(shapes) == 2 * n and 0 <= along < rank and all(one.rank == rank for one in arrays) and len(rows) == 1
    require(fits, f"{len(shapes)} operands and {n} results along dimension {along}")
    pairs = {(k, i): kept for k in range(n) for i in range(n)}
    return Mixing("which elements of a row an approximation finds is its own choice", pairs)


def _slices(instruction: Instruction, shapes: Shapes, results: Shapes) -> Mixing:
    """``ConcatBitcast``: slices of one array, copied piece by piece, in the order of the copies."""
    output = results[0]
    alike = all(one.rank == output.rank and one.dtype == output.dtype for one in shapes)
    require(alike and not instruction.shape.is_tuple, "its operands are not slices of its result")
    cut = sorted({d for one in shapes for d, n in enumerate(output.dimensions) if one.dimensions[d] != n})
    require(len(cut) <= 1 and (cut != [] or len(shapes) == 1), f"slices along the dimensions {cut}")
    fits = all(sum(one.dimensions[d] for one in shapes) == output.dimensions[d] for d in cut)
    require(fits, "slices that do not add up to its result")
    kept = [(d, d) for d in range(output.rank) if d not in cut]
    return Mixing("the order of the slices is not in the call", {(k, 0): kept for k in range(len(shapes))})


def _elementwise(instruction: Instruction, shapes: Shapes, results: Shapes) -> Mixing:
    """Gradients of activations: results and operands of one size."""
    output = results[0]
    same = all(one.dimensions == output.dimensions for one in shapes)
    require(same and not instruction.shape.is_tuple, "its operands are not those of an elementwise gradient")
    kept = [(d, d) for d in range(output.rank)]
    return Mixing("the reads of a gradient depend on the library", {(k, 0): kept for k in range(len(shapes))})


def _sparse_solve(_: Instruction, shapes: Shapes, results: Shapes) -> Mixing:
    fits = len(shapes) == 4 and all(one.rank == 1 for one in shapes) and shapes[0].dimensions == shapes[1].dimensions
    fits = fits and shapes[2].dimensions[0] == shapes[3].dimensions[0] + 1
    require(fits, "its operands are not values, columns and row offsets of a matrix, and a right side")
    return Mixing("a solve mixes all rows of a sparse matrix")


def _packed_attention(instruction: Instruction, operands: Shapes, results: Shapes) -> Mixing | None:
    """Attention over several sequences in a row; other attention has a definition."""
    if not attention.packs_segments(instruction):
        return None
    return Mixing("the offsets of packed sequences are values")


def _transformer_engine(instruction: Instruction, operands: Shapes, results: Shapes) -> Mixing:
    """Attention of Transformer Engine: queries, keys and values come first, in a layout that is a number.

    The layouts that have batch and sequence in dimensions of their own keep the batch.
    """
    config = Config.whole(instruction)
    layout = config.integer("qkv_layout")
    require(0 <= layout <= 14, f"qkv_layout={layout}")
    require("is_training" in config and "attn_heads" in config, "its backend_config is not that of an attention")
    if layout not in _BATCH_FIRST:
        return Mixing("a fused attention whose batches are not the first dimension mixes whole arrays")
    n = _BATCH_FIRST[layout]
    is_backward = "backward" in str(instruction.attributes.get("custom_call_target", ""))
    operands, results = operands[:n], results[: n if is_backward else 1]
    fits = all(one.rank >= 4 for one in (*operands, *results))
    require(fits, "queries, keys and values with fewer than 4 dimensions")
    return _over_batches("a fused attention mixes whole sequences", 1, operands, results)


_BATCH_FIRST = {5: 1, 6: 1, 7: 2, 8: 2, 9: 3}
"""How many operands hold queries, keys and values, by ``NVTE_QKV_Layout`` with the batch as the first dimension."""


def _for_gpus(names: Iterable[str], find: Find) -> dict[str, Find]:
    """The targets of CUDA, ROCm and oneAPI, with the suffix of typed calls and without it."""
    return {f"{gpu}{name}{ffi}": find for gpu in ("cu", "hip", "oneapi") for name in names for ffi in ("", "_ffi")}


def _callback(*_: object) -> Mixing:
    return Mixing("a function on the host may read any element of its operands")


MIXING: Mapping[str, Find] = {
    **dict.fromkeys(CALLBACKS, _callback),
    **dict.fromkeys(("Eigh", "LuDecomposition", "ProductOfElementaryHouseholderReflectors", "Qr"), _on_tpu),
    **dict.fromkeys(("ApproxTopK", "PartialReduce"), _some_of_a_row),
    **dict.fromkeys(("AwsNeuronGeluBackward", "AwsNeuronSiluBackward"), _elementwise),
    "ConcatBitcast": _slices,
    "__cublas$lt$matmul$mx": block_scaled_gemm,
    "__cudnn$convForwardGraph": _whole("a graph of cuDNN follows the convolution"),
    "__onednn$matmul_reorder": lambda *_: Mixing("the order of prepacked weights is oneDNN's own"),
    "cpu_csr_sparse_dense_ffi": _sparse_product,
    "cusolver_csrlsvqr_ffi": _sparse_solve,
    "te_fused_attn_backward_ffi": _transformer_engine,
    "te_fused_attn_forward_ffi": _transformer_engine,
    "tridiagonal_solve_perturbed_ffi": _factorization,
    **_for_gpus(("_lu_pivots_to_permutation",), _pivots),
    **_for_gpus(("_tridiagonal_solve_perturbed", "hybrid_eig_comp", "hybrid_eig_real", "hybrid_geqp3"), _factorization),
    **_for_gpus(("_cholesky_update",), _whole("an update of a factor mixes whole matrices")),
    **_for_gpus(("dnn_rnn", "dnn_rnn_bwd"), _whole("a recurrent network mixes whole sequences")),
    **_for_gpus([f"sparse_{form}_{op}" for form in ("coo", "csr") for op in ("matvec", "matmat")], _sparse_product),
    **_for_gpus(
        [f"sparse_{form}_{op}" for form in ("coo", "csr") for op in ("fromdense", "todense")],
        _whole("the indices of a sparse matrix determine the places of its elements"),
    ),
    **dict.fromkeys(attention.TARGETS, _packed_attention),
}
"""How calls mix their operands, by target; factorizations are :data:`FACTORIZATIONS`."""
