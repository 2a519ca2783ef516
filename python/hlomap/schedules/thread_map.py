"""Thread maps: the elements that each thread of a GPU grid processes, as XLA schedules them.

:func:`thread_map` is for a fusion, :func:`emitter_thread_map` for a shape and a schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

from .._core import Computation, IndexingMap, Instruction, Layout, Module, Shape
from ..base.answers import Unknown
from ..base.devices import Device, as_device
from ..base.text import plural
from ..base.types import expect, expect_ints, expect_items, subject_of
from ..errors import ShapeError, UnsupportedError
from ..maps.map_set import MapSet
from . import flat, reductions, transposes
from .flat import triton_block
from .launch import Launch, lacks_numbers, memory_order, memory_permutation, storage_bits
from .schedule import schedule as schedule_of, schedule_as_loop

Part = Literal["output", "input", "shared_write", "shared_read"]
_PARTS = ("output", "input", "shared_write", "shared_read")


def thread_map(
    subject: Instruction | Computation | Module,
    /,
    schedule: str | None = None,
    *,
    of: Part = "output",
    operand: int = 0,
    output: int = 0,
    device: Device | str = "h100",
) -> IndexingMap | Unknown:
    """The map from a thread of the kernel of a fusion to the elements that it processes, see :func:`hlomap.schedule`.

    ``schedule`` asks for another schedule: ``"loop"`` is the loop that XLA would use without a better emitter; for any
    other schedule that XLA does not use the answer is ``Unknown``.

    ``of`` selects elements: of the ``"output"`` (number ``output`` if there are several), of the ``"input"`` (operand
    number ``operand`` of the hero), or places in shared memory that are written (``"shared_write"``) or read
    (``"shared_read"``).  For a concatenation ``operand`` also selects a part of the output.

    The answer is ``Unknown`` if the schedule is unknown, has no such map, or has several.  Raises
    :class:`ShapeError` for an output or operand that does not exist, and ``ValueError`` for an unknown device.

    For your own grid see :func:`hlomap.flat_thread_map`, for a shape without a fusion
    :func:`hlomap.emitter_thread_map`.

    >>> module = hm.parse("ENTRY e { p = f32[64,64] parameter(0)  ROOT t = f32[64,64] transpose(p), dimensions={1,0} }")
    >>> m = thread_map(module["t"])
    >>> assert isinstance(m, hm.IndexingMap)
    >>> m.results
    (Expr('d0 floordiv 32 + (d3 mod 2) * 32 + s0 * 4'), Expr('d0 mod 32 + (d3 floordiv 2) * 32'))
    >>> thread_map(module["t"], "loop", of="shared_read")
    Unknown(reason='the schedule loop of t uses no shared memory')
    """
    fusion = subject_of(subject, "thread_map", 'use module["name"]; for a shape hm.flat_thread_map(shape)')
    _expect_emitter(schedule, of, "thread_map")
    expect_ints("thread_map", operand=operand, output=output)
    chosen = as_device(device, "thread_map")
    found = schedule_as_loop(fusion, chosen) if schedule == "loop" else schedule_of(fusion, chosen)
    if isinstance(found, Unknown):
        return found
    if schedule is not None and not found.emitter.endswith(schedule):
        return Unknown(f"{fusion.name} does not fit the schedule {schedule}: XLA takes {found.emitter}, {found.test}")
    if not 0 <= output < len(found.outputs):
        raise ShapeError(f"{fusion.name} has {len(found.outputs)} outputs, no output {output}")
    part = found.outputs[output]
    if not 0 <= operand < max(1, len(part.inputs)):
        raise ShapeError(f"the hero {part.hero.name} has {plural(len(part.inputs), 'operand')}, no operand {operand}")
    if of == "output":
        is_part = found.emitter == "concatenate" and len(part.output) == len(part.inputs)
        return part.output[operand] if is_part else _only(part.output, f"output {output} of {fusion.name}")
    if of == "input":
        if not part.inputs:
            return Unknown(f"the hero {part.hero.name} has no operands")
        return _only(part.inputs[operand], f"operand {operand} of {part.hero.name}")
    m = part.shared_write if of == "shared_write" else part.shared_read
    return Unknown(f"the schedule {found.emitter} of {fusion.name} uses no shared memory") if m is None else m


def emitter_thread_map(
    shape: Shape,
    /,
    schedule: str,
    *,
    of: Part = "output",
    device: Device | str = "h100",
    unroll: int | None = None,
    permutation: Sequence[int] | None = None,
    reduce: Sequence[int] | None = None,
    tile: Sequence[int] | None = None,
    variant: str | None = None,
) -> IndexingMap | Unknown:
    """The map from a thread to the elements that it processes if one of XLA's schedules covers an array.

    ``schedule`` is ``"loop"``, ``"concatenate"``, ``"dus"`` or ``"scatter"`` (``shape`` is that of an operand or of the
    updates; ``unroll`` elements per thread), ``"transpose"`` (of an operand, by ``permutation``; ``variant="packed"``),
    ``"row_reduction"`` or ``"column_reduction"`` (of an operand, over the dimensions ``reduce``; ``variant="multi"`` or
    ``"small"``), or ``"triton_block"`` (blocks of the sizes ``tile``; the thread is 0; ``variant="first_fastest"``
    numbers the second last dimension first).  Defaults are the choices of XLA on ``device``, an
    :class:`~hlomap.Device` or the name of one; the schedule itself need not be XLA's choice.

    ``of`` selects elements of the ``"output"`` or of the ``"input"``, or places in shared memory that are written
    (``"shared_write"``) or read (``"shared_read"``).

    The answer is ``Unknown`` if the schedule has no such map, or cannot cover such an array.  Raises
    :class:`ShapeError` for a shape that is not an array and for arguments that do not fit the schedule, and
    ``ValueError`` for an unknown device.

    >>> rows = emitter_thread_map(hm.Shape.parse("s32[100,128]"), "row_reduction", reduce=[1], of="input")
    >>> assert isinstance(rows, hm.IndexingMap)
    >>> print(rows.results, rows.dims[0].upper + 1)
    (Expr('d0 floordiv 32 + d3 * 8'), Expr('(d0 mod 32) * 2 + s0 * 64 + s1')) 256
    """
    expect(Shape, shape, "emitter_thread_map", "a Shape", "of a fusion use hm.thread_map")
    expect(str, schedule, "emitter_thread_map", "a name as `schedule`")
    _expect_emitter(schedule, of, "emitter_thread_map")
    expect((str, type(None)), variant, "emitter_thread_map", "a name or None as `variant`")
    expect((int, type(None)), unroll, "emitter_thread_map", "an int or None as `unroll`")
    sizes = [_integers("permutation", permutation), _integers("reduce", reduce), _integers("tile", tile)]
    chosen = as_device(device, "emitter_thread_map")
    if reason := lacks_numbers(chosen):
        return Unknown(reason)
    try:
        launch = launch_of_shape(shape, schedule, chosen, Options(unroll, sizes[0], sizes[1], sizes[2], variant))
    except UnsupportedError as error:
        return Unknown(str(error))
    if of in ("output", "input"):
        return launch.output if of == "output" or launch.input is None else launch.input
    m = launch.shared_write if of == "shared_write" else launch.shared_read
    return Unknown(f"the schedule {launch.emitter} uses no shared memory") if m is None else m


def _expect_emitter(emitter: str | None, of: str, function: str) -> None:
    expect((str, type(None)), emitter, function, "a name or None as `schedule`")
    if emitter is not None and emitter not in EMITTERS:
        raise ShapeError(f"hm.{function}: expected one of {', '.join(EMITTERS)} as `schedule`, found {emitter!r}")
    if of not in _PARTS:
        raise ShapeError(f"hm.{function}: expected one of {', '.join(_PARTS)} as `of`, found {of!r}")


def _integers(name: str, given: Sequence[int] | None) -> list[int] | None:
    return None if given is None else expect_items(int, given, "emitter_thread_map", f"a sequence of int as `{name}`")


def _only(maps: MapSet, what: str) -> IndexingMap | Unknown:
    if maps.is_unknown or len(maps) != 1:
        return Unknown(
            f"{what}: {maps.reason if maps.is_unknown else f'{len(maps)} maps; hm.schedule has all of them'}"
        )
    return maps[0]


# The launch of an emitter for a shape alone, as for a fusion of one instruction.


class Options(NamedTuple):
    """Choices that a shape does not determine; None is the choice of XLA."""

    unroll: int | None = None
    permutation: Sequence[int] | None = None
    reduce: Sequence[int] | None = None
    tile: Sequence[int] | None = None
    variant: str | None = None


def launch_of_shape(shape: Shape, emitter: str, device: Device, options: Options) -> Launch:
    """The launch of an emitter for the shape that it covers; for a transpose or reduction the operand's shape."""
    if not shape.is_array or shape.n_elements < 1:
        raise ShapeError(f"expected an array with elements, found {shape}")
    if shape.buffer_elements != shape.n_elements:
        raise UnsupportedError(f"padding in {shape}: XLA's GPU arrays have none")
    make, variants = EMITTERS[emitter]
    if options.variant not in (None, *variants):
        found = f"expected one of {', '.join(variants)} as `variant`" if variants else "expected no `variant`"
        raise ShapeError(f"{found} of {emitter}, found {options.variant!r}")
    return make(shape, device, options)


