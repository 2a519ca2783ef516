"""The command ``hlomap diff``."""

from __future__ import annotations

from pathlib import Path

import click

from .console import FILE, print_json, read_module, say

__all__ = ["diff"]


@click.command(epilog="Exit codes: 0 success, 1 a file cannot be read as HLO, 2 wrong arguments.")
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with everything, instead of text.")
def diff(before: Path, after: Path, as_json: bool) -> None:
    """Compare two stages of one module.

    Prints how instructions match, the bytes that are moved, what the outputs of the entry depend on, what was fused
    into what, and which instructions came and went.

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
