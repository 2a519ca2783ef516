"""Folding whole arrays with a computation on scalars.

Read :func:`folded` first.  A computation that is one associative operation is NumPy's reduction of that name; one that
only chooses between values is applied to neighbours in pairs; any other goes from the first element to the last, as
XLA does on CPU.  Places can be left out by a mask.  The initial values stand before the first element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._core import Computation
from ...dtypes import is_float, is_integer, is_packed, is_unsigned
from .._evaluation import Array, EvalContext, Value
from .numeric import cast, widened, width_of

Combine = Callable[[Sequence[Array]], Value]
"""Of 2n arrays, the n so far and the n to come, the n results."""

MONOIDS = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
# What gives one of its operands, whatever their values: folding with these does not depend on the order.
SELECTING = {
    *("parameter", "tuple", "get-tuple-element", "constant", "compare", "select", "and", "or", "not", "xor"),
    *("maximum", "minimum"),
}


def monoid(computation: Computation) -> str | None:
    """The operation that a computation applies to its two parameters, None where it is more than that."""
    root = computation.root
    if root.opcode not in MONOIDS or len(computation.parameters) != 2:
        return None
    numbers = [operand.parameter_number for operand in root.operands]
    return root.opcode if sorted(-1 if k is None else k for k in numbers) == [0, 1] else None


def reduce_axes(
    arrays: Sequence[Array],
    initial: Sequence[Array],
    axes: tuple[int, ...],
    computation: Computation,
    context: EvalContext,
    valid: Array | None = None,
    *,
    rounded_bytes: int = 1,
) -> list[Array]:
    """Fold those axes of n arrays; ``valid`` marks the places that count.

    Floats of up to ``rounded_bytes`` round after every step, so for them the order matters even in a sum.
    """
    name = monoid(computation) if len(arrays) == 1 else None
    dtype = arrays[0].dtype
    rounds = is_float(dtype) and dtype.itemsize <= rounded_bytes and name in ("add", "multiply")
    if name is not None and not rounds:
        return [_reduce_with_ufunc(name, arrays[0], initial[0], axes, valid)]
    kept = [axis for axis in range(arrays[0].ndim) if axis not in axes]

    def in_a_row(x: Array) -> Array:
        ordered = np.transpose(x, [*kept, *axes])
        return ordered.reshape(*(x.shape[axis] for axis in kept), -1 if x.size else _product(x.shape, axes))

    flat = [in_a_row(x) for x in arrays]
    mask = None if valid is None else in_a_row(np.broadcast_to(valid, arrays[0].shape))

    def combine(both: Sequence[Array]) -> Value:
        return context.apply(computation, both)

    if all(instruction.opcode in SELECTING for instruction in computation.instructions):
        return reduce_pairwise(flat, initial, combine, mask)
    return _reduce_in_order(flat, initial, combine, mask)


def _product(sizes: Sequence[int], axes: Sequence[int]) -> int:
    return int(np.prod([sizes[axis] for axis in axes], dtype=np.int64))


def identity(name: str, dtype: np.dtype[Any]) -> Any:
    """The value that changes nothing."""
    if name in ("add", "or", "xor"):
        return dtype.type(0)
    if name == "multiply":
        return dtype.type(1)
    if dtype == np.bool_:
        return name != "maximum"
    if is_float(dtype):
        with np.errstate(all="ignore"):
            end = np.array(-np.inf if name == "maximum" else np.inf, np.float32).astype(dtype)
        if np.isinf(end.astype(np.float32)):
            return end[()]
        import ml_dtypes

        limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        return limits.min if name == "maximum" else limits.max
    if name == "and":
        return np.array(-1, np.int64).astype(dtype)[()]
    width = width_of(dtype)
    low, high = (0, 2**width - 1) if is_unsigned(dtype) else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    return np.array(low if name == "maximum" else high, widened(dtype)).astype(dtype)[()]


def _reduce_with_ufunc(name: str, array: Array, initial: Array, axes: tuple[int, ...], valid: Array | None) -> Array:
    """NumPy's reduction; floats of 16 bits and less add up in f32."""
    dtype = array.dtype
    function = MONOIDS[name]
    if dtype == np.bool_ and name in ("add", "multiply"):
        function = np.logical_or if name == "add" else np.logical_and
    if is_packed(dtype) or (dtype == np.float16 and name in ("add", "multiply")):
        array = array.astype(np.float32 if is_float(dtype) else widened(dtype))
        initial = initial.astype(array.dtype)
    if valid is not None:
        neutral = identity(name, array.dtype if is_float(dtype) or not is_packed(dtype) else dtype)
        array = np.where(valid, array, np.asarray(neutral).astype(array.dtype))
    if name in ("add", "multiply") and is_integer(array.dtype):
        total = function.reduce(array, axis=axes, dtype=array.dtype)
    else:
        total = _reduced(function, array, axes, name)
    return cast(np.asarray(function(initial, total)), dtype)


def _reduced(function: Any, array: Array, axes: tuple[int, ...], name: str) -> Array:
    if function.identity is None and not _product(array.shape, axes):
        sizes = [size for axis, size in enumerate(array.shape) if axis not in axes]
        return np.full(sizes, identity(name, array.dtype))
    return np.asarray(function.reduce(array, axis=axes))


def _reduce_in_order(
    arrays: Sequence[Array], initial: Sequence[Array], combine: Combine, valid: Array | None
) -> list[Array]:
    outer = arrays[0].shape[:-1]
    current = [np.broadcast_to(x, outer) for x in initial]
    for k in range(arrays[0].shape[-1]):
        after = as_list(combine([*current, *(x[..., k] for x in arrays)]), len(current))
        if valid is not None:
            after = [np.where(valid[..., k], b, a) for a, b in zip(current, after, strict=True)]
        current = [cast(b, a.dtype) for a, b in zip(current, after, strict=True)]
    return current


def reduce_pairwise(
    arrays: Sequence[Array], initial: Sequence[Array], combine: Combine, valid: Array | None = None
) -> list[Array]:
    """Fold the last axis of n arrays in pairs; ``valid`` marks the places that count."""
    outer = arrays[0].shape[:-1]
    current = list(arrays)
    mask = valid
    while current[0].shape[-1] > 1:
        even = current[0].shape[-1] // 2 * 2
        first, second = [x[..., 0:even:2] for x in current], [x[..., 1:even:2] for x in current]
        both = as_list(combine([*first, *second]), len(current))
        if mask is not None:
            in_first, in_second = mask[..., 0:even:2], mask[..., 1:even:2]
            both = [
                np.where(in_first & in_second, c, np.where(in_first, a, b)).astype(a.dtype)
                for a, b, c in zip(first, second, both, strict=True)
            ]
            mask = np.concatenate([in_first | in_second, mask[..., even:]], axis=-1)
        current = [np.concatenate([p, x[..., even:]], axis=-1) for p, x in zip(both, current, strict=True)]
    start = [np.broadcast_to(x, outer) for x in initial]
    if current[0].shape[-1] == 0:
        return start
    last = [x[..., 0] for x in current]
    done = as_list(combine([*start, *last]), len(current))
    if mask is None:
        return done
    return [np.where(mask[..., 0], c, a).astype(a.dtype) for a, c in zip(start, done, strict=True)]


def as_list(value: Value, n: int) -> list[Array]:
    """The n results of a computation, which is a tuple unless n is 1."""
    return list(value) if isinstance(value, tuple) else [value]


def pack_results(is_tuple: bool, arrays: Sequence[Array]) -> Value:
    """A tuple where the instruction has one."""
    return tuple(arrays) if is_tuple else arrays[0]