def _flat(make: Callable[[Shape, int, Device], Launch], shape: Shape, device: Device, options: Options) -> Launch:
    unroll = options.unroll
    if unroll is None:
        unroll = flat.unroll_factor(shape.n_elements, storage_bits(shape), device)
    return make(shape, unroll, device)


def _transpose(shape: Shape, device: Device, options: Options) -> Launch:
    given = options.permutation
    if given is None or sorted(given) != list(range(shape.rank)):
        raise ShapeError(f"expected a permutation of {shape.rank} dimensions as `permutation`, found {given}")
    target = Shape(shape.dtype, [shape.dimensions[d] for d in given])
    order = memory_order(shape)
    sizes = [shape.dimensions[d] for d in order]
    sizes, permutation = transposes.merged(sizes, memory_permutation(shape, target, given))
    bits = storage_bits(shape)
    packing = transposes.pack(sizes, permutation, bits)
    if isinstance(packing, transposes.Packing):
        return transposes.packed(sizes, permutation, (shape, target), packing)
    if options.variant == "packed":
        raise ShapeError(f"no packed transpose of {shape}: {packing}")
    if bits < 8 and permutation and permutation[-1] != len(sizes) - 1:
        raise UnsupportedError(f"no transpose of {shape}: {transposes.tiled_refusal(sizes, permutation, bits)}")
    return transposes.tiled(tuple(sizes), tuple(permutation), (shape, target), bits, device)


