"""The target of a custom call, and its definition where it is a known library call."""

from __future__ import annotations

import re

from ..._core import Instruction
from ...types import Unknown
from .._library.definitions import definition_of
from .._shapes import same_arrays

__all__ = ["ANNOTATIONS", "batch_rank_of_factorization", "definition_of", "is_annotation", "target_of"]

_FACTORIZATION = re.compile(
    r"(lapack|cusolver|hipsolver)_[sdcz]?(potrf|getrf|geqrf|orgqr|ungqr|gesdd|gesvdj|gesvdp|gesvd|syevd|heevd|geev|"
    r"gtsv|sytrd|hetrd|gehrd)_ffi"
)
"""Factorizations and what goes with them, whose results mix whole matrices."""

ANNOTATIONS = {
    "AssumeGatherIndicesInBound", "LayoutConstraint", "MoveToDevice", "MoveToHost", "Pin", "ShapeBarrier",
    "ShardBarrierFrom", "ShardBarrierTo", "Sharding", "Unpin", "annotate_device_placement",
    "xla.sdy.FuncResultSharding",
}  # fmt: skip
"""Targets that return their operand."""


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


def batch_rank_of_factorization(instruction: Instruction) -> int | Unknown | None:
    """How many leading dimensions of every array are batches, for a call to a factorization; ``None`` for others.

    The call says so, as JAX writes it; where it does not, a result may depend on every matrix.  Unknown where that does
    not fit the arrays.
    """
    target = target_of(instruction)
    if not _FACTORIZATION.fullmatch(target):
        return None
    text = (instruction.attributes.get("frontend_attributes") or {}).get("num_batch_dims", "0")
    shape = instruction.shape
    shapes = [
        *(operand.shape for operand in instruction.operands),
        *(shape.tuple_shapes if shape.is_tuple else [shape]),
    ]
    if not text.isdecimal() or len(text) > 2:
        return Unknown(f"custom-call to {target!r}: its num_batch_dims is {text!r}")
    n = int(text)
    if not all(one.is_array and one.rank >= n for one in shapes) or len({one.dimensions[:n] for one in shapes}) > 1:
        return Unknown(f"custom-call to {target!r}: its arrays do not have {n} batch dimensions of the same sizes")
    return n
