"""Pictures of maps and of instructions: the reads of one element or tile of the output from every operand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from .._core import IndexingMap, Instruction, Shape
from ..analysis.queries import output_to_input
from ..analysis.slice import Slice
from ..base.text import cut, leaf_text, plural, printable
from ..base.types import ShapeIndex, expect
from ..errors import HlomapError, ShapeError, UnsupportedError
from ..maps.map_set import MapSet
from ..ops._shapes import shape_at
from ..verification.verify import CheckResult
from ..words.explain import Explanation, explain
from ..words.notes import output_name
from ..words.source import value_label
from ..words.trace import Step
from .map_svg import render_map_svg
from .map_text import render_map_text
from .picture import Picture
from .scenes import Array, Bounds, MapScene, Operand, Relation, build_map_scene, choose_element
from .style import wrap

Element = Sequence[int]
"""The index of an element, or the sizes of a tile."""


def map_picture(scene: MapScene) -> Picture:
    """The picture of a scene."""
    return Picture(scene.title, lambda: render_map_svg(scene), lambda: render_map_text(scene))


def array_of(label: str, shape: Shape, facts: str = "") -> Array:
    """An array of a shape; a token or an opaque value becomes one element."""
    return Array(label, facts or str(shape.without_layout()), tuple((0, n - 1) for n in shape.dimensions))


def read_box(
    bounds: Bounds, operands: Sequence[Operand], element: Element | None, tile: Element | None, hint: str = ""
) -> tuple[Bounds | None, str]:
    """The highlighted box of the output, and its name: an element, or the tile that contains it; ``hint`` ends
    errors."""
    at = choose_element(bounds, operands) if element is None else tuple(int(i) for i in element)
    if element is not None and at is not None:
        if len(at) != len(bounds):
            raise ShapeError(
                f"element {list(at)}: expected {plural(len(bounds), 'number')}, one for each dimension{hint}"
            )
        for i, (lo, hi) in zip(at, bounds, strict=True):
            if not lo <= i <= hi:
                raise ShapeError(f"element {list(at)}: expected numbers within {[list(b) for b in bounds]}{hint}")
    if tile is None or at is None:
        lit = None if at is None else [(i, i) for i in at]
        return lit, "" if at is None else f"element ({', '.join(map(str, at))})"
    sizes = tuple(int(n) for n in tile)
    if len(sizes) != len(bounds) or any(n < 1 for n in sizes):
        raise ShapeError(f"tile {list(sizes)}: expected {plural(len(bounds), 'size')} of at least 1{hint}")
    starts = [lo + (i - lo) // n * n for i, n, (lo, _) in zip(at, sizes, bounds, strict=True)]
    box = [(a, min(a + n - 1, hi)) for a, n, (_, hi) in zip(starts, sizes, bounds, strict=True)]
    return box, f"tile [{', '.join(f'{a}:{b + 1}' for a, b in box)}]"


def draw_maps(values: Sequence[MapSet | IndexingMap], element: Element | None, tile: Element | None) -> Picture:
    """The picture of maps that start at one array, with an array for each value, of the size that its maps reach.

    Raises :class:`~hlomap.errors.UnsupportedError` if they start at arrays of different ranks.
    """
    sets = [value if isinstance(value, MapSet) else MapSet([value]) for value in values]
    starts = starts_of(values)
    array = start_of("from", starts)
    labels = ["to"] if len(sets) == 1 else [f"to {k}" for k in range(len(sets))]
    operands = [
        operand
        for value, maps, label in zip(values, sets, labels, strict=True)
        for operand in _targets(maps, label, _status(maps) if isinstance(value, MapSet) else "")
    ]
    box, name = read_box(array.bounds, operands, element, tile) if starts else (None, "")
    if not starts and any(maps.is_unknown for maps in sets):
        box = []
    title = f"maps to {plural(len(sets), 'value')}" if len(sets) != 1 else _title(sets[0])
    return map_picture(build_map_scene(cut(title, 120), [], _lit(array, name), operands, box, relation="reached"))


def _lit(array: Array, name: str) -> Array:
    """The output, with the name of the highlighted element or tile."""
    return replace(array, facts=array.facts + (f", {name} is lit" if name else ""))


def starts_of(values: Iterable[MapSet | IndexingMap]) -> set[tuple[tuple[int, int], ...]]:
    """The bounds of the dims of maps."""
    sets = (value if isinstance(value, MapSet) else [value] for value in values)
    return {tuple((min(0, v.lower), v.upper) for v in m.dims) for maps in sets for m in maps}


def start_of(label: str, starts: Collection[tuple[tuple[int, int], ...]], *, are_whole: bool = False) -> Array:
    """The array at which maps with dims of these bounds start: each at the whole array, or else at a part of it."""
    if len({len(bounds) for bounds in starts}) > 1 or (are_whole and len(starts) > 1):
        raise UnsupportedError(
            "the maps start at several arrays: choose one with `output` or `operand`, as in output=0"
        )
    bounds = tuple((min(lo for lo, _ in b), max(hi for _, hi in b)) for b in zip(*starts, strict=True))
    return Array(label, _sizes(bounds) if starts else "sizes are not known", bounds)


def _title(maps: MapSet) -> str:
    if maps.is_unknown:
        return "unknown maps"
    title = " ∪ ".join(cut(str(m), 110) for m in list(maps)[:2]) or "no map"
    return title + (f" and {plural(len(maps) - 2, 'more map')}" if len(maps) > 2 else "")


def _status(maps: MapSet) -> str:
    """The status of maps, with the reason; always after the sizes of an array."""
    status = "unknown" if maps.is_unknown else "exact" if maps.exact else "over-approximate"
    if maps.exact and any(m.runtime for m in maps):
        status = "exact for the values at run time"
    reason = f": {printable(maps.reason, 150)}" if maps.reason and not maps.exact else ""
    return f", {status}{reason}" + ("; elements may be on other devices" if maps.devices is not None else "")


def _sizes(bounds: Bounds) -> str:
    return f"[{','.join(str(hi - lo + 1) for lo, hi in bounds)}]"


def _targets(maps: MapSet, label: str, status: str) -> Iterator[Operand]:
    """An array for each shape index, just large enough for the reached elements: sets do not record full sizes."""
    if maps.is_unknown:
        yield Operand(Array(label, f"any element may be reached{status}", ()), None)
    for shape_index in dict.fromkeys(m.shape_index for m in maps):
        bounds = _bounds_of_elements(maps._at(shape_index))
        yield _reached(Array(label + leaf_text(shape_index), _sizes(bounds) + status, bounds), maps, shape_index)


def _reached(array: Array, maps: MapSet, shape_index: ShapeIndex | None = None, *, is_counted: bool = True) -> Operand:
    """An array with the maps of a set that lead to it: those with its shape index, or all."""
    own = None if maps.is_unknown else tuple(maps if shape_index is None else maps._at(shape_index))
    return Operand(array, own, maps.exact and maps.devices is None, is_counted)


def _bounds_of_elements(maps: MapSet) -> tuple[tuple[int, int], ...]:
    """The bounds of the smallest array from 0 that contains every reached element."""
    boxes = []
    for m in maps:
        try:
            boxes.append([m.bounds(k) for k in range(len(m.results))])
        except (HlomapError, OverflowError):
            boxes.append([(0, 0)] * len(m.results))
    return tuple((min(0, *(lo for lo, _ in b)), max(hi for _, hi in b)) for b in zip(*boxes, strict=False))


def draw_instruction(
    instruction: Instruction, element: Element | None, tile: Element | None, output: int | ShapeIndex
) -> Picture:
    """The picture of the reads of an instruction or a fusion from each operand."""
    return map_picture(explanation_scene(explain(instruction, output=output), element, tile))


def draw_explanation(explanation: Explanation) -> Picture:
    """The picture of an explained instruction, with its element highlighted."""
    whole = explanation
    if explanation.element is not None:
        whole = explain(explanation.instruction, output=explanation.shape_index)
    return map_picture(explanation_scene(whole, explanation.element, None, explanation.steps))


def explanation_scene(
    found: Explanation, element: Element | None, tile: Element | None, steps: Sequence[Step] = ()
) -> MapScene:
    """The contents of the picture; ``found`` explains the whole output, and ``steps`` the way back from the element."""
    own = array_of(printable(found.instruction.name, 60) + leaf_text(found.shape_index), found.shape)
    operands = [array for read in found.reads for array in value_operands(read.instruction, read.maps)]
    output_is = f"; {output_name(found.instruction, found.shape_index)} is {found.shape}, `output` chooses another one"
    box, name = read_box(own.bounds, operands, element, tile, output_is if found.shape_index else "")
    boxes: list[Bounds | None] = [box] * len(operands)
    direct = {read.instruction for read in found.reads}
    # The ends of the way come first, since only some of many operands are drawn.
    for step in sorted(steps, key=lambda step: bool(step.instruction.operands)):
        if step.instruction not in direct:
            more = value_operands(step.instruction, step.maps, is_counted=False)
            operands += more
            boxes += [[]] * len(more)  # their maps start at the element
    facts = wrap(found.sentence, 110, 3)
    return build_map_scene(cut(found.title, 120), facts, _lit(own, name), operands, box, boxes)


def value_operands(value: Instruction, maps: MapSet, *, is_counted: bool = True) -> list[Operand]:
    """The arrays of a value that maps reach, with its name; one array if nothing is known."""
    found = []
    leaves = dict.fromkeys(m.shape_index for m in maps)
    for shape_index in leaves or [index for index, _ in value.shape.leaves()][:1]:
        shape = shape_at(value.shape, shape_index)
        facts = f"{shape.without_layout()}{_status(maps)}"
        array = array_of(value_label(value) + leaf_text(shape_index), shape, facts)
        found.append(_reached(array, maps, shape_index, is_counted=is_counted))
    return found


# Pictures of checks: the elements of a witness, on the maps that do not relate them.


def draw_check(result: CheckResult) -> Picture:
    """The reads of the witness's output element according to the maps, and the operand element that changes it."""
    instruction = result.instruction
    operand = instruction.operands[result.operand]
    shape, source = shape_at(instruction.shape, result.output), shape_at(operand.shape, result.shape_index)
    try:
        maps = list(output_to_input(instruction, result.output))[result.operand]
        known = None if maps.is_unknown else tuple(maps._at(result.shape_index))
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
    own = array_of(printable(instruction.name, 60) + leaf_text(result.output), shape)
    box, name = read_box(own.bounds, [read], output_element, None)
    title = f"{printable(instruction.name, 60)}, {result.direction}: {result.status}"
    return map_picture(build_map_scene(title, [printable(result, 120)], _lit(own, name), [read], box))


# Pictures of slices: for each value, the elements that one element needs, or that depend on one element.


def draw_slice(slice_: Mapping[Instruction, MapSet], element: Element | None, tile: Element | None) -> Picture:
    """The picture of a dictionary of sets that all start at the elements of one array.

    Raises :class:`~hlomap.errors.UnsupportedError` if they start at arrays of different shapes.
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
    return map_picture(build_map_scene(cut(title, 120), [], _lit(array, name), operands, box, relation=relation))
