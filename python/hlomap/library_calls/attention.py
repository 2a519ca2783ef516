"""Fused attention of cuDNN, forward and backward: ``softmax(scale * q k + bias) v`` for every head.

The targets are those of ``jax.nn.dot_product_attention`` on GPUs; the dimension numbers of the configuration say which
dimensions of queries, keys and values are batch, head and sequence.  Results are in the order batch, head, sequence,
feature.  Masked positions have no weight, and :func:`band_of` gives these positions.  The mask of dropout
comes from a call without a definition: maps go through, values need a function for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from .._core import Instruction, Shape
from .body import Array, Call
from .config import Config, require

TARGETS = (
    "__cudnn$fmhaScaleBiasSoftmax", "__cudnn$fmhaScaleBiasSoftmaxBackward", "__cudnn$fmhaScaleBiasSoftmaxDropout",
    "__cudnn$fmhaScaleBiasSoftmaxDropoutBackward", "__cudnn$fmhaSoftmax", "__cudnn$fmhaSoftmaxBackward",
    "__cudnn$fmhaSoftmaxBackwardF8", "__cudnn$fmhaSoftmaxDropout", "__cudnn$fmhaSoftmaxDropoutBackward",
    "__cudnn$fmhaSoftmaxF8",
)  # fmt: skip
"""The targets, by bias, dropout, direction and element type."""

DROPOUT_MASK = "cudnn.dropout_mask"
"""The target of the call, without operands, whose value is 1 if dropout keeps a weight and 0 elsewhere."""

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


class _Options(NamedTuple):
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
    def of(cls, instruction: Instruction) -> _Options:
        target = str(instruction.attributes.get("custom_call_target", ""))
        config = _config(instruction).only(_UNDERSTOOD)
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


def _config(instruction: Instruction) -> Config:
    return Config.of(instruction, "cudnn_fmha_backend_config", before_2024="fmha_scale")


def packs_segments(instruction: Instruction) -> bool:
    """Whether rows hold several sequences at offsets that are operands."""
    config = _config(instruction)
    return config.number("max_seg_per_batch", 1) > 1


def attention(call: Call) -> list[Array]:
    """``__cudnn$fmha*``: see the module, and the operands in :func:`_forward` and :func:`_backward`."""
    options = _Options.of(call.instruction)
    require(all(part.is_array for part in call.results), "a result that is not an array")
    values = _backward(call, options) if options.is_backward else _forward(call, options)
    return [_result(value, part) for value, part in zip(values, call.results, strict=False)]


def band_of(instruction: Instruction) -> Band | None:
    """The keys that a query at a position sees, and the dimensions of queries and keys; None if it sees all keys."""
    options = _Options.of(instruction)
    if not options.causal:
        return None
    q, k, v = ({Role.QUERY: options.q.sequence}, {Role.KEY: options.k.sequence}, {Role.KEY: options.v.sequence})
    if options.paged:
        k = v = {}
    statistics, bias = {Role.QUERY: 2}, {Role.QUERY: 2, Role.KEY: 3}
    biases: list[Mapping[Role, int]] = [bias] * options.has_bias
    operands: list[Mapping[Role, int]]
    if options.is_backward:
        others = [q, q, statistics] if options.is_f8 else [statistics, q, *biases, q]
        operands = [q, k, v, *others]
        results: list[Mapping[Role, int]] = [{Role.QUERY: 2}, {Role.KEY: 2}, {Role.KEY: 2}]
        if options.has_bias and len(instruction.shape.tuple_shapes) > 4:
            results.append(bias)
    else:
        operands = [q, k, v, *biases]
        results = [{Role.QUERY: 2}]
        if options.is_f8:
            results += [{}, {}]
        if instruction.shape.is_tuple and len(instruction.shape.tuple_shapes) > len(results) + 1:
            results.append(statistics)
    n_queries = instruction.operands[0].shape.dimensions[options.q.sequence]
    return Band(operands, results, min(options.window or n_queries, n_queries) - 1)


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


def _forward(call: Call, options: _Options) -> list[Array]:
    """q, k, v [, bias][, q lengths, k lengths][, pages of k, pages of v] -> (o [, statistics], workspace).

    With f8: q, k, v, the inverse scales of q, k, v and the weights, the scales of the weights and of o -> (o, the
    largest weight, the largest element of o [, statistics], workspace).
    """
    is_f8 = options.is_f8
    expected = 9 if is_f8 else 3 + options.has_bias + 2 * options.has_lengths + 2 * options.paged
    call.require_operands(expected, f"its backend_config asks for {expected}")
    n_values, n_parts = 3 if is_f8 else 1, len(call.results)
    n_results = min(n_parts, n_values + (n_parts > n_values + 1))
    require(n_parts >= n_values, f"{n_parts} results")
    q, k, v = _heads(call, options)
    factors = [_scalar(call, n) for n in range(3, 9)] if is_f8 else []
    if is_f8:
        q, k, v = (_times(x, by) for x, by in zip((q, k, v), factors[:3], strict=True))
    scores, allowed = _scores(call, options, q, k)
    largest = scores.reduced("maximum", {3})
    weights = (scores - largest.broadcast(scores.dimensions, range(3))).one("exponential")
    if allowed is not None:
        weights = weights.where(allowed, 0)
    total = weights.reduced("add", {3})
    if options.has_lengths:  # a row without keys has no weights
        total = total.where(total > 0, 1)
    weights = _dropped(call, options, weights / total.broadcast(scores.dimensions, range(3)))
    amax: list[Array] = []
    if is_f8:
        amax.append(_amax(weights))
        weights = _quantized(call, weights, factors[4], factors[3])
    value = weights.product(v, 2, (3, 2))
    if is_f8:
        amax.append(_amax(value))
        value = _times(value, factors[5]).saturated(call.results[0].dtype)
    return [value, *amax, largest + total.one("log")][:n_results]


def _backward(call: Call, options: _Options) -> list[Array]:
    """q, k, v, statistics, gradient of o [, bias], o [, q lengths, k lengths] -> (dq, dk, dv [, dbias], workspace).

    With f8: q, k, v, o, gradient of o, statistics, the inverse scales of q, k, v, o, do, the weights and dp, the scales
    of the weights, dq, dk, dv and dp -> (dq, dk, dv, the largest elements of dq, dk, dv and dp, workspace).
    """
    is_f8, parts = options.is_f8, call.results
    expected = 18 if is_f8 else 6 + options.has_bias + 2 * options.has_lengths
    call.require_operands(expected, f"its backend_config asks for {expected}")
    n_values = 7 if is_f8 else 3
    require(len(parts) >= n_values, f"{len(parts)} results")
    q, k, v = _heads(call, options)
    at_o, at_dy, at_statistics = (3, 4, 5) if is_f8 else (5 + options.has_bias, 4, 3)
    o, dy = (_canonical(call, n, options.q) for n in (at_o, at_dy))
    scales = [_scalar(call, n) for n in range(6, 18)] if is_f8 else []
    if is_f8:
        q, k, v, o, dy = (_times(x, by) for x, by in zip((q, k, v, o, dy), scales[:5], strict=True))
    scores, allowed = _scores(call, options, q, k)
    sizes = scores.dimensions
    statistics = call.operands[at_statistics].converted("f32")
    weights = (scores - statistics.broadcast(sizes, range(3))).one("exponential")
    if allowed is not None:
        weights = weights.where(allowed, 0)
    dropped = _dropped(call, options, weights)
    dweights = _dropped(call, options, dy.product(v, 2, (3, 3)))
    along = (dy * o).reduced("add", {3})
    dscores = weights * (dweights - along.broadcast(sizes, range(3)))
    amax: list[Array] = []
    if is_f8:
        dropped = _quantized(call, dropped, scales[7], scales[5])
        amax.append(_amax(dscores))
        dscores = _quantized(call, dscores, scales[11], scales[6])
    scaled = dscores * options.config.number("fmha_scale", 1)
    dq = scaled.product(k, 2, (3, 2))
    n_heads = call.shapes[1].dimensions[options.k.head]
    dk, dv = (_over_groups(a.product(b, 2, (2, 2)), n_heads) for a, b in ((scaled, q), (dropped, dy)))
    found = [dq, dk, dv]
    if is_f8:
        amax = [*map(_amax, found), *amax]
        factors = zip(found, scales[8:11], parts, strict=False)
        return [*(_times(one, by).saturated(part.dtype) for one, by, part in factors), *amax]
    if options.has_bias and len(parts) > n_values + 1:
        spread = {d for d, n in enumerate(call.shapes[5].dimensions) if n == 1 != sizes[d]}
        found.append(dscores.reduced("add", spread) if spread else dscores)
    return found


def _heads(call: Call, options: _Options) -> tuple[Array, Array, Array]:
    """Queries, and the keys and values of the head of each query: batch, head, sequence, feature."""
    require(all(one.rank == 4 for one in call.operands[:3]), "queries, keys or values without 4 dimensions")
    q, k, v = (_canonical(call, n, axes) for n, axes in enumerate((options.q, options.k, options.v)))
    batch, heads = q.dimensions[:2]
    if options.paged:
        k, v = (_from_pages(call, x, call.operands[n - 2], batch) for n, x in enumerate((k, v)))
    n_heads, n_keys = k.dimensions[1:3]
    fits = (
        k.dimensions[0] == v.dimensions[0] == batch
        and q.dimensions[3] == k.dimensions[3]
        and v.dimensions[1:3] == k.dimensions[1:3]
    )
    require(fits and n_heads > 0 and heads % n_heads == 0, "queries, keys and values whose sizes do not fit")
    shape = options.config.part("intermediate_tensor_shape").dimensions("dimensions")
    require(
        options.paged or not shape or shape == [batch, heads, q.dimensions[2], n_keys],
        "an intermediate_tensor_shape that does not fit",
    )
    return q, _for_queries(k, heads), _for_queries(v, heads)


def _canonical(call: Call, operand: int, axes: _Axes) -> Array:
    require(call.operands[operand].rank == 4, f"operand {operand} does not have 4 dimensions")
    return call.operands[operand].converted("f32").transposed(axes)


def _from_pages(call: Call, pages: Array, table: Array, batch: int) -> Array:
    """The pages that a table [batch, 1, pages of a row, 1] names, one after the other."""
    _, heads, size, features = pages.dimensions
    fits = table.dtype == "s32" and table.rank == 4 and table.dimensions[0] == batch
    require(fits and table.dimensions[1] == table.dimensions[3] == 1, f"a page table {table.shape}")
    n_row = table.dimensions[2]
    rows = table.reshaped([batch, n_row])
    slices = {"offset_dims": [2, 3, 4], "collapsed_slice_dims": [0], "slice_sizes": [1, heads, size, features]}
    sizes = [batch, n_row, heads, size, features]
    found = call.write(pages.dtype, sizes, "gather", pages, rows, **slices, start_index_map=[0], index_vector_dim=2)
    return found.transposed([0, 2, 1, 3, 4]).reshaped([batch, heads, n_row * size, features])


def _for_queries(x: Array, heads: int) -> Array:
    """Each head of keys or values, for all heads of queries that share it."""
    batch, own, length, features = x.dimensions
    if own == heads:
        return x
    wide = x.broadcast([batch, own, heads // own, length, features], [0, 1, 3, 4])
    return wide.reshaped([batch, heads, length, features])


def _over_groups(x: Array, n_heads: int) -> Array:
    """The sum over the heads of queries that share a head."""
    batch, heads, length, features = x.dimensions
    if heads == n_heads:
        return x
    return x.reshaped([batch, n_heads, heads // n_heads, length, features]).reduced("add", {2})


def _scores(call: Call, options: _Options, q: Array, k: Array) -> tuple[Array, Array | None]:
    """``scale * q k + bias``, very small at masked positions, and a mask of the other positions; None for no mask."""
    scores = q.product(k, 2, (3, 3)) * options.config.number("fmha_scale", 1)
    sizes = scores.dimensions
    at_bias, at_lengths = (5, 6 + options.has_bias) if options.is_backward else (3, 3 + options.has_bias)
    if options.has_bias:
        require(call.operands[at_bias].rank == 4, "a bias without 4 dimensions")
        scores += call.operands[at_bias].converted("f32").stretched(sizes)
    conditions = []
    query, key = (call.write("s32", sizes, "iota", iota_dimension=d) for d in (2, 3))
    if options.causal:
        conditions.append(query >= key)
    if options.window:
        conditions.append(query - key < options.window)
    if options.has_lengths:
        for position, lengths in zip((query, key), call.operands[at_lengths:], strict=False):
            fits = lengths.dtype == "s32" and tuple(lengths.dimensions) == tuple(sizes[:1])
            require(fits, f"lengths {lengths.shape} for {scores.shape}")
            conditions.append(position < lengths.broadcast(sizes, [0]))
    if not conditions:
        return scores, None
    allowed = conditions[0]
    for condition in conditions[1:]:
        allowed &= condition
    return scores.where(allowed, -1e30), allowed


def _dropped(call: Call, options: _Options, weights: Array) -> Array:
    if options.dropout == 0:
        return weights
    mask = call.write(weights.dtype, weights.dimensions, "custom-call", custom_call_target=DROPOUT_MASK)
    return weights * mask * (1 / (1 - options.dropout))


def _scalar(call: Call, operand: int) -> Array:
    found = call.operands[operand]
    require(all(n == 1 for n in found.dimensions), f"operand {operand} is not one number")
    return found.converted("f32").reshaped([])


def _times(x: Array, scalar: Array) -> Array:
    return x * scalar.broadcast(x.dimensions, [])


def _quantized(call: Call, x: Array, scale: Array, inverse: Array) -> Array:
    """A value, rounded to the narrow float type of the operands after it is scaled."""
    return _times(_times(x, scale).saturated(call.shapes[0].dtype).converted("f32"), inverse)


def _amax(x: Array) -> Array:
    return x.one("abs").reduced("maximum", set(range(x.rank)))


def _result(value: Array, part: Shape) -> Array:
    sizes = list(value.dimensions)
    fits = list(part.dimensions) == sizes or (not sizes and all(n == 1 for n in part.dimensions))
    if len(sizes) < 4 and part.rank == 4:  # a gradient of a bias
        fits = [n for n in part.dimensions if n != 1] == [n for n in sizes if n != 1]
    require(fits, f"a result {part.without_layout()}, but its value has sizes {sizes}")
    return value.reshaped(part.dimensions).converted(part.dtype)


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
