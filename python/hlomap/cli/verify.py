"""The command ``hlomap verify``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.text import cut, plural
from ..base.types import json_fields
from .console import FILE, PROGRAM, number, print_json, printable_lines, progress_bar, read_modules, say

if TYPE_CHECKING:
    from ..verification.verify import CheckResult

_MAX_REASONS = 10


@click.command(epilog="Exit codes: 0 no map is unsound, 1 a map is unsound or FILE is not HLO, 2 wrong arguments.")
@click.argument("file", type=FILE)
@PROGRAM
@click.option("--all", "show_all", is_flag=True, help="Print every result (default: only unsound ones).")
@number("--max-changes", least=1, default=32, help="Elements to change in each operand array.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object for each result.")
def verify(file: Path, show_all: bool, max_changes: int, as_json: bool) -> None:
    """Check the indexing maps of FILE by running its instructions.

    Changes operand elements one at a time and compares the outputs that change with those that the maps mention.
    Prints unsound maps, each with its smallest counterexample, and the number of results by status: exact (with the
    fewest draws on which one stands), overapproximate, unsound, unknown (no map) and unchecked (cannot be run), with
    the reasons of the last two.

    \b
    Examples:
      hlomap verify module.hlo
      hlomap verify module.hlo --all --max-changes 100
      hlomap verify module.hlo --json
    """
    from ..verification.verify import CheckStatus, verify as check

    results: list[tuple[str, CheckResult]] = []
    for module in read_modules(file):
        with progress_bar(f"verify {printable_lines(module._title[:40])}".replace("[", "(")) as progress:
            results += [(module._title, r) for r in check(module, max_changes=max_changes, progress=progress)]
    if as_json:
        fields = "direction output operand shape_index status claims_exact n_changes n_draws witness reason"
        about = "computation:instruction.computation instruction"
        print_json([{"module": name, **json_fields(result, about, fields)} for name, result in results])
    else:
        for name, result in results:
            if show_all or result.status == CheckStatus.UNSOUND:
                say(f"{name}: {result}")
        for line in _summary([result for _, result in results]):
            say(line)
    sys.exit(1 if any(result.status == CheckStatus.UNSOUND for _, result in results) else 0)


def _summary(results: Sequence[CheckResult]) -> Iterator[str]:
    """The number of results by status, and the reasons of the unknown and unchecked ones."""
    counts = Counter(str(result.status) for result in results)
    least = min((r.n_draws for r in results if str(r.status) == "exact"), default=0)
    draws = {"exact": f" (on {plural(least, 'draw')} or more)"}
    texts = (f"{status} {n}{draws.get(status, '')}" for status, n in sorted(counts.items()))
    yield ", ".join(texts) or "nothing to verify"
    for status in ("unknown", "unchecked"):
        reasons = Counter(f"{r.instruction.opcode}: {r.reason}" for r in results if str(r.status) == status)
        for reason, n in reasons.most_common(_MAX_REASONS):
            yield f"  {status} {n}  {cut(reason, 200)}"
        if len(reasons) > _MAX_REASONS:
            yield f"  {status}: {len(reasons) - _MAX_REASONS} more reasons"
