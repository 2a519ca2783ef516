"""Pictures of checks: the elements of a witness, on the maps that do not relate them."""

from __future__ import annotations

from dataclasses import replace

from ..analysis.queries import output_to_input
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..ops._shapes import shape_at
from ..text import leaf_text, printable
from ..verification.verify import CheckResult
from .maps import array_of, map_picture, read_box
from .picture import Picture
from .scenes import Array, Operand, build_map_scene


def draw_check(result: CheckResult) -> Picture:
    """The reads of the witness's output element by the maps, and the operand element that changes it."""
    instruction = result.instruction
    operand = instruction.operands[result.operand]
    shape, source = shape_at(instruction.shape, result.output), shape_at(operand.shape, result.shape_index)
    try:
        maps = list(output_to_input(instruction, result.output))[result.operand]
        own = MapSet([m for m in maps if tuple(m.shape_index) == tuple(result.shape_index)], exact=maps.exact)
        known = None if maps.is_unknown or any(m.is_undefined for m in own) else tuple(own)
    except (HlomapError, OverflowError, IndexError):
        known = None
    label = printable(operand.name, 60) + leaf_text(result.shape_index)
    facts = f"{source.without_layout()}, {result.status}"
    output_element = None
    marked = None
    if result.witness is not None and len(result.witness[0]) == source.rank and len(result.witness[1]) == shape.rank:
        marked, output_element = result.witness
        facts += f"; the element {list(marked)} that changes it is crossed"
    read = Operand(array_of(label, source, facts), known, result.claims_exact, marked=marked)
    own_array = array_of("", shape)
    box, name = read_box(own_array.bounds, [read], output_element, None)
    output = replace(
        own_array,
        label=printable(instruction.name, 60) + leaf_text(result.output),
        facts=f"{shape.without_layout()}{f', {name} is lit' if name else ''}",
    )
    assert isinstance(output, Array)
    title = f"{printable(instruction.name, 60)}, {result.direction}: {result.status}"
    return map_picture(build_map_scene(title, [printable(result, 120)], output, [read], box))
