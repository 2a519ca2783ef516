"""Matrix products, convolutions, layer normalization and softmax of oneDNN, as XLA calls it on CPU.

The configurations are the messages of XLA's ``onednn_config.proto``.  Its lists of spatial dimensions, paddings,
strides and dilations hold each number plus one.  If a second result consists of bytes, it is the scratchpad.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .body import Array, Call
from .config import Config, NotUnderstood, require
from .normalization import normalized

_ACTIVATIONS = {name: name.lower() for name in ("RELU", "RELU6", "TANH", "SIGMOID", "ELU")}
_ACTIVATIONS |= {"SWISH": "silu", "GELU_ERF": "gelu by erf", "GELU_TANH": "gelu by tanh"}
_OPTIMIZATIONS = {"user_scratchpad", "bias_broadcast"}  # not weights_prepacked: their order is oneDNN's own


def matmul(call: Call) -> list[Array]:
    """``__onednn$matmul``: a, b, then an operand for each BIAS, BINARY_ADD and SUM among its fusions."""
    config = _config(call, "onednn_matmul_config", {"transpose_a", "transpose_b", "fusions", "optimization_config"})
    fits = len(call.operands) >= 2 and all(one.rank >= 2 for one in call.operands[:2])
    require(fits, "factors that are not matrices")
    a, b = call.factors()
    require(b.rank == a.rank, "factors of different ranks")
    batch = a.rank - 2
    summed = (batch + (not config.flag("transpose_a", False)), batch + config.flag("transpose_b", False))
    value = _fused(call, config.part("fusions"), a.product(b, batch, summed), feature=a.rank - 1)
    return [value.converted(call.result().dtype)]


def convolution(call: Call) -> list[Array]:
    """``__onednn$convolution``: input, filter, then the operands of its fusions."""
    known = {"input", "kernel", "output", "window", "fusions", "feature_groups", "optimization_config"}
    config, output = _config(call, "onednn_conv_config", known), call.result()
    require(len(call.operands) >= 2, f"{len(call.operands)} operands")
    rank = call.operands[0].rank
    x, y = (_data_labels(config.part(name), rank) for name in ("input", "output"))
    filters = config.part("kernel").only({"dims", "filter"}).part("filter")
    filters.only({"input_feature_dim", "output_feature_dim", "spatial_dims", "shape"})
    w = _labels(filters, rank, i="input_feature_dim", o="output_feature_dim")
    a, b = call.factors()
    groups = max(config.integer("feature_groups", 0), 1)
    attributes = {"window": _window(config.part("window"), rank - 2), "dim_labels": f"{x}_{w}->{y}"}
    value = call.write(a.dtype, output.dimensions, "convolution", a, b, **attributes, feature_group_count=groups)
    return [_fused(call, config.part("fusions"), value, feature=y.index("f")).converted(output.dtype)]


def layer_norm(call: Call) -> list[Array]:
    """``__onednn$layernorm``: x [, scale][, shift], along the last dimension."""
    config = _config(call, "onednn_layer_norm_config", {"rescale", "epsilon_typecast"})
    rescale = config.word("rescale", "UNDEFINED")
    factors = {"UNDEFINED": "", "SCALE": "*", "SHIFT": "+", "SCALE_AND_SHIFT": "*+"}.get(rescale)
    if factors is None:
        raise NotUnderstood(f"the rescale {rescale}")
    n, x = len(call.operands), call.shapes[0]
    require(n == 1 + len(factors), f"{n} operands, with rescale={rescale}")
    require(x.rank > 0 and 0 not in x.dimensions, f"a normalization of {x}")
    value, _, _ = normalized(call, [x.rank - 1], config.bits("epsilon_typecast", 0))
    for operand, operation in zip(call.operands[1:], factors, strict=True):
        along = operand.converted("f32").broadcast(x.dimensions, [x.rank - 1])
        value = value * along if operation == "*" else value + along
    return [value.converted(call.result().dtype)]


def softmax(call: Call) -> list[Array]:
    """``__onednn$softmax``: along ``softmax_axis``."""
    config = _config(call, "onednn_softmax_config", {"softmax_axis"})
    call.require_operands(1, "a softmax has 1")
    axis = config.integer("softmax_axis", 0)
    require(0 <= axis < call.operands[0].rank, f"softmax_axis={axis}")
    return [call.operands[0].converted("f32").softmax(axis).converted(call.result().dtype)]


def _config(call: Call, part: str, understood: Collection[str]) -> Config:
    config = Config.of(call.instruction, part).only(understood)
    config.part("optimization_config").only(_OPTIMIZATIONS)
    call.result()
    return config


def _fused(call: Call, config: Config, value: Array, feature: int) -> Array:
    """The value after the operations that were fused, in order."""
    config.only({"ops", "bias_broadcast", "alpha_typecast"})
    operand = 2
    for operation in config.words("ops"):
        if operation in ("BIAS", "BINARY_ADD", "SUM"):
            require(operand < len(call.operands), f"no operand for {operation}")
            added = call.operands[operand].converted(value.dtype)
            if operation == "BIAS" and added.rank == 1 and added.dimensions[0] != 1:
                value += added.broadcast(value.dimensions, [feature])
            else:
                value += added.stretched(value.dimensions)
            operand += 1
        elif operation == "LINEAR":
            value *= config.bits("alpha_typecast", 0)
        else:
            require(operation in _ACTIVATIONS, f"the fused operation {operation}")
            value = value.activated(_ACTIVATIONS[operation])
    call.require_operands(operand, f"its backend_config asks for {operand}")
    return value


def _data_labels(config: Config, rank: int) -> str:
    data = config.only({"dims", "data"}).part("data").only({"batch_dim", "feature_dim", "spatial_dims"})
    return _labels(data, rank, b="batch_dim", f="feature_dim")


def _labels(config: Config, rank: int, **fields: str) -> str:
    """The letter of each dimension, or its number among the spatial ones; ``fields`` name the dimensions of letters."""
    named = [config.integer(field, 0) for field in fields.values()]
    spatial = [d - 1 for d in config.dimensions("spatial_dims")]
    letters = dict(zip(named, fields, strict=True)) | {d: str(k) for k, d in enumerate(spatial)}
    fits = sorted(letters) == list(range(rank)) and len(spatial) == rank - 2
    require(fits, f"dimension numbers {[*named, *spatial]} for {rank} dimensions")
    return "".join(letters[d] for d in range(rank))


def _window(config: Config, rank: int) -> str:
    config.only({"size", "pad_left", "pad_right", "strides", "window_dilations"})
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
