"""The command ``hlomap show``: ``listing.py`` collects what it lists, ``report.py`` turns that into lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from .._core import Computation, Instruction, Module
from ..errors import HlomapError, NotFoundError
from .console import FILE, parse_indices, print_lines, read_modules

__all__ = ["show"]


@click.command(epilog="Exit codes: 0 success, 1 FILE cannot be read as HLO, 2 wrong arguments or no such name.")
@click.argument("file", type=FILE)
@click.option("--instruction", metavar="NAME", help="Show one instruction; for a fusion also the instructions inside.")
@click.option(
    "--index", metavar="I,J", type=parse_indices, help="With --instruction: only the output at this shape index."
)
@click.option("--computation", metavar="NAME", help="Show one computation (default: all except fused ones).")
@click.option("--input-to-output", is_flag=True, help="Map operand elements to the output elements that read them.")
def show(
    file: Path, instruction: str | None, index: tuple[int, ...] | None, computation: str | None, input_to_output: bool
) -> None:
    """List the indexing maps of the instructions in FILE.

    For each operand: the map from the output elements to the operand elements they read, and the map's domain.  Maps
    are exact, over-approximate (they may contain more) or unknown, with the reason.
    """
    from . import listing, report

    if index is not None and (instruction is None or input_to_output):
        raise click.BadParameter("needs --instruction and excludes --input-to-output", param_hint="--index")
    direction: listing.Direction = "input_to_output" if input_to_output else "output_to_input"
    for module in read_modules(file):
        lines: list[list[report.Span]] = [[report.Span(f"HloModule {module.name}", "head")]]
        for part in _select(module, instruction, computation):
            lines.append([])
            if isinstance(part, Instruction):
                lines.append([report.Span(f"{part.computation.name}: {part.name}", "head")])
                _check_index(part, index or ())
                shown: Iterable[listing.Entry] = listing.instruction_entries(part, direction, index or ())
            else:
                entry_mark = "ENTRY " if part == module.entry else ""
                lines.append([report.Span(f"{entry_mark}{part.name}", "head")])
                shown = listing.computation_entries(part, direction)
            for entry in shown:
                lines.extend(report.entry_lines(entry))
            print_lines(lines)
            lines = []
        print_lines(lines)


def _select(module: Module, instruction: str | None, computation: str | None) -> Sequence[Computation | Instruction]:
    """The part of a module that the options name; without options, every computation except fused ones."""
    if computation is not None:
        selected = _find_computation(module, computation)
        if instruction is None:
            return [selected]
    elif instruction is None:
        return [part for part in module.computations if not part.is_fusion]
    try:
        found = module[instruction] if computation is None else selected[instruction]
    except NotFoundError as error:
        raise click.BadParameter(str(error), param_hint="--instruction") from error
    return [found]


def _find_computation(module: Module, name: str) -> Computation:
    try:
        return module.computation(name)
    except NotFoundError as error:
        raise click.BadParameter(str(error), param_hint="--computation") from error


def _check_index(instruction: Instruction, index: tuple[int, ...]) -> None:
    try:
        instruction.shape.at(list(index))
    except HlomapError as error:
        raise click.BadParameter(str(error), param_hint="--index") from error
