"""Thread maps: the elements that each thread of a GPU grid processes, in the order of memory or as XLA schedules them.

:func:`thread_map` is the entry point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from .._core import Computation, IndexingMap, Instruction, Shape
from ..errors import ShapeError, UnsupportedError
from ..hardware import Device
from ..maps.flat_thread_map import flat_thread_map
from ..maps.map_set import MapSet
from ..types import expect, expect_items
from .launch import Launch, as_device
from .schedule import schedule as schedule_of, schedule_as_loop
from .shapes import SCHEDULES, Options, launch_of_shape

__all__ = ["thread_map"]

Part = Literal["output", "input", "shared_write", "shared_read"]
_PARTS = ("output", "input", "shared_write", "shared_read")


def thread_map(
    x: Shape | Instruction | Computation,
    /,
    schedule: str | None = None,
    *,
    threads: int | Sequence[int] | None = None,
    blocks: int | Sequence[int] | None = None,
    per_thread: int | None = None,
    of: Part = "output",
    operand: int = 0,
    output: int = 0,
    device: Device | str = "h100",
    unroll: int | None = None,
    permutation: Sequence[int] | None = None,
    reduce: Sequence[int] | None = None,
    tile: Sequence[int] | None = None,
    variant: str | None = None,
) -> IndexingMap:
    """The map from a thread of a grid to the elements that it processes.

    **A shape without a schedule**: in the order of memory.  ``threads`` (per block, 128 by default) and ``blocks`` are
    sizes along x, y and z; missing sizes are 1.  Without ``blocks`` there are as many blocks along x as cover the array
    once.  Each thread processes ``per_thread`` neighbouring elements.  A grid smaller than the array processes it in
    chunks; the chunk is the first range.  Padding and positions beyond the end of the buffer belong to no thread.

    **A shape with a schedule of XLA**: ``"loop"``, ``"concatenate"``, ``"dus"`` or ``"scatter"`` (of an operand or of
    the updates; ``unroll`` elements per thread), ``"transpose"`` (of an operand, by ``permutation``;
    ``variant="packed"``), ``"row_reduction"`` or ``"column_reduction"`` (of an operand, over the dimensions ``reduce``;
    ``variant="multi"`` or ``"small"``), or ``"triton_block"`` (blocks of the sizes ``tile``; the thread is 0;
    ``variant="first_fastest"`` numbers the second last dimension first).  What is left out is what XLA would choose on
    ``device``, an :class:`~hlomap.Device` or the name of one; whether XLA would take the schedule is not asked.

    **A fusion or another instruction**: as :func:`hlomap.schedule` finds it, for the output number ``output``.
    ``schedule="loop"`` asks for the loop that XLA would take without a better emitter.

    ``of`` is the side: the elements of the ``"output"``, of the ``"input"`` (operand number ``operand`` of the hero),
    or the places that are written to or read from shared memory.  Of a concatenation ``operand`` is also the one whose
    part of the output is meant.

    Raises :class:`ShapeError` for a shape that is not an array, for sizes or ``per_thread`` below 1, and for arguments
    that do not fit the schedule; :class:`UnsupportedError` where there is no such map, or it is not known.

    >>> import hlomap as hm
    >>> shape = hm.Shape.parse("f32[10,30]")
    >>> print(thread_map(shape, threads=32, per_thread=2))
    (th_x, th_y, th_z, bl_x, bl_y, bl_z)[s0] -> ((th_x + bl_x * 32) floordiv 15,
      ((th_x + bl_x * 2) mod 15) * 2 + s0), domain: th_x in [0, 31], th_y in [0, 0], th_z in [0, 0], bl_x in [0, 4],
      bl_y in [0, 0], bl_z in [0, 0], s0 in [0, 1], th_x * 2 + bl_x * 64 + s0 in [0, 299]
    >>> rows = thread_map(hm.Shape.parse("s32[100,128]"), "row_reduction", reduce=[1], of="input")
    >>> print(rows.results, rows.dims[0].upper + 1)
    (Expr('d0 floordiv 32 + d3 * 8'), Expr('(d0 mod 32) * 2 + s0 * 64 + s1')) 256
    """
    takes = "a Shape, or the Instruction of a fusion"
    expect((Shape, Instruction, Computation), x, "thread_map", takes, "read text with hm.Shape.parse(text)")
    for name, value in (("schedule", schedule), ("variant", variant)):
        expect((str, type(None)), value, "thread_map", f"a name as `{name}`")
    for name, number in (("unroll", unroll or 1), ("operand", operand), ("output", output)):
        expect(int, number, "thread_map", f"an int as `{name}`")
    sizes = [_integers("permutation", permutation), _integers("reduce", reduce), _integers("tile", tile)]
    options = Options(unroll, sizes[0], sizes[1], sizes[2], variant)
    has_grid = threads is not None or blocks is not None or per_thread is not None
    if of not in _PARTS:
        raise ShapeError(f"expected one of {', '.join(_PARTS)} as `of`, found {of!r}")
    if isinstance(x, Shape) and schedule is None:
        if options != Options() or of != "output":
            raise ShapeError("expected a `schedule` for `of` and for the arguments of schedules, found none")
        return flat_thread_map(
            x,
            threads=128 if threads is None else threads,
            blocks=blocks,
            per_thread=1 if per_thread is None else per_thread,
        )
    if has_grid:
        raise ShapeError("expected no `threads`, `blocks` or `per_thread`, which the schedule has")
    device = as_device(device, "thread_map")
    if isinstance(x, Shape):
        if operand or output:
            raise ShapeError(f"expected no `operand` or `output` of a shape, found {operand} and {output}")
        return _of_launch(launch_of_shape(x, schedule or "loop", device, options), of)
    if options != Options():
        raise ShapeError("expected no details of the schedule of an instruction, which has them")
    return _of_instruction(x, schedule, of, operand, output, device)


def _integers(name: str, given: Sequence[int] | None) -> list[int] | None:
    return None if given is None else expect_items(int, given, "thread_map", f"a sequence of int as `{name}`")


def _of_launch(launch: Launch, of: Part) -> IndexingMap:
    if of == "output":
        return launch.output
    if of == "input":
        return launch.output if launch.input is None else launch.input
    found = launch.shared_write if of == "shared_write" else launch.shared_read
    if found is None:
        raise UnsupportedError(f"the schedule {launch.emitter} uses no shared memory")
    return found


def _of_instruction(
    x: Instruction | Computation, schedule: str | None, of: Part, operand: int, output: int, device: Device
) -> IndexingMap:
    if schedule is not None and schedule not in SCHEDULES:
        raise ShapeError(f"expected one of {', '.join(SCHEDULES)} as `schedule`, found {schedule!r}")
    found = schedule_as_loop(x, device) if schedule == "loop" else schedule_of(x, device)
    if schedule is not None and not found.emitter.endswith(schedule):
        raise UnsupportedError(
            f"{x.name} does not fit the schedule {schedule}: XLA takes {found.emitter}, {found.test}"
        )
    if found.reason is not None:
        raise UnsupportedError(f"{x.name} has the schedule {found.emitter}: {found.reason}")
    if not 0 <= output < len(found.outputs):
        raise ShapeError(f"{x.name} has {len(found.outputs)} outputs, no output {output}")
    part = found.outputs[output]
    if not 0 <= operand < max(1, len(part.inputs)):
        raise ShapeError(f"the hero {part.hero.name} has {len(part.inputs)} operands, no operand {operand}")
    if of == "output":
        is_part = found.emitter == "concatenate" and len(part.output) == len(part.inputs)
        return part.output[operand] if is_part else _one(part.output, f"output {output} of {x.name}")
    if of == "input":
        if not part.inputs:
            raise UnsupportedError(f"the hero {part.hero.name} has no operands")
        return _one(part.inputs[operand], f"operand {operand} of {part.hero.name}")
    m = part.shared_write if of == "shared_write" else part.shared_read
    if m is None:
        raise UnsupportedError(f"the schedule {found.emitter} of {x.name} uses no shared memory here")
    return m


def _one(maps: MapSet, what: str) -> IndexingMap:
    """The only map of a set."""
    if maps.is_unknown or len(maps) != 1:
        found = maps.reason if maps.is_unknown else f"{len(maps)} maps; hm.schedule(...) has all of them"
        raise UnsupportedError(f"{what}: {found}")
    return maps[0]
