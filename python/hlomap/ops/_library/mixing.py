"""Library calls whose results mix whole arrays, or whole matrices of a batch: their maps are over-approximate.

:func:`mixing_of` is the entry point.  The calls have no definition by HLO: which elements matter depends on numbers, or
the call does not say how its arrays are laid out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..._core import Instruction
from ...types import Unknown
from . import attention
from .body import FfiConfig, NotUnderstood, require

__all__ = ["FACTORIZATIONS", "MIXING", "Mixing", "mixing_of"]

FACTORIZATIONS = re.compile(
    r"(lapack|cusolver|hipsolver)_[sdcz]?(potrf|getrf|geqrf|orgqr|ungqr|gesdd|gesvdj|gesvdp|gesvd|syevd|heevd|geev|"
    r"gtsv|sytrd|hetrd|gehrd)_ffi"
)
"""Factorizations and what goes with them, whose results mix whole matrices."""


@dataclass(frozen=True)
class Mixing:
    """Every element of a result may depend on every element of an operand, of the same batch.

    ``n_batch`` leading dimensions of the first ``operands`` operands and ``results`` results are batches; the other
    arrays have none.
    """

    reason: str
    n_batch: int = 0
    operands: int = 0
    results: int = 0

    def n_batch_between(self, operand: int, result: int) -> int:
        """How many leading dimensions of an operand and a result keep their identity."""
        return self.n_batch if operand < self.operands and result < self.results else 0


def mixing_of(instruction: Instruction) -> Mixing | Unknown | None:
    """How a call mixes its operands; ``None`` for other targets.

    Unknown, with what was not understood, where the call does not fit.
    """
    target = str(instruction.attributes.get("custom_call_target", ""))
    find = _factorization if FACTORIZATIONS.fullmatch(target) else MIXING.get(target)
    if find is None:
        return None
    try:
        for operand in instruction.operands:
            require(operand.shape.is_array, "an operand that is not an array")
        parts = instruction.shape.tuple_shapes if instruction.shape.is_tuple else [instruction.shape]
        require(all(part.is_array for part in parts), "a result that is not an array")
        return find(instruction)
    except NotUnderstood as error:
        return Unknown(f"custom-call to {target!r}: {error}")


def _factorization(instruction: Instruction) -> Mixing:
    """The call says how many dimensions are batches, as JAX writes it; where it does not, every matrix may matter."""
    text = (instruction.attributes.get("frontend_attributes") or {}).get("num_batch_dims", "0")
    require(text.isdecimal() and len(text) <= 2, f"its num_batch_dims is {text!r}")
    n = int(text)
    shape = instruction.shape
    parts = shape.tuple_shapes if shape.is_tuple else [shape]
    shapes = [*(operand.shape for operand in instruction.operands), *parts]
    fits = all(one.rank >= n for one in shapes) and len({one.dimensions[:n] for one in shapes}) <= 1
    require(fits, f"its arrays do not have {n} batch dimensions of the same sizes")
    return Mixing("a factorization mixes whole matrices", n, len(instruction.operands), len(parts))


def _sparse_solve(instruction: Instruction) -> Mixing:
    shapes = [operand.shape for operand in instruction.operands]
    fits = len(shapes) == 4 and all(one.rank == 1 for one in shapes) and shapes[0].dimensions == shapes[1].dimensions
    fits = fits and shapes[2].dimensions[0] == shapes[3].dimensions[0] + 1
    require(fits, "its operands are not values, columns and row offsets of a matrix, and a right side")
    return Mixing("a solve mixes all rows of a sparse matrix")


def _reorder(instruction: Instruction) -> Mixing:
    return Mixing("the order of prepacked weights is oneDNN's own")


def _packed_attention(instruction: Instruction) -> Mixing | None:
    """Attention over several sequences in a row; other attention has a definition."""
    if not attention.packs_segments(instruction):
        return None
    return Mixing("the offsets of packed sequences are values")


def _transformer_engine(instruction: Instruction) -> Mixing:
    """Attention of Transformer Engine: queries, keys and values come first, in a layout that is a number.

    The layouts that have batch and sequence in dimensions of their own keep the batch.
    """
    config = FfiConfig(instruction)
    layout = config.integer("qkv_layout")
    require(0 <= layout <= 14, f"qkv_layout={layout}")
    require("is_training" in config and "attn_heads" in config, "its backend_config is not that of an attention")
    if layout not in _BATCH_FIRST:
        return Mixing("a fused attention whose batches are not the first dimension mixes whole arrays")
    n_operands, n_results = _BATCH_FIRST[layout], 1
    if "backward" in str(instruction.attributes.get("custom_call_target", "")):
        n_results = n_operands
    shape = instruction.shape
    parts = (shape.tuple_shapes if shape.is_tuple else [shape])[:n_results]
    arrays = [*(operand.shape for operand in instruction.operands[:n_operands]), *parts]
    fits = all(one.rank >= 4 for one in arrays) and len({one.dimensions[0] for one in arrays}) == 1
    require(fits, "its queries, keys and values do not have the same batches")
    return Mixing("a fused attention mixes whole sequences", 1, n_operands, n_results)


_BATCH_FIRST = {5: 1, 6: 1, 7: 2, 8: 2, 9: 3}
"""How many operands hold queries, keys and values, by ``NVTE_QKV_Layout`` with the batch as the first dimension."""

MIXING: Mapping[str, Callable[[Instruction], Mixing | None]] = {
    "__onednn$matmul_reorder": _reorder,
    "cusolver_csrlsvqr_ffi": _sparse_solve,
    "te_fused_attn_backward_ffi": _transformer_engine,
    "te_fused_attn_forward_ffi": _transformer_engine,
    **dict.fromkeys(attention.TARGETS, _packed_attention),
}
"""How calls mix their operands, by target; factorizations are :data:`FACTORIZATIONS`."""
