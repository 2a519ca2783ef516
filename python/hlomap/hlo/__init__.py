"""HLO: the records that modules hold, such as windows, meshes, shardings, aliases, metadata and diagnostics.

``load`` reads modules from text, bytes and files, ``dump_directory`` from folders that XLA writes.

>>> hm.hlo.Window.parse("{size=3x3 stride=2x2}").dims[0].stride
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import (
    Attributes,
    BufferDonor,
    ConvolutionDimensionNumbers,
    Diagnostic,
    EntryLayout,
    Frame,
    InputOutputAlias,
    Mesh,
    Metadata,
    OperandAlias,
    ReplicaGroups,
    ResultAccuracy,
    Sharding,
    Window,
    WindowDim,
)

if TYPE_CHECKING:
    from ..base.json_object import JsonObject

__all__ = [
    "Attributes",
    "BufferDonor",
    "ConvolutionDimensionNumbers",
    "Diagnostic",
    "EntryLayout",
    "Frame",
    "InputOutputAlias",
    "JsonObject",
    "Mesh",
    "Metadata",
    "OperandAlias",
    "ReplicaGroups",
    "ResultAccuracy",
    "Sharding",
    "Window",
    "WindowDim",
]


def __getattr__(name: str) -> type[JsonObject]:
    """``JsonObject``, which few programs need, with the ``json`` that it imports."""
    if name != "JsonObject":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..base.json_object import JsonObject

    globals()[name] = JsonObject
    return JsonObject
