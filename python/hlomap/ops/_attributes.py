"""Attributes that several op rules share, read and checked: device groups, windows, gather dimensions.

Only integers are here, no index expressions and no arrays, so that an indexing rule and the semantics of the same
operation may both rely on it and still check each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .._core import Instruction
from ._shapes import require, require_sizes

# ----------------------------------------------------------------------------------------------------- device groups

GroupMode: TypeAlias = Literal["cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id"]
"""The devices that an id in a group of a collective names, as in XLA's ``CollectiveOpGroupMode``: a replica (on the
same partition), a partition (of the same replica), a replica with all its partitions, or a device number."""

_REDUCING = {"all-reduce", "all-gather", "reduce-scatter"}
"""Operations whose groups name replicas even with a channel, and then include all their partitions."""


def group_mode(instruction: Instruction) -> GroupMode:
    """The devices that an id in a group of a collective operation names."""
    has_channel = instruction.attributes.get("channel_id") is not None
    if instruction.opcode.removesuffix("-start") in _REDUCING:
        if instruction.attributes.get("use_global_device_ids"):
            return "flattened_id"
        return "cross_replica_and_partition" if has_channel else "cross_replica"
    return "cross_partition" if has_channel else "cross_replica"


def listed_groups(instruction: Instruction) -> list[tuple[int, ...]]:
    """The groups in ``replica_groups``; none where all devices are one group."""
    groups = instruction.attributes.get("replica_groups")
    return [] if groups is None else [tuple(group) for group in groups if len(group)]


def source_target_pairs(instruction: Instruction) -> list[tuple[int, int]]:
    """The pairs of a collective-permute."""
    return [(int(a), int(b)) for a, b in instruction.attributes["source_target_pairs"]]


def split_dimension(instruction: Instruction, rank: int) -> int:
    """The one dimension along which a collective operation splits or concatenates arrays."""
    (along,) = instruction.attributes["dimensions"]
    require(0 <= along < rank, f"dimension {along} is out of range for rank {rank}")
    return int(along)


# ----------------------------------------------------------------------------------------------------------- windows


@dataclass(frozen=True)
class WindowedDim:
    """One dimension of a ``window`` attribute, with the sizes of operand and output along it."""

    size: int
    stride: int
    pad_low: int
    pad_high: int
    base_dilation: int
    window_dilation: int
    reversal: bool
    operand_size: int
    output_size: int


def windowed_dims(window: Any, operand_sizes: Sequence[int], output_sizes: Sequence[int]) -> list[WindowedDim]:
    """The dimensions of a ``window`` attribute over an operand and an output of those sizes."""
    dims = [
        WindowedDim(
            w.size,
            w.stride,
            w.pad_low,
            w.pad_high,
            w.base_dilation,
            w.window_dilation,
            bool(w.reversal),
            operand_size,
            output_size,
        )
        for w, operand_size, output_size in zip(
            window.dims if window is not None else (), operand_sizes, output_sizes, strict=True
        )
    ]
    for dim in dims:
        positive = min(dim.size, dim.stride, dim.base_dilation, dim.window_dilation) > 0
        require(positive, "window sizes, strides and dilations must be positive")
        dilated = max(0, (dim.operand_size - 1) * dim.base_dilation + 1) if dim.operand_size else 0
        last_start = dilated + dim.pad_low + dim.pad_high - (dim.size - 1) * dim.window_dilation - 1
        require_sizes([dim.output_size], [max(0, last_start // dim.stride + 1)], "the output")
    return dims


# ------------------------------------------------------------------------------------------------ gather and scatter


@dataclass(frozen=True)
class GatherDimensions:
    """How the dimensions of gather's operand, indices and output correspond; for scatter, its updates are the output.

    Sizes are those of the operand, of one window in it, of the output that holds all windows, and of the indices.
    ``window_dims``: operand dimension -> output dimension of the index in the window.
    ``batch_dims``: indices dimension -> output dimension that numbers the index vectors.
    ``paired_dims``: indices dimension -> operand dimension with the same index (``operand_batching_dims``).
    ``start_components``: operand dimension -> component of the index vector where the window starts.
    ``indices_operand``: the operand number of the indices.
    ``clamps``: windows are moved to fit into the operand; otherwise those that do not fit are left out.
    """

    operand_sizes: tuple[int, ...]
    window_sizes: tuple[int, ...]
    output_sizes: tuple[int, ...]
    indices_sizes: tuple[int, ...]
    window_dims: dict[int, int]
    batch_dims: dict[int, int]
    paired_dims: dict[int, int]
    start_components: dict[int, int]
    index_vector_dim: int
    indices_operand: int
    clamps: bool

    def last_start(self, p: int) -> int:
        """The last index along operand dimension ``p`` at which a window fits."""
        return self.operand_sizes[p] - self.window_sizes[p]


def indices_batch_dims(indices_sizes: Sequence[int], index_vector_dim: int, n_components: int) -> list[int]:
    """The dimensions of the indices that number the index vectors."""
    rank = len(indices_sizes)
    require(0 <= index_vector_dim <= rank, f"index_vector_dim {index_vector_dim} is out of range")
    length = indices_sizes[index_vector_dim] if index_vector_dim < rank else 1
    require(length == n_components, f"index vectors have {length} components, expected {n_components}")
    return [i for i in range(rank) if i != index_vector_dim]
