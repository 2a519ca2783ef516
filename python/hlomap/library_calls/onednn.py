"""Matrix products, convolutions, layer normalization and softmax of oneDNN, as XLA calls it on CPU.

The configurations are the messages of XLA's ``onednn_config.proto``.  Its lists of spatial dimensions, paddings,
strides and dilations hold each number plus one.  A result that is followed by bytes has its scratchpad beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction, Shape
from .body import Body, Config, NotUnderstood, first_result, numbers, require
from .normalization import normalized

_ACTIVATIONS = {name: name.lower() for name in ("RELU", "RELU6", "TANH", "SIGMOID", "ELU")}
_ACTIVATIONS |= {"SWISH": "silu", "GELU_ERF": "gelu by erf", "GELU_TANH": "gelu by tanh"}
_OPTIMIZATIONS = {"user_scratchpad", "bias_broadcast"}  # not weights_prepacked: their order is oneDNN's own
_WIDER = {"f16": "f32", "bf16": "f32"}


def matmul(instruction: Instruction) -> str:
    """``__onednn$matmul``: a, b, then an operand for each BIAS, BINARY_ADD and SUM among its fusions."""
    config = Config.of(instruction, "onednn_matmul_config")
    config.expect_only({"transpose_a", "transpose_b", "fusions", "optimization_config"})
    config.part("optimization_config").expect_only(_OPTIMIZATIONS)
    body, output = Body(instruction), first_result(instruction)
    require(
        len(body.operands) >= 2 and all(one.rank >= 2 for one in body.operands[:2]), "factors that are not matrices"
    )
    rank = body.operands[0].rank
    require(body.operands[1].rank == rank, "factors of different ranks")
    dtype = _WIDER.get(body.operands[0].dtype, body.operands[0].dtype)
    a, b = (body.converted(f"p{k}", dtype) for k in range(2))
    summed = [
        rank - 2 if config.flag("transpose_a", False) else rank - 1,
        rank - 1 if config.flag("transpose_b", False) else rank - 2,
    ]
    value = body.product(a, b, rank - 2, (summed[0], summed[1]))
    value = _fused(body, config.part("fusions"), value, feature=rank - 1)
    return _finish(body, instruction, output, value)


def convolution(instruction: Instruction) -> str:
    """``__onednn$convolution``: input, filter, then the operands of its fusions."""
    config = Config.of(instruction, "onednn_conv_config")
    config.expect_only({"input", "kernel", "output", "window", "fusions", "feature_groups", "optimization_config"})
    config.part("optimization_config").expect_only(_OPTIMIZATIONS)
    body, output = Body(instruction), first_result(instruction)
    require(len(body.operands) >= 2, f"{len(body.operands)} operands")
    rank = body.operands[0].rank
    x, y = (_data_labels(config.part(name), rank) for name in ("input", "output"))
    kernel = config.part("kernel")
    kernel.expect_only({"dims", "filter"})
    filters = kernel.part("filter")
    filters.expect_only({"input_feature_dim", "output_feature_dim", "spatial_dims", "shape"})
    w = _labels({"i": _one(filters, "input_feature_dim"), "o": _one(filters, "output_feature_dim")}, filters, rank)
    dtype = _WIDER.get(body.operands[0].dtype, body.operands[0].dtype)
    factors = [body.converted(f"p{k}", dtype) for k in range(2)]
    groups = max(_one(config, "feature_groups"), 1)
    value = body.add(
        dtype,
        output.dimensions,
        f"convolution({', '.join(factors)}), window={_window(config.part('window'), rank - 2)}, dim_labels={x}_{w}->{y}"
        + (f", feature_group_count={groups}" if groups > 1 else ""),
    )
    value = _fused(body, config.part("fusions"), value, feature=y.index("f"))
    return _finish(body, instruction, output, value)


def layer_norm(instruction: Instruction) -> str:
    """``__onednn$layernorm``: x [, scale][, shift], along the last dimension."""
    config = Config.of(instruction, "onednn_layer_norm_config")
    config.expect_only({"rescale", "epsilon_typecast"})
    body, output = Body(instruction), first_result(instruction)
    rescale = config.word("rescale", "UNDEFINED")
    factors = {"UNDEFINED": "", "SCALE": "*", "SHIFT": "+", "SCALE_AND_SHIFT": "*+"}.get(rescale)
    if factors is None:
        raise NotUnderstood(f"the rescale {rescale}")
    require(len(body.operands) == 1 + len(factors), f"{len(body.operands)} operands, with rescale={rescale}")
    x = body.operands[0]
    require(x.rank > 0 and 0 not in x.dimensions, f"a normalization of {x}")
    value, _, _ = normalized(body, [x.rank - 1], config.bits("epsilon_typecast", 0))
    for k, operation in enumerate(factors, start=1):
        along = body.broadcast(body.converted(f"p{k}", "f32"), x.dimensions, [x.rank - 1])
        value = body.two("multiply" if operation == "*" else "add", value, along)
    return _finish(body, instruction, output, value)


def softmax(instruction: Instruction) -> str:
    """``__onednn$softmax``: along ``softmax_axis``."""
    config = Config.of(instruction, "onednn_softmax_config")
    config.expect_only({"softmax_axis"})
    body, output = Body(instruction), first_result(instruction)
    body.require_operands(1, "a softmax has 1")
    sizes = body.operands[0].dimensions
    axis = _one(config, "softmax_axis")
    require(axis < len(sizes), f"softmax_axis={axis}")
    return _finish(body, instruction, output, body.softmax(body.converted("p0", "f32"), axis))


def _fused(body: Body, config: Config, value: str, feature: int) -> str:
    """The value after the operations that were fused, in order."""
    config.expect_only({"ops", "bias_broadcast", "alpha_typecast"})
    sizes = body.type_of(value)[1]
    operand = 2
    for operation in config.words("ops"):
        if operation in ("BIAS", "BINARY_ADD", "SUM"):
            require(operand < len(body.operands), f"no operand for {operation}")
            added = body.converted(f"p{operand}", body.type_of(value)[0])
            if operation == "BIAS" and len(body.type_of(added)[1]) == 1 and body.type_of(added)[1][0] != 1:
                added = body.broadcast(added, sizes, [feature])
            else:
                added = body.stretched(added, sizes)
            value = body.two("add", value, added)
            operand += 1
        elif operation == "LINEAR":
            value = body.two("multiply", value, body.like(value, config.bits("alpha_typecast", 0)))
        else:
            require(operation in _ACTIVATIONS, f"the fused operation {operation}")
            value = body.activated(_ACTIVATIONS[operation], value)
    body.require_operands(operand, f"its backend_config asks for {operand}")
    return value


def _finish(body: Body, instruction: Instruction, output: Shape, value: str) -> str:
    return body.finish(instruction.shape, [body.converted(value, output.dtype)])


def _one(config: Config, field: str) -> int:
    """A number that is not negative; JSON writes 64-bit numbers as strings."""
    value = config.get(field, 0)
    require(str(value).isdigit() and len(str(value)) < 10, f"{field} is not a number")
    return int(value)


def _data_labels(config: Config, rank: int) -> str:
    config.expect_only({"dims", "data"})
    data = config.part("data")
    data.expect_only({"batch_dim", "feature_dim", "spatial_dims"})
    return _labels({"b": _one(data, "batch_dim"), "f": _one(data, "feature_dim")}, data, rank)


def _labels(named: dict[str, int], config: Config, rank: int) -> str:
    spatial = [d - 1 for d in config.dimensions("spatial_dims")]
    letters = {d: letter for letter, d in named.items()} | {d: str(k) for k, d in enumerate(spatial)}
    fits = sorted(letters) == list(range(rank)) and len(spatial) == rank - 2
    require(fits, f"dimension numbers [{numbers([*named.values(), *spatial])}] for {rank} dimensions")
    return "".join(letters[d] for d in range(rank))


def _window(config: Config, rank: int) -> str:
    config.expect_only({"size", "pad_left", "pad_right", "strides", "window_dilations"})
    size = config.dimensions("size")

    def less_one(field: str) -> Sequence[int]:
        found = [n - 1 for n in config.dimensions(field)]
        require(len(found) == rank and all(n >= 0 for n in found), f"the window's {field}")
        return found

    low, high, strides, dilations = map(less_one, ("pad_left", "pad_right", "strides", "window_dilations"))
    require(len(size) == rank and all(n > 0 for n in (*strides, *dilations)), "its window")
    pads = "x".join(f"{a}_{b}" for a, b in zip(low, high, strict=True))
    sizes, steps, dilated = ("x".join(map(str, items)) for items in (size, strides, dilations))
    return f"{{size={sizes} pad={pads} stride={steps} rhs_dilate={dilated}}}" if rank else "{}"
