"""The command ``hlomap``: arguments, files, printing and exit codes.

Most commands have their own files.  Exit codes: 0 success; 1 the input cannot be read or analysed, or a check fails;
2 wrong arguments; 3 a run ended early; 130 interrupted.
Results go to stdout, in colour only on a terminal; progress, notes and errors go to stderr.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import rich  # noqa: F401  # commands import what they need of it

from ..base.devices import Device, Limits
from ..errors import HlomapError, UnsupportedError
from . import console
from .analyze import analyze
from .check import check
from .console import FILE, OUTPUT, Commands, parse_indices
from .diff import diff
from .extract import extract
from .fusions import fusions
from .query import query
from .run import run
from .selection import find_instruction
from .shard import shard
from .show import show
from .verify import verify


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Completion in bash: eval "$(_HLOMAP_COMPLETE=bash_source hlomap)"; also zsh_source and fish_source.',
)
@click.version_option(package_name="hlomap")
@click.option(
    "--max-bytes",
    metavar="N",
    type=click.IntRange(min=0),
    default=1 << 30,
    help="Do not read larger files (default: 1 GiB).",
)
def main(max_bytes: int) -> None:
    """Analyse XLA HLO: which input elements does each output element read?

    FILE is HLO text, a serialized HLO proto or a trace of the profiler (*.xplane.pb), optionally compressed (gzip, xz,
    zstd), or StableHLO, which needs jaxlib; - reads the module from standard input (analyze reads a list of paths
    instead).
    """


for _command in (show, check, query, analyze, verify, run, diff, extract, fusions, shard):
    main.add_command(_command)


@main.command(epilog="Exit codes: 0 success, 1 a file cannot be read as HLO or written, 2 wrong arguments.")
@click.argument("path", metavar="FILE|DUMP", type=click.Path(exists=True, allow_dash=True, path_type=Path))
@click.argument("after", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@console.PROGRAM
@click.option("-o", "--output", metavar="HTML", required=True, type=OUTPUT, help="File to write.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object that says what was written.")
def explore(path: Path, after: Path | None, output: Path, as_json: bool) -> None:
    """Write a page with a graph of the module and its reads.

    The page is one self-contained file.  With AFTER it switches between both modules and shows what changed.  For a
    dump directory it shows the first and the last stage of every module.

    \b
    Examples:
      hlomap explore module.hlo -o page.html
      hlomap explore module.hlo module.hlo -o page.html
      hlomap explore . -o page.html
    """
    from ..explorer.page import explore as make_page
    from ..hlo.dump_directory import DumpDirectory

    console.refuse_overwriting(output, path, after)
    if path.is_dir() and after is not None:
        raise click.BadParameter("a dump directory has its own stages; give two files", param_hint="AFTER")
    if path.is_dir() and console.program() is not None:
        raise click.BadParameter("name the trace, not a directory", param_hint="--program")
    with console.failing(path, output):
        if path.is_dir():
            dump = DumpDirectory(path)
            if not len(dump):
                console.fail(path, "no file in this directory is HLO")
            page = make_page(dump)
        else:
            page = make_page(*console.read_pair(path, *([] if after is None else [after])))
        page.write(output)
    if as_json:
        n_bytes = len(page.text.encode("utf-8"))
        console.print_json({"output": str(output), "bytes": n_bytes, "modules": list(page.modules)})


@main.command(epilog="Exit codes: 0 success, 1 PATH has no profile, 2 wrong arguments.")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--module", "modules", metavar="FILE", type=FILE, multiple=True, help="HLO of a program that ran; repeatable."
)
@console.record("--device", Device, help="Compare with the peak rates of a device: h100, a100, ...")
@console.number("--top", default=20, help="Rows to print.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all rows, instead of text.")
def profile(path: Path, modules: tuple[Path, ...], device: Device | None, top: int, as_json: bool) -> None:
    """Show measured times and the bytes that each instruction moves.

    PATH is a *.xplane.pb file, or a folder that jax.profiler.trace wrote to.  Prints a row for each instruction, the
    longest first: time, calls, distinct bytes, bytes that are read again, flops and rates, then the time that belongs
    to no row.

    \b
    Examples:
      hlomap profile /tmp/trace --top 5
      hlomap profile /tmp/trace --device h100 --json
      hlomap profile host.xplane.pb --module module.hlo
    """
    from ..memory.profile import profile as read

    given = [module for file in modules for module in console.read_modules(file)]
    with console.failing(path):
        try:
            found = read(path, module=given or None, device=device)
        except ValueError as error:
            if isinstance(error, HlomapError):
                raise
            raise click.BadParameter(str(error).removeprefix("hm.profile: "), param_hint="--module") from error
    if as_json:
        console.print_json(found.to_dict())
    else:
        console.say(found.text(top))


@main.command(epilog="Exit codes: 0 success, 1 SHAPE is not an array shape or has no layout, 2 wrong arguments.")
@click.argument("shape")
@click.option("--shape-index", metavar="I,J", type=parse_indices, help="The array at this index of a tuple.")
@console.number("--positions", default=8, help="List the elements at the first N positions in memory.")
@click.option("--svg", metavar="FILE", type=OUTPUT, help="Write the picture to FILE as SVG.")
@click.option("--no-picture", is_flag=True, help="Do not print the picture.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def layout(
    shape: str, shape_index: tuple[int, ...] | None, positions: int, svg: Path | None, no_picture: bool, as_json: bool
) -> None:
    """Show where the elements of an array are in memory.

    SHAPE is an array shape as in HLO text, such as "f32[3,5]{1,0:T(2,2)}".

    \b
    Examples:
      hlomap layout "f32[3,5]{1,0:T(2,2)}"
      hlomap layout "(f32[4], bf16[8,128]{1,0:T(8,128)(2,1)})" --shape-index 1 --positions 16
      hlomap layout "f32[3,5]{0,1}" --no-picture --svg layout.svg
    """
    from .._core import Shape
    from . import layout_facts

    try:
        array = Shape.parse(shape).at(list(shape_index or ()))
        picture = array.draw()
        if as_json:
            console.print_json(layout_facts.as_dict(array, positions))
        else:
            console.print_lines(layout_facts.lines(array, positions))
        if not no_picture and not as_json:
            console.print_lines([[], *([(line, "")] for line in str(picture).splitlines()[3:])])
        if svg is not None:
            picture.write(svg)
    except HlomapError as error:
        console.say(str(error), err=True)
        sys.exit(1)
    except OSError as error:
        console.fail(Path(error.filename or str(svg)), error.strerror or str(error))


@main.command(epilog="Exit codes: 0 success, 1 FILE cannot be read as HLO or has no such tiling, 2 wrong arguments.")
@click.argument("file", type=FILE)
@console.PROGRAM
@click.option("--instruction", metavar="NAME", help="The instruction or fusion whose output is tiled.")
@click.option("--all", "every", is_flag=True, help="Tile every output of every fusion and instruction outside fusions.")
@click.option("--shape-index", metavar="I,J", type=parse_indices, help="Which output (default: the first).")
@click.option(
    "--candidates",
    "kind",
    type=click.Choice(["pow2", "divisors", "dense"]),
    default="pow2",
    show_default=True,
    help="Sizes to try: powers of two, divisors, or all.",
)
@console.number("--at-most", least=1, default=100_000, help="Try a sample of at most this many candidates.")
@console.record("--limits", Limits, default="none", help="Rules of a backend: none, triton or mosaic_tpu.")
@console.record(
    "--device", Device, help="Check that blocks fit into a device and count their waves: h100, a100, mi300x, ..."
)
@console.number("--top", help="Rows to print (default: 20, with --all 3 for each output).")
@click.option("--explain", metavar="SIZES", type=parse_indices, help="Explain one candidate, such as 32,16,128.")
@click.option("-o", "--output", metavar="FILE", type=OUTPUT, help="Write all candidates to a .parquet or .csv file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all costs, instead of text.")
def tile(
    file: Path,
    instruction: str | None,
    every: bool,
    shape_index: tuple[int, ...] | None,
    kind: str,
    at_most: int,
    limits: Limits,
    device: Device | None,
    top: int | None,
    explain: tuple[int, ...] | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """List the tile sizes that move the fewest bytes.

    Prints the tiling parameters, the tile of each operand, and a table of the legal candidates: the bytes that all
    tiles read, how often an element is read, the grid, the steps, and the contiguous runs in memory.

    \b
    Examples:
      hlomap tile module.hlo --instruction fusion.3 --top 5
      hlomap tile module.hlo --instruction fusion.3 --limits triton --device h100 -o tiles.parquet
      hlomap tile module.hlo --instruction fusion.3 --explain 1,16,16
      hlomap tile module.hlo --all --json
    """
    from ..tiles.tiling import tile as make_tiling
    from . import tile_report

    conflicts = [
        (every and instruction is not None, "excludes --instruction", "--all"),
        (every and shape_index is not None, "excludes --all, which tiles every output", "--shape-index"),
        (every and explain is not None, "excludes --all", "--explain"),
        (every and output is not None, "excludes --all", "--output"),
    ]
    for is_conflict, message, option in conflicts:
        if is_conflict:
            raise click.BadParameter(message, param_hint=option)
    if instruction is None and not every:
        raise click.UsageError("give --instruction NAME or --all")
    console.refuse_overwriting(output, file)
    modules = console.read_modules(file)
    if every:
        n_shown, listed = 3 if top is None else top, []
        with console.failing(file):
            for module in modules:
                if not as_json:
                    console.say(module._title)
                for tiling in tile_report.all_tilings(module):
                    table = tile_report.evaluated(tiling, kind, at_most, limits, device)
                    if as_json:
                        listed.append(tile_report.as_dict(tiling, table, n_shown))
                    else:
                        console.say(f"\n{tile_report.title(tiling)}\n{tile_report.text(tiling, table, n_shown)}")
        if as_json:
            console.print_json({"tilings": listed})
        return
    assert instruction is not None
    n_shown = 20 if top is None else top
    module = next((m for m in modules if any(i.name == instruction for i in m.instructions)), modules[0])
    root = find_instruction(module, instruction, None)
    with console.failing(file, output):
        try:
            tiling = make_tiling(root, shape_index if shape_index is not None else 0)
            if explain is not None:
                names = ",".join(f"t{k}" for k in range(len(tiling.params)))
                if len(explain) != len(tiling.params):
                    problem = f"expected {len(tiling.params)} sizes {names}, found {len(explain)}"
                    raise click.BadParameter(problem, param_hint="--explain")
                if as_json:
                    console.print_json(tile_report.explained(tiling, explain, limits, device))
                else:
                    console.say(tiling.explain(explain, device=device, limits=limits))
                return
            table = tile_report.evaluated(tiling, kind, at_most, limits, device)
            if output is not None:
                tile_report.write(table, str(output))
        except UnsupportedError as error:
            raise click.BadParameter(str(error), param_hint="--output") from error
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--at-most" if explain is None else "--explain") from error
    if as_json:
        console.print_json(tile_report.as_dict(tiling, table, n_shown))
    else:
        console.say(tile_report.text(tiling, table, n_shown))


@main.command(epilog="Exit codes: 0 everything works, 1 something is broken or missing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def doctor(as_json: bool) -> None:
    """Report versions and test the installation.

    Tests maps, the interpreter and tables on a small program, and says which optional packages are there.

    \b
    Examples:
      hlomap doctor
      hlomap doctor --json
    """
    from .doctor import examine

    found = examine()
    if as_json:
        console.print_json({line.subject: {"value": line.value, "good": line.is_good} for line in found})
    else:
        width = max(len(line.subject) for line in found)
        console.print_lines(
            [[(line.subject.ljust(width + 2), "name"), (line.value, "" if line.is_good else "error")] for line in found]
        )
    if not all(line.is_good for line in found):
        sys.exit(1)
