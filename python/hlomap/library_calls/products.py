"""Calls of cuBLAS, cuBLASLt and hipBLASLt that compute one product of matrices: the product in their configuration.

:func:`product_call_of` is the entry point.  It reads dimension numbers and scalars alone, so that it also knows
products whose other fields no definition covers.  The targets are those of the definitions and of the mixed calls.
"""

from __future__ import annotations

from typing import NamedTuple

from .._core import Instruction
from ..base.answers import Unknown
from . import gemm, mixing
from .config import NotUnderstood, require
from .definitions import TARGETS

_DEFINED = {gemm.gemm, gemm.scaled_gemm}


class ProductCall(NamedTuple):
    """The dimension numbers of a product, those dimensions of each factor that are neither batches nor summed, and the
    names and numbers that the call has."""

    dims: dict[str, list[int]]
    free: list[list[int]]
    algorithm: str | None
    epilogue: str | None
    alpha: complex
    beta: float


def product_call_of(instruction: Instruction) -> ProductCall | Unknown | None:
    """The product in the configuration of a call, unknown with the reason if it is not understood; None for other
    calls."""
    target = str(instruction.attributes.get("custom_call_target", ""))
    if TARGETS.get(target) not in _DEFINED and mixing.MIXING.get(target) is not mixing.block_scaled_gemm:
        return None
    try:
        config = gemm.gemm_config(instruction)
        shapes = [operand.shape for operand in instruction.operands[:2]]
        require(len(shapes) == 2 and all(shape.is_array for shape in shapes), "expected two matrices")
        dims, free = gemm.product_dimensions(shapes, config.part("dot_dimension_numbers"))
        alpha = config.number("alpha_real", 1), config.number("alpha_imag", 0)
        epilogue = config.word("epilogue", "DEFAULT")
        return ProductCall(
            dims,
            free,
            config.part("precision_config").word("algorithm", "").lower().removeprefix("alg_") or None,
            None if epilogue == "DEFAULT" else epilogue,
            complex(*alpha) if alpha[1] else alpha[0],
            config.number("beta", 0),
        )
    except NotUnderstood as error:
        return Unknown(f"custom-call to {target!r}: {error}")
