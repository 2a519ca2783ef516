"""The records of HLO that modules hold: windows, meshes, shardings, aliases, metadata, diagnostics.

They have their own package since programs read their fields but seldom name their classes.

>>> import hlomap as hm
>>> hm.hlo.Window.parse("{size=3x3 stride=2x2}").dims[0].stride
2
"""

from __future__ import annotations

from .._core import (
    Attributes,
    BufferDonor,
    ConvolutionDimensionNumbers,
    Diagnostic,
    EntryLayout,
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

__all__ = [
    "Attributes",
    "BufferDonor",
    "ConvolutionDimensionNumbers",
    "Diagnostic",
    "EntryLayout",
    "InputOutputAlias",
    "Mesh",
    "Metadata",
    "OperandAlias",
    "ReplicaGroups",
    "ResultAccuracy",
    "Sharding",
    "Window",
    "WindowDim",
]
