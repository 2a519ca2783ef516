"""The command ``hlomap show``.

``selection.py`` chooses instructions; ``listing.py`` collects their facts and turns them into lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._core import Instruction, Module
from ..base.text import printable
from . import console
from .console import FILE, OUTPUT, parse_indices
from .selection import Selection, find_instruction, parse_place

if TYPE_CHECKING:
    from ..memory.collectives import Collectives
    from ..memory.readers import Readers
    from ..pictures.picture import Picture
    from ..words.explain import Explanation
    from .listing import Direction, Listing, Part

_RUNS = re.compile("█+|▒+|░+|[^█▒░]+")  # the blocks of drawing.map_text.BLOCKS, and text


@click.command(epilog="Exit codes: 0 success, 1 FILE cannot be read as HLO, 2 wrong arguments or no such name.")
@click.argument("file", type=FILE)
@console.PROGRAM
@click.option("--instruction", metavar="NAME", help="One instruction; for a fusion also the instructions inside.")
@click.option("--computation", metavar="NAME", help="One computation.")
@click.option("--all", "everything", is_flag=True, help="Also fused computations, and those applied to elements.")
@click.option("--opcode", "opcodes", metavar="NAME", multiple=True, help="Only this operation; repeatable.")
@click.option("--fusion", "only_fusions", is_flag=True, help="Only fusions.")
@click.option("--unknown", "only_unknown", is_flag=True, help="Only instructions with an unknown map.")
@click.option("--source", metavar="FILE:LINE", type=parse_place, help="Only instructions of a source line or file.")
@click.option(
    "--top",
    type=click.Choice(["bytes", "flops", "transcendentals"]),
    help="Only the instructions with the most, counting loop iterations.",
)
@console.number("--limit", least=1, default=20, help="With --top: how many.")
@click.option("--element", metavar="I,J", type=parse_indices, help="With --instruction: explain this element.")
@click.option("--output", metavar="I,J", type=parse_indices, help="With --instruction: the output at this shape index.")
@click.option("--input-to-output", is_flag=True, help="Map operand elements to the output elements that read them.")
@click.option("--readers", metavar="NAME", help="List who reads this value from memory, how many bytes and how often.")
@click.option(
    "--collectives", "only_collectives", is_flag=True, help="List the data that devices exchange, and how often."
)
@click.option("--picture", is_flag=True, help="With --instruction: draw what one element of the output reads.")
@click.option("--svg", metavar="FILE", type=OUTPUT, help="With --instruction: write this picture to FILE as SVG.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object for each module.")
def show(
    file: Path,
    instruction: str | None,
    element: tuple[int, ...] | None,
    output: tuple[int, ...] | None,
    only_unknown: bool,
    top: str | None,
    limit: int,
    input_to_output: bool,
    picture: bool,
    svg: Path | None,
    readers: str | None,
    only_collectives: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """List the indexing maps of the instructions in FILE.

    Begins with the bytes that the module moves and the number of exact maps, then lists the entry computation and the
    loops and branches that it runs.  Each operand has the map from output elements to the operand elements they read,
    and the map's domain.  Maps are exact, over-approximate (they may contain more) or unknown, with the reason.

    \b
    Examples:
      hlomap show module.hlo
      hlomap show module.hlo --top bytes --limit 5
      hlomap show module.hlo --instruction fusion.3 --element 1,2
      hlomap show module.hlo --instruction fusion.3 --element 1,2 --picture --svg reads.svg
      hlomap show module.hlo --readers x.1
      hlomap show module.hlo --collectives --json
      hlomap show module.hlo --json
    """
    from .listing import Listing, listing_lines

    chosen = top or any(value for name, value in filters.items() if name != "computation")
    is_chosen = instruction is not None or chosen
    draws, asks = picture or svg is not None, element is not None or output is not None
    conflicts = [
        (instruction is None and asks, "needs --instruction", "--output" if element is None else "--element"),
        (instruction is None and draws, "needs --instruction", "--picture" if picture else "--svg"),
        (picture and as_json, "excludes --json", "--picture"),
        (input_to_output and draws, "excludes --picture and --svg", "--input-to-output"),
        (input_to_output and asks, "excludes --element and --output", "--input-to-output"),
        (instruction is not None and chosen, "excludes --all, --opcode, --fusion, --source and --top", "--instruction"),
        (readers is not None and is_chosen, "excludes options that choose other instructions", "--readers"),
        (only_collectives and is_chosen, "excludes options that choose other instructions", "--collectives"),
        (only_collectives and readers is not None, "excludes --readers", "--collectives"),
    ]
    for is_conflict, message, option in conflicts:
        if is_conflict:
            raise click.BadParameter(message, param_hint=option)
    console.refuse_overwriting(svg, file, option="--svg")
    direction: Direction = "input_to_output" if input_to_output else "output_to_input"
    selection = Selection(**filters)
    values: list[Any] = []
    modules = console.read_modules(file)
    for module in modules:
        if readers is not None:
            read = _readers(module, readers, selection.computation)
            values.append(read.to_dict()) if as_json else console.say(str(read))
            continue
        if only_collectives:
            table = _collectives(module, selection.computation)
            title = f"{printable(module.name)}\n" if len(modules) > 1 else ""
            record = {"module": module.name, **table.to_dict()}
            values.append(record) if as_json else console.say(title + table.text(None))
            continue
        if instruction is not None:
            found = find_instruction(module, instruction, selection.computation)
            drawn = _draw(found, element, output) if picture or svg is not None else None
            if svg is not None and drawn is not None:
                with console.failing(svg):
                    drawn.write(svg)
            if element is not None:
                explanation = _explanation(found, element, output)
                values.append(explanation.to_dict()) if as_json else console.say(str(explanation))
                _print_picture(drawn if picture else None)
                continue
            listed = Listing(module._title, [_instruction_part(found, direction, output)])
        else:
            listed = _module_listing(module, selection, direction, top, limit)
        if only_unknown:
            listed = replace(listed, parts=_unknown_parts(listed.parts))
        if as_json:
            values.append(listed.to_dict())
        else:
            for lines in listing_lines(listed):
                console.print_lines(lines)
            if instruction is not None:
                _print_picture(drawn if picture else None)
    if as_json:
        console.print_json(values)


def _readers(module: Module, name: str, computation: str | None) -> Readers:
    """The readers of an instruction, or of the entry parameter with this name in the source."""
    from ..memory.readers import readers

    labelled = [p for p in module.entry.parameters if p.metadata.op_name == name and computation is None]
    with console.blaming("--readers"):
        return readers(labelled[0] if labelled else find_instruction(module, name, computation, "--readers"))


def _collectives(module: Module, computation: str | None) -> Collectives:
    """The collectives of the entry, or of a computation."""
    from ..memory.collectives import collectives

    with console.blaming("--computation"):
        return collectives(module if computation is None else module.computation(computation))


def _explanation(instruction: Instruction, element: tuple[int, ...], output: tuple[int, ...] | None) -> Explanation:
    from ..words.explain import explain

    with console.blaming("--element"):
        return explain(instruction, element, 0 if output is None else output)


def _draw(instruction: Instruction, element: tuple[int, ...] | None, output: tuple[int, ...] | None) -> Picture:
    from ..pictures.draw import draw

    with console.blaming("--output" if element is None else "--element"):
        return draw(instruction, element=element, output=0 if output is None else output)


def _print_picture(picture: Picture | None) -> None:
    """Prints the grids of a picture without its words, which are already printed."""
    if picture is None:
        return
    lines = str(picture).split("\n")
    styles = {"█": "lit", "▒": "may", "░": "read"}
    console.print_lines(
        [[], *([(run[0], styles.get(run[0][0], "")) for run in _RUNS.finditer(line)] for line in lines)]
    )


def _instruction_part(instruction: Instruction, direction: Direction, output: tuple[int, ...] | None) -> Part:
    from ..analysis.queries import shape_indices
    from .listing import Part, instruction_entries

    with console.blaming("--output"):
        shape_indices(instruction.shape, output or (), "output")  # raises ShapeError
    computation = instruction.computation.name
    entries = instruction_entries(instruction, direction, output or ())
    return Part(f"{computation}: {instruction.name}", computation, tuple(entries))


def _module_listing(module: Module, selection: Selection, direction: Direction, by: str | None, most: int) -> Listing:
    """The listing of the whole module, or of the instructions that move the most bytes or take the most operations."""
    from ..memory.overview import overview
    from .listing import Listing, Part, entries

    found = overview(module)
    sections = selection.sections(module, found)
    if by is None:
        parts = (
            Part("ENTRY " * (c == module.entry) + c.name, c.name, entries(instructions, direction))
            for c, instructions in sections
        )
        return Listing(
            module._title, parts, None if selection.computation else found, selection.left_out(module, found)
        )
    selected = {instruction for _, instructions in sections for instruction in instructions}
    if by != "bytes":
        from ..memory.cost import cost

        numbers = {part.subject: getattr(part, by) for part in cost(module).parts if part.subject in selected}
        order = sorted((i for i in found.moved if numbers.get(i)), key=lambda i: -numbers[i])[:most]
        shown = entries(order, direction, lambda i: f"{numbers[i]:,} {by}, moves {found.moved[i]} bytes")
        return Listing(module._title, [Part(f"the most {by}", "", shown)], found)
    top = [instruction for instruction in found.moved if instruction in selected][:most]
    most_moved = entries(top, direction, lambda i: f"moves {found.moved[i]} bytes, {found.share(i)}")
    return Listing(module._title, [Part("the most bytes", "", most_moved)], found)


def _unknown_parts(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        kept = tuple(e for e in part.entries if any(r.status in ("unknown", "error") for r in e.relations))
        if kept:
            yield replace(part, entries=kept)
