"""Targets of custom calls that are not to a library, and the keys that a query of an attention sees."""

from __future__ import annotations

from ..._core import Instruction
from ...library_calls import attention
from ...library_calls.attention import Band
from .._shapes import same_arrays

ANNOTATIONS = {
    "AssumeGatherIndicesInBound", "AwsNeuronTransferWithStaticRing", "LayoutConstraint", "MoveToDevice", "MoveToHost",
    "Pin", "ShapeBarrier", "ShardBarrierFrom", "ShardBarrierTo", "Sharding", "Unpin",
    "__xla_internal_call_marker_after", "__xla_internal_call_marker_before", "annotate_device_placement",
    "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier",
}  # fmt: skip
"""Targets that return their operand."""

SINKS = {"control_dep", "dce_sink", "xla.sdy.ShardingGroup"}
"""Targets that only order or keep what they read: their result is an empty tuple."""

OPAQUE = {
    "AwsNeuronCustomNativeKernel", "__gpu$xla.gpu.triton", "mosaic_gpu", "mosaic_gpu_v2", "tpu_custom_call",
    "triton_kernel_call", "triton_kernel_call_ffi",
    "xla_ffi_partitioned_python_cpu_callback", "xla_ffi_partitioned_python_gpu_callback",
    "xla_ffi_python_cpu_callback", "xla_ffi_python_gpu_callback", "xla_python_cpu_callback", "xla_python_gpu_callback",
}  # fmt: skip
"""Targets that run code which the module does not show."""


def target_of(instruction: Instruction) -> str:
    """The custom call target, or an empty string."""
    return str(instruction.attributes.get("custom_call_target", ""))


def is_annotation(instruction: Instruction) -> bool:
    """Whether the call annotates its operand and returns it."""
    operands = instruction.operands
    return (
        target_of(instruction) in ANNOTATIONS
        and len(operands) == 1
        and same_arrays(operands[0].shape, instruction.shape)
    )


def band_of(instruction: Instruction) -> Band | None:
    """Which keys a query sees, for a call to an attention that says so."""
    return attention.band_of(instruction) if target_of(instruction) in attention.TARGETS else None