def _reduction(is_row: bool, shape: Shape, device: Device, options: Options) -> Launch:
    given = options.reduce
    if not given or not set(given) <= set(range(shape.rank)):
        raise ShapeError(f"expected dimensions of {shape} as `reduce`, found {given}")
    order = memory_order(shape)
    kept = [d for d in range(shape.rank) if d not in given]
    form = reductions.canonical([shape.dimensions[d] for d in order], [i for i, d in enumerate(order) if d in given])
    if form is None or form.is_row is not is_row:
        kind = "neither" if form is None else "a row reduction" if form.is_row else "a column reduction"
        raise ShapeError(f"the reduction of dimensions {list(given)} of {shape} in memory is {kind}")
    if reason := reductions.split(form):
        raise UnsupportedError(f"{shape}: {reason}")
    minor_to_major = [kept.index(d) for d in reversed(order) if d in kept]
    target = Shape(shape.dtype, [shape.dimensions[d] for d in kept]).with_layout(Layout(minor_to_major))
    bits = storage_bits(shape)
    widths = reductions.Widths(bits, bits, shape.dtype in ("c64", "c128"))
    if options.variant is None:
        return reductions.reduction(form, (shape, target), widths, device)
    if is_row:
        found = reductions.multi_row(form, (shape, target), widths, device)
    else:
        found = reductions.small_column(form, (shape, target), widths)
    if isinstance(found, str):
        raise ShapeError(f"{shape}: {found}")
    return found


def _triton(shape: Shape, device: Device, options: Options) -> Launch:
    if options.tile is None:
        raise ShapeError(f"expected the sizes of a tile of {shape} as `tile`")
    return triton_block(shape, options.tile, first_fastest=options.variant == "first_fastest")


EMITTERS: dict[str, tuple[Callable[[Shape, Device, Options], Launch], tuple[str, ...]]] = {
    "loop": (partial(_flat, flat.loop), ()),
    "concatenate": (partial(_flat, flat.loop), ()),
    "dus": (partial(_flat, flat.loop), ()),
    "scatter": (partial(_flat, flat.scatter), ()),
    "transpose": (_transpose, ("packed",)),
    "row_reduction": (partial(_reduction, True), ("multi",)),
    "column_reduction": (partial(_reduction, False), ("small",)),
    "triton_block": (_triton, ("first_fastest",)),
}
"""For each emitter the function that makes its launch, and its variants."""
