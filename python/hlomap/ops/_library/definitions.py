"""What a library call computes, as a computation of HLO.

:func:`definition_of` is the entry point.  A target has one definition: a function from the call to the text of a
computation with the same operands and results.  Results that are workspace are zeros.  What a call says and its
definition does not cover is a reason to know nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from ..._core import Instruction
from ...errors import HlomapError
from ...io.load import parse
from ...types import Unknown
from . import convolution, gemm, linear_algebra, topk
from .body import NotUnderstood

__all__ = ["TARGETS", "definition_of"]

TARGETS: Mapping[str, Callable[[Instruction], str]] = {
    "__cublas$gemm": gemm.gemm,
    "__cublas$lt$matmul": gemm.gemm,
    "__cublas$lt$matmul$f8": gemm.scaled_gemm,
    "__cublas$triangularSolve": linear_algebra.triangular_solve,
    "__cudnn$convBackwardFilter": convolution.gradient_of_filter,
    "__cudnn$convBackwardInput": convolution.gradient_of_input,
    "__cudnn$convBiasActivationForward": convolution.bias_activation,
    "__cudnn$convForward": convolution.forward,
    "TopK": topk.topk,
    "__gpu$TopK": topk.topk,
    "lapack_strsm_ffi": linear_algebra.lapack_triangular_solve,
    "lapack_dtrsm_ffi": linear_algebra.lapack_triangular_solve,
    "lapack_ctrsm_ffi": linear_algebra.lapack_triangular_solve,
    "lapack_ztrsm_ffi": linear_algebra.lapack_triangular_solve,
}
"""The definitions, by target."""


def definition_of(instruction: Instruction) -> Instruction | Unknown | None:
    """A call of the computation that defines a custom call, in a module of its own; ``None`` for other targets.

    Unknown, with what was not understood, where the definition does not cover what the call says.
    """
    target = str(instruction.attributes.get("custom_call_target", ""))
    define = TARGETS.get(target)
    if define is None:
        return None
    try:
        return _call(define(instruction))
    except NotUnderstood as error:
        return Unknown(f"custom-call to {target!r}: {error}")
    except HlomapError as error:
        return Unknown(f"custom-call to {target!r}: its shapes do not fit its definition: {error}")


@lru_cache(maxsize=512)
def _call(body: str) -> Instruction:
    """A call of a computation with this body."""
    entry = parse(f"ENTRY definition {{\n  {body}\n}}", strict=True).entry
    operands = "\n  ".join(f"a{p.number} = {p.shape} parameter({k})" for k, p in enumerate(entry.parameters))
    names = ", ".join(f"a{p.number}" for p in entry.parameters)
    call = f"ROOT call = {entry.root.shape} call({names}), to_apply=definition"
    return parse(f"definition {{\n  {body}\n}}\nENTRY main {{\n  {operands}\n  {call}\n}}").entry.root
