"""The windows of a loop's leaves that the body accesses: the one that it writes, and those with affine offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...._core import Computation, Expr, Instruction
from ....base.types import ShapeIndex
from ..._attributes import GatherDimensions, gather_dimensions, scatter_dimensions
from .counter import MAX_FORWARDS, CountedLoop, analyze_counts, initial_instruction, linear, values_of_body
from .scalar_values import ALL, Part, Scalar, ScalarValues, Value, handed_on

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
    """The window of a leaf of which each iteration writes another one, where the body ends with such an update.

    One offset is affine in the iteration, and the others are constant.
    """
    update, index, callers, _ = _origin(loop.body, loop.body.root, leaf, ())
    if update.opcode not in ("dynamic-update-slice", "scatter") or index or loop.values is None:
        return None
    found = accessed_window(update, loop.values, callers)
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
    at, index, *_ = _origin(body, instruction, (), callers)
    return index if at.opcode == "parameter" and at.computation == body else None


def _origin(body: Computation, at: Instruction, index: ShapeIndex, callers: tuple[Instruction, ...]) -> Part:
    """The instruction whose value another one in a loop's body hands on."""
    part: Part = at, index, callers, ALL
    for _ in range(MAX_FORWARDS):
        before = handed_on(part, body)
        if before is None:
            break
        part = before
    return part


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


def _one_index(
    at: Instruction, d: GatherDimensions, values: ScalarValues, callers: tuple[Instruction, ...]
) -> Offsets | None:
    """A gather or scatter of one window with one index."""
    indices = at.operands[d.indices_operand]
    if indices.shape.n_elements != 1 or len(d.start_components) != 1 or d.paired_dims:
        return None
    (p,) = d.start_components
    offset = _offset(values.of(indices, (), callers), d.last_start(p), clamps=d.clamps)
    if offset is None:
        return None
    return tuple(offset if i == p else Expr.constant(0) for i in range(len(d.operand_sizes))), d.window_sizes


def accessed_window(at: Instruction, values: ScalarValues, callers: tuple[Instruction, ...]) -> Offsets | None:
    """The offset and the sizes of the window that an instruction accesses in its first operand.

    None for other operations and inconsistent ones, and where an offset has no value or may be out of bounds.
    """
    if at.opcode not in ("dynamic-slice", "dynamic-update-slice", "gather", "scatter") or at.inconsistency is not None:
        return None
    if at.opcode == "dynamic-slice":
        return _scalar_offsets(at, 1, at.shape.dimensions, values, callers)
    if at.opcode == "dynamic-update-slice":
        return _scalar_offsets(at, 2, at.operands[1].shape.dimensions, values, callers)
    if at.opcode == "gather":
        return _one_index(at, gather_dimensions(at), values, callers)
    return _one_index(at, scatter_dimensions(at)[1], values, callers) if len(at.operands) == 3 else None


# The accesses of a loop's body whose offset is affine in the iterations.


_MAX_NESTED = 64


class Access(NamedTuple):
    """A slice, update, gather or scatter whose offset is affine in the iterations of the loops around it.

    ``leaf`` is the carried array that is accessed, None for a value that the body computes.  ``offset`` has an
    expression for each dimension, where ``d0`` is the iteration of this loop, ``d1`` that of the loop around it, and so
    on: ``loops`` lists them.  ``sizes`` are those of the window.  ``disjoint`` says whether iterations of this loop
    access different elements; where they do not, ``witness`` has two iterations that share some; None is not known.
    """

    instruction: Instruction
    shape_index: ShapeIndex | None
    offset: tuple[Expr, ...]
    sizes: tuple[int, ...]
    disjoint: bool | None
    witness: tuple[int, int] | None
    loops: tuple[Instruction, ...]


def accesses(loop: CountedLoop) -> Iterator[Access]:
    """The accesses in the body, fusions, calls and branches in it included, in text order."""
    if loop.trip_count is None:
        return
    values, loops = values_in_nest(loop)
    pending: list[tuple[Computation, tuple[Instruction, ...]]] = [(loop.body, ())]
    while pending:
        computation, callers = pending.pop()
        for at in computation.instructions:
            if at.opcode in ("fusion", "call", "conditional") and len(callers) < _MAX_NESTED:
                pending += [(called, (*callers, at)) for called in at.called_computations]
            found = accessed_window(at, values, callers)
            if found is not None:
                offset, sizes = found
                leaf = forwards(loop.body, at.operands[0], callers)
                yield Access(at, leaf, offset, sizes, *_disjoint(offset, sizes, loop.trip_count), loops)


def values_in_nest(loop: CountedLoop, depth: int = _MAX_NESTED) -> tuple[ScalarValues, tuple[Instruction, ...]]:
    """The scalars of the body over the iterations of the loop, as d0, and of those around it; and these loops."""
    around = enclosing_loop(loop.instruction) if depth else None
    outer: ScalarValues | None = None
    loops: tuple[Instruction, ...] = ()
    if around is not None and around.trip_count is not None:
        outer, loops = values_in_nest(around, depth - 1)
    shifted = [Expr.dim(k + 1) for k in range(len(loops))]

    def invariant(leaf: ShapeIndex) -> Value:
        if leaf not in loop.invariants:
            return None
        if (known := loop.invariants[leaf]) is not None:
            return Scalar.constant(known)
        start = initial_instruction(loop.instruction, leaf)
        found = outer.of(start) if outer is not None and start is not None else None
        if not isinstance(found, Scalar):
            return None
        return Scalar(found.expr.substitute(dims=shifted), found.lower, found.upper)

    return values_of_body(loop, invariant), (loop.instruction, *loops)


def enclosing_loop(instruction: Instruction) -> CountedLoop | None:
    """The loop in whose body an instruction is, where its computation is called in one place."""
    computation = instruction.computation
    for _ in range(_MAX_NESTED):
        callers = computation.callers
        if len(callers) != 1:
            return None
        if callers[0].opcode == "while":
            condition, body = callers[0].attributes["condition"], callers[0].attributes["body"]
            return analyze_counts(callers[0], condition, body) if body == computation else None
        computation = callers[0].computation
    return None


def _disjoint(offset: tuple[Expr, ...], sizes: tuple[int, ...], n: int) -> tuple[bool | None, tuple[int, int] | None]:
    """Whether two iterations never share an element; else two that do; None where an offset is not affine."""
    if n <= 1 or 0 in sizes:
        return True, None
    affine = True
    for expr, size in zip(offset, sizes, strict=True):
        first = expr.substitute(dims=[0])
        step = expr.substitute(dims=[1]) - first
        if step.kind != "constant" or step.value is None or expr != first + Expr.dim(0) * step.value:
            affine = False
        elif abs(step.value) >= size:
            return True, None
    return (False, (0, 1)) if affine else (None, None)
