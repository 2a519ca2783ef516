"""Definitions of library calls as computations of HLO.

:func:`definition_of` is the entry point.  A target has one definition: a function that writes the instructions
and returns the arrays that are the results; workspace results are zeros.  What a call says and its definition
does not cover is a reason to know nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from .._core import Instruction
from ..base.answers import Unknown
from ..errors import HlomapError
from ..hlo.load import parse
from . import (
    attention,
    convolution,
    dynamic_sizes,
    gemm,
    integers,
    linear_algebra,
    neuron,
    normalization,
    onednn,
    sorting,
)
from .body import Array, Call, is_workspace
from .config import NotUnderstood

TARGETS: Mapping[str, Callable[[Call], list[Array]]] = {
    "__cublas$gemm": gemm.gemm,
    "__cublas$lt$groupedMatmul": gemm.grouped_gemm,
    "__cublas$lt$matmul": gemm.gemm,
    "__cublas$lt$matmul$f8": gemm.scaled_gemm,
    "__cublas$triangularSolve": linear_algebra.triangular_solve,
    "__cudnn$convBackwardFilter": convolution.gradient_of_filter,
    "__cudnn$convBackwardInput": convolution.gradient_of_input,
    "__cudnn$convBiasActivationForward": convolution.bias_activation,
    "__cudnn$convForward": convolution.forward,
    "AllocateBuffer": dynamic_sizes.allocate_buffer,
    "AwsNeuronGelu": neuron.gelu,
    "AwsNeuronRmsNorm": neuron.rms_norm,
    "AwsNeuronSilu": neuron.silu,
    "AwsNeuronSoftmax": neuron.softmax,
    "PadToStatic": dynamic_sizes.pad_to_static,
    "SliceToDynamic": dynamic_sizes.slice_to_dynamic,
    "TopK": sorting.topk,
    "X64Combine": integers.combine,
    "X64SplitHigh": integers.split_high,
    "X64SplitLow": integers.split_low,
    "__cub$DeviceRadixSort": sorting.radix_sort,
    "__cub$DeviceRadixSortUnassignedScratchSize": sorting.radix_sort,
    "__cudnn$norm": normalization.layer_norm,
    "__gpu$TopK": sorting.topk,
    "__onednn$convolution": onednn.convolution,
    "__onednn$layernorm": onednn.layer_norm,
    "__onednn$matmul": onednn.matmul,
    "__onednn$softmax": onednn.softmax,
    "__op$block_scaled_dot": gemm.block_scaled_dot,
    **{f"{gpu}_threefry2x32{ffi}": integers.threefry for gpu in ("cu", "hip", "oneapi") for ffi in ("", "_ffi")},
    **{f"lapack_{kind}trsm_ffi": linear_algebra.lapack_triangular_solve for kind in "sdcz"},
    **{f"{gpu}solver_syrk_ffi": linear_algebra.symmetric_product for gpu in ("cu", "hip", "oneapi")},
    "xla.gpu.ext.cub_scan": sorting.running_sum,
    "xla.gpu.ext.cub_scan_unassigned_scratch_size": sorting.running_sum,
    "xla.gpu.ext.cub_sort_keys": sorting.radix_sort,
    "xla.gpu.ext.cub_sort_pairs": sorting.radix_sort,
    "xla.gpu.ext.cub_sort_unassigned_scratch_size": sorting.radix_sort,
    **dict.fromkeys(attention.TARGETS, attention.attention),
}
"""The definitions, by target."""


def definition_of(instruction: Instruction) -> Instruction | Unknown | None:
    """A call of the computation that defines a custom call, in a module of its own; ``None`` for other targets.

    Unknown, with the reason, if the definition does not cover the configuration of the call.
    """
    target = str(instruction.attributes.get("custom_call_target", ""))
    define = TARGETS.get(target)
    if define is None:
        return None
    try:
        return _parsed(Call(instruction).text(define))
    except NotUnderstood as error:
        return Unknown(f"custom-call to {target!r}: {error}")
    except HlomapError as error:
        # Both the text and the call of the builder are those of the definition.
        why = re.sub(r"^(?:<text>:\d+:\d+|hm\.[\w.]+): ", "", str(error).partition("\n")[0])
        return Unknown(f"custom-call to {target!r}: its shapes do not fit its definition: {why}")


def workspaces_of(instruction: Instruction) -> list[int]:
    """The results of a library call that are memory to work in: zeros in its definition, behind all others."""
    definition = definition_of(instruction)
    if not isinstance(definition, Instruction) or not instruction.shape.is_tuple:
        return []
    results = definition.called_computations[0].root.operands
    n = len(results)
    while n and results[n - 1].opcode == "broadcast" and is_workspace(results[n - 1].shape):
        n -= 1
    return list(range(n, len(results)))


@lru_cache(maxsize=512)
def _parsed(text: str) -> Instruction:
    """The call of the definition, from the text of its module."""
    return parse(text, strict=True).entry.root
