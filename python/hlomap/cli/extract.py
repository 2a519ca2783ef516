"""The command ``hlomap extract``."""

from __future__ import annotations

from pathlib import Path

import click

from ..base.types import json_fields
from ..errors import HlomapError
from .console import FILE, OUTPUT, PROGRAM, failing, number, print_json, read_module, refuse_overwriting, say
from .selection import find_instruction


@click.command(epilog="Exit codes: 0 success, 1 FILE cannot be read as HLO, 2 wrong arguments or no such name.")
@click.argument("file", type=FILE)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@PROGRAM
@click.option("--computation", metavar="NAME", help="The computation of the instructions.")
@click.option("--stop", "ends", metavar="NAME", multiple=True, help="Make this value a parameter; repeatable.")
@number("--depth", least=1, help="Make the values this many operands away parameters.")
@click.option("-o", "--output", metavar="FILE", type=OUTPUT, help="Write the text to FILE instead of printing it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the text unless -o is given.")
def extract(
    file: Path,
    names: tuple[str, ...],
    computation: str | None,
    ends: tuple[str, ...],
    depth: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print the module that computes just the instructions NAME of FILE.

    Its parameters are those that they need, and one for each value of --stop, or --depth operands away.  Several
    instructions become a tuple.

    \b
    Examples:
      hlomap extract module.hlo fusion.3
      hlomap extract module.hlo fusion.3 --depth 1 -o fusion.hlo
      hlomap extract module.hlo fusion.3 --stop x.1
      hlomap extract module.hlo fusion.3 --json
    """
    from ..base.files import write_text
    from ..hlo import edit

    refuse_overwriting(output, file)
    module = read_module(file)
    roots = [find_instruction(module, name, computation, "NAME") for name in names]
    stop = [find_instruction(module, name, computation, "--stop") for name in ends]
    try:
        extracted = edit.extract(*roots, stop=stop, depth=depth)
    except HlomapError as error:
        raise click.UsageError(str(error)) from error
    text = str(extracted)
    if output is not None:
        with failing(output):
            write_text(output, text)
    if as_json:
        facts = {
            "module": extracted.name,
            "n_instructions": extracted.n_instructions,
            "parameters": [json_fields(p, "name shape") for p in extracted.entry.parameters],
            "root": json_fields(extracted.entry.root, "name shape"),
        }
        print_json(facts | ({"text": text} if output is None else {"output": str(output)}))
    elif output is None:
        say(text, nl=False)
