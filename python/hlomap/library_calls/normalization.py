"""Layer normalization of cuDNN, forward and backward: ``(x - mean) * rsqrt(variance + epsilon) * scale + bias``.

XLA gives ``__cudnn$norm`` arrays of one rank.  Scale and bias have size 1 along the dimensions that keep their
identity; the others are normalized.  Mean and reciprocal deviation have size 1 along those.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import Shape
from .body import Array, Call
from .config import Config, NotUnderstood, require


def layer_norm(call: Call) -> list[Array]:
    """``__cudnn$norm``: x, scale, bias -> (y [, mean, reciprocal deviation]); or the gradients of x, scale and bias."""
    config = Config.of(call.instruction, "cudnn_norm_backend_config").only({"epsilon", "kind", "algorithm"})
    kind = config.word("kind", "LAYER_FWD_INFER")
    if kind not in _KINDS:
        raise NotUnderstood(f"the kind {kind}")
    n_operands, n_values = _KINDS[kind]
    call.require_operands(n_operands, f"{kind} has {n_operands}")
    require(len(call.results) >= n_values, f"fewer than {n_values} results")
    axes = _normalized_dims(*call.shapes[:2])
    if kind == "LAYER_BWD":
        found = _gradients(call, axes)
    else:
        _require_sizes(call.shapes[2], call.shapes[1].dimensions, "a bias")
        value, mean, deviation = normalized(call, axes, config.number("epsilon", 0))
        scale, bias = (_along(one, axes, value.dimensions) for one in call.operands[1:])
        found = [value * scale + bias, mean, deviation]
    results = []
    for one, part in zip(found[:n_values], call.results, strict=False):
        # With size 1 if it was reduced.
        fits = part.is_array and [n for n in part.dimensions if n != 1] == [n for n in one.dimensions if n != 1]
        require(fits, f"a result {part} of the call")
        results.append(one.reshaped(part.dimensions).converted(part.dtype))
    return results


_KINDS = {"LAYER_BWD": (5, 3), "LAYER_FWD_INFER": (3, 1), "LAYER_FWD_TRAIN": (3, 3)}
"""The numbers of operands and results."""


def normalized(call: Call, axes: Sequence[int], epsilon: float) -> tuple[Array, Array, Array]:
    """``(x - mean) * rsqrt(variance + epsilon)`` of operand 0; mean and reciprocal deviation without the axes."""
    x = call.operands[0].converted("f32")
    kept = [d for d in range(x.rank) if d not in axes]
    mean = _mean(x, axes)
    centred = x - mean.broadcast(x.dimensions, kept)
    deviation = (_mean(centred * centred, axes) + epsilon).one("rsqrt")
    return centred * deviation.broadcast(x.dimensions, kept), mean, deviation


def _mean(value: Array, axes: Sequence[int]) -> Array:
    return value.reduced("add", axes) / prod(value.dimensions[d] for d in axes)


def _gradients(call: Call, axes: Sequence[int]) -> list[Array]:
    """x, scale, gradient, mean, reciprocal deviation -> the gradients of x, scale and bias."""
    x, _, dy, *statistics = call.shapes
    _require_sizes(dy, x.dimensions, "a gradient")
    sizes, kept = x.dimensions, [d for d in range(x.rank) if d not in axes]
    for one in statistics:
        _require_sizes(one, [n if d in kept else 1 for d, n in enumerate(sizes)], "a mean or deviation")
    wide, gradient = (call.operands[k].converted("f32") for k in (0, 2))
    mean, deviation = (_along(one, kept, sizes) for one in call.operands[3:])
    value = (wide - mean) * deviation
    scaled = gradient * _along(call.operands[1], axes, sizes)
    along = value * _mean(scaled * value, axes).broadcast(sizes, kept)
    dx = (scaled - _mean(scaled, axes).broadcast(sizes, kept) - along) * deviation
    return [dx, (gradient * value).reduced("add", kept), gradient.reduced("add", kept)]


def _normalized_dims(x: Shape, scale: Shape) -> list[int]:
    require(x.rank == scale.rank, f"a scale {scale} for {x}")
    axes = [d for d in range(x.rank) if scale.dimensions[d] != 1 or x.dimensions[d] == 1]
    fits = all(scale.dimensions[d] == x.dimensions[d] for d in axes)
    require(fits and len(axes) > 0 and 0 not in x.dimensions, f"a scale {scale} for {x}")
    return axes


def _along(operand: Array, dims: Sequence[int], sizes: Sequence[int]) -> Array:
    """An operand with size 1 along all but some dimensions, repeated along these."""
    return operand.converted("f32").reshaped([sizes[d] for d in dims]).broadcast(sizes, dims)


def _require_sizes(found: Shape, sizes: Sequence[int], what: str) -> None:
    require(list(found.dimensions) == list(sizes), f"{what} {found.without_layout()} of other sizes")
