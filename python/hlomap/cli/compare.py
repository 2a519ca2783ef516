"""The command ``hlomap diff``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .console import FILE, print_json, read_module, say

__all__ = ["diff"]


_EXIT_CODES = "Exit codes: 0 success, 1 a file is not HLO, or a difference with --exit-code, 2 wrong arguments."


@click.command(epilog=_EXIT_CODES)
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if instructions or fusions differ; layouts do not count.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with everything, instead of text.")
def diff(before: Path, after: Path, exit_code: bool, as_json: bool) -> None:
    """Compare two stages of one module.

    Prints which instructions were removed, added and changed, what was fused into what, the bytes that are moved, what
    the outputs of the entry depend on, and how instructions match.

    \b
    Examples:
      hlomap diff before.hlo after.hlo
      hlomap diff before.hlo after.hlo --json
    """
    from ..explanation.diff import diff as compare

    found = compare(read_module(before), read_module(after))
    if as_json:
        print_json(found.to_dict())
    else:
        say(str(found))
    if exit_code and not found.is_empty:
        sys.exit(1)
