# The public names of the package; base/lazy.py imports each on its first use.
from . import (
    builder as builder,
    errors as errors,
    hlo as hlo,
    interop as interop,
    layouts as layouts,
    maps as maps,
    results as results,
)
from ._core import (
    Computation as Computation,
    Expr as Expr,
    IndexingMap as IndexingMap,
    Instruction as Instruction,
    Layout as Layout,
    Module as Module,
    Shape as Shape,
    __version__ as __version__,
)
from .analysis.bitcasts import is_bitcast as is_bitcast
from .analysis.custom_rules import register_rule as register_rule
from .analysis.gemm import gemm as gemm
from .analysis.loops import loop as loop
from .analysis.queries import (
    indexing as indexing,
    input_to_output as input_to_output,
    output_to_input as output_to_input,
)
from .analysis.rows import analyze as analyze
from .analysis.slices import backward_slice as backward_slice, forward_slice as forward_slice
from .base.answers import Answer as Answer, Unknown as Unknown
from .base.devices import Device as Device, Limits as Limits
from .builder.builder import Builder as Builder
from .builder.edits import edit as edit
from .corpus.run import analyze_corpus as analyze_corpus
from .corpus.scan import scan as scan
from .errors import HlomapError as HlomapError
from .explorer.page import explore as explore
from .fusing.fusions import fusions as fusions
from .guard.check import check as check
from .hlo.dump_directory import DumpDirectory as DumpDirectory
from .hlo.edit import extract as extract, fuse as fuse
from .hlo.load import load as load, parse as parse, parse_all as parse_all
from .interop.jax import from_jax as from_jax
from .interpreter import execute as execute
from .kernels.kernel import kernel as kernel
from .maps.map_set import MapSet as MapSet
from .memory.coalescing import coalescing as coalescing
from .memory.collectives import collectives as collectives
from .memory.cost import cost as cost
from .memory.profile import profile as profile
from .memory.readers import readers as readers
from .memory.utilization import utilization as utilization
from .pictures.draw import draw as draw
from .plans.sharder import shard as shard, sharder as sharder
from .schedules.schedule import schedule as schedule
from .schedules.thread_map import thread_map as thread_map
from .shardings.partition import partitioned as partitioned
from .shardings.program import sharding_of as sharding_of
from .shardings.reshards import reshard as reshard
from .tiles.tiling import tile as tile
from .verification.observe import observed_reads as observed_reads
from .verification.verify import verify as verify
from .words.diff import diff as diff
from .words.explain import explain as explain
