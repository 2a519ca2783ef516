"""HLO indexing analysis: which elements of its inputs does each element of an XLA program read?

>>> import hlomap as hm
>>> module = hm.parse('''HloModule m
... ENTRY e {
...   p = f32[4,8] parameter(0)
...   ROOT t = f32[8,4] transpose(p), dimensions={1,0}
... }''')
>>> print(hm.output_to_input(module["t"])[0])
(d0, d1) -> (d1, d0), domain: d0 in [0, 7], d1 in [0, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import (
    Attributes,
    BufferDonor,
    Computation,
    Constraint,
    ConvolutionDimensionNumbers,
    Cost,
    Count,
    Diagnostic,
    EntryLayout,
    Equivalence,
    Expr,
    IndexingMap,
    InputOutputAlias,
    Instruction,
    Layout,
    Mesh,
    Metadata,
    Module,
    OperandAlias,
    ReplicaGroups,
    ResultAccuracy,
    Shape,
    Sharding,
    Variable,
    Window,
    WindowDim,
    __version__,
    compose_many,
    is_valid_bitcast,
    linear_index,
    logical_index,
    reshape_is_bitcast,
    simplify_many,
    transpose_is_bitcast,
)
from .analysis.bitcasts import decompose_bitcast, is_bitcast
from .analysis.queries import indexing, input_to_output, output_to_input
from .analysis.rows import analyze
from .analysis.table import Table
from .errors import (
    DomainError,
    HlomapError,
    HloSyntaxError,
    IntegerOverflowError,
    MapError,
    MapSyntaxError,
    NotFoundError,
    ShapeError,
    UnsupportedError,
)
from .interpreter import execute
from .io.load import load, parse, parse_all
from .layouts.buffers import pack, ravel_index, unpack, unravel_index
from .maps.device_indexing import DeviceIndexing
from .maps.map_set import MapSet

if TYPE_CHECKING:
    from .analysis.custom_rules import register_rule, unregister_rule
    from .analysis.slices import backward_slice, forward_slice
    from .builder import Value
    from .builder.builder import Builder
    from .interop.jax import from_jax
    from .interop.stablehlo import parse_stablehlo
    from .io.dump_directory import DumpDirectory, DumpedModule
    from .maps.thread_map import thread_map
    from .verification.verify import CheckResult, verify

# Names that most programs do not use are imported when they are asked for.
_LATER = {
    "Builder": "builder.builder",
    "DumpDirectory": "io.dump_directory",
    "DumpedModule": "io.dump_directory",
    "from_jax": "interop.jax",
    "parse_stablehlo": "interop.stablehlo",
    "register_rule": "analysis.custom_rules",
    "backward_slice": "analysis.slices",
    "forward_slice": "analysis.slices",
    "thread_map": "maps.thread_map",
    "unregister_rule": "analysis.custom_rules",
    "Value": "builder",
    "CheckResult": "verification.verify",
    "verify": "verification.verify",
}

__all__ = [
    "Attributes",
    "BufferDonor",
    "Builder",
    "CheckResult",
    "Computation",
    "Constraint",
    "ConvolutionDimensionNumbers",
    "Cost",
    "Count",
    "DeviceIndexing",
    "Diagnostic",
    "DomainError",
    "DumpDirectory",
    "DumpedModule",
    "EntryLayout",
    "Equivalence",
    "Expr",
    "HloSyntaxError",
    "HlomapError",
    "IndexingMap",
    "InputOutputAlias",
    "Instruction",
    "IntegerOverflowError",
    "Layout",
    "MapError",
    "MapSet",
    "MapSyntaxError",
    "Mesh",
    "Metadata",
    "Module",
    "NotFoundError",
    "OperandAlias",
    "ReplicaGroups",
    "ResultAccuracy",
    "Shape",
    "ShapeError",
    "Sharding",
    "Table",
    "UnsupportedError",
    "Value",
    "Variable",
    "Window",
    "WindowDim",
    "__version__",
    "analyze",
    "backward_slice",
    "compose_many",
    "decompose_bitcast",
    "execute",
    "forward_slice",
    "from_jax",
    "indexing",
    "input_to_output",
    "is_bitcast",
    "is_valid_bitcast",
    "linear_index",
    "load",
    "logical_index",
    "output_to_input",
    "pack",
    "parse",
    "parse_all",
    "parse_stablehlo",
    "ravel_index",
    "register_rule",
    "reshape_is_bitcast",
    "simplify_many",
    "thread_map",
    "transpose_is_bitcast",
    "unpack",
    "unravel_index",
    "unregister_rule",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value
