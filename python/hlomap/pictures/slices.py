"""Pictures of slices: of each value the elements that an element of one instruction needs, or that depend on it."""

from __future__ import annotations

from collections.abc import Mapping

from .._core import Instruction
from ..analysis.slice import Slice
from ..maps.map_set import MapSet
from ..ops._shapes import shape_at
from ..text import cut, leaf_text, plural, printable
from ..types import expect
from .maps import Element, array_of, map_picture, read_box, start_of, starts_of, value_operands
from .picture import Picture
from .scenes import Array, Relation, build_map_scene


def draw_slice(slice_: Mapping[Instruction, MapSet], element: Element | None, tile: Element | None) -> Picture:
    """The picture of a dictionary of sets, all of which start at the elements of one array.

    Raises :class:`~hlomap.errors.UnsupportedError` where they start at arrays of different shapes.
    """
    for value, maps in slice_.items():
        takes = "a mapping from Instruction to MapSet"
        expect(Instruction, value, "draw", takes, "as a key")
        expect(MapSet, maps, "draw", takes, "as a value")
    known = slice_ if isinstance(slice_, Slice) else None
    start = None if known is None else known.start
    values = {value: maps for value, maps in slice_.items() if value != start}
    starts = starts_of(values.values())
    if known is not None and (len(known.indices) == 1 or not starts):
        index = known.indices[0] if known.indices else ()
        array = array_of(printable(known.start.name, 60) + leaf_text(index), shape_at(known.start.shape, index))
    else:
        array = start_of("from" if start is None else printable(start.name, 60), starts, are_whole=known is not None)
    operands = [operand for value, maps in values.items() for operand in value_operands(value, maps)]
    box, name = read_box(array.bounds, operands, element, tile)
    relation: Relation = "reached" if known is None else known.relation
    verb = "depends on" if relation == "read" else "reaches"
    subject = f"{array.label} {verb} elements of" if start is not None else "maps to"
    title = f"{subject} {plural(len(values), 'value')}"
    output = Array(array.label, array.facts + (f", {name} is lit" if name else ""), array.bounds)
    return map_picture(build_map_scene(cut(title, 120), [], output, operands, box, relation=relation))
