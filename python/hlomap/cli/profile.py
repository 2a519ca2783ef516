"""The command ``hlomap profile``."""

from __future__ import annotations

from pathlib import Path

import click

from ..devices import Device
from .console import FILE, failing, number, print_json, read_modules, record, say


@click.command(epilog="Exit codes: 0 success, 1 PATH has no profile, 2 wrong arguments.")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--module", "modules", metavar="FILE", type=FILE, multiple=True, help="HLO that ran; repeatable.")
@record("--device", Device, help="Compare with its limits: h100, a100, ...")
@number("--top", default=20, help="Rows to print.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all rows, instead of text.")
def profile(path: Path, modules: tuple[Path, ...], device: Device | None, top: int, as_json: bool) -> None:
    """Show measured times beside the bytes that move.

    PATH is a *.xplane.pb file, or a folder that jax.profiler.trace wrote to.  Prints a row for each instruction, the
    longest first: time, calls, distinct bytes, bytes that are read again, flops and rates, then what has no row.

    \b
    Examples:
      hlomap profile /tmp/trace --top 5
      hlomap profile /tmp/trace --device h100 --json
      hlomap profile host.xplane.pb --module module.hlo
    """
    from ..analysis.profile import profile as read

    given = [module for file in modules for module in read_modules(file)]
    with failing(path):
        found = read(path, module=given or None, device=device)
    if as_json:
        print_json(found.to_dict())
    else:
        say(found.text(top))
