"""Triangular solves of cuBLAS and LAPACK: ``x`` with ``op(a) x = b`` or ``x op(a) = b``; symmetric products."""

from __future__ import annotations

from .body import Array, Call
from .config import Config, require

_TRANSPOSES = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


def triangular_solve(call: Call) -> list[Array]:
    """``__cublas$triangularSolve``: its configuration has the options of the operation triangular-solve."""
    options = Config.whole(call.instruction).only({"left_side", "lower", "unit_diagonal", "transpose_a"})
    flags = {name: options.flag(name, False) for name in ("left_side", "lower", "unit_diagonal")}
    return _solve(call, **flags, transpose_a=options.word("transpose_a", ""))


def lapack_triangular_solve(call: Call) -> list[Array]:
    """``lapack_*trsm_ffi``: the options are characters, written as numbers."""
    config = Config.whole(call.instruction)
    letters = {"side": "LR", "uplo": "LU", "diag": "NU", "trans_x": "NTC"}
    codes = {name: config.integer(name, 0) for name in letters}
    fits = set(config) == set(letters) and all(codes[name] in map(ord, letters[name]) for name in letters)
    require(fits, f"its backend_config is {str(call.instruction.attributes.get('backend_config', ''))[:80]!r}")
    side, uplo, diag, trans_x = map(chr, codes.values())
    flags = {"left_side": side == "L", "lower": uplo == "L", "unit_diagonal": diag == "U"}
    return _solve(call, **flags, transpose_a=_TRANSPOSES[trans_x])


def symmetric_product(call: Call) -> list[Array]:
    """``cusolver_syrk_ffi``: a, c, alpha, beta -> alpha a aᵀ + beta c, whose upper triangle the library leaves open."""
    require([one.rank for one in call.shapes[2:]] == [0, 0], "its operands are not two matrices and two scalars")
    a, c, alpha, beta = call.operands
    summed = a.rank - 2 if Config.whole(call.instruction).flag("transpose", False) else a.rank - 1
    fits = a.rank >= 2 and len({one.dtype for one in call.operands}) == 1
    require(fits, f"operands {call.shapes[0]} and {call.shapes[1]}")
    product = a.product(a, a.rank - 2, (summed, summed))
    alpha, beta = (scalar.broadcast(c.dimensions, ()) for scalar in (alpha, beta))
    return [alpha * product + beta * c]


def _solve(call: Call, *, transpose_a: str, **flags: bool) -> list[Array]:
    call.require_operands(2, "a triangular solve has 2")
    require(transpose_a in _TRANSPOSES.values(), f"transpose_a={transpose_a}")
    a, b = call.operands
    return [call.write(b.dtype, b.dimensions, "triangular-solve", a, b, **flags, transpose_a=transpose_a)]
