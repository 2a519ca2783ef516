"""``hlomap.draw``: the picture of a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, get_args, get_origin

from .._core import Computation, IndexingMap, Instruction, Layout, Module, Shape, Sharding
from ..analysis.loops import Loop
from ..analysis.queries import output_to_input
from ..analysis.table import Table
from ..base.types import ShapeIndex, expect, expect_index, expect_numbers, wrong_type
from ..maps.map_set import MapSet
from ..memory.profile import Profile
from ..plans.plan import ShardPlan
from ..tiles.frontier import TileFrontier
from ..tiles.tiling import Tiling
from ..verification.verify import CheckResult
from ..words.diff import ModuleDiff
from ..words.explain import Explanation
from . import bytes_moved, loops, maps, shardings, tilings
from .picture import Picture, stacked

Drawable: TypeAlias = (
    MapSet
    | Mapping[Instruction, MapSet]
    | IndexingMap
    | Instruction
    | Computation
    | Explanation
    | Module
    | ModuleDiff
    | Table
    | Profile
    | Tiling
    | TileFrontier
    | Loop
    | CheckResult
    | Shape
    | Layout
    | Sharding
    | ShardPlan
    | Picture
    | tuple[Any, ...]
    | list[Any]
)
_KINDS = tuple(get_origin(kind) or kind for kind in get_args(Drawable))


def draw(
    value: Drawable,
    /,
    shape: Shape | None = None,
    *,
    element: Sequence[int] | None = None,
    tile: Sequence[int] | None = None,
    output: int | ShapeIndex = 0,
    n_devices: int | None = None,
) -> Picture:
    """Draw a picture of a value: ``str()`` of it is a form for the terminal, ``.svg`` the image, which notebooks show.

    Args:
        value: what to draw.

            - maps, an instruction or its explanation, a computation: the output on the left and the operands on the
              right; the reads of one output element are highlighted, and greys say how often each element is read; an
              explanation with ``depth`` also shows the values on the way back;
            - the tuple of :func:`hlomap.output_to_input` or :func:`hlomap.input_to_output`: the same, with an array for
              each set; a sequence of other values: their pictures below each other;
            - the dictionary of :func:`hlomap.backward_slice`, :func:`hlomap.forward_slice` or :func:`hlomap.indexing`:
              the same, with each of its values;
            - a :class:`~hlomap.verification.verify.CheckResult`: the same, with the elements of the witness;
            - a tiling: one tile of the output and its reads; a frontier of tiles: bytes moved, as bars;
            - a module, the rows of :func:`hlomap.analyze` or a :func:`hlomap.diff`: bytes moved, as bars;
            - a profile: the time of the longest instructions, and the part that their bytes and operations need;
            - a loop: the accesses of each iteration to every carried array;
            - a shape or a layout: positions in memory;
            - a sharding and the ``shape`` of an array: tiles and their devices;
            - a plan of :func:`hlomap.shard`: the bytes of its moves, as bars.
        shape: the shape of the array, for a sharding.
        element: the output element to highlight; by default one that reads something.  For a tiling an index in each
            parameter, which selects a tile.
        tile: the sizes of a tile of the output; the tile that contains the element is highlighted.  For a tiling a size
            for each parameter; by default a legal candidate that moves few bytes.
        output: the number or the shape index of the output, for an instruction or a computation.
        n_devices: the number of devices, for a replicated sharding.

    Returns:
        A picture.  Long axes and arrays of many dimensions are drawn in part, with a mark.

    Raises:
        ShapeError: the element, the tile or the output does not exist, or the sharding does not fit the shape.
        UnsupportedError: the sharding is not decided.
        TypeError: an argument is of the wrong kind, or does not apply to this value.

    >>> module = hm.parse('''ENTRY e {
    ...   p = f32[3,5] parameter(0)
    ...   ROOT t = f32[5,3] transpose(p), dimensions={1,0}
    ... }''')
    >>> print(draw(module["t"], element=(4, 1)))
    t = f32[5,3] transpose(p)
    output (i, j) reads p[j, i]
    <BLANKLINE>
    t                                  p
    f32[5,3], element (4, 1) is lit    f32[3,5], exact
    0 ······                           0 ░░░░░░░░░░
    1 ······                           1 ░░░░░░░░██
    2 ······                           2 ░░░░░░░░░░
    3 ······                             0       4
    4 ··██··
      0   2
    <BLANKLINE>
    ██ lit, and what it reads  ░░ read by others
    """
    takes = "a value of hlomap that has a picture, such as a map or an Instruction"
    expect(_KINDS, value, "draw", takes, 'use module["name"]')
    expect_index(output, "draw", "output")
    if isinstance(value, Sharding):
        _refuse("a sharding", element=element, tile=tile, output=output)
        if not isinstance(shape, Shape):
            raise wrong_type("draw", "a Shape after a sharding", shape, "read text with hm.Shape.parse")
        return shardings.draw_sharding(value, shape, n_devices)
    kind = type(value).__name__
    _refuse(f"a value of {kind}", shape=shape, n_devices=n_devices)
    for name, numbers in (("element", element), ("tile", tile)):
        if numbers is not None:
            expect_numbers(numbers, "draw", name)
    if isinstance(value, Instruction):
        return maps.draw_instruction(value, element, tile, output)
    if isinstance(value, Computation):
        return maps.draw_maps(output_to_input(value, output), element, tile)
    _refuse(f"a value of {kind}", output=output)
    if isinstance(value, Mapping):
        return maps.draw_slice(value, element, tile)
    if isinstance(value, (MapSet, IndexingMap)):
        return maps.draw_maps([value], element, tile)
    if isinstance(value, (tuple, list)):
        sets = [item for item in value if isinstance(item, (MapSet, IndexingMap))]
        if len(sets) == len(value) and len({len(bounds) for bounds in maps.starts_of(sets)}) <= 1:
            return maps.draw_maps(sets, element, tile)
        return stacked([draw(item, element=element, tile=tile) for item in value])
    if isinstance(value, Tiling):
        return tilings.draw_tiling(value, tile, element)
    _refuse(f"a value of {kind}", element=element, tile=tile)
    if isinstance(value, Picture):
        return value
    drawn: dict[type, Callable[[Any], Picture]] = {
        Explanation: maps.draw_explanation,
        Module: bytes_moved.draw_module,
        ModuleDiff: bytes_moved.draw_diff,
        Table: bytes_moved.draw_table,
        Profile: bytes_moved.draw_profile,
        ShardPlan: bytes_moved.draw_plan,
        Loop: loops.draw_loop,
        TileFrontier: tilings.draw_frontier,
        CheckResult: maps.draw_check,
    }
    return drawn[type(value)](value) if type(value) in drawn else value.draw()  # type: ignore[union-attr]


def _refuse(kind: str, **given: object) -> None:
    """Rejects arguments that do not apply to the value."""
    for name, value in given.items():
        if value is not None and not (name == "output" and (not value if isinstance(value, tuple) else value == 0)):
            raise wrong_type("draw", f"no `{name}` for {kind}", value)
