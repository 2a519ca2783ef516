"""Dimension numbers, window and groups of a convolution."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._core import Instruction
from ...answers import Unknown
from .._attributes import SparseSide, WindowedDim, sparse_sides, windowed_dims
from .._shapes import require


class Convolution(NamedTuple):
    """Attributes and sizes of a convolution; ``features`` is the number of input features in one group.

    A ``sparse`` kernel holds some of its input features; ``kernel_sizes`` are those of the values it holds.
    """

    labels: Any
    dims: list[WindowedDim]
    input_sizes: tuple[int, ...]
    kernel_sizes: tuple[int, ...]
    output_sizes: tuple[int, ...]
    feature_groups: int
    batch_groups: int
    sparse: SparseSide | None

    @property
    def features(self) -> int:
        return self.kernel_features * (self.sparse.block if self.sparse else 1)

    @property
    def kernel_features(self) -> int:
        """The input features in one group that the kernel holds."""
        return self.kernel_sizes[int(self.labels.kernel_input_feature)]

    @property
    def group_outputs(self) -> int:
        """The output features of one group, of either kind."""
        return self.kernel_sizes[int(self.labels.kernel_output_feature)] // (self.feature_groups * self.batch_groups)

    @property
    def batches(self) -> int:
        return self.output_sizes[int(self.labels.output_batch)]


def convolution_attributes(instruction: Instruction) -> Convolution | Unknown:
    """The attributes; Unknown for a combination that XLA does not have.

    A kernel of kind ``dgrad`` is stored without the reversal that the convolution applies to it.
    """
    labels = instruction.attributes["dim_labels"]
    sizes = [tuple(shape.dimensions) for shape in (*(o.shape for o in instruction.operands[:2]), instruction.shape)]
    window = instruction.attributes.get("window")
    lengths = [sizes[0][i] for i in labels.input_spatial]
    outputs = [sizes[2][i] for i in labels.output_spatial]
    groups = (
        int(instruction.attributes.get("feature_group_count", 1)),
        int(instruction.attributes.get("batch_group_count", 1)),
    )
    if min(groups) < 1 or max(groups) != groups[0] * groups[1]:
        return Unknown("convolution with both feature groups and batch groups")
    sides = sparse_sides(instruction)
    if isinstance(sides, Unknown):
        return sides
    image, sparse = sides
    if image is not None or (sparse is not None and sparse.dimension != labels.kernel_input_feature):
        return Unknown("convolution that is sparse along another dimension than the input features of the kernel")
    outputs_of = sizes[1][labels.kernel_output_feature]
    require(outputs_of % max(groups) == 0, f"{outputs_of} output features cannot be split into {max(groups)} groups")
    dims = windowed_dims(window, lengths, outputs)
    if instruction.attributes.get("convolution_kind", instruction.attributes.get("conv_kind")) == "dgrad":
        dims = [dim._replace(reversal=not dim.reversal) for dim in dims]
    return Convolution(labels, dims, sizes[0], sizes[1], sizes[2], *groups, sparse)
