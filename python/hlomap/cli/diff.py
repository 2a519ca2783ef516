"""The command ``hlomap diff``: two files, or all modules of two dump directories."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import console

if TYPE_CHECKING:
    from ..hlo.dump_directory import DumpedModule

_PATH = click.Path(exists=True, allow_dash=True, path_type=Path)


@click.command(
    epilog="Exit codes: 0 success, 1 a file is not HLO, or with --exit-code the programs may differ, 2 wrong arguments."
)
@click.argument("before", metavar="FILE|DUMP", type=_PATH)
@click.argument("after", metavar="FILE|DUMP", type=_PATH)
@console.PROGRAM
@click.option(
    "--exit-code", is_flag=True, help="Exit with 1 if the programs differ, or may differ; layouts do not count."
)
@click.option("--run", "runs", flag_value=1, type=int, help="The same as --runs 1.")
@click.option(
    "--runs",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Run both programs this often on the same random arguments, and list the first matched values that differ.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with all results instead of text.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "github"]),
    default="text",
    show_default=True,
    help="github: one Markdown table of bytes, instructions, copies and collectives.",
)
def diff(before: Path, after: Path, exit_code: bool, runs: int, as_json: bool, form: str) -> None:
    """Compare two stages of one module, or all modules of two dumps.

    Prints which instructions were removed, added, changed and fused, the bytes moved, the dependence of the entry's
    outputs on its parameters, and how instructions match.  The modules of dump directories are compared at their final
    stage; they are paired by name, then by id.

    \b
    Examples:
      hlomap diff before.hlo after.hlo
      hlomap diff before.hlo after.hlo --run
      hlomap diff before.hlo after.hlo --json
      hlomap diff before.hlo after.hlo --format github
    """
    from ..words.diff import diff as compare

    if as_json and form != "text":
        raise click.BadParameter("excludes --json", param_hint="--format")
    if before.is_dir() or after.is_dir():
        if form != "text":
            raise click.BadParameter("github needs two files", param_hint="--format")
        if console.program() is not None:
            raise click.BadParameter("name the trace, not a directory", param_hint="--program")
        _diff_dumps(before, after, exit_code, runs, as_json)
        return
    old, new = console.read_pair(before, after)
    found = compare(old, new, runs)
    if as_json:
        console.print_json(found.to_dict())
    elif form == "github":
        from ..guard.figures import figures, markdown

        console.say(markdown(figures(found.before), figures(found.after)))
    else:
        console.say(str(found))
    if exit_code and not found.is_empty:
        sys.exit(1)


def _diff_dumps(before: Path, after: Path, exit_code: bool, runs: int, as_json: bool) -> None:
    from ..words.dumps import diff_dumps, pair_modules

    pairing = pair_modules(_final(before), _final(after))
    is_empty = not (pairing.only_before or pairing.only_after)
    listed = []
    if not as_json:
        for line in pairing.lines():
            console.say(line)
    for pair in diff_dumps(pairing, runs):
        is_empty = is_empty and pair.is_empty
        if as_json:
            listed.append(pair.to_dict())
        else:
            console.say(str(pair))
    if as_json:
        console.print_json({"is_empty": is_empty, "pairs": listed} | pairing.to_dict())
    if exit_code and not is_empty:
        sys.exit(1)


def _final(path: Path) -> tuple[DumpedModule, ...]:
    """The modules of a dump at their final stage; a file is a dump of one module."""
    from ..hlo.dump_directory import DumpDirectory, DumpedModule

    if not path.is_dir():
        if str(path) == "-":
            raise click.BadParameter("a dump is compared with a file or a dump", param_hint="-")
        return (DumpedModule(console.read_module(path).name, None, "", (path,)),)
    with console.failing(path):
        found = DumpDirectory(path).final
    if not found:
        console.fail(path, "no file in this directory is HLO")
    return found
