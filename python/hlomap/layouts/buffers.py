"""Converts arrays to and from buffers with a layout, and indices to and from positions in the buffer.

Element i of an array is at ``linear_index(shape)(i)`` in ``pack(array, shape)``, and ``unpack(pack(array, shape),
shape)`` is the array.  Copying is compiled and releases the interpreter lock.
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias

from .._core import Layout, Shape, linear_index, logical_index, pack_into, spread_bits, squeeze_bits, unpack_into
from ..base.dtypes import element_type, is_float, is_integer, is_unsigned, numpy_dtype
from ..base.lazy import np, npt
from ..base.types import expect, is_index, wrong_type
from ..errors import DomainError, ShapeError, UnsupportedError

Array: TypeAlias = "npt.NDArray[Any]"

_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
_MAX_PADDED = 1 << 30  # bytes of a buffer that is mostly padding
_MIN_THREADED = 1 << 20  # bytes from which threads are faster


def pack(
    array: npt.ArrayLike, /, layout: Layout | Shape | str | None = None, *, fill: Any = 0, threads: int | None = None
) -> Array:
    """The buffer of an array: its elements at the positions that the layout gives them, ``fill`` in the padding.

    ``layout`` is a :class:`Layout`, a :class:`Shape` with one, or the text of either; None means row-major.  The result
    has one dimension and the array's dtype; if elements have another number of bits than in NumPy (``E(4)``), it
    is an array of bytes with the first element in the low bits.  ``threads`` limits the number of threads (default: the
    number of processors).

    Raises :class:`ShapeError` if the array does not fit the layout, or the layout is invalid.

    >>> import numpy as np
    >>> pack(np.arange(15).reshape(3, 5), "{1,0:T(2,2)}", fill=-1)
    array([ 0,  1,  5,  6,  2,  3,  7,  8,  4, -1,  9, -1, 10, 11, -1, -1, 12,
           13, -1, -1, 14, -1, -1, -1])
    >>> import ml_dtypes
    >>> [hex(byte) for byte in pack(np.array([1, 2, -1], ml_dtypes.int4), "{0:E(4)}")]
    ['0x21', '0xf']
    """
    _expect_threads(threads, "layouts.pack")
    values = np.asarray(array)
    shape = _shape_of(values, layout)
    dtype = values.dtype
    n = shape.buffer_elements
    if n * dtype.itemsize > max(_MAX_PADDED, 64 * values.nbytes):
        n_bytes = n * dtype.itemsize
        raise ShapeError(f"the buffer of {shape} has {n_bytes:,} bytes for {values.nbytes:,} bytes of elements")
    flat = np.ascontiguousarray(values).reshape(-1)
    buffer = np.empty(n, dtype)
    given = np.asarray(fill).reshape(-1)
    try:
        padding = given.astype(dtype)
    except (TypeError, ValueError):
        raise wrong_type("layouts.pack", f"an element of {dtype} as `fill`", fill) from None
    if padding.size != 1:
        raise ShapeError(f"fill: expected one element, found {padding.size}")
    if not (is_float(dtype) or dtype.kind == "c") and padding.astype(given.dtype) != given:
        raise ShapeError(f"fill: expected an element of {dtype}, found {given[0]}")
    pack_into(shape, _words(flat), _words(buffer), _words(padding), _n_threads(threads, buffer.nbytes))
    bits = shape.element_bits
    if bits == dtype.itemsize * 8:
        return buffer
    _check_element_bits(shape, bits)
    narrow = np.empty(shape.buffer_bytes, np.uint8)
    squeeze_bits(buffer.view(np.uint8), dtype.itemsize, bits, narrow)
    return narrow


def unpack(buffer: Any, /, shape: Shape | str, *, threads: int | None = None) -> Array:
    """The array of this shape in a buffer; padding is ignored.

    ``buffer`` is an array of the shape's type or of bytes, or an object with the buffer protocol.  Raises
    :class:`ShapeError` if its size differs from the shape's buffer.

    >>> unpack(bytes([0x21, 0x0F]), "s4[3]{0:E(4)}")
    array([1, 2, -1], dtype=int4)
    """
    if isinstance(shape, str):
        shape = Shape.parse(shape)
    expect(Shape, shape, "layouts.unpack", "a Shape or its text as `shape`")
    _expect_threads(threads, "layouts.unpack")
    n, bits = shape.buffer_elements, shape.element_bits
    dtype = numpy_dtype(shape.dtype)
    try:
        given = np.asarray(buffer) if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)
    except TypeError:
        raise wrong_type("layouts.unpack", "an array or an object with bytes as `buffer`", buffer) from None
    if given.dtype != dtype and given.dtype != np.uint8:
        raise ShapeError(f"expected a buffer of {dtype} or uint8 for {shape}, found {given.dtype}")
    given = np.ascontiguousarray(given).reshape(-1)
    if given.nbytes != shape.buffer_bytes:
        raise ShapeError(f"expected a buffer of {shape.buffer_bytes} bytes for {shape}, found {given.nbytes}")
    if bits != dtype.itemsize * 8:
        _check_element_bits(shape, bits)
        wide = np.empty(n, dtype)
        is_signed = is_integer(dtype) and not is_unsigned(dtype)
        spread_bits(given.view(np.uint8), bits, shape.value_bits, is_signed, dtype.itemsize, wide.view(np.uint8))
        given = wide
    elif given.dtype != dtype:
        given = np.frombuffer(given, dtype) if given.size else given.view(dtype)
    array = np.empty(shape.dimensions, dtype)
    unpack_into(shape, _words(given), _words(array.reshape(-1)), _n_threads(threads, array.nbytes))
    return array


def ravel_index(shape: Shape, /, index: npt.ArrayLike) -> Any:
    """The position in the buffer of one element, or of the n elements of an array ``[n, rank]``.

    Raises :class:`DomainError` for an index outside the shape.

    >>> shape = Shape.parse("f32[3,5]{1,0:T(2,2)}")
    >>> ravel_index(shape, (2, 3)), ravel_index(shape, [[0, 0], [2, 3]])
    (17, array([ 0, 17]))
    """
    expect(Shape, shape, "layouts.ravel_index", "a Shape", "read text with hm.Shape.parse(text)")
    sizes = np.array(shape.dimensions, np.int64)
    points, is_one = _points(index, shape.rank, "index", "layouts.ravel_index")
    outside = (points < 0) | (points >= sizes)
    if outside.any():
        row, d = np.argwhere(outside)[0]
        where = "" if is_one else f" of point {row}"
        raise DomainError(f"index {points[row, d]} in dimension {d}{where} lies outside {shape}")
    found = linear_index(shape).evaluate(points)[:, 0]
    return int(found[0]) if is_one else found


def unravel_index(shape: Shape, /, position: npt.ArrayLike) -> Any:
    """The index of the element at one position of the buffer as a tuple, or at n positions as an array ``[n, rank]``.

    Raises :class:`DomainError` for a position outside the buffer or in the padding.

    >>> shape = Shape.parse("f32[3,5]{1,0:T(2,2)}")
    >>> unravel_index(shape, 17), unravel_index(shape, [0, 17])
    ((2, 3), array([[0, 0],
           [2, 3]]))
    """
    expect(Shape, shape, "layouts.unravel_index", "a Shape", "read text with hm.Shape.parse(text)")
    values = np.asarray(position)
    is_one = values.ndim == 0
    if values.ndim > 1:
        raise ShapeError(
            f"hm.layouts.unravel_index: position: expected a number or a list of numbers, found shape {values.shape}"
        )
    points, _ = _points(values.reshape(-1, 1), 1, "position", "layouts.unravel_index")
    n = shape.buffer_elements
    m = logical_index(shape)
    outside = (points[:, 0] < 0) | (points[:, 0] >= n)
    if outside.any():
        raise DomainError(f"position {points[np.argmax(outside), 0]} lies outside the {n} positions of {shape}")
    held = m.in_domain(points)
    if not held.all():
        raise DomainError(f"position {points[np.argmin(held), 0]} of {shape} is padding")
    found = m.evaluate(points)
    return tuple(int(i) for i in found[0]) if is_one else found


def _points(values: npt.ArrayLike, width: int, what: str, function: str) -> tuple[Array, bool]:
    array = np.asarray(values)
    is_one = array.ndim < 2
    table = array.reshape(1, -1) if is_one else array
    if table.ndim != 2 or table.shape[1] != width:
        raise ShapeError(
            f"hm.{function}: {what}: expected {width} numbers for each point, found an array of shape {array.shape}"
        )
    if table.size and table.dtype.kind not in "iu":
        raise wrong_type(function, f"integers as `{what}`", values, f"of dtype {table.dtype}")
    return np.ascontiguousarray(table, np.int64), is_one


def _shape_of(array: Array, layout: Layout | Shape | str | None) -> Shape:
    takes = "a Layout, a Shape or the text of one as `layout`"
    expect((Layout, Shape, str, type(None)), layout, "layouts.pack", takes)
    if isinstance(layout, str):
        layout = Layout.parse(layout) if layout.lstrip().startswith("{") else Shape.parse(layout)
    if isinstance(layout, Shape):
        if layout.dimensions != array.shape:
            raise ShapeError(f"expected an array of sizes {layout.dimensions} for {layout}, found {array.shape}")
        if numpy_dtype(layout.dtype) != array.dtype:
            raise ShapeError(f"expected an array of {numpy_dtype(layout.dtype)} for {layout}, found {array.dtype}")
        return layout
    try:
        element = element_type(array.dtype)
    except KeyError:
        element = None
    if element is None or not array.dtype.isnative:
        raise UnsupportedError(f"pack: HLO has no element type for arrays of {array.dtype}")
    return Shape(element, array.shape, layout)


def _check_element_bits(shape: Shape, bits: int) -> None:
    if bits < shape.value_bits:
        raise ShapeError(f"element_size_in_bits: {bits} bits cannot hold an element of {shape}")


def _words(flat: Array) -> Array:
    """The bytes viewed as a dtype that the compiled functions, which only copy, accept."""
    return flat.view(_WORDS[flat.dtype.itemsize])


def _expect_threads(threads: object, function: str) -> None:
    if threads is not None and not is_index(threads):
        raise wrong_type(function, "an int or None as `threads`", threads)


def _n_threads(threads: int | None, n_bytes: int) -> int:
    if threads is not None:
        return min(max(1, threads), 1 << 16)  # the compiled module takes no more than there are processors
    return 1 if n_bytes < _MIN_THREADED else min(16, os.cpu_count() or 1)
