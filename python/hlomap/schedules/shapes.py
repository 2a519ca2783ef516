"""The launch of an emitter for a shape alone, as if a fusion of one instruction had it.

:func:`launch_of_shape` is the entry point: a table has one function for each schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from .._core import Layout, Shape
from ..devices import Device
from ..errors import ShapeError, UnsupportedError
from . import flat, reductions, transposes
from .flat import triton_block
from .launch import Launch, memory_order, storage_bits


class Options(NamedTuple):
    """Choices that a shape does not tell; None is the choice of XLA."""

    unroll: int | None = None
    permutation: Sequence[int] | None = None
    reduce: Sequence[int] | None = None
    tile: Sequence[int] | None = None
    variant: str | None = None


def launch_of_shape(shape: Shape, schedule: str, device: Device, options: Options) -> Launch:
    """The launch of a schedule for the shape that it covers: of a transpose or reduction, the operand's."""
    if not shape.is_array or shape.n_elements < 1:
        raise ShapeError(f"expected an array with elements, found {shape}")
    if shape.buffer_elements != shape.n_elements:
        raise UnsupportedError(f"padding in {shape}: XLA's GPU arrays have none")
    make, variants = SCHEDULES[schedule]
    if options.variant not in (None, *variants):
        found = f"expected one of {', '.join(variants)} as `variant`" if variants else "expected no `variant`"
        raise ShapeError(f"{found} of {schedule}, found {options.variant!r}")
    return make(shape, device, options)


def memory_permutation(source: Shape, target: Shape, permutation: Sequence[int]) -> list[int]:
    """The permutation of dimensions in memory order, for one of logical dimensions."""
    place = {d: i for i, d in enumerate(memory_order(source))}
    return [place[permutation[d]] for d in memory_order(target)]


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
    return transposes.tiled(sizes, permutation, (shape, target), bits, device)


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


SCHEDULES: dict[str, tuple[Callable[[Shape, Device, Options], Launch], tuple[str, ...]]] = {
    "loop": (partial(_flat, flat.loop), ()),
    "concatenate": (partial(_flat, flat.loop), ()),
    "dus": (partial(_flat, flat.loop), ()),
    "scatter": (partial(_flat, flat.scatter), ()),
    "transpose": (_transpose, ("packed",)),
    "row_reduction": (partial(_reduction, True), ("multi",)),
    "column_reduction": (partial(_reduction, False), ("small",)),
    "triton_block": (_triton, ("first_fastest",)),
}
"""For each schedule the function that makes it, and its variants."""
