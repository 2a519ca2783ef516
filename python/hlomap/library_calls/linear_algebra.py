"""Triangular solves of cuBLAS and LAPACK: ``x`` with ``op(a) x = b`` or ``x op(a) = b``; symmetric products."""

from __future__ import annotations

from .._core import Instruction
from .body import Body, Config, require

_TRANSPOSES = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


def triangular_solve(instruction: Instruction) -> str:
    """``__cublas$triangularSolve``: its configuration has the options of the operation triangular-solve."""
    options = Config.whole(instruction)
    options.expect_only({"left_side", "lower", "unit_diagonal", "transpose_a"})
    flags = {name: options.flag(name, False) for name in ("left_side", "lower", "unit_diagonal")}
    return _solve(instruction, **flags, transpose_a=options.word("transpose_a", ""))


def lapack_triangular_solve(instruction: Instruction) -> str:
    """``lapack_*trsm_ffi``: the options are characters, written as numbers."""
    config = Config.whole(instruction)
    letters = {"side": "LR", "uplo": "LU", "diag": "NU", "trans_x": "NTC"}
    codes = {name: config.integer(name, 0) for name in letters}
    fits = set(config) == set(letters) and all(codes[name] in map(ord, letters[name]) for name in letters)
    require(fits, f"its backend_config is {str(instruction.attributes.get('backend_config', ''))[:80]!r}")
    side, uplo, diag, trans_x = map(chr, codes.values())
    flags = {"left_side": side == "L", "lower": uplo == "L", "unit_diagonal": diag == "U"}
    return _solve(instruction, **flags, transpose_a=_TRANSPOSES[trans_x])


def symmetric_product(instruction: Instruction) -> str:
    """``cusolver_syrk_ffi``: a, c, alpha, beta -> alpha a aᵀ + beta c, whose upper triangle the library leaves open."""
    body = Body(instruction)
    require([one.rank for one in body.operands[2:]] == [0, 0], "its operands are not two matrices and two scalars")
    (a, c), rank = body.operands[:2], body.operands[0].rank
    summed = rank - 2 if Config.whole(instruction).flag("transpose", False) else rank - 1
    require(rank >= 2 and len({one.dtype for one in body.operands}) == 1, f"operands {a} and {c}")
    product = body.product("p0", "p0", rank - 2, (summed, summed))
    alpha, beta = (body.broadcast(scalar, c.dimensions, ()) for scalar in ("p2", "p3"))
    value = body.two("add", body.two("multiply", alpha, product), body.two("multiply", beta, "p1"))
    return body.finish(instruction.shape, [value])


def _solve(instruction: Instruction, *, transpose_a: str, **flags: bool) -> str:
    body = Body(instruction)
    body.require_operands(2, "a triangular solve has 2")
    require(transpose_a in _TRANSPOSES.values(), f"transpose_a={transpose_a}")
    options = "".join(f", {name}={str(value).lower()}" for name, value in flags.items())
    b = body.operands[1]
    value = body.add(b.dtype, b.dimensions, f"triangular-solve(p0, p1){options}, transpose_a={transpose_a}")
    return body.finish(instruction.shape, [value])
