"""The command ``hlomap fusions``."""

from __future__ import annotations

from pathlib import Path

import click

from ..base.devices import Device
from .console import FILE, PROGRAM, number, print_json, read_modules, record, say
from .selection import find_instruction


@click.command(epilog="Exit codes: 0 success, 1 FILE cannot be read as HLO, 2 wrong arguments or no such name.")
@click.argument("file", type=FILE)
@PROGRAM
@click.option("--instruction", metavar="NAME", help="Only the edges to and from this instruction.")
@record("--device", Device, help="Add emitters, efficiency and times on a device: h100, a100, ...")
@number("--top", least=1, default=20, help="Rows to print.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def fusions(file: Path, instruction: str | None, device: Device | None, top: int, as_json: bool) -> None:
    """List what fusing two kernels would save, the most bytes first.

    A row is an edge from a producer to a consumer outside fusions: the bytes of both kernels and of the fused one, what
    fusing the producer into all its readers would save, how often it is evaluated, and whether tiles read boxes; or the
    fact that forbids the fusion.

    \b
    Examples:
      hlomap fusions module.hlo --top 5
      hlomap fusions module.hlo --device h100 --json
      hlomap fusions module.hlo --instruction fusion.3
    """
    from ..fusing.fusions import fusions as ask

    module = read_modules(file)[0]
    table = ask(module if instruction is None else find_instruction(module, instruction, None), device)
    if as_json:
        print_json(table[:top].to_dict())
    else:
        say(table.text(top))
