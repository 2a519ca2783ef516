"""Writes the pages of the reference: every public name, by topic, from its docstring."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

import hlomap

PACKAGE = Path(hlomap.__file__).parent


def of(module: str, names: str) -> list[str]:
    """Names of a module of hlomap."""
    return [f"{module}.{name}" for name in names.split()]


def results(names: str) -> list[str]:
    """Names of :mod:`hlomap.results`."""
    return of("results", names)


# File, title, first sentence, names in reading order.  Together they are the names of the package and of its results.
TOPICS = [
    (
        "read",
        "Read programs",
        "From text, protos, files, dumps and JAX to a module.",
        [
            "parse",
            "parse_all",
            "load",
            "from_jax",
            "interop",
            "DumpDirectory",
            *results("DumpedModule History StageChange"),
        ],
    ),
    (
        "programs",
        "Programs",
        "Modules, their computations and instructions, shapes and layouts.",
        ["Module", "Computation", "Instruction", "Shape", "Layout"],
    ),
    (
        "indexing",
        "Indexing",
        "Which elements are read, for an instruction, a fusion, a program or a loop.",
        [
            *("output_to_input", "input_to_output", "indexing", "MapSet", "backward_slice"),
            *("forward_slice", "loop", "register_rule", "Unknown"),
            *of("maps", "DeviceIndexing"),
            *results("Slice Loop LoopCounter CarriedValue Access RegisteredRule"),
        ],
    ),
    (
        "maps",
        "Maps",
        "Symbolic maps from points to points, and questions about them.",
        [
            *("IndexingMap", "Expr", "Answer"),
            *of("maps", "Variable Constraint simplify_many compose_many count_many bounds_many"),
            *results("Count Cost CommonElement MissingElement MapPoint SimplifyTrace SimplifyStep"),
        ],
    ),
    (
        "layouts",
        "Memory and bitcasts",
        "Where elements lie, and which operations move nothing.",
        [
            "is_bitcast",
            *of("layouts", "linear_index logical_index ravel_index unravel_index pack unpack thread_map"),
            *of("layouts", "is_valid_bitcast reshape_is_bitcast transpose_is_bitcast decompose_bitcast"),
            *results("BitcastFactors"),
        ],
    ),
    (
        "performance",
        "Tiles, schedules, traffic",
        "What an operation moves: rows of an analysis, tiles, GPU schedules, coalescing.",
        [
            *("analyze", "analyze_corpus", "scan", "tile", "coalescing", "utilization", "readers"),
            *("schedule", "thread_map"),
            *("cost", "gemm", "profile", "kernel"),
            *("Device", "Limits"),
            *results("Table CorpusSummary CorpusReport CorpusProgress"),
            *results("Tiling TileTable TileFrontier TileParameter TileRead TileClause TileBox Refusal"),
            *results("Records Schedule OutputSchedule Coalescing Utilization Reader Readers"),
            *results("CostReport Gemm KernelCost Profile ProfileRow Unplaced"),
            *results("Kernel KernelOperand KernelInput KernelOutput"),
        ],
    ),
    (
        "devices",
        "Shardings",
        "Which device holds which elements, and what has to move.",
        [
            "collectives",
            "partitioned",
            "reshard",
            "shard",
            "sharder",
            "sharding_of",
            *results("Collective Collectives Partitioned RemoteReads Reshard Reshards"),
            *results("ShardPlan Sharder Move Moves PlannedValue PlannedValues Replicated Uneven"),
        ],
    ),
    (
        "what_if",
        "What if",
        "Parts of programs, changed programs, fusions that are not there.",
        [
            *("extract", "edit", "fuse", "fusions"),
            *results("FusionCandidate FusionTable ModuleChange"),
        ],
    ),
    (
        "explain",
        "Explain and draw",
        "Answers for people.",
        [
            *("explain", "diff", "explore", "draw"),
            *results("Explanation OperandReads Reads Step Source Overview BytesMoved"),
            *results("ModuleDiff Match AttributeChange FusionChange OutputDependence OutputValues ValueDifference"),
            *results("ExplorerPage Picture"),
        ],
    ),
    (
        "run",
        "Run, check, build",
        "The NumPy interpreter, the checks of maps against it, and a builder for HLO.",
        [
            *("execute", "verify", "observed_reads", "check"),
            *results("CheckResult CheckStatus ObservedReads CheckReport Limit Violation Hlo"),
            *("Builder", "builder"),
        ],
    ),
    ("errors", "Errors", "What calls raise. Not knowing is a value, not an error.", ["HlomapError", "errors"]),
    ("hlo", "Records of HLO", "What attributes of instructions and modules hold.", ["hlo"]),
]


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages, which are not in the tree."""
    listed = [name for _, _, _, names in TOPICS for name in names]
    public = [name for name in _public_names() if name != "__version__"]
    if sorted(listed) != sorted(public):
        different = sorted(set(listed) ^ set(public)) or "a name twice"
        raise PluginError(f"docs/site/reference.py and the public names differ: {different}")
    for topic in TOPICS:
        files.append(File.generated(config, f"reference/{topic[0]}.md", content=_page(*topic[1:])))
    files.append(File.generated(config, "reference/index.md", content=_index()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files outside the documentation lead to the repository."""
    return re.sub(r"\]\(\.\./(?!reference/)([^)]+)\)", rf"]({config.repo_url}/blob/main/\1)", markdown)


def _index() -> str:
    """All names on one page, each with a link to its own."""
    lines = ["# Reference", "", "Every public name of `import hlomap as hm`.", ""]
    for file, title, text, names in TOPICS:
        links = [f"[`{name}`]({file}.md#hlomap.{name})" for name in names]
        lines += [f"**[{title}]({file}.md)**: {text[0].lower()}{text[1:]}", "", " · ".join(links), ""]
    return "\n".join(lines)


def _page(title: str, text: str, names: list[str]) -> str:
    return "\n".join([f"# {title}", "", text, "", *(f"::: hlomap.{name}\n" for name in names)])


def _public_names() -> list[str]:
    """The names of the package, its results, layouts and maps, which the stubs import as themselves."""
    found: list[str] = []
    stubs = {"__init__": "", "results": "results.", "layouts/__init__": "layouts.", "maps/__init__": "maps."}
    for file, prefix in ((f"{stub}.pyi", prefix) for stub, prefix in stubs.items()):
        for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                found += [prefix + alias.asname for alias in node.names if alias.asname]
    return [name for name in found if name not in ("results", "layouts", "maps", "layouts.BitcastFactors")]
