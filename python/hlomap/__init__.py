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

from typing import TYPE_CHECKING

from .lazy import lazy_names

if TYPE_CHECKING:
    from . import (
        builder as builder,
        errors as errors,
        hlo as hlo,
        interop as interop,
        layouts as layouts,
        results as results,
    )
    from ._core import (
        Computation as Computation,
        Constraint as Constraint,
        Expr as Expr,
        IndexingMap as IndexingMap,
        Instruction as Instruction,
        Layout as Layout,
        Module as Module,
        Shape as Shape,
        Variable as Variable,
        __version__ as __version__,
        bounds_many as bounds_many,
        compose_many as compose_many,
        count_many as count_many,
        linear_index as linear_index,
        logical_index as logical_index,
        simplify_many as simplify_many,
    )
    from .analysis.bitcasts import is_bitcast as is_bitcast
    from .analysis.cost import cost as cost
    from .analysis.custom_rules import register_rule as register_rule, unregister_rule as unregister_rule
    from .analysis.loops import loop as loop
    from .analysis.profile import profile as profile
    from .analysis.queries import (
        indexing as indexing,
        input_to_output as input_to_output,
        output_to_input as output_to_input,
    )
    from .analysis.rows import analyze as analyze
    from .analysis.slices import backward_slice as backward_slice, forward_slice as forward_slice
    from .analysis.tiles import tile as tile
    from .answers import Answer as Answer, Unknown as Unknown
    from .builder.builder import Builder as Builder
    from .corpus.run import analyze_corpus as analyze_corpus
    from .corpus.scan import scan as scan
    from .errors import HlomapError as HlomapError
    from .explanation.diff import diff as diff
    from .explanation.explain import explain as explain
    from .explorer.page import explore as explore
    from .guard.check import check as check
    from .hardware import Device as Device, Limits as Limits
    from .interop.jax import from_jax as from_jax
    from .interpreter import execute as execute
    from .io.dump_directory import DumpDirectory as DumpDirectory, DumpedModule as DumpedModule
    from .io.load import load as load, parse as parse, parse_all as parse_all
    from .layouts.buffers import (
        pack as pack,
        ravel_index as ravel_index,
        unpack as unpack,
        unravel_index as unravel_index,
    )
    from .maps.flat_thread_map import flat_thread_map as flat_thread_map
    from .maps.map_set import DeviceIndexing as DeviceIndexing, MapSet as MapSet
    from .maps.simplification import explain_simplify as explain_simplify
    from .memory.coalescing import coalescing as coalescing
    from .memory.readers import readers as readers
    from .memory.utilization import utilization as utilization
    from .pictures.draw import draw as draw
    from .schedules.schedule import schedule as schedule
    from .schedules.thread_map import emitter_thread_map as emitter_thread_map, thread_map as thread_map
    from .shardings.partition import partitioned as partitioned
    from .shardings.program import sharding_of as sharding_of
    from .shardings.reshard import reshard as reshard
    from .verification.observe import observed_reads as observed_reads
    from .verification.verify import verify as verify

# The module of each public name, which is imported on the first access to the name (PEP 562).
_MODULE_OF = {
    name: module
    for module, names in {
        "": "builder errors hlo interop layouts results",
        "_core": (
            "Computation Constraint Expr IndexingMap Instruction Layout Module Shape Variable __version__ "
            "bounds_many compose_many count_many linear_index logical_index simplify_many"
        ),
        "analysis.bitcasts": "is_bitcast",
        "analysis.cost": "cost",
        "analysis.custom_rules": "register_rule unregister_rule",
        "analysis.loops": "loop",
        "analysis.profile": "profile",
        "analysis.queries": "indexing input_to_output output_to_input",
        "analysis.rows": "analyze",
        "analysis.slices": "backward_slice forward_slice",
        "analysis.tiles": "tile",
        "answers": "Answer Unknown",
        "builder.builder": "Builder",
        "corpus.run": "analyze_corpus",
        "corpus.scan": "scan",
        "errors": "HlomapError",
        "explanation.diff": "diff",
        "explanation.explain": "explain",
        "explorer.page": "explore",
        "guard.check": "check",
        "hardware": "Device Limits",
        "interop.jax": "from_jax",
        "interpreter": "execute",
        "io.dump_directory": "DumpDirectory DumpedModule",
        "io.load": "load parse parse_all",
        "layouts.buffers": "pack ravel_index unpack unravel_index",
        "maps.flat_thread_map": "flat_thread_map",
        "maps.map_set": "DeviceIndexing MapSet",
        "maps.simplification": "explain_simplify",
        "memory.coalescing": "coalescing",
        "memory.readers": "readers",
        "memory.utilization": "utilization",
        "pictures.draw": "draw",
        "schedules.schedule": "schedule",
        "schedules.thread_map": "emitter_thread_map thread_map",
        "shardings.partition": "partitioned",
        "shardings.program": "sharding_of",
        "shardings.reshard": "reshard",
        "verification.observe": "observed_reads",
        "verification.verify": "verify",
    }.items()
    for name in names.split()
}

if not TYPE_CHECKING:  # so that type checkers reject misspelled names
    __all__, __getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
