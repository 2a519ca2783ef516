"""Convolutions of cuDNN: forward, with bias and activation, and the gradients of input and filter.

The window and dimension numbers of a gradient are those of the forward convolution, whose output is an operand.  Each
gradient is a convolution again: that of the input strides through a dilated output gradient with the filter reversed,
that of the filter takes the output gradient as its kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .._core import ConvolutionDimensionNumbers, Shape, WindowDim
from .body import Array, Call, computed_type
from .config import Config, require

_UNDERSTOOD = {
    "activation_mode", "conv_result_scale", "side_input_scale", "leakyrelu_alpha", "algorithm", "tensor_ops_enabled",
}  # fmt: skip
_MODES = ("kNone", "kSigmoid", "kRelu", "kRelu6", "kReluX", "kTanh", "kBandPass", "kElu", "kLeakyRelu")
"""The activations by their number, which is how XLA wrote them before it wrote their names."""

_ACTIVATIONS = {"kRelu": "relu", "kRelu6": "relu6", "kElu": "elu", "kLeakyRelu": "leaky relu"}


class _Dim(NamedTuple):
    """One spatial dimension of a forward convolution: the sizes of kernel and output, and the window.

    ``low`` and ``high`` are the padding that the output reaches, ``reach`` is the last element of a window.
    """

    kernel: int
    output: int
    stride: int
    low: int
    high: int
    dilation: int
    reach: int


class _Forward(NamedTuple):
    """The forward convolution of a gradient."""

    call: Call
    kernel: Shape
    labels: ConvolutionDimensionNumbers
    dims: list[_Dim]
    groups: int

    @classmethod
    def of(cls, call: Call, x: Shape, kernel: Shape, y: Shape) -> _Forward:
        config = _config(call)
        plain = _activation(config) == "kNone" and config.number("conv_result_scale", 1) == 1
        require(plain, "a gradient that is scaled or has an activation")
        labels, window = (call.instruction.attributes.get(name) for name in ("dim_labels", "window"))
        require(isinstance(labels, ConvolutionDimensionNumbers), "it has no dim_labels")
        dims = []
        spatial = zip(labels.input_spatial, labels.kernel_spatial, labels.output_spatial, strict=True)
        for k, (i, j, o) in enumerate(spatial):
            w = window.dims[k] if window is not None else WindowDim(1)
            require(w.base_dilation == 1 and not w.reversal, "a gradient with a dilated input or a reversed filter")
            output, reach = y.dimensions[o], (w.size - 1) * w.window_dilation
            require(w.size == kernel.dimensions[j], "its window has another size than the filter")
            high = reach + (output - 1) * w.stride + 1 - x.dimensions[i] - w.pad_low
            dims.append(_Dim(w.size, output, w.stride, w.pad_low, high, w.window_dilation, reach))
        return cls(call, kernel, labels, dims, _groups(call))

    def regrouped_kernel(self) -> Array:
        """The filter with its groups among the input features, if they are the output features of the gradient."""
        kernel = self.call.operands[1]
        if self.groups == 1:
            return kernel
        sizes = list(self.kernel.dimensions)
        out, into = self.labels.kernel_output_feature, self.labels.kernel_input_feature
        split = [*sizes[:out], self.groups, sizes[out] // self.groups, *sizes[out + 1 :]]
        order = [d for d in range(len(split)) if d != out]
        order.insert(order.index(into + (into > out)), out)
        merged = [n // self.groups if d == out else n * self.groups if d == into else n for d, n in enumerate(sizes)]
        return kernel.reshaped(split).transposed(order).reshaped(merged)

    def gradient(
        self, left: Array, right: Array, window: str, labels: tuple[str, str, str], grouped: str, to: Shape
    ) -> list[Array]:
        """A convolution of two factors as the gradient ``to``."""
        dtype = computed_type(to.dtype)
        factors = [one.converted(dtype) for one in (left, right)]
        attributes = {"window": window, "dim_labels": f"{labels[0]}_{labels[1]}->{labels[2]}"}
        groups = {f"{grouped}_group_count": self.groups}
        value = self.call.write(dtype, to.dimensions, "convolution", *factors, **attributes, **groups)
        return [value.converted(to.dtype)]


def forward(call: Call) -> list[Array]:
    """``__cudnn$convForward``: input, filter."""
    config = _config(call)
    require(_activation(config) == "kNone", "a forward convolution with an activation")
    call.require_operands(2, _HAS_2)
    return [_forward(call, config).converted(call.result().dtype)]


def bias_activation(call: Call) -> list[Array]:
    """``__cudnn$convBiasActivationForward``: input, filter, bias along the output features, side input."""
    config = _config(call)
    side_scale = config.number("side_input_scale", 0)
    n = len(call.operands)
    require(n == 3 + (side_scale != 0), f"{n} operands with a side_input_scale of {side_scale:g}")
    value = _forward(call, config)
    if side_scale != 0:
        value += call.operands[3].converted(value.dtype) * side_scale
    feature = call.instruction.attributes["dim_labels"].output_feature
    value += call.operands[2].converted(value.dtype).broadcast(value.dimensions, [feature])
    mode = _activation(config)
    if mode != "kNone":
        require(mode in _ACTIVATIONS, f"the activation {mode}")
        value = value.activated(_ACTIVATIONS[mode], config.number("leakyrelu_alpha", 0))
    return [value.converted(call.result().dtype)]


def gradient_of_input(call: Call) -> list[Array]:
    """``__cudnn$convBackwardInput``: output gradient, filter."""
    call.require_operands(2, _HAS_2)
    (dy, kernel), dx = call.shapes, call.result()
    forward = _Forward.of(call, x=dx, kernel=kernel, y=dy)
    window = _window(
        size=[dim.kernel for dim in forward.dims],
        pad=[f"{dim.reach - dim.low}_{dim.reach - dim.high}" for dim in forward.dims],
        lhs_dilate=[dim.stride for dim in forward.dims],
        rhs_dilate=[dim.dilation for dim in forward.dims],
        rhs_reversal=[1] * len(forward.dims),
    )
    labels = forward.labels
    kernel_roles = {labels.kernel_output_feature: "i", labels.kernel_input_feature: "o"}
    dimensions = (
        _labels({labels.output_batch: "b", labels.output_feature: "f"}, labels.output_spatial),
        _labels(kernel_roles, labels.kernel_spatial),
        _labels({labels.input_batch: "b", labels.input_feature: "f"}, labels.input_spatial),
    )
    return forward.gradient(call.operands[0], forward.regrouped_kernel(), window, dimensions, "feature", dx)


def gradient_of_filter(call: Call) -> list[Array]:
    """``__cudnn$convBackwardFilter``: input, output gradient."""
    call.require_operands(2, _HAS_2)
    (x, dy), dw = call.shapes, call.result()
    forward = _Forward.of(call, x=x, kernel=dw, y=dy)
    window = _window(
        size=[dim.output for dim in forward.dims],
        pad=[f"{dim.low}_{dim.high}" for dim in forward.dims],
        stride=[dim.dilation for dim in forward.dims],
        rhs_dilate=[dim.stride for dim in forward.dims],
    )
    labels = forward.labels
    dimensions = (
        _labels({labels.input_feature: "b", labels.input_batch: "f"}, labels.input_spatial),
        _labels({labels.output_batch: "i", labels.output_feature: "o"}, labels.output_spatial),
        _labels({labels.kernel_input_feature: "b", labels.kernel_output_feature: "f"}, labels.kernel_spatial),
    )
    return forward.gradient(call.operands[0], call.operands[1], window, dimensions, "batch", dw)


_HAS_2 = "a convolution has 2"


def _config(call: Call) -> Config:
    config = Config.of(call.instruction, "cudnn_conv_backend_config", before_2024="conv_result_scale")
    return config.only(_UNDERSTOOD)


def _activation(config: Config) -> str:
    mode = str(config.get("activation_mode", "kNone"))
    return _MODES[int(mode)] if mode.isdecimal() and int(mode) < len(_MODES) else mode


def _forward(call: Call, config: Config) -> Array:
    """The scaled convolution of the first two operands."""
    output, factors = call.result(), call.factors()
    attributes = {name: call.instruction.attributes.get(name) for name in ("window", "dim_labels")}
    require(attributes["dim_labels"] is not None, "it has no dim_labels")
    attributes["feature_group_count"] = _groups(call)
    value = call.write(factors[0].dtype, output.dimensions, "convolution", *factors, **attributes)
    scale = config.number("conv_result_scale", 1)
    if value.dtype == "s32" and (scale != 1 or output.dtype != "s32"):
        value = value.converted("f32")  # sums of integers are scaled as floats
    return value if scale == 1 else value * scale


def _groups(call: Call) -> int:
    attributes = call.instruction.attributes
    groups = int(attributes.get("feature_group_count", 1))
    require(groups >= 1 and int(attributes.get("batch_group_count", 1)) == 1, "it has batch groups")
    return groups


def _window(**parts: list[int] | list[str]) -> str:
    """A window from its parts, each with an item for each dimension."""
    found = (f"{name}={'x'.join(map(str, items))}" for name, items in parts.items() if items)
    return f"{{{' '.join(found)}}}"


def _labels(roles: Mapping[int, str], spatial: Sequence[int]) -> str:
    letters = dict(roles) | {dim: str(k) for k, dim in enumerate(spatial)}
    return "".join(letters[dim] for dim in range(len(letters)))
