"""Kernels: calls of code that is not in the module, and their authors' estimates of the cost.

:func:`estimate_of` is the entry point.  An estimate is a part of the configuration: JAX writes the ``cost_estimate`` of
``pallas_call`` for TPUs and, for Mosaic on GPUs, as a text of its own; NKI counts multiply-adds.  Triton's calls have
none.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .._core import Instruction
from ..base.answers import Unknown
from ..base.json_object import JsonObject
from .config import Config, NotUnderstood, config_text, require


class KernelCost(NamedTuple):
    """The cost of a kernel, as estimated by its author.

    >>> hm.results.KernelCost(flops=2 * 64**3)
    KernelCost(flops=524288, transcendentals=0, bytes_accessed=None)
    """

    flops: int = 0
    transcendentals: int = 0
    bytes_accessed: int | None = None
    """Bytes read and written, including repeated reads; None if there is no estimate."""


class Estimate(NamedTuple):
    """An estimate, and the field of the configuration that it is from."""

    cost: KernelCost
    field: str


def estimate_of(instruction: Instruction) -> Estimate | Unknown | None:
    """The estimate in the configuration of a kernel; None if there is none, and for other calls."""
    target = str(instruction.attributes.get("custom_call_target", ""))
    read = KERNELS.get(target)
    try:
        return None if read is None else read(instruction)
    except NotUnderstood as error:
        return Unknown(f"custom-call to {target!r}: {error}")


def _pallas(instruction: Instruction) -> Estimate | None:
    """``cost_estimate`` in the ``custom_call_config``, or ``cost_estimate_json`` of a typed call."""
    config = _config(instruction)
    text = config.get("cost_estimate_json")
    part = config.part("custom_call_config").get("cost_estimate") if text is None else _json(text)
    if part is None:
        return None
    require(isinstance(part, Mapping), "its cost_estimate is not an object")
    fields = Config(part, "cost_estimate")
    n_bytes = fields.count("bytes_accessed") if "bytes_accessed" in fields else None
    return Estimate(KernelCost(fields.count("flops"), fields.count("transcendentals"), n_bytes), "cost_estimate")


def _nki(instruction: Instruction) -> Estimate | None:
    """``mac_count`` of the configuration, which is JSON in Base64, or of the frontend's attributes."""
    fields = _config(instruction)
    if "mac_count" not in fields:
        frontend = instruction.attributes.get("frontend_attributes") or {}
        fields = Config({name: frontend[name] for name in ("mac_count",) if name in frontend}, "frontend_attributes")
    return Estimate(KernelCost(2 * fields.count("mac_count")), "mac_count") if "mac_count" in fields else None


def _config(instruction: Instruction) -> Config:
    try:
        return Config.whole(instruction)
    except NotUnderstood:
        try:
            found: Mapping[str, Any] = JsonObject.parse(b64decode(config_text(instruction), validate=True).decode())
        except ValueError:
            found = {}  # kernels have configurations of many forms, most without an estimate
        return Config(found, "backend_config")


def _json(text: Any) -> Any:
    try:
        return JsonObject.parse(text)
    except (TypeError, ValueError):
        raise NotUnderstood("its cost_estimate_json is not JSON") from None


KERNELS: Mapping[str, Callable[[Instruction], Estimate | None]] = {
    "AwsNeuronCustomNativeKernel": _nki,
    **dict.fromkeys(("mosaic_gpu", "mosaic_gpu_v2", "tpu_custom_call"), _pallas),
    **dict.fromkeys(("__gpu$xla.gpu.triton", "triton_kernel_call", "triton_kernel_call_ffi"), lambda _: None),
}
"""How to read the estimate of a kernel, by target."""
