"""Layer normalization of cuDNN, forward and backward: ``(x - mean) * rsqrt(variance + epsilon) * scale + bias``.

XLA gives ``__cudnn$norm`` arrays of one rank.  Scale and bias have size 1 along the dimensions that keep their
identity; the others are normalized.  Mean and reciprocal deviation have size 1 along those.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import Instruction, Shape
from .body import Body, Config, NotUnderstood, require


def layer_norm(instruction: Instruction) -> str:
    """``__cudnn$norm``: x, scale, bias -> (y [, mean, reciprocal deviation]); or the gradients of x, scale and bias."""
    config = Config.of(instruction, "cudnn_norm_backend_config")
    config.expect_only({"epsilon", "kind", "algorithm"})
    kind = config.word("kind", "LAYER_FWD_INFER")
    body = Body(instruction)
    parts = instruction.shape.tuple_shapes if instruction.shape.is_tuple else (instruction.shape,)
    if kind == "LAYER_BWD":
        values, n_operands = ["dx", "dscale", "dbias"], 5
    elif kind in ("LAYER_FWD_INFER", "LAYER_FWD_TRAIN"):
        values, n_operands = ["y", "mean", "deviation"][: 3 if kind == "LAYER_FWD_TRAIN" else 1], 3
    else:
        raise NotUnderstood(f"the kind {kind}")
    body.require_operands(n_operands, f"{kind} has {n_operands}")
    require(len(parts) >= len(values), f"fewer than {len(values)} results")
    x, scale = body.operands[:2]
    axes = _normalized_dims(x, scale)
    if kind == "LAYER_BWD":
        found = _gradients(body, axes)
    else:
        _require_sizes(body.operands[2], scale.dimensions, "a bias")
        found = _forward(body, axes, config.number("epsilon", 0))
    results = []
    for value, part in zip(found[: len(values)], parts, strict=False):
        require(part.is_array, f"a result {part} of the call")
        results.append(body.converted(body.reshaped(value, _full_sizes(body, value, part)), part.dtype))
    return body.finish(instruction.shape, results)


def normalized(body: Body, axes: Sequence[int], epsilon: float) -> tuple[str, str, str]:
    """``(x - mean) * rsqrt(variance + epsilon)`` of operand 0; mean and reciprocal deviation without the axes."""
    x, sizes = body.converted("p0", "f32"), body.operands[0].dimensions
    kept = [d for d in range(len(sizes)) if d not in axes]
    n = prod(sizes[d] for d in axes)

    def mean_of(value: str) -> str:
        total = body.reduced(value, "add", axes)
        return body.two("divide", total, body.like(total, n))

    mean = mean_of(x)
    centred = body.two("subtract", x, body.broadcast(mean, sizes, kept))
    variance = mean_of(body.two("multiply", centred, centred))
    deviation = body.one("rsqrt", body.two("add", variance, body.like(variance, epsilon)))
    return body.two("multiply", centred, body.broadcast(deviation, sizes, kept)), mean, deviation


def _forward(body: Body, axes: Sequence[int], epsilon: float) -> list[str]:
    sizes = body.operands[0].dimensions
    value, mean, deviation = normalized(body, axes, epsilon)
    scale, bias = (_along(body, f"p{k}", axes, sizes) for k in (1, 2))
    return [body.two("add", body.two("multiply", value, scale), bias), mean, deviation]


def _gradients(body: Body, axes: Sequence[int]) -> list[str]:
    """x, scale, gradient, mean, reciprocal deviation -> the gradients of x, scale and bias."""
    x, _, dy, *statistics = body.operands
    _require_sizes(dy, x.dimensions, "a gradient")
    sizes, kept = x.dimensions, [d for d in range(x.rank) if d not in axes]
    for one in statistics:
        _require_sizes(one, [n if d in kept else 1 for d, n in enumerate(sizes)], "a mean or deviation")
    wide, gradient = body.converted("p0", "f32"), body.converted("p2", "f32")
    mean, deviation = (_along(body, f"p{k}", kept, sizes) for k in (3, 4))
    value = body.two("multiply", body.two("subtract", wide, mean), deviation)
    scaled = body.two("multiply", gradient, _along(body, "p1", axes, sizes))
    n = prod(sizes[d] for d in axes)

    def mean_of(a: str) -> str:
        total = body.reduced(a, "add", axes)
        return body.broadcast(body.two("divide", total, body.like(total, n)), sizes, kept)

    along = body.two("multiply", value, mean_of(body.two("multiply", scaled, value)))
    inner = body.two("subtract", body.two("subtract", scaled, mean_of(scaled)), along)
    dx = body.two("multiply", inner, deviation)
    return [dx, body.reduced(body.two("multiply", gradient, value), "add", kept), body.reduced(gradient, "add", kept)]


def _normalized_dims(x: Shape, scale: Shape) -> list[int]:
    require(x.rank == scale.rank, f"a scale {scale} for {x}")
    axes = [d for d in range(x.rank) if scale.dimensions[d] != 1 or x.dimensions[d] == 1]
    fits = all(scale.dimensions[d] == x.dimensions[d] for d in axes)
    require(fits and len(axes) > 0 and 0 not in x.dimensions, f"a scale {scale} for {x}")
    return axes


def _along(body: Body, name: str, dims: Sequence[int], sizes: Sequence[int]) -> str:
    """An operand with size 1 along all but some dimensions, repeated along these."""
    narrow = body.reshaped(body.converted(name, "f32"), [sizes[d] for d in dims])
    return body.broadcast(narrow, sizes, dims)


def _full_sizes(body: Body, value: str, part: Shape) -> Sequence[int]:
    """The sizes of a result, checked: those of the value, with size 1 where it was reduced."""
    found = [n for n in part.dimensions if n != 1]
    own = [n for n in body.type_of(value)[1] if n != 1]
    require(found == own, f"a result {part} of the call")
    return part.dimensions


def _require_sizes(found: Shape, sizes: Sequence[int], what: str) -> None:
    require(list(found.dimensions) == list(sizes), f"{what} {found.without_layout()} of other sizes")
