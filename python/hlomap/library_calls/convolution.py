"""Convolutions of cuDNN: forward, with bias and activation, and the gradients of input and filter.

The window and dimension numbers of a gradient are those of the forward convolution, whose output is an operand.  Each
gradient is a convolution again: that of the input strides through a dilated output gradient with the filter reversed,
that of the filter takes the output gradient as its kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._core import ConvolutionDimensionNumbers, Instruction, Shape, WindowDim
from .body import Body, Config, first_result, require

_UNDERSTOOD = {"activation_mode", "conv_result_scale", "side_input_scale", "leakyrelu_alpha", "algorithm"}
_ACTIVATIONS = {"kRelu": "relu", "kRelu6": "relu6", "kElu": "elu", "kLeakyRelu": "leaky relu"}


@dataclass(frozen=True)
class _Dim:
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


@dataclass(frozen=True)
class _Forward:
    """The forward convolution of a gradient."""

    instruction: Instruction
    kernel: Shape
    labels: ConvolutionDimensionNumbers
    dims: list[_Dim]
    groups: int

    @classmethod
    def of(cls, instruction: Instruction, x: Shape, kernel: Shape, y: Shape) -> _Forward:
        config = _config(instruction)
        plain = config.word("activation_mode", "kNone") == "kNone" and config.number("conv_result_scale", 1) == 1
        require(plain, "a gradient that is scaled or has an activation")
        labels = instruction.attributes.get("dim_labels")
        require(isinstance(labels, ConvolutionDimensionNumbers), "it has no dim_labels")
        window = instruction.attributes.get("window")
        dims = []
        for k, (i, j, o) in enumerate(
            zip(labels.input_spatial, labels.kernel_spatial, labels.output_spatial, strict=True)
        ):
            w = window.dims[k] if window is not None else WindowDim(1)
            require(w.base_dilation == 1 and not w.reversal, "a gradient with a dilated input or a reversed filter")
            output, reach = y.dimensions[o], (w.size - 1) * w.window_dilation
            require(w.size == kernel.dimensions[j], "its window has another size than the filter")
            high = reach + (output - 1) * w.stride + 1 - x.dimensions[i] - w.pad_low
            dims.append(_Dim(w.size, output, w.stride, w.pad_low, high, w.window_dilation, reach))
        return cls(instruction, kernel, labels, dims, _groups(instruction))

    def regrouped_kernel(self, body: Body) -> str:
        """The filter with its groups among the input features, where they are the output features of the gradient."""
        if self.groups == 1:
            return "p1"
        sizes = list(self.kernel.dimensions)
        out, into = self.labels.kernel_output_feature, self.labels.kernel_input_feature
        split = [*sizes[:out], self.groups, sizes[out] // self.groups, *sizes[out + 1 :]]
        order = [d for d in range(len(split)) if d != out]
        order.insert(order.index(into + (into > out)), out)
        merged = [n // self.groups if d == out else n * self.groups if d == into else n for d, n in enumerate(sizes)]
        return body.reshaped(body.transposed(body.reshaped("p1", split), order), merged)

    def finish(
        self, body: Body, factors: tuple[str, str], window: str, labels: tuple[str, str, str], grouped: str, to: Shape
    ) -> str:
        """The text with a convolution of two factors as the gradient ``to``."""
        dtype = _computed(to.dtype)
        left, right = (body.converted(name, dtype) for name in factors)
        groups = _groups_text(grouped, self.groups)
        text = f"convolution({left}, {right}), window={window}, dim_labels={labels[0]}_{labels[1]}->{labels[2]}{groups}"
        value = body.add(dtype, to.dimensions, text)
        return body.finish(self.instruction.shape, [body.converted(value, to.dtype)])


def forward(instruction: Instruction) -> str:
    """``__cudnn$convForward``: input, filter."""
    config = _config(instruction)
    require(config.word("activation_mode", "kNone") == "kNone", "a forward convolution with an activation")
    body = Body(instruction)
    _pair(body)
    value, output = _forward(instruction, body, config)
    return body.finish(instruction.shape, [body.converted(value, output.dtype)])


def bias_activation(instruction: Instruction) -> str:
    """``__cudnn$convBiasActivationForward``: input, filter, bias along the output features, side input."""
    config = _config(instruction)
    body = Body(instruction)
    side_scale = config.number("side_input_scale", 0)
    n = len(body.operands)
    require(n == 3 + (side_scale != 0), f"{n} operands with a side_input_scale of {side_scale:g}")
    value, output = _forward(instruction, body, config)
    dtype, sizes = body.type_of(value)
    if side_scale != 0:
        side = body.converted("p3", dtype)
        value = body.two("add", value, body.two("multiply", side, body.like(side, side_scale)))
    feature = instruction.attributes["dim_labels"].output_feature
    value = body.two("add", value, body.broadcast(body.converted("p2", dtype), sizes, [feature]))
    mode = config.word("activation_mode", "kNone")
    if mode != "kNone":
        require(mode in _ACTIVATIONS, f"the activation {mode}")
        value = body.activated(_ACTIVATIONS[mode], value, config.number("leakyrelu_alpha", 0))
    return body.finish(instruction.shape, [body.converted(value, output.dtype)])


def gradient_of_input(instruction: Instruction) -> str:
    """``__cudnn$convBackwardInput``: output gradient, filter."""
    body = Body(instruction)
    dx = first_result(instruction)
    dy, kernel = _pair(body)
    forward = _Forward.of(instruction, x=dx, kernel=kernel, y=dy)
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
    return forward.finish(body, ("p0", forward.regrouped_kernel(body)), window, dimensions, "feature", dx)


def gradient_of_filter(instruction: Instruction) -> str:
    """``__cudnn$convBackwardFilter``: input, output gradient."""
    body = Body(instruction)
    dw = first_result(instruction)
    x, dy = _pair(body)
    forward = _Forward.of(instruction, x=x, kernel=dw, y=dy)
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
    return forward.finish(body, ("p0", "p1"), window, dimensions, "batch", dw)


def _config(instruction: Instruction) -> Config:
    config = Config.of(instruction, "cudnn_conv_backend_config")
    config.expect_only(_UNDERSTOOD)
    return config


def _pair(body: Body) -> tuple[Shape, Shape]:
    body.require_operands(2, "a convolution has 2")
    return body.operands[0], body.operands[1]


def _computed(dtype: str) -> str:
    return {"f16": "f32", "bf16": "f32", "s8": "s32", "u8": "s32"}.get(dtype, dtype)


def _forward(instruction: Instruction, body: Body, config: Config) -> tuple[str, Shape]:
    """The scaled convolution of the first two operands, and the first result of the call."""
    output, dtype = first_result(instruction), _computed(body.operands[0].dtype)
    x, kernel = (body.converted(f"p{k}", dtype) for k in range(2))
    labels, window = (instruction.attributes.text(name) for name in ("dim_labels", "window"))
    require(labels is not None, "it has no dim_labels")
    text = f"convolution({x}, {kernel}), window={window or '{}'}, dim_labels={labels}"
    value = body.add(dtype, output.dimensions, text + _groups_text("feature", _groups(instruction)))
    scale = config.number("conv_result_scale", 1)
    if dtype == "s32" and (scale != 1 or output.dtype != "s32"):
        value = body.converted(value, "f32")  # sums of integers are scaled as floats
    return (value if scale == 1 else body.two("multiply", value, body.like(value, scale))), output


def _groups(instruction: Instruction) -> int:
    groups = int(instruction.attributes.get("feature_group_count", 1))
    require(groups >= 1 and int(instruction.attributes.get("batch_group_count", 1)) == 1, "it has batch groups")
    return groups


def _groups_text(kind: str, groups: int) -> str:
    return f", {kind}_group_count={groups}" if groups > 1 else ""


def _window(**parts: list[int] | list[str]) -> str:
    """A window from its parts, each with an item for each dimension."""
    found = (f"{name}={'x'.join(map(str, items))}" for name, items in parts.items() if items)
    return f"{{{' '.join(found)}}}"


def _labels(roles: Mapping[int, str], spatial: Sequence[int]) -> str:
    letters = dict(roles) | {dim: str(k) for k, dim in enumerate(spatial)}
    return "".join(letters[dim] for dim in range(len(letters)))
