"""Matrix products of cuBLAS and cuBLASLt: ``alpha * dot(a, b) + beta * c``, a bias, an activation; block-scaled ones.

The configuration is XLA's ``GemmBackendConfig``.  The bias runs along the trailing dimensions of the product, which
are those that come from ``b``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._core import Instruction, Shape
from .body import Body, Config, NotUnderstood, first_result, numbers, require

_UNDERSTOOD = {
    "alpha_real", "alpha_imag", "beta", "dot_dimension_numbers", "precision_config", "epilogue", "lhs_stride",
    "rhs_stride", "damax_output", "grad_x", "grad_y", "autotune_workspace_size", "selected_algorithm", "scale_mode",
    "has_d_scale",
}  # fmt: skip

_COMPUTED = {"f16": "f32", "bf16": "f32", "f8e4m3fn": "f32", "f8e5m2": "f32", "s8": "s32", "u8": "s32"}
"""The element types of products whose operands are narrower."""

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
"""Whether there is a bias, the activation, and whether what it is applied to is a result, too."""


def gemm(instruction: Instruction) -> str:
    """``__cublas$gemm`` and ``__cublas$lt$matmul``: a, b, c where beta is not 0, then the bias."""
    return _gemm(instruction, scaled=False)


def scaled_gemm(instruction: Instruction) -> str:
    """``__cublas$lt$matmul$f8``: scalars that scale a and b follow the matrices, maybe those of c and d; then the bias.

    The scale of d alone comes last.  A scalar among the results is the largest absolute element of d before its scale.
    """
    return _gemm(instruction, scaled=True)


def grouped_gemm(instruction: Instruction) -> str:
    """``__cublas$lt$groupedMatmul``: a, b and the sizes of the groups, which are those of a ragged-dot."""
    config = Config.of(instruction, "grouped_gemm_backend_config")
    config.expect_only({"gemm_backend_config", "ragged_dot_dimension_numbers"})
    gemm, ragged = config.part("gemm_backend_config"), config.part("ragged_dot_dimension_numbers")
    gemm.expect_only(_UNDERSTOOD)
    plain = gemm.number("alpha_real", 1) == 1 and not gemm.number("alpha_imag", 0) and not gemm.number("beta", 0)
    require(plain and gemm.word("epilogue", "DEFAULT") == "DEFAULT", "a product that is not plain")
    require(not gemm.integer("scale_mode", 0), "scales of its operands")
    ragged.expect_only({"dot_dimension_numbers", "lhs_ragged_dimensions", "rhs_group_dimensions"})
    body = Body(instruction)
    body.require_operands(3, "a grouped product has 3")
    dims = _dimensions(ragged.part("dot_dimension_numbers"))
    dims.update({f"{name}": ragged.dimensions(f"{name}_dimensions") for name in ("lhs_ragged", "rhs_group")})
    output = first_result(instruction)
    product = f"ragged-dot({body.converted('p0', _computed(body))}, {body.converted('p1', _computed(body))}, p2)"
    value = body.add(_computed(body), output.dimensions, f"{product}, {_attributes(dims)}")
    return body.finish(instruction.shape, [body.converted(value, output.dtype)])


def block_scaled_dot(instruction: Instruction) -> str:
    """``__op$block_scaled_dot``: a, b, and a scale for each block along their last dimension, which is summed.

    A fifth operand is a scalar that scales the product.
    """
    body = Body(instruction)
    n = len(body.operands)
    require(n == 4 or (n == 5 and body.operands[4].rank == 0), f"{n} operands, where a block-scaled dot has 4")
    rank = body.operands[0].rank
    require(rank in (2, 3) and all(one.rank == rank for one in body.operands[:4]), "operands that are not matrices")
    output = first_result(instruction)
    batch = "lhs_batch_dims={0}, rhs_batch_dims={0}, " if rank == 3 else ""
    summed = f"lhs_contracting_dims={{{rank - 1}}}, rhs_contracting_dims={{{rank - 1}}}"
    computed = output.dtype if n == 4 else body.operands[4].dtype
    product = body.add(computed, output.dimensions, f"scaled-dot(p0, p1, p2, p3), {batch}{summed}")
    if n == 5:
        product = body.two("multiply", product, body.broadcast("p4", output.dimensions, ()))
    return body.finish(instruction.shape, [body.converted(product, output.dtype)])


def _gemm(instruction: Instruction, scaled: bool) -> str:
    config = Config.of(instruction, "gemm_backend_config")
    config.expect_only(_UNDERSTOOD)
    epilogue = config.word("epilogue", "DEFAULT")
    require(epilogue in _EPILOGUES, f"the epilogue {epilogue}")
    has_bias, activation, has_aux = _EPILOGUES[epilogue]
    alpha, beta = config.number("alpha_real", 1), config.number("beta", 0)
    require(config.number("alpha_imag", 0) == 0, "alpha is complex")
    mode = config.integer("scale_mode", 0)
    require(0 <= mode <= scaled, f"scale_mode={mode}")  # 1: a scale for each tensor, 2: one for each block
    body = Body(instruction)
    n_matrices = 2 + (beta != 0)
    scales = _Scales.of(body, n_matrices, has_bias) if scaled else _Scales()
    require(scales.d is not None or not config.flag("has_d_scale", False), "has_d_scale without a scale of d alone")
    expected = n_matrices + scales.count + has_bias
    body.require_operands(expected, f"its backend_config asks for {expected}")

    parts = instruction.shape.tuple_shapes if instruction.shape.is_tuple else (instruction.shape,)
    computed = _computed(body)
    factors = [body.converted(f"p{k}", computed) for k in range(2)]
    sizes, n_columns, dimensions = _product(body, config.part("dot_dimension_numbers"))
    value = body.add(computed, sizes, f"dot({factors[0]}, {factors[1]}), {dimensions}")

    def times(value: str, by: float) -> str:
        return value if by == 1 else body.two("multiply", value, body.like(value, by))

    def times_operand(value: str, number: int | None) -> str:
        if number is None:
            return value
        scalar = body.converted(f"p{number}", computed)
        return body.two("multiply", value, body.broadcast(scalar, sizes, []) if sizes else scalar)

    value = times(value, alpha)
    for number in (scales.a, scales.b):
        value = times_operand(value, number)
    if beta != 0:
        addend = times_operand(times(body.converted("p2", computed), beta), scales.c)
        value = body.two("add", value, addend)
    if has_bias:
        value = _with_bias(body, value, computed, sizes, n_columns, scales.bias or len(body.operands) - 1)
    results = [value]
    if activation:
        results = [body.activated(activation, value), *results[: int(has_aux)]]
    extra = [part for part in parts[len(results) :] if part.is_array and part.rank == 0]
    if scaled and extra:
        require(len(extra) == 1 and parts[len(results)].rank == 0, "several scalars among its results")
        largest = body.reduced(body.one("abs", results[0]), "maximum", set(range(len(sizes))))
        results.append(body.converted(largest, extra[0].dtype))
    results[0] = times_operand(results[0], scales.d)
    narrowed = body.saturated if scaled else body.converted
    typed = [narrowed(result, part.dtype) for result, part in zip(results, parts, strict=False)]
    return body.finish(instruction.shape, typed)


@dataclass(frozen=True)
class _Scales:
    """The numbers of the scalar operands that scale a matrix, and that of the bias between them."""

    a: int | None = None
    b: int | None = None
    c: int | None = None
    d: int | None = None
    bias: int | None = None

    @classmethod
    def of(cls, body: Body, first: int, has_bias: bool) -> _Scales:
        """From the ranks of the operands behind the matrices: a b [c d] [bias], or a b [bias] d."""
        pattern = "".join("s" if one.rank == 0 else "v" for one in body.operands[first:])
        a, b = first, first + 1
        if pattern == "ss" + "v" * has_bias:
            return cls(a, b, bias=first + 2 if has_bias else None)
        if pattern == "ssss" + "v" * has_bias:
            return cls(a, b, first + 2, first + 3, first + 4 if has_bias else None)
        if pattern == "ss" + "v" * has_bias + "s":
            return cls(a, b, d=first + 2 + has_bias, bias=first + 2 if has_bias else None)
        raise NotUnderstood(f"its scales are operands {[str(one.without_layout()) for one in body.operands[first:]]}")

    @property
    def count(self) -> int:
        return sum(number is not None for number in (self.a, self.b, self.c, self.d))


def _computed(body: Body) -> str:
    return _COMPUTED.get(body.operands[0].dtype, body.operands[0].dtype)


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
    config.expect_only({f"{name}_dimensions" for name in names})
    return {name: config.dimensions(f"{name}_dimensions") for name in names}


def _attributes(dims: Mapping[str, Sequence[int]]) -> str:
    return ", ".join(f"{name}_dims={{{numbers(found)}}}" for name, found in dims.items())


def _product(body: Body, config: Config) -> tuple[tuple[int, ...], int, str]:
    """The sizes of the product, how many of its dimensions come from ``b``, and the attributes of the dot."""
    dims, free = product_dimensions(body.operands, config)
    a, b = (one.dimensions for one in body.operands[:2])
    sizes = [*(a[d] for d in dims["lhs_batch"]), *(a[d] for d in free[0]), *(b[d] for d in free[1])]
    return tuple(sizes), len(free[1]), _attributes(dims)


def _with_bias(body: Body, value: str, computed: str, sizes: tuple[int, ...], n_columns: int, number: int) -> str:
    """An operand, along the trailing dimensions of the product."""
    bias = body.operands[number]
    first = len(sizes) - bias.rank
    fits = 1 <= bias.rank <= n_columns and tuple(bias.dimensions) == sizes[first:]
    require(fits, f"a bias {bias} beside a product of sizes [{numbers(sizes)}]")
    wide = body.converted(f"p{number}", computed)
    return body.two("add", value, body.broadcast(wide, sizes, range(first, len(sizes))))
