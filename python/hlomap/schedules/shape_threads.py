"""Threads that cover an array: in a grid of one's own, or as one of XLA's emitters would launch them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, overload

from .._core import IndexingMap, Layout, Shape, flat_thread_map
from ..base.answers import Unknown
from ..base.devices import Device, as_device
from ..base.types import expect, expect_items
from ..errors import ShapeError, UnsupportedError
from . import flat, reductions, transposes
from .flat import triton_block
from .launch import Launch, lacks_numbers, memory_order, memory_permutation, storage_bits

Part = Literal["output", "input", "shared_write", "shared_read"]
_PARTS = ("output", "input", "shared_write", "shared_read")
_NAME = "layouts.thread_map"


@overload
def thread_map(
    shape: Shape,
    /,
    *,
    threads: int | Sequence[int] | None = None,
    blocks: int | Sequence[int] | None = None,
    per_thread: int | None = None,
) -> IndexingMap: ...
@overload
def thread_map(
    shape: Shape,
    /,
    *,
    emitter: str | None,
    of: Part = "output",
    device: Device | str | None = None,
    unroll: int | None = None,
    permutation: Sequence[int] | None = None,
    reduce: Sequence[int] | None = None,
    tile: Sequence[int] | None = None,
    variant: str | None = None,
) -> IndexingMap | Unknown: ...
def thread_map(
    shape: Shape,
    /,
    *,
    threads: int | Sequence[int] | None = None,
    blocks: int | Sequence[int] | None = None,
    per_thread: int | None = None,
    emitter: str | None = None,
    of: Part = "output",
    device: Device | str | None = None,
    unroll: int | None = None,
    permutation: Sequence[int] | None = None,
    reduce: Sequence[int] | None = None,
    tile: Sequence[int] | None = None,
    variant: str | None = None,
) -> IndexingMap | Unknown:
    """The map from a thread to the elements of an array that it processes: in your own grid, or by an emitter of XLA.

    **A grid of your own.** ``threads`` (per block, 128 by default) and ``blocks`` are sizes along x, y and z; missing
    sizes are 1.  Without ``blocks``, the blocks along x cover the array once.  Each thread processes ``per_thread``
    neighbouring elements (1 by default): with n threads of v elements each, thread t has those at the positions
    ``(c * n + t) * v + j`` in memory, for every chunk c and every j below v.  The chunk is the first range.  Padding
    and positions beyond the end of the buffer belong to no thread, each element to exactly one.

    **An emitter of XLA**, named by ``emitter``: ``"loop"``, ``"concatenate"``, ``"dus"`` or ``"scatter"`` (``shape`` is
    that of an operand or of the updates; ``unroll`` elements per thread), ``"transpose"`` (of an operand, by
    ``permutation``; ``variant="packed"``), ``"row_reduction"`` or ``"column_reduction"`` (of an operand, over the
    dimensions ``reduce``; ``variant="multi"`` or ``"small"``), or ``"triton_block"`` (blocks of the sizes ``tile``; the
    thread is 0; ``variant="first_fastest"`` numbers the second last dimension first).  Defaults are the choices of XLA
    on ``device``, an :class:`~hlomap.Device` or the name of one, an H100 if it is None; the emitter itself need not be
    XLA's choice.  ``of`` selects elements of the ``"output"`` or of the ``"input"``, or places in shared memory that
    are written (``"shared_write"``) or read (``"shared_read"``).

    The answer is ``Unknown`` if the emitter has no such map, or cannot cover such an array.  Raises
    :class:`~hlomap.errors.ShapeError` for a shape that is not an array and for arguments that do not fit, ``TypeError``
    for arguments of both kinds, and ``ValueError`` for an unknown device.  The threads of a fusion are those of
    :func:`hlomap.thread_map`.

    >>> print(hm.layouts.thread_map(hm.Shape.parse("f32[10,30]"), threads=32, per_thread=2))
    (th_x, th_y, th_z, bl_x, bl_y, bl_z)[s0] -> ((th_x + bl_x * 32) floordiv 15,
      ((th_x + bl_x * 2) mod 15) * 2 + s0), domain: th_x in [0, 31], th_y in [0, 0], th_z in [0, 0], bl_x in [0, 4],
      bl_y in [0, 0], bl_z in [0, 0], s0 in [0, 1], th_x * 2 + bl_x * 64 + s0 in [0, 299]
    >>> rows = hm.layouts.thread_map(
    ...     hm.Shape.parse("s32[100,128]"), emitter="row_reduction", reduce=[1], of="input")
    >>> assert isinstance(rows, hm.IndexingMap)
    >>> print(rows.results, rows.dims[0].upper + 1)
    (Expr('d0 floordiv 32 + d3 * 8'), Expr('(d0 mod 32) * 2 + s0 * 64 + s1')) 256
    """
    expect(Shape, shape, _NAME, "a Shape", "of a fusion use hm.thread_map")
    expect_names(emitter, of, _NAME)
    grid: dict[str, Any] = {"threads": threads, "blocks": blocks, "per_thread": per_thread}
    choices: dict[str, Any] = {"unroll": unroll, "permutation": permutation, "reduce": reduce, "tile": tile}
    choices["variant"] = variant
    given, other = (choices, "needs emitter=") if emitter is None else (grid, "is for a grid of your own, not emitter=")
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"hm.{_NAME}: {name}= {other}")
    if emitter is None:
        return flat_thread_map(shape, **{name: value for name, value in grid.items() if value is not None})
    expect((str, type(None)), variant, _NAME, "a name or None as `variant`")
    expect((int, type(None)), unroll, _NAME, "an int or None as `unroll`")
    sizes = [_integers("permutation", permutation), _integers("reduce", reduce), _integers("tile", tile)]
    chosen = as_device(device, _NAME)
    if reason := lacks_numbers(chosen):
        return Unknown(reason)
    try:
        launch = launch_of_shape(shape, emitter, chosen, Options(unroll, sizes[0], sizes[1], sizes[2], variant))
    except UnsupportedError as error:
        return Unknown(str(error))
    if of in ("output", "input"):
        return launch.output if of == "output" or launch.input is None else launch.input
    m = launch.shared_write if of == "shared_write" else launch.shared_read
    return Unknown(f"the emitter {launch.emitter} uses no shared memory") if m is None else m


def expect_names(emitter: str | None, of: str, function: str) -> None:
    """Raises an error in the name of a function for another emitter, or another part of a launch."""
    expect((str, type(None)), emitter, function, "a name or None as `emitter`")
    if emitter is not None and emitter not in _EMITTERS:
        raise ShapeError(f"hm.{function}: expected one of {', '.join(_EMITTERS)} as `emitter`, found {emitter!r}")
    if of not in _PARTS:
        raise ShapeError(f"hm.{function}: expected one of {', '.join(_PARTS)} as `of`, found {of!r}")


def _integers(name: str, given: Sequence[int] | None) -> list[int] | None:
    return None if given is None else expect_items(int, given, _NAME, f"a sequence of int as `{name}`")


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
    make, variants = _EMITTERS[emitter]
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


_EMITTERS: dict[str, tuple[Callable[[Shape, Device, Options], Launch], tuple[str, ...]]] = {
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
