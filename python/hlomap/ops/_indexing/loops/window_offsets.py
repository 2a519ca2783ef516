"""The windows that slices, updates, gathers and scatters access, with their offsets as expressions."""

from __future__ import annotations

from ...._core import Expr, Instruction
from .scalar_values import Scalar, ScalarValues, Value

Offsets = tuple[tuple[Expr, ...], tuple[int, ...]]


def _offset(value: Value, limit: int, *, clamps: bool = True) -> Expr | None:
    """An offset that is known, or not clamped; one of an operation that does not clamp has to be in bounds."""
    if not isinstance(value, Scalar):
        return None
    if value.known is not None and clamps:
        return Expr.constant(min(max(value.known, 0), limit))
    return value.expr if value.lower >= 0 and value.upper <= limit else None


def _scalar_offsets(
    at: Instruction, first: int, window: tuple[int, ...], values: ScalarValues, callers: tuple[Instruction, ...]
) -> Offsets | None:
    sizes, operands = at.operands[0].shape.dimensions, at.operands[first:]
    if len(operands) != len(sizes):
        return None
    found = [_offset(values.of(o, (), callers), n - w) for o, n, w in zip(operands, sizes, window, strict=True)]
    known = tuple(e for e in found if e is not None)
    return (known, window) if len(known) == len(sizes) else None


def _slice(at: Instruction, values: ScalarValues, callers: tuple[Instruction, ...]) -> Offsets | None:
    return _scalar_offsets(at, 1, at.shape.dimensions, values, callers)


def _update(at: Instruction, values: ScalarValues, callers: tuple[Instruction, ...]) -> Offsets | None:
    return _scalar_offsets(at, 2, at.operands[1].shape.dimensions, values, callers)


def _gather(at: Instruction, values: ScalarValues, callers: tuple[Instruction, ...]) -> Offsets | None:
    """A gather of one window with one index."""
    return _one_index(at, at.attributes.get("start_index_map"), at.attributes.get("slice_sizes"), values, callers)


def _scatter(at: Instruction, values: ScalarValues, callers: tuple[Instruction, ...]) -> Offsets | None:
    """A scatter of one window with one index."""
    if len(at.operands) != 3 or at.attributes.get("input_batching_dims"):
        return None
    inserted, own = set(at.attributes.get("inserted_window_dims") or ()), at.attributes.get("update_window_dims") or ()
    update = iter([at.operands[2].shape.dimensions[i] for i in own])
    rank = at.operands[0].shape.rank
    window = [1 if i in inserted else next(update, 0) for i in range(rank)]
    dims = at.attributes.get("scatter_dims_to_operand_dims")
    return _one_index(at, dims, window, values, callers, clamps=False)


def _one_index(
    at: Instruction,
    dims: object,
    window: object,
    values: ScalarValues,
    callers: tuple[Instruction, ...],
    *,
    clamps: bool = True,
) -> Offsets | None:
    if at.operands[1].shape.n_elements != 1 or not isinstance(dims, list | tuple) or len(dims) != 1:
        return None
    sizes = at.operands[0].shape.dimensions
    if not isinstance(window, list | tuple) or len(window) != len(sizes):
        return None
    offset = _offset(values.of(at.operands[1], (), callers), sizes[dims[0]] - window[dims[0]], clamps=clamps)
    if offset is None:
        return None
    return tuple(offset if i == dims[0] else Expr.constant(0) for i in range(len(sizes))), tuple(window)


_WINDOWS = {"dynamic-slice": _slice, "dynamic-update-slice": _update, "gather": _gather, "scatter": _scatter}


def accessed_window(at: Instruction, values: ScalarValues, callers: tuple[Instruction, ...]) -> Offsets | None:
    """The offset and the sizes of the window that an instruction accesses in its first operand.

    None for other operations, and where an offset has no value or may be out of bounds.
    """
    window = _WINDOWS.get(at.opcode)
    return None if window is None else window(at, values, callers)
