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

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors, hlo
    from ._core import (
        Computation,
        Constraint,
        Cost,
        Count,
        Expr,
        IndexingMap,
        Instruction,
        Layout,
        Module,
        Shape,
        Variable,
        __version__,
        bounds_many,
        compose_many,
        count_many,
        is_valid_bitcast,
        linear_index,
        logical_index,
        reshape_is_bitcast,
        simplify_many,
        transpose_is_bitcast,
    )
    from .analysis.bitcasts import decompose_bitcast, is_bitcast
    from .analysis.custom_rules import register_rule, unregister_rule
    from .analysis.loops import loop
    from .analysis.queries import indexing, input_to_output, output_to_input
    from .analysis.rows import analyze
    from .analysis.slices import backward_slice, forward_slice
    from .analysis.table import Table
    from .analysis.tiles import tile
    from .answers import Answer
    from .builder import Value
    from .builder.builder import Builder
    from .corpus.scan import scan
    from .errors import HlomapError
    from .explanation.diff import diff
    from .explanation.explain import explain
    from .explanation.lineage import lineage
    from .explorer.page import explore
    from .hardware import Device, Limits
    from .interop.jax import from_jax
    from .interop.stablehlo import parse_stablehlo
    from .interpreter import execute
    from .io.dump_directory import DumpDirectory, DumpedModule
    from .io.load import load, parse, parse_all
    from .layouts.buffers import pack, ravel_index, unpack, unravel_index
    from .maps.map_set import DeviceIndexing, MapSet
    from .maps.set_questions import overlap
    from .maps.simplification import explain_simplify
    from .memory.coalescing import coalescing
    from .memory.utilization import utilization
    from .pictures.draw import draw
    from .schedules.schedule import schedule
    from .schedules.thread_map import thread_map
    from .shardings.partition import partitioned
    from .shardings.program import sharding_of
    from .shardings.reshard import reshard
    from .types import Unknown
    from .verification.verify import CheckResult, verify

__all__ = [
    "Answer",
    "Builder",
    "CheckResult",
    "Computation",
    "Constraint",
    "Cost",
    "Count",
    "Device",
    "DeviceIndexing",
    "DumpDirectory",
    "DumpedModule",
    "Expr",
    "HlomapError",
    "IndexingMap",
    "Instruction",
    "Layout",
    "Limits",
    "MapSet",
    "Module",
    "Shape",
    "Table",
    "Unknown",
    "Value",
    "Variable",
    "__version__",
    "analyze",
    "backward_slice",
    "bounds_many",
    "coalescing",
    "compose_many",
    "count_many",
    "decompose_bitcast",
    "diff",
    "draw",
    "errors",
    "execute",
    "explain",
    "explain_simplify",
    "explore",
    "forward_slice",
    "from_jax",
    "hlo",
    "indexing",
    "input_to_output",
    "is_bitcast",
    "is_valid_bitcast",
    "lineage",
    "linear_index",
    "load",
    "logical_index",
    "loop",
    "output_to_input",
    "overlap",
    "pack",
    "parse",
    "parse_all",
    "parse_stablehlo",
    "partitioned",
    "ravel_index",
    "register_rule",
    "reshape_is_bitcast",
    "reshard",
    "scan",
    "schedule",
    "sharding_of",
    "simplify_many",
    "thread_map",
    "tile",
    "transpose_is_bitcast",
    "unpack",
    "unravel_index",
    "unregister_rule",
    "utilization",
    "verify",
]

# The module of each public name, which is imported on the first access to the name (PEP 562).
_MODULES = {
    "answers": "Answer",
    "analysis.bitcasts": "decompose_bitcast is_bitcast",
    "analysis.custom_rules": "register_rule unregister_rule",
    "analysis.loops": "loop",
    "analysis.queries": "indexing input_to_output output_to_input",
    "analysis.rows": "analyze",
    "analysis.slices": "backward_slice forward_slice",
    "analysis.table": "Table",
    "analysis.tiles": "tile",
    "builder": "Value",
    "builder.builder": "Builder",
    "corpus.scan": "scan",
    "errors": "HlomapError",
    "explanation.diff": "diff",
    "explanation.explain": "explain",
    "explanation.lineage": "lineage",
    "explorer.page": "explore",
    "hardware": "Device Limits",
    "interop.jax": "from_jax",
    "interop.stablehlo": "parse_stablehlo",
    "interpreter": "execute",
    "io.dump_directory": "DumpDirectory DumpedModule",
    "io.load": "load parse parse_all",
    "layouts.buffers": "pack ravel_index unpack unravel_index",
    "maps.map_set": "DeviceIndexing MapSet",
    "maps.set_questions": "overlap",
    "maps.simplification": "explain_simplify",
    "memory.coalescing": "coalescing",
    "memory.utilization": "utilization",
    "pictures.draw": "draw",
    "schedules.schedule": "schedule",
    "schedules.thread_map": "thread_map",
    "shardings.partition": "partitioned",
    "shardings.program": "sharding_of",
    "shardings.reshard": "reshard",
    "types": "Unknown",
    "verification.verify": "CheckResult verify",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


if not TYPE_CHECKING:  # so that type checkers reject misspelled names

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in ("errors", "hlo"):
            return importlib.import_module(f".{name}", __name__)
        module = importlib.import_module(f".{_MODULE_OF.get(name, '_core')}", __name__)
        value = globals()[name] = getattr(module, name)
        return value


def __dir__() -> list[str]:
    return list(__all__)
