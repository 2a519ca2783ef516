"""Matrix products of cuBLAS and cuBLASLt: ``alpha * dot(a, b) + beta * c``, a bias, an activation; block-scaled ones.

The configuration is XLA's ``GemmBackendConfig``.  The bias runs along the trailing dimensions of the product, which
are those that come from ``b``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .._core import Instruction, Shape
from .body import Array, Call
from .config import Config, NotUnderstood, require

_UNDERSTOOD = {
    "alpha_real", "alpha_imag", "beta", "dot_dimension_numbers", "precision_config", "epilogue", "lhs_stride",
    "rhs_stride", "damax_output", "grad_x", "grad_y", "autotune_workspace_size", "selected_algorithm", "scale_mode",
    "has_d_scale", "batch_size",
}  # fmt: skip
"""``batch_size``, of configurations before 2024, follows from the dimension numbers."""

_EPILOGUES = {
    "DEFAULT": (False, "", False),
    "BIAS": (True, "", False),
    "RELU": (False, "relu", False),
    "BIAS_RELU": (True, "relu", False),
    "GELU": (False, "gelu by tanh", False),
    "BIAS_GELU": (True, "gelu by tanh", False),
    "GELU_AUX": (False, "gelu by tanh", True),
    "BIAS_GELU_AUX": (True, "gelu by tanh", True),
    "SILU": (False, "silu", False),
    "BIAS_SILU": (True, "silu", False),
}
"""Whether there is a bias, the activation, and whether the operand of the activation is also a result."""


def gemm(call: Call) -> list[Array]:
    """``__cublas$gemm`` and ``__cublas$lt$matmul``: a, b, c if beta is not 0, then the bias."""
    return _gemm(call, scaled=False)


def scaled_gemm(call: Call) -> list[Array]:
    """``__cublas$lt$matmul$f8``: scalars that scale a and b follow the matrices, maybe those of c and d; then the bias.

    The scale of d alone comes last.  A scalar among the results is the largest absolute element of d before its scale.
    """
    return _gemm(call, scaled=True)


def grouped_gemm(call: Call) -> list[Array]:
    """``__cublas$lt$groupedMatmul``: a, b and the sizes of the groups, as in a ragged-dot."""
    config = Config.of(call.instruction, "grouped_gemm_backend_config")
    config.only({"gemm_backend_config", "ragged_dot_dimension_numbers"})
    gemm, ragged = config.part("gemm_backend_config"), config.part("ragged_dot_dimension_numbers")
    gemm.only(_UNDERSTOOD)
    plain = gemm.number("alpha_real", 1) == 1 and not gemm.number("alpha_imag", 0) and not gemm.number("beta", 0)
    require(plain and gemm.word("epilogue", "DEFAULT") == "DEFAULT", "a product that is not plain")
    require(not gemm.integer("scale_mode", 0), "scales of its operands")
    ragged.only({"dot_dimension_numbers", "lhs_ragged_dimensions", "rhs_group_dimensions"})
    call.require_operands(3, "a grouped product has 3")
    dims = _dimensions(ragged.part("dot_dimension_numbers"))
    dims.update({f"{name}": ragged.dimensions(f"{name}_dimensions") for name in ("lhs_ragged", "rhs_group")})
    output, (a, b), groups = call.result(), call.factors(), call.operands[2]
    value = call.write(a.dtype, output.dimensions, "ragged-dot", a, b, groups, **_attributes(dims))
    return [value.converted(output.dtype)]


def block_scaled_dot(call: Call) -> list[Array]:
    """``__op$block_scaled_dot``: a, b, and a scale for each block along their last dimension, which is summed.

    A fifth operand is a scalar that scales the product.
    """
    n, rank = len(call.operands), call.operands[0].rank if call.operands else 0
    require(n == 4 or (n == 5 and call.operands[4].rank == 0), f"{n} operands, but a block-scaled dot has 4")
    require(rank in (2, 3) and all(one.rank == rank for one in call.operands[:4]), "operands that are not matrices")
    output = call.result()
    numbers = {"batch": range(rank - 2), "contracting": [rank - 1]}
    dims = {f"{side}_{kind}_dims": found for kind, found in numbers.items() for side in ("lhs", "rhs")}
    computed = output.dtype if n == 4 else call.operands[4].dtype
    product = call.write(computed, output.dimensions, "scaled-dot", *call.operands[:4], **dims)
    if n == 5:
        product *= call.operands[4].broadcast(output.dimensions, ())
    return [product.converted(output.dtype)]


def _gemm(call: Call, scaled: bool) -> list[Array]:
    config = gemm_config(call.instruction).only(_UNDERSTOOD)
    epilogue = config.word("epilogue", "DEFAULT")
    require(epilogue in _EPILOGUES, f"the epilogue {epilogue}")
    has_bias, activation, has_aux = _EPILOGUES[epilogue]
    alpha, beta = config.number("alpha_real", 1), config.number("beta", 0)
    require(config.number("alpha_imag", 0) == 0, "alpha is complex")
    mode = config.integer("scale_mode", 0)
    require(0 <= mode <= scaled, f"scale_mode={mode}")  # 1: a scale for each tensor, 2: one for each block
    n_matrices = 2 + (beta != 0)
    scales = _Scales.of(call, n_matrices, has_bias) if scaled else _Scales()
    require(scales.d is not None or not config.flag("has_d_scale", False), "has_d_scale without a scale of d alone")
    expected = n_matrices + sum(number is not None for number in scales[:4]) + has_bias
    call.require_operands(expected, f"its backend_config asks for {expected}")

    parts = call.results
    a, b = call.factors()
    dims, free = product_dimensions(call.shapes, config.part("dot_dimension_numbers"))
    of_a, of_b = [*dims["lhs_batch"], *free[0]], free[1]
    sizes = (*(a.dimensions[d] for d in of_a), *(b.dimensions[d] for d in of_b))
    value = call.write(a.dtype, sizes, "dot", a, b, **_attributes(dims))

    def times(value: Array, by: float) -> Array:
        return value if by == 1 else value * by

    def times_operand(value: Array, number: int | None) -> Array:
        if number is None:
            return value
        scalar = call.operands[number].converted(a.dtype)
        return value * (scalar.broadcast(sizes, []) if sizes else scalar)

    value = times(value, alpha)
    for number in (scales.a, scales.b):
        value = times_operand(value, number)
    if beta != 0:
        value += times_operand(times(call.operands[2].converted(a.dtype), beta), scales.c)
    if has_bias:
        value = _with_bias(value, call.operands[scales.bias or -1], len(of_b))
    results = [value]
    if activation:
        results = [value.activated(activation), *results[: int(has_aux)]]
    extra = [part for part in parts[len(results) :] if part.is_array and part.rank == 0]
    if scaled and extra:
        require(len(extra) == 1 and parts[len(results)].rank == 0, "several scalars among its results")
        largest = results[0].one("abs").reduced("maximum", set(range(len(sizes))))
        results.append(largest.converted(extra[0].dtype))
    results[0] = times_operand(results[0], scales.d)
    typed = zip(results, parts, strict=False)
    return [one.saturated(part.dtype) if scaled else one.converted(part.dtype) for one, part in typed]


class _Scales(NamedTuple):
    """The numbers of the scalar operands that scale a matrix, and that of the bias between them."""

    a: int | None = None
    b: int | None = None
    c: int | None = None
    d: int | None = None
    bias: int | None = None

    @classmethod
    def of(cls, call: Call, first: int, has_bias: bool) -> _Scales:
        """From the ranks of the operands behind the matrices: a b [c d] [bias], or a b [bias] d."""
        pattern = "".join("s" if one.rank == 0 else "v" for one in call.operands[first:])
        a, b = first, first + 1
        if pattern == "ss" + "v" * has_bias:
            return cls(a, b, bias=first + 2 if has_bias else None)
        if pattern == "ssss" + "v" * has_bias:
            return cls(a, b, first + 2, first + 3, first + 4 if has_bias else None)
        if pattern == "ss" + "v" * has_bias + "s":
            return cls(a, b, d=first + 2 + has_bias, bias=first + 2 if has_bias else None)
        raise NotUnderstood(f"its scales are operands {[str(one.without_layout()) for one in call.shapes[first:]]}")


def gemm_config(instruction: Instruction) -> Config:
    """The ``GemmBackendConfig`` of a call."""
    return Config.of(instruction, "gemm_backend_config", before_2024="dot_dimension_numbers")


def product_dimensions(operands: Sequence[Shape], config: Config) -> tuple[dict[str, list[int]], list[list[int]]]:
    """The dimension numbers of a product, and those dimensions of a and b that are neither batches nor summed."""
    dims = _dimensions(config)
    free = []
    for k, side in enumerate(("lhs", "rhs")):
        used, rank = dims[f"{side}_batch"] + dims[f"{side}_contracting"], operands[k].rank
        require(len(set(used)) == len(used) and all(d < rank for d in used), "its dimension numbers do not fit")
        free.append([d for d in range(rank) if d not in used])
    return dims, free


def _dimensions(config: Config) -> dict[str, list[int]]:
    names = ("lhs_batch", "rhs_batch", "lhs_contracting", "rhs_contracting")
    config.only({f"{name}_dimensions" for name in names})
    return {name: config.dimensions(f"{name}_dimensions") for name in names}


def _attributes(dims: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    return {f"{name}_dims": found for name, found in dims.items()}


def _with_bias(value: Array, bias: Array, n_columns: int) -> Array:
    """With an operand along the trailing dimensions of the product, ``n_columns`` of which come from ``b``."""
    sizes = value.dimensions
    first = len(sizes) - bias.rank
    fits = 1 <= bias.rank <= n_columns and tuple(bias.dimensions) == tuple(sizes[first:])
    require(fits, f"a bias {bias.shape} beside a product {value.shape}")
    return value + bias.converted(value.dtype).broadcast(sizes, range(first, len(sizes)))
