"""The command ``hlomap``: arguments, files, printing and exit codes, and nothing else.

Exit codes: 0 all is well; 1 it ran, and something could not be read or analysed; 2 wrong arguments; 130 interrupted.
Text goes to stdout, in colour only on a terminal; progress, notes and errors go to stderr.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from .._core import Computation, Instruction, Module
from ..errors import HlomapError, NotFoundError, UnsupportedError

if TYPE_CHECKING:
    from ..corpus.runner import Summary

__all__ = ["main"]

_STYLES = {
    "head": "bold",
    "name": "bold",
    "shape": "green",
    "operand": "bold blue",
    "exact": "green",
    "over": "yellow",
    "unknown": "magenta",
    "error": "bold red",
    "domain": "dim",
}
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_VARIABLES = {r"\bd\d+\b": "cyan", r"\bs\d+\b": "yellow", r"\brt\d+\b": "magenta"}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hlomap")
def main() -> None:
    """HLO indexing analysis: which elements of its inputs each element of an XLA program reads."""


@main.command(epilog="Exit codes: 0 all is well, 1 the file cannot be read as HLO, 2 wrong arguments or no such name.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--fusion", metavar="NAME", help="Only this fusion, with everything inside it.")
@click.option("--computation", metavar="NAME", help="Only this computation (default: all but fused ones).")
@click.option("--input-to-output", is_flag=True, help="From each operand element to the outputs it takes part in.")
def show(file: Path, fusion: str | None, computation: str | None, input_to_output: bool) -> None:
    """Print the maps of every instruction of the modules in FILE."""
    from ..io.load import parse_all
    from . import listing, report

    try:
        modules = parse_all(file.read_bytes(), name=str(file))
    except HlomapError as error:
        _fail(file, error)
    except OSError as error:
        _fail(file, error.strerror or str(error))

    direction: listing.Direction = "input_to_output" if input_to_output else "output_to_input"
    for module in modules:
        lines: list[list[report.Span]] = [[report.Span(f"HloModule {module.name}", "head")]]
        for part in _chosen(module, fusion, computation):
            lines.append([])
            if isinstance(part, Instruction):
                lines.append([report.Span(f"{part.computation.name}: {part.name}", "head")])
                whole = [entry for entry in listing.entries(part.computation, direction) if entry.name == part.name]
                shown: Iterable[listing.Entry] = [*whole, *listing.inside(part)]
            else:
                entry_mark = "ENTRY " if part == module.entry else ""
                lines.append([report.Span(f"{entry_mark}{part.name}", "head")])
                shown = listing.entries(part, direction)
            for entry in shown:
                lines.extend(report.entry_lines(entry))
            _print(lines)
            lines = []
        _print(lines)


@main.command(epilog="Exit codes: 0 no map is unsound, 1 some map is, or FILE is no HLO, 2 wrong arguments.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--all", "show_all", is_flag=True, help="Every verdict, not only what is unsound.")
@click.option("--max-changes", type=click.IntRange(min=1), default=32, show_default=True, help="Of each operand leaf.")
def verify(file: Path, show_all: bool, max_changes: int) -> None:
    """Check the maps of the modules in FILE by changing elements and running the operations."""
    from collections import Counter

    from ..io.load import parse_all
    from ..verification.verify import verify as verdicts

    try:
        modules = parse_all(file.read_bytes(), name=str(file))
    except HlomapError as error:
        _fail(file, error)
    except OSError as error:
        _fail(file, error.strerror or str(error))
    counts: Counter[str] = Counter()
    for module in modules:
        for verdict in verdicts(module, max_changes=max_changes):
            counts[verdict.status] += 1
            if show_all or verdict.status == "UNSOUND":
                click.echo(_CONTROL.sub("?", f"{module.name}: {verdict}"))
    click.echo(", ".join(f"{finding} {n}" for finding, n in sorted(counts.items())) or "nothing to verify")
    sys.exit(1 if counts["UNSOUND"] else 0)


@main.command(epilog="Exit codes: 0 all is well, 1 some rows tell of an error, 2 wrong arguments, 130 interrupted.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, writable=True),
    help="Where the rows go: .parquet, .csv or .jsonl.",
)
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Worker processes (default: as the work is worth).")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar and no summary.")
def analyze(paths: tuple[str, ...], output: str, jobs: int | None, quiet: bool) -> None:
    """Write a row for every instruction, output and operand of all modules in PATHS (files and folders).

    What is no HLO is skipped, by content; modules with equal text count once; a broken file is a row with its error.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ..corpus.runner import analyze_files

    folder = Path(output).resolve().parent
    if not folder.is_dir():
        raise click.BadParameter(f"there is no folder {folder}", param_hint="--output")
    signal.signal(signal.SIGTERM, _terminated)
    stderr = Console(stderr=True, highlight=False)
    bar = Progress(
        TextColumn("analyze"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=stderr,
        transient=True,
        disable=quiet or not stderr.is_terminal,
    )
    try:
        with bar:
            task = bar.add_task("files", total=None)
            summary = analyze_files(
                paths, output, jobs=jobs, progress=lambda done, total: bar.update(task, completed=done, total=total)
            )
    except UnsupportedError as error:
        raise click.BadParameter(str(error), param_hint="--output") from error
    except OSError as error:
        _fail(Path(error.filename or output), error.strerror or str(error))
    except KeyboardInterrupt:
        click.echo(f"interrupted; {output} is not written", err=True)
        sys.exit(130)

    for file, message in summary.file_errors:
        click.echo(_located(file, message), err=True)
    if not quiet:
        _print_summary(summary, output)
    if summary.has_errors:
        sys.exit(1)


@main.command(epilog="Exit codes: 0 all is well, 1 the shape has no positions or cannot be read, 2 wrong arguments.")
@click.argument("shape")
@click.option("--index", metavar="I,J", help="Of a tuple, the array at this shape index.")
@click.option("--positions", type=click.IntRange(min=0), default=8, show_default=True, help="How many to list.")
@click.option("--svg", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Write the picture there.")
@click.option("--no-picture", is_flag=True, help="Do not show the picture in the terminal.")
def layout(shape: str, index: str | None, positions: int, svg: Path | None, no_picture: bool) -> None:
    """Say where the elements of an array with this SHAPE lie in memory, such as "f32[3,5]{1,0:T(2,2)}"."""
    from .._core import Shape
    from ..layouts import summary as layout_facts
    from . import report

    try:
        leaf = [int(i) for i in index.split(",")] if index else []
    except ValueError:
        raise click.BadParameter(f"expected numbers with commas, found {index!r}", param_hint="--index") from None
    try:
        array = Shape.parse(shape).at(leaf)
        picture = array.draw()
        _print(list(report.fact_lines(str(array), layout_facts.facts(array, positions))))
        if not no_picture:
            _print([[], *([report.Span(line)] for line in str(picture).splitlines()[3:])])
        if svg is not None:
            svg.write_text(picture.svg, encoding="utf-8")
    except HlomapError as error:
        click.echo(_CONTROL.sub("\ufffd", str(error)), err=True)
        sys.exit(1)
    except OSError as error:
        _fail(Path(error.filename or str(svg)), error.strerror or str(error))


def _print_summary(summary: Summary, output: str) -> None:
    from . import report

    rows = [*report.summary_rows(summary), ("written to", output)]
    if not sys.stdout.isatty():
        click.echo("".join(f"{label:<14}  {value}\n" for label, value in rows), nl=False)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False, emoji=False).print(table)


@main.command(epilog="Exit codes: 0 all is well, 1 it cannot be run or differs, 2 wrong arguments or no such name.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--inputs", metavar="NPZ", type=click.Path(exists=True, dir_okay=False), help="in0, in1, … (tuples flat)."
)
@click.option("--random", "seed", metavar="SEED", type=click.IntRange(min=0), help="Random inputs (the default: 0).")
@click.option("--print", "names", metavar="NAME", multiple=True, help="Print the values of this instruction, too.")
@click.option(
    "--compare", metavar="NPZ", type=click.Path(exists=True, dir_okay=False), help="out0, out1, … to compare."
)
@click.option("--tolerance", default=1e-5, show_default=True, help="Of floats, as a part of the largest value.")
@click.option("-o", "--output", metavar="NPZ", type=click.Path(dir_okay=False), help="Write the results as out0, …")
@click.option("--replicas", type=click.IntRange(min=1), help="Simulated replicas (default: as the module says).")
@click.option("--partitions", type=click.IntRange(min=1), help="Simulated partitions of each (the same).")
def run(
    file: Path,
    inputs: str | None,
    seed: int | None,
    names: tuple[str, ...],
    compare: str | None,
    tolerance: float,
    output: str | None,
    replicas: int | None,
    partitions: int | None,
) -> None:
    """Run the entry of the module in FILE with NumPy and print what it gives."""
    from ..interpreter import execute, run_file
    from ..io.load import load

    if inputs is not None and seed is not None:
        raise click.BadParameter("inputs are given or random, not both", param_hint="--random")
    try:
        module = load(file)
        replicas = replicas or int(module.attributes.get("replica_count", 1))
        partitions = partitions or int(module.attributes.get("num_partitions", 1))
        n_devices = replicas * partitions
        for name in names:
            module[name]
        if inputs is not None:
            given = run_file.inputs(module.entry, run_file.read_arrays(inputs), n_devices)
        else:
            given = run_file.random_inputs(module.entry, seed or 0)
        shown = _Shown(set(names))
        value = execute(module, *given, num_replicas=replicas, num_partitions=partitions, on_value=shown.on_value)
        found = run_file.results(value, n_devices)
        for name, array in found.items():
            _print_array(name, array)
        if output is not None:
            run_file.saved(found, output)
        comparisons = run_file.compared(found, run_file.read_arrays(compare), tolerance) if compare else []
    except NotFoundError as error:
        raise click.BadParameter(str(error), param_hint="--print") from error
    except HlomapError as error:
        _fail(file, error)
    except OSError as error:
        _fail(file, error.strerror or str(error))
    for comparison in comparisons:
        click.echo(f"{comparison.name}: {comparison.text}")
    if any(comparison.n_different for comparison in comparisons):
        sys.exit(1)


class _Shown:
    """Prints the values of the instructions with some names, as they are made."""

    def __init__(self, names: set[str]) -> None:
        self.on_value = self._print if names else None
        self._names = names

    def _print(self, instruction: Instruction, value: Any, device: int | None = None) -> None:
        if instruction.name in self._names:
            from ..interpreter.run_file import flattened

            place = instruction.name if device is None else f"{instruction.name} on device {device}"
            for array in flattened(value):
                _print_array(place, array)


def _print_array(name: str, array: Any) -> None:
    text = re.sub(r"\n\s*", " ", str(array.reshape(-1)[:8])).strip("[] ")
    more = " …" if array.size > 8 else ""
    click.echo(f"{name} {array.dtype}{list(array.shape)} {text}{more}")


def _chosen(module: Module, fusion: str | None, computation: str | None) -> Sequence[Computation | Instruction]:
    """The part of a module that the options name; without any, every computation but the fused ones."""
    if fusion is None and computation is None:
        return [part for part in module.computations if not part.is_fusion]
    try:
        named = None if computation is None else module.computation(computation)
        if fusion is None:
            return [] if named is None else [named]
        instruction = module[fusion] if named is None else named[fusion]
    except NotFoundError as error:
        raise click.BadParameter(str(error)) from error
    if instruction.opcode != "fusion":
        raise click.BadParameter(f"{fusion!r} is no fusion", param_hint="--fusion")
    return [instruction]


def _print(lines: Sequence[Sequence[tuple[str, str]]]) -> None:
    """Whole lines, never cut; styles only where a person sees them."""
    if not sys.stdout.isatty():
        click.echo("".join("".join(text for text, _ in line) + "\n" for line in lines), nl=False)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in lines:
        text = Text()
        for span, style in line:
            piece = Text(span, style=_STYLES.get(style, ""))
            if style in ("formula", "domain"):
                for variable, colour in _VARIABLES.items():
                    piece.highlight_regex(variable, colour)
            text.append_text(piece)
        console.print(text)


def _fail(file: Path, error: HlomapError | str) -> NoReturn:
    click.echo(_located(str(file), str(error)), err=True)
    sys.exit(1)


def _located(file: str, error: str) -> str:
    """The message behind the name of its file; what a broken file holds must not steer the terminal."""
    message = error if error.startswith(file) else f"{file}: {error}"
    return _CONTROL.sub("\ufffd", message.replace("\t", " "))


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """Ends like an exception, so that what is half done is cleaned away."""
    sys.exit(128 + number)
