# The classes of results; lazy.py imports each on its first use.
from ._core import Cost as Cost, Count as Count
from .analysis.custom_rules import RegisteredRule as RegisteredRule
from .analysis.gemm import Gemm as Gemm
from .analysis.loops import Access as Access, CarriedValue as CarriedValue, Loop as Loop, LoopCounter as LoopCounter
from .analysis.reads import Reads as Reads
from .analysis.slice import Slice as Slice
from .analysis.table import Table as Table
from .base.answers import Records as Records
from .corpus.reports import CorpusReport as CorpusReport, CorpusSummary as CorpusSummary
from .corpus.run import CorpusProgress as CorpusProgress
from .explorer.page import ExplorerPage as ExplorerPage
from .fusing.table import FusionCandidate as FusionCandidate, FusionTable as FusionTable
from .guard.check import CheckReport as CheckReport, Limit as Limit, Violation as Violation
from .guard.fixture import Hlo as Hlo
from .hlo.dump_directory import DumpedModule as DumpedModule
from .interop.jax import ModuleChange as ModuleChange
from .kernels.kernel import (
    Kernel as Kernel,
    KernelInput as KernelInput,
    KernelOperand as KernelOperand,
    KernelOutput as KernelOutput,
)
from .layouts.bitcasts import BitcastFactors as BitcastFactors
from .library_calls.kernels import KernelCost as KernelCost
from .maps.set_questions import (
    CommonElement as CommonElement,
    MapPoint as MapPoint,
    MissingElement as MissingElement,
)
from .maps.simplification import SimplifyStep as SimplifyStep, SimplifyTrace as SimplifyTrace
from .memory.coalescing import Coalescing as Coalescing
from .memory.collectives import Collective as Collective, Collectives as Collectives
from .memory.cost import BytesMoved as BytesMoved, CostReport as CostReport
from .memory.overview import Overview as Overview
from .memory.profile import Profile as Profile, ProfileRow as ProfileRow, Unplaced as Unplaced
from .memory.readers import Reader as Reader, Readers as Readers
from .memory.utilization import Utilization as Utilization
from .pictures.picture import Picture as Picture
from .plans.plan import Replicated as Replicated, ShardPlan as ShardPlan, Uneven as Uneven
from .plans.sharder import Sharder as Sharder
from .plans.tables import Move as Move, Moves as Moves, PlannedValue as PlannedValue, PlannedValues as PlannedValues
from .schedules.schedule import OutputSchedule as OutputSchedule, Schedule as Schedule
from .shardings.partition import Partitioned as Partitioned, RemoteReads as RemoteReads
from .shardings.reshard import Reshard as Reshard
from .shardings.reshards import Reshards as Reshards
from .tiles.frontier import TileFrontier as TileFrontier
from .tiles.table import Refusal as Refusal, TileTable as TileTable
from .tiles.tiling import (
    TileBox as TileBox,
    TileClause as TileClause,
    TileParameter as TileParameter,
    TileRead as TileRead,
    Tiling as Tiling,
)
from .verification.observe import ObservedReads as ObservedReads
from .verification.verify import CheckResult as CheckResult, CheckStatus as CheckStatus
from .words.diff import AttributeChange as AttributeChange, FusionChange as FusionChange, ModuleDiff as ModuleDiff
from .words.explain import Explanation as Explanation, OperandReads as OperandReads
from .words.history import History as History, StageChange as StageChange
from .words.matching import Match as Match
from .words.outputs import (
    OutputDependence as OutputDependence,
    OutputValues as OutputValues,
    ValueDifference as ValueDifference,
)
from .words.source import Source as Source
from .words.trace import Step as Step
