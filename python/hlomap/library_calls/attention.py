"""Fused attention of cuDNN, forward and backward: ``softmax(scale * q k + bias) v`` for every head.

The targets are those of ``jax.nn.dot_product_attention`` on GPUs; the dimension numbers of the configuration say which
dimensions of queries, keys and values are batch, head and sequence.  Results are in the order batch, head, sequence,
feature.  Masked positions have no weight, and :func:`band_of` says which positions those are.  The mask of dropout
comes from a call without a definition: maps go through, values need a function for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from .._core import Instruction, Shape
from .body import Body, Config, array_text, require

TARGETS = (
    "__cudnn$fmhaScaleBiasSoftmax", "__cudnn$fmhaScaleBiasSoftmaxBackward", "__cudnn$fmhaScaleBiasSoftmaxDropout",
    "__cudnn$fmhaScaleBiasSoftmaxDropoutBackward", "__cudnn$fmhaSoftmax", "__cudnn$fmhaSoftmaxBackward",
    "__cudnn$fmhaSoftmaxBackwardF8", "__cudnn$fmhaSoftmaxDropout", "__cudnn$fmhaSoftmaxDropoutBackward",
    "__cudnn$fmhaSoftmaxF8",
)  # fmt: skip
"""The targets, by bias, dropout, direction and element type."""

DROPOUT_MASK = "cudnn.dropout_mask"
"""The target of the call, without operands, whose value is 1 where dropout keeps a weight and 0 elsewhere."""

_UNDERSTOOD = {
    "algorithm", "bmm1_dot_dimension_numbers", "bmm2_dot_dimension_numbers", "bmm1_grad_gemm1_dot_dimension_numbers",
    "bmm1_grad_gemm2_dot_dimension_numbers", "bmm2_grad_gemm1_dot_dimension_numbers",
    "bmm2_grad_gemm2_dot_dimension_numbers", "dropout_rate", "fmha_scale", "force_deterministic",
    "intermediate_tensor_shape", "is_flash_attention", "is_paged_attention", "mask_type", "max_seg_per_batch", "seed",
    "sliding_window_length",
}  # fmt: skip

_MASKS = {"NO_MASK": (False, False), "PADDING": (True, False), "CAUSAL": (False, True), "PADDING_CAUSAL": (True, True)}
"""Whether sequences have lengths, and whether a query sees the keys up to its own position alone."""


class _Axes(NamedTuple):
    """The dimensions of an array of rank 4."""

    batch: int
    head: int
    sequence: int
    feature: int


@dataclass(frozen=True)
class _Call:
    """The properties that a call states."""

    config: Config
    is_backward: bool
    is_f8: bool
    has_bias: bool
    dropout: float
    padded: bool
    causal: bool
    window: int
    paged: bool
    q: _Axes
    k: _Axes
    v: _Axes

    @classmethod
    def of(cls, instruction: Instruction) -> _Call:
        target = str(instruction.attributes.get("custom_call_target", ""))
        config = Config.of(instruction, "cudnn_fmha_backend_config")
        config.expect_only(_UNDERSTOOD)
        require(not packs_segments(instruction), "several segments in a row")
        mask = config.word("mask_type", "NO_MASK")
        require(mask in _MASKS, f"the mask {mask}")
        padded, causal = _MASKS[mask]
        window = int(config.number("sliding_window_length", 0))
        require(window >= 0 and (causal or window == 0), f"a window of {window} with the mask {mask}")
        dropout = config.number("dropout_rate", 0)
        require(0 <= dropout < 1 and ("Dropout" in target) == (dropout > 0), f"a dropout rate of {dropout:g}")
        is_backward, is_f8 = "Backward" in target, target.endswith("F8")
        paged = config.flag("is_paged_attention", False)
        require(not paged or not (is_backward or is_f8), "pages in a gradient")
        if is_backward:
            q = _axes(config, "bmm1_grad_gemm1", "rhs", contracted="sequence")
            k = _axes(config, "bmm1_grad_gemm2", "rhs", contracted="sequence")
            v = _axes(config, "bmm2_grad_gemm2", "rhs", contracted="feature")
            dy = _axes(config, "bmm2_grad_gemm1", "rhs", contracted="sequence")
            require(dy == q, "a gradient in another order than the queries")
        else:
            q = _axes(config, "bmm1", "lhs", contracted="feature")
            k = _axes(config, "bmm1", "rhs", contracted="feature")
            v = _axes(config, "bmm2", "rhs", contracted="sequence")
        has_bias = "Bias" in target
        return cls(config, is_backward, is_f8, has_bias, dropout, padded, causal, window, paged, q, k, v)

    @property
    def has_lengths(self) -> bool:
        """Whether the lengths of the sequences are operands."""
        return self.padded or self.paged


def packs_segments(instruction: Instruction) -> bool:
    """Whether rows hold several sequences at offsets that are operands."""
    config = Config.of(instruction, "cudnn_fmha_backend_config")
    return config.number("max_seg_per_batch", 1) > 1


def attention(instruction: Instruction) -> str:
    """``__cudnn$fmha*``: see the module, and the operands in :func:`_forward` and :func:`_backward`."""
    call = _Call.of(instruction)
    body = Body(instruction)
    parts = instruction.shape.tuple_shapes if instruction.shape.is_tuple else (instruction.shape,)
    require(all(part.is_array for part in parts), "a result that is not an array")
    build = _backward if call.is_backward else _forward
    return body.finish(instruction.shape, build(body, call, parts))


def band_of(instruction: Instruction) -> Band | None:
    """The keys that a query at a position sees, and where the arrays have queries and keys; None for all of them."""
    call = _Call.of(instruction)
    if not call.causal:
        return None
    q, k, v = ({Role.QUERY: call.q.sequence}, {Role.KEY: call.k.sequence}, {Role.KEY: call.v.sequence})
    if call.paged:
        k = v = {}
    statistics, bias = {Role.QUERY: 2}, {Role.QUERY: 2, Role.KEY: 3}
    biases: list[Mapping[Role, int]] = [bias] * call.has_bias
    operands: list[Mapping[Role, int]]
    if call.is_backward:
        others = [q, q, statistics] if call.is_f8 else [statistics, q, *biases, q]
        operands = [q, k, v, *others]
        results: list[Mapping[Role, int]] = [{Role.QUERY: 2}, {Role.KEY: 2}, {Role.KEY: 2}]
        if call.has_bias and len(instruction.shape.tuple_shapes) > 4:
            results.append(bias)
    else:
        operands = [q, k, v, *biases]
        results = [{Role.QUERY: 2}]
        if call.is_f8:
            results += [{}, {}]
        if instruction.shape.is_tuple and len(instruction.shape.tuple_shapes) > len(results) + 1:
            results.append(statistics)
    n_queries = instruction.operands[0].shape.dimensions[call.q.sequence]
    return Band(operands, results, min(call.window or n_queries, n_queries) - 1)


def _axes(config: Config, gemm: str, side: str, contracted: str) -> _Axes:
    """The dimensions of one side of a product, all four of which must be named."""
    numbers_ = config.part(f"{gemm}_dot_dimension_numbers")
    batch = numbers_.dimensions(f"{side}_batch_dimensions")
    summed = numbers_.dimensions(f"{side}_contracting_dimensions")
    rest = [d for d in range(4) if d not in (*batch, *summed)]
    fits = len(batch) == 2 and len(summed) == 1 and len(rest) == 1
    require(fits, f"the dimension numbers of {gemm}")
    sequence, feature = (summed[0], rest[0]) if contracted == "sequence" else (rest[0], summed[0])
    return _Axes(batch[0], batch[1], sequence, feature)


def _forward(body: Body, call: _Call, parts: Sequence[Shape]) -> list[str]:
    """q, k, v [, bias][, q lengths, k lengths][, pages of k, pages of v] -> (o [, statistics], workspace).

    With f8: q, k, v, the inverse scales of q, k, v and the weights, the scales of the weights and of o -> (o, the
    largest weight, the largest element of o [, statistics], workspace).
    """
    expected = 9 if call.is_f8 else 3 + call.has_bias + 2 * call.has_lengths + 2 * call.paged
    body.require_operands(expected, f"its backend_config asks for {expected}")
    n_values = 3 if call.is_f8 else 1
    n_results = min(len(parts), n_values + (len(parts) > n_values + 1))
    require(len(parts) >= n_values, f"{len(parts)} results")
    q, k, v = _heads(body, call)
    factors = [_scalar(body, n) for n in range(3, 9)] if call.is_f8 else []
    if call.is_f8:
        q, k, v = (_times(body, x, by) for x, by in zip((q, k, v), factors[:3], strict=True))
    scores, allowed = _scores(body, call, q, k)
    sizes = body.type_of(scores)[1]
    largest = body.reduced(scores, "maximum", {3})
    shifted = body.two("subtract", scores, body.broadcast(largest, sizes, range(3)))
    weights = body.one("exponential", shifted)
    if allowed is not None:
        weights = body.selected(allowed, weights, body.like(weights, 0))
    total = body.reduced(weights, "add", {3})
    if call.has_lengths:  # a row without keys has no weights
        total = body.selected(body.compared(total, "GT", body.like(total, 0)), total, body.like(total, 1))
    weights = body.two("divide", weights, body.broadcast(total, sizes, range(3)))
    weights = _dropped(body, call, weights)
    amax: list[str] = []
    if call.is_f8:
        amax.append(_amax(body, weights))
        weights = _quantized(body, weights, factors[4], factors[3])
    value = body.product(weights, v, 2, (3, 2))
    if call.is_f8:
        amax.append(_amax(body, value))
        value = body.saturated(_times(body, value, factors[5]), parts[0].dtype)
    statistics = body.two("add", largest, body.one("log", total))
    found = [value, *amax, statistics][:n_results]
    return [_result(body, one, part) for one, part in zip(found, parts, strict=False)]


def _backward(body: Body, call: _Call, parts: Sequence[Shape]) -> list[str]:
    """q, k, v, statistics, gradient of o [, bias], o [, q lengths, k lengths] -> (dq, dk, dv [, dbias], workspace).

    With f8: q, k, v, o, gradient of o, statistics, the inverse scales of q, k, v, o, do, the weights and dp, the scales
    of the weights, dq, dk, dv and dp -> (dq, dk, dv, the largest elements of dq, dk, dv and dp, workspace).
    """
    expected = 18 if call.is_f8 else 6 + call.has_bias + 2 * call.has_lengths
    body.require_operands(expected, f"its backend_config asks for {expected}")
    n_values = 7 if call.is_f8 else 3
    require(len(parts) >= n_values, f"{len(parts)} results")
    q, k, v = _heads(body, call)
    at_o, at_dy, at_statistics = (3, 4, 5) if call.is_f8 else (5 + call.has_bias, 4, 3)
    o, dy = (_canonical(body, n, call.q) for n in (at_o, at_dy))
    scales = [_scalar(body, n) for n in range(6, 18)] if call.is_f8 else []
    if call.is_f8:
        q, k, v, o, dy = (_times(body, x, by) for x, by in zip((q, k, v, o, dy), scales[:5], strict=True))
    scores, allowed = _scores(body, call, q, k)
    sizes = body.type_of(scores)[1]
    statistics = body.converted(f"p{at_statistics}", "f32")
    weights = body.one("exponential", body.two("subtract", scores, body.broadcast(statistics, sizes, range(3))))
    if allowed is not None:
        weights = body.selected(allowed, weights, body.like(weights, 0))
    dropped = _dropped(body, call, weights)
    dweights = _dropped(body, call, body.product(dy, v, 2, (3, 3)))
    along = body.reduced(body.two("multiply", dy, o), "add", {3})
    centred = body.two("subtract", dweights, body.broadcast(along, sizes, range(3)))
    dscores = body.two("multiply", weights, centred)
    amax: list[str] = []
    if call.is_f8:
        dropped = _quantized(body, dropped, scales[7], scales[5])
        amax.append(_amax(body, dscores))
        dscores = _quantized(body, dscores, scales[11], scales[6])
    scale = call.config.number("fmha_scale", 1)
    scaled = body.two("multiply", dscores, body.like(dscores, scale))
    dq = body.product(scaled, k, 2, (3, 2))
    n_heads = body.operands[1].dimensions[call.k.head]
    dk, dv = (_over_groups(body, body.product(a, b, 2, (2, 2)), n_heads) for a, b in ((scaled, q), (dropped, dy)))
    found = [dq, dk, dv]
    if call.is_f8:
        amax = [*(_amax(body, one) for one in found), *amax]
        found = [
            body.saturated(_times(body, one, by), parts[n].dtype)
            for n, (one, by) in enumerate(zip(found, scales[8:11], strict=True))
        ]
        found += amax
    elif call.has_bias and len(parts) > n_values + 1:
        bias = body.operands[5].dimensions
        spread = {d for d in range(4) if bias[d] == 1 != sizes[d]}
        found.append(body.reduced(dscores, "add", spread) if spread else dscores)
    return [_result(body, one, part) for one, part in zip(found, parts, strict=False)]


def _heads(body: Body, call: _Call) -> tuple[str, str, str]:
    """Queries, and the keys and values of the head of each query: batch, head, sequence, feature."""
    require(all(one.rank == 4 for one in body.operands[:3]), "queries, keys or values without 4 dimensions")
    q, k, v = (_canonical(body, n, axes) for n, axes in enumerate((call.q, call.k, call.v)))
    batch, heads = body.type_of(q)[1][:2]
    if call.paged:
        k, v = (_from_pages(body, x, len(body.operands) - 2 + n, batch) for n, x in enumerate((k, v)))
    sizes = [body.type_of(x)[1] for x in (q, k, v)]
    n_heads, n_keys = sizes[1][1], sizes[1][2]
    fits = sizes[1][0] == sizes[2][0] == batch and sizes[0][3] == sizes[1][3] and sizes[2][1:3] == sizes[1][1:3]
    require(fits and n_heads > 0 and heads % n_heads == 0, "queries, keys and values whose sizes do not fit")
    shape = call.config.part("intermediate_tensor_shape").dimensions("dimensions")
    require(
        call.paged or not shape or shape == [batch, heads, sizes[0][2], n_keys],
        "an intermediate_tensor_shape that does not fit",
    )
    return q, _for_queries(body, k, heads), _for_queries(body, v, heads)


def _canonical(body: Body, operand: int, axes: _Axes) -> str:
    require(body.operands[operand].rank == 4, f"operand {operand} does not have 4 dimensions")
    return body.transposed(body.converted(f"p{operand}", "f32"), axes)


def _from_pages(body: Body, pages: str, table: int, batch: int) -> str:
    """The pages that a table [batch, 1, pages of a row, 1] names, one after the other."""
    dtype, (_, heads, size, features) = body.type_of(pages)
    numbers = body.operands[table]
    fits = numbers.dtype == "s32" and numbers.rank == 4 and numbers.dimensions[::2][0] == batch
    require(fits and numbers.dimensions[1] == numbers.dimensions[3] == 1, f"a page table {numbers}")
    n_row = numbers.dimensions[2]
    rows = body.reshaped(f"p{table}", [batch, n_row])
    found = body.add(
        dtype,
        [batch, n_row, heads, size, features],
        f"gather({pages}, {rows}), offset_dims={{2,3,4}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
        f"index_vector_dim=2, slice_sizes={{1,{heads},{size},{features}}}",
    )
    return body.reshaped(body.transposed(found, [0, 2, 1, 3, 4]), [batch, heads, n_row * size, features])


def _for_queries(body: Body, x: str, heads: int) -> str:
    """Each head of keys or values, for all heads of queries that share it."""
    _, (batch, own, length, features) = body.type_of(x)
    if own == heads:
        return x
    wide = body.broadcast(x, [batch, own, heads // own, length, features], [0, 1, 3, 4])
    return body.reshaped(wide, [batch, heads, length, features])


def _over_groups(body: Body, x: str, n_heads: int) -> str:
    """The sum over the heads of queries that share a head."""
    _, (batch, heads, length, features) = body.type_of(x)
    if heads == n_heads:
        return x
    return body.reduced(body.reshaped(x, [batch, n_heads, heads // n_heads, length, features]), "add", {2})


def _scores(body: Body, call: _Call, q: str, k: str) -> tuple[str, str | None]:
    """``scale * q k + bias``, very small where masked, and where it is not masked; None for everywhere."""
    scores = body.product(q, k, 2, (3, 3))
    sizes = body.type_of(scores)[1]
    scores = body.two("multiply", scores, body.like(scores, call.config.number("fmha_scale", 1)))
    at_bias, at_lengths = (5, 6 + call.has_bias) if call.is_backward else (3, 3 + call.has_bias)
    if call.has_bias:
        require(body.operands[at_bias].rank == 4, "a bias without 4 dimensions")
        scores = body.two("add", scores, body.stretched(body.converted(f"p{at_bias}", "f32"), sizes))
    conditions = []
    query, key = (body.add("s32", sizes, f"iota(), iota_dimension={d}") for d in (2, 3))
    if call.causal:
        conditions.append(body.compared(query, "GE", key))
    if call.window:
        behind = body.two("subtract", query, key)
        conditions.append(body.compared(behind, "LT", body.like(behind, call.window)))
    if call.has_lengths:
        for n, position in enumerate((query, key)):
            lengths = body.operands[at_lengths + n]
            fits = lengths.dtype == "s32" and tuple(lengths.dimensions) == tuple(sizes[:1])
            require(fits, f"lengths {lengths} for {array_text('f32', sizes)}")
            conditions.append(body.compared(position, "LT", body.broadcast(f"p{at_lengths + n}", sizes, [0])))
    if not conditions:
        return scores, None
    allowed = conditions[0]
    for condition in conditions[1:]:
        allowed = body.two("and", allowed, condition)
    return body.selected(allowed, scores, body.like(scores, -1e30)), allowed


def _dropped(body: Body, call: _Call, weights: str) -> str:
    if call.dropout == 0:
        return weights
    mask = body.add(*body.type_of(weights), f'custom-call(), custom_call_target="{DROPOUT_MASK}"')
    return body.two("multiply", body.two("multiply", weights, mask), body.like(weights, 1 / (1 - call.dropout)))


def _scalar(body: Body, operand: int) -> str:
    found = body.operands[operand]
    require(all(n == 1 for n in found.dimensions), f"operand {operand} is not one number")
    return body.reshaped(body.converted(f"p{operand}", "f32"), [])


def _times(body: Body, x: str, scalar: str) -> str:
    return body.two("multiply", x, body.broadcast(scalar, body.type_of(x)[1], []))


def _quantized(body: Body, x: str, scale: str, inverse: str) -> str:
    """A value, rounded to the narrow float type of the operands after it is scaled."""
    narrow = body.saturated(_times(body, x, scale), body.operands[0].dtype)
    return _times(body, body.converted(narrow, "f32"), inverse)


def _amax(body: Body, x: str) -> str:
    return body.reduced(body.one("abs", x), "maximum", set(range(len(body.type_of(x)[1]))))


def _result(body: Body, value: str, part: Shape) -> str:
    sizes = list(body.type_of(value)[1])
    fits = list(part.dimensions) == sizes or (not sizes and all(n == 1 for n in part.dimensions))
    if len(sizes) < 4 and part.rank == 4:  # a gradient of a bias
        fits = [n for n in part.dimensions if n != 1] == [n for n in sizes if n != 1]
    require(fits, f"a result {part.without_layout()}, where its value has sizes {sizes}")
    return body.converted(body.reshaped(value, part.dimensions), part.dtype)


# The queries and keys of an attention that a causal mask or a window lets through, as data.


class Role(Enum):
    """The positions that a dimension counts."""

    QUERY = "query"
    KEY = "key"


@dataclass(frozen=True)
class Band:
    """The query at position t sees the keys at positions s with ``0 <= t - s <= farthest``.

    ``operands`` and ``results`` say which dimension of each array counts queries or keys; arrays beyond them have none.
    """

    operands: Sequence[Mapping[Role, int]]
    results: Sequence[Mapping[Role, int]]
    farthest: int

    def operand(self, number: int) -> Mapping[Role, int]:
        """The dimensions of an operand."""
        return self.operands[number] if number < len(self.operands) else {}

    def result(self, number: int) -> Mapping[Role, int]:
        """The dimensions of a result."""
        return self.results[number] if number < len(self.results) else {}
