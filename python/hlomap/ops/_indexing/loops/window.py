"""The window of a loop's leaf that the body writes with an update or a scatter."""

from __future__ import annotations

from typing import NamedTuple

from ...._core import Computation, Expr, Instruction
from ....types import ShapeIndex
from ..._attributes import GatherDimensions, gather_dimensions, scatter_dimensions
from .counter import CountedLoop, linear
from .scalar_values import Scalar, ScalarValues, Value

_MAX_FORWARDS = 1000
_CALLS = {"call", "conditional"}


class Window(NamedTuple):
    """The box that a dynamic-update-slice writes in iteration ``t``, in one dimension from ``start + step * t``."""

    dim: int
    start: int
    step: int
    size: int
    fixed: tuple[tuple[int, int, int], ...]
    """The other dimensions that the box does not fill: (dimension, first, last)."""


def written_window(loop: CountedLoop, leaf: ShapeIndex) -> Window | None:
    """The window of a leaf of which each iteration writes another one, where the body ends with such an update."""
    found = update_of(loop, leaf)
    return None if found is None else window_of(loop, *found)


def update_of(loop: CountedLoop, leaf: ShapeIndex) -> tuple[Instruction, tuple[Instruction, ...]] | None:
    """The update or scatter whose value a leaf has after an iteration, and the calls that lead to it."""
    at, index, callers = _origin(loop.body.root, leaf, ())
    return (at, callers) if at.opcode in ("dynamic-update-slice", "scatter") and not index else None


def known_branch(loop: CountedLoop) -> Instruction | None:
    """A conditional in the body of which the iteration alone decides the branch."""
    pending: list[tuple[Computation, tuple[Instruction, ...]]] = [(loop.body, ())]
    seen: set[int] = set()
    while pending:
        computation, callers = pending.pop()
        for at in computation.instructions:
            if at.opcode not in _CALLS or at.number in seen:
                continue
            seen.add(at.number)
            is_branch = at.opcode == "conditional"
            if is_branch and loop.values is not None and loop.values.of(at.operands[0], (), callers) is not None:
                return at
            pending += [(called, (*callers, at)) for called in at.called_computations]
    return None


def forwards(body: Computation, instruction: Instruction, callers: tuple[Instruction, ...]) -> ShapeIndex | None:
    """The leaf of the parameter of a loop's body that an instruction hands on as it is."""
    at, index, _ = _origin(instruction, (), callers)
    return index if at.opcode == "parameter" and at.computation == body else None


def _origin(
    at: Instruction, index: ShapeIndex, callers: tuple[Instruction, ...]
) -> tuple[Instruction, ShapeIndex, tuple[Instruction, ...]]:
    """The instruction whose value another one hands on, through tuples, calls and copies."""
    for _ in range(_MAX_FORWARDS):
        if at.opcode == "tuple" and index:
            at, index = at.operands[index[0]], index[1:]
        elif at.opcode == "get-tuple-element":
            at, index = at.operands[0], (int(at.attributes["index"]), *index)
        elif at.opcode in ("fusion", "call") and len(at.called_computations) == 1:
            at, callers = at.called_computations[0].root, (*callers, at)
        elif at.opcode == "parameter" and callers and callers[-1].opcode in ("fusion", "call"):
            at, callers = callers[-1].operands[at.parameter_number or 0], callers[:-1]
        elif at.opcode in ("copy", "bitcast", "reshape") and _keeps_sizes(at):
            at = at.operands[0]
        else:
            break
    return at, index, callers


def _keeps_sizes(at: Instruction) -> bool:
    before = at.operands[0].shape
    return before.is_tuple or (at.shape.is_array and before.is_array and before.dimensions == at.shape.dimensions)


def window_of(loop: CountedLoop, update: Instruction, callers: tuple[Instruction, ...]) -> Window | None:
    """The window of an update, if one offset is affine in the iteration and the others are constant."""
    found = accessed_window(update, loop.values, callers) if loop.values is not None else None
    if found is None:
        return None
    moving: tuple[int, int, int] | None = None
    fixed: list[tuple[int, int, int]] = []
    sizes = update.shape.dimensions
    for i, (offset, width) in enumerate(zip(*found, strict=True)):
        affine = linear(offset) if width < sizes[i] else (0, 0)
        if affine is None:
            return None
        start, step = affine
        if step and moving is not None:
            return None
        if step:
            moving = (i, start, step)
        elif width < sizes[i]:
            fixed.append((i, start, start + width - 1))
    return None if moving is None else Window(*moving, found[1][moving[0]], tuple(fixed))


# The windows that slices, updates, gathers and scatters access, with their offsets as expressions.


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
    return _one_index(at, gather_dimensions(at), values, callers)


def _scatter(at: Instruction, values: ScalarValues, callers: tuple[Instruction, ...]) -> Offsets | None:
    """A scatter of one window with one index."""
    return _one_index(at, scatter_dimensions(at)[1], values, callers) if len(at.operands) == 3 else None


def _one_index(
    at: Instruction, d: GatherDimensions, values: ScalarValues, callers: tuple[Instruction, ...]
) -> Offsets | None:
    indices = at.operands[d.indices_operand]
    if indices.shape.n_elements != 1 or len(d.start_components) != 1 or d.paired_dims:
        return None
    (p,) = d.start_components
    offset = _offset(values.of(indices, (), callers), d.last_start(p), clamps=d.clamps)
    if offset is None:
        return None
    return tuple(offset if i == p else Expr.constant(0) for i in range(len(d.operand_sizes))), d.window_sizes


_WINDOWS = {"dynamic-slice": _slice, "dynamic-update-slice": _update, "gather": _gather, "scatter": _scatter}


def accessed_window(at: Instruction, values: ScalarValues, callers: tuple[Instruction, ...]) -> Offsets | None:
    """The offset and the sizes of the window that an instruction accesses in its first operand.

    None for other operations and inconsistent ones, and where an offset has no value or may be out of bounds.
    """
    window = _WINDOWS.get(at.opcode)
    return None if window is None or at.inconsistency is not None else window(at, values, callers)
