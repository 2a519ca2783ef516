"""Reductions of whole arrays with a computation on scalars.

A computation that is one associative operation becomes the NumPy reduction of that name; one that only selects among
its operands is applied pairwise; any other runs from the first element to the last, as XLA does on CPU.  The init
values come before the first element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from ..._core import Computation, Instruction
from ...base.dtypes import is_float, is_integer, is_packed
from ...base.lazy import np
from .._evaluation import Array, EvalContext, Value
from .numeric import cast, integer_limits, widened

Combine = Callable[[Sequence[Array]], Value]
"""From 2n arrays, n accumulated and n new, to n results."""

MONOIDS = {
    "add": "add",
    "multiply": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}


def monoid(computation: Computation) -> str | None:
    """The operation that a computation applies to its two parameters; None if it does anything else."""
    root = computation.root
    if root.opcode not in MONOIDS or len(computation.parameters) != 2:
        return None
    numbers = [operand.parameter_number for operand in root.operands]
    return root.opcode if sorted(-1 if k is None else k for k in numbers) == [0, 1] else None


def partial_results(instruction: Instruction) -> str | None:
    """Results of parts of the elements combine by the computation: ``"reduce"`` if it is one operation, ``"gather"`` if
    only the computation itself can combine them."""
    return "gather" if monoid(instruction.called_computations[-1]) is None else "reduce"


def partial_updates(instruction: Instruction) -> str | None:
    """Results of parts of the elements combine by the computation only if it is one operation."""
    return None if monoid(instruction.called_computations[-1]) is None else "reduce"


def partial_sums(instruction: Instruction) -> str | None:
    """Results of parts of the elements add up."""
    return "reduce"


def in_any_order(instruction: Instruction) -> bool:
    """Whether the order in which elements are combined makes no difference to integers."""
    return monoid(instruction.called_computations[0]) is not None


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
    """Reduce n arrays along axes; elements that ``valid`` does not mark are left out.

    Floats of up to ``rounded_bytes`` bytes are rounded after every step, so the order matters even in a sum.
    """
    context.count_elements(sum(x.size for x in arrays))
    name = monoid(computation) if len(arrays) == 1 else None
    dtype = arrays[0].dtype
    rounds = is_float(dtype) and dtype.itemsize <= rounded_bytes and name in ("add", "multiply")
    if name is not None and not rounds:
        return [_reduce_with_ufunc(name, arrays[0], initial[0], axes, valid)]
    kept = [axis for axis in range(arrays[0].ndim) if axis not in axes]

    def flatten_axes(x: Array) -> Array:
        ordered = np.transpose(x, [*kept, *axes])
        return ordered.reshape(*(x.shape[axis] for axis in kept), prod(x.shape[axis] for axis in axes))

    flat = [flatten_axes(x) for x in arrays]
    mask = None if valid is None else flatten_axes(np.broadcast_to(valid, arrays[0].shape))
    combine = partial(context.apply, computation)
    if all(instruction._has("selects") for instruction in computation.instructions):
        return _reduce_pairwise(flat, initial, combine, mask)
    return _reduce_in_order(flat, initial, combine, mask)


def identity(name: str, dtype: np.dtype[Any]) -> Any:
    """The identity element of an operation."""
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
    return np.array(integer_limits(dtype)[name == "minimum"], widened(dtype)).astype(dtype)[()]


def _reduce_with_ufunc(name: str, array: Array, initial: Array, axes: tuple[int, ...], valid: Array | None) -> Array:
    """The NumPy reduction; floats of 16 bits and less accumulate in f32."""
    dtype = array.dtype
    function = getattr(np, MONOIDS[name])
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
    if function.identity is None and 0 in (array.shape[axis] for axis in axes):
        sizes = [size for axis, size in enumerate(array.shape) if axis not in axes]
        return np.full(sizes, identity(name, array.dtype))
    return np.asarray(function.reduce(array, axis=axes))


def _reduce_in_order(
    arrays: Sequence[Array], initial: Sequence[Array], combine: Combine, valid: Array | None
) -> list[Array]:
    outer = arrays[0].shape[:-1]
    current = [np.broadcast_to(x, outer) for x in initial]
    for k in range(arrays[0].shape[-1]):
        after = as_list(combine([*current, *(x[..., k] for x in arrays)]))
        if valid is not None:
            after = [np.where(valid[..., k], b, a) for a, b in zip(current, after, strict=True)]
        current = [cast(b, a.dtype) for a, b in zip(current, after, strict=True)]
    return current


def _reduce_pairwise(
    arrays: Sequence[Array], initial: Sequence[Array], combine: Combine, valid: Array | None
) -> list[Array]:
    """Reduce the last axis of n arrays pairwise; elements that ``valid`` does not mark are left out."""
    outer = arrays[0].shape[:-1]
    current, mask = list(arrays), valid
    while current[0].shape[-1] > 1:
        even = current[0].shape[-1] // 2 * 2
        first, second = [x[..., 0:even:2] for x in current], [x[..., 1:even:2] for x in current]
        both = as_list(combine([*first, *second]))
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
    done = as_list(combine([*start, *last]))
    if mask is None:
        return done
    return [np.where(mask[..., 0], c, a).astype(a.dtype) for a, c in zip(start, done, strict=True)]


def as_list(value: Value) -> list[Array]:
    """The results of a computation, which is a tuple unless it has one result."""
    return list(value) if isinstance(value, tuple) else [value]


def pack_results(is_tuple: bool, arrays: Sequence[Array]) -> Value:
    """The value of an instruction with these results: a tuple if its shape is one."""
    return tuple(arrays) if is_tuple else arrays[0]
