"""The command ``hlomap check``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.text import table_lines
from ..errors import HlomapError
from .console import FILE, PROGRAM, print_json, read_modules, say

if TYPE_CHECKING:
    from ..guard.check import CheckReport

_RULES = ("max_bytes", "max_reads", "forbid", "max_count", "max_wire_bytes", "bitcasts_only", "executed")


@click.command(
    epilog="Exit codes: 0 all limits hold, 1 a limit is broken or unknown, or FILE is not HLO, 2 wrong arguments."
)
@click.argument("file", type=FILE)
@click.argument("rules", metavar="RULES.toml", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@PROGRAM
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object for each module.")
def check(file: Path, rules: Path, as_json: bool) -> None:
    """Check limits on what FILE moves, reads, copies and exchanges.

    RULES.toml has the limits of hm.check by name: max_bytes and max_wire_bytes (a number), max_reads and max_count (a
    table of names and numbers), forbid and bitcasts_only (a list of opcodes); executed (true or false).

    \b
    Examples:
      hlomap check module.hlo rules.toml
      hlomap check module.hlo rules.toml --json
    """
    from ..guard.check import check as check_limits

    limits = _read_rules(rules)
    reports = []
    for module in read_modules(file):
        try:
            reports.append(check_limits(module, **limits))
        except (HlomapError, TypeError, ValueError) as error:
            message = error.args[0] if error.args else str(error)
            raise click.BadParameter(f"{rules}: {message}", param_hint="RULES.toml") from error
    if as_json:
        print_json([report.to_dict() for report in reports])
    else:
        for report in reports:
            say("\n".join(_lines(report)))
    sys.exit(0 if all(reports) else 1)


def _read_rules(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        limits = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="RULES.toml") from error
    for name in limits:
        if name not in _RULES:
            message = f"{path}: no rule `{name}`; there are {', '.join(_RULES)}"
            raise click.BadParameter(message, param_hint="RULES.toml")
    return limits


def _lines(report: CheckReport) -> list[str]:
    """A table of all limits, then an explanation of each limit that does not hold."""
    rows = [("", "limit", "found", "")]
    for one in report.limits:
        number = f"{one.found:,}" if isinstance(one.found, int) else "unknown"
        rows.append((one.rule, f"{one.limit:,}", number, one.status if one.status == "broken" else ""))
    table = [f"  {line}" for line in table_lines(rows, left=(0, 3))]
    details = [f"  {line}" for violation in report.violations for line in str(violation).split("\n")]
    return [report.title, *table, *([""] if details else []), *details]
