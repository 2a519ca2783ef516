"""The command ``hlomap diff``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .console import FILE, print_json, read_module, say

_EXIT_CODES = "Exit codes: 0 success, 1 a file is not HLO, or a difference with --exit-code, 2 wrong arguments."


@click.command(epilog=_EXIT_CODES)
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if instructions or fusions differ; layouts do not count.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with everything, instead of text.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "github"]),
    default="text",
    show_default=True,
    help="github: one Markdown table of bytes, instructions, copies and collectives.",
)
def diff(before: Path, after: Path, exit_code: bool, as_json: bool, form: str) -> None:
    """Compare two stages of one module.

    Prints which instructions were removed, added and changed, what was fused into what, the bytes that are moved, what
    the outputs of the entry depend on, and how instructions match.

    \b
    Examples:
      hlomap diff before.hlo after.hlo
      hlomap diff before.hlo after.hlo --json
      hlomap diff before.hlo after.hlo --format github
    """
    from ..differences.diff import diff as compare

    if as_json and form != "text":
        raise click.BadParameter("excludes --json", param_hint="--format")
    found = compare(read_module(before), read_module(after))
    if as_json:
        print_json(found.to_dict())
    elif form == "github":
        from ..guard.figures import figures, markdown

        say(markdown(figures(found.before), figures(found.after)))
    else:
        say(str(found))
    if exit_code and not found.is_empty:
        sys.exit(1)
