"""Triangular solves of cuBLAS and LAPACK: ``x`` with ``op(a) x = b`` or ``x op(a) = b``."""

from __future__ import annotations

import re

from ..._core import Instruction
from .body import Body, Config, NotUnderstood, array_text, require

__all__ = ["lapack_triangular_solve", "triangular_solve"]

_TRANSPOSES = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


def triangular_solve(instruction: Instruction) -> str:
    """``__cublas$triangularSolve``: its configuration has the options of the operation triangular-solve."""
    options = Config.whole(instruction)
    options.expect_only({"left_side", "lower", "unit_diagonal", "transpose_a"})
    return _solve(
        instruction,
        options.flag("left_side", False),
        options.flag("lower", False),
        options.flag("unit_diagonal", False),
        options.word("transpose_a", ""),
    )


def lapack_triangular_solve(instruction: Instruction) -> str:
    """``lapack_*trsm_ffi``: the options are characters, written as numbers."""
    text = str(instruction.attributes.get("backend_config", ""))
    entries = re.findall(r"(\w+) = (\d+) : ui8", text)
    options = {name: chr(int(code)) for name, code in entries}
    plain = re.sub(r"[\s{},]", "", text) == "".join(f"{name}={code}:ui8" for name, code in entries)
    values = {"side": "LR", "uplo": "LU", "diag": "NU", "trans_x": "NTC"}
    fits = plain and set(options) == set(values) and all(options[name] in values[name] for name in values)
    require(fits, f"its backend_config is {text[:80]!r}")
    return _solve(
        instruction,
        options["side"] == "L",
        options["uplo"] == "L",
        options["diag"] == "U",
        _TRANSPOSES[options["trans_x"]],
    )


def _solve(instruction: Instruction, left: bool, lower: bool, unit: bool, transpose: str) -> str:
    body = Body(instruction)
    require(len(body.operands) == 2, f"{len(body.operands)} operands, where a triangular solve has 2")
    if transpose not in _TRANSPOSES.values():
        raise NotUnderstood(f"transpose_a={transpose}")
    b = body.operands[1]

    def flag(value: bool) -> str:
        return "true" if value else "false"

    value = body.add(
        b.dtype,
        b.dimensions,
        f"triangular-solve(p0, p1), left_side={flag(left)}, lower={flag(lower)}, unit_diagonal={flag(unit)}, "
        f"transpose_a={transpose}",
    )
    output = instruction.shape.tuple_shapes[0] if instruction.shape.is_tuple else instruction.shape
    fits = output.is_array and (output.dtype, tuple(output.dimensions)) == (b.dtype, tuple(b.dimensions))
    require(fits, f"a result {output} for a right side {array_text(b.dtype, b.dimensions)}")
    return body.finish(instruction.shape, [value])
