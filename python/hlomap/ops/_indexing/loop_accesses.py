"""The accesses of a loop's body whose offset is affine in the iterations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..._core import Computation, Expr, Instruction
from ...types import ShapeIndex
from .loop_counter import CountedLoop, analyze_counts, initial_instruction
from .loop_window import forwards
from .scalar_values import Scalar, ScalarValues, Value

_MAX_NESTED = 64


@dataclass(frozen=True, slots=True)
class Access:
    """A slice, update, gather or scatter whose offset is affine in the iterations of the loops around it.

    ``leaf`` is the carried array that is accessed, None for a value that the body computes.  ``offset`` has an
    expression for each dimension, where ``d0`` is the iteration of this loop, ``d1`` that of the loop around it, and so
    on: ``loops`` lists them.  ``sizes`` are those of the window.  ``disjoint`` says whether iterations of this loop
    access different elements; where they do not, ``witness`` has two iterations that share some; None is not known.
    """

    instruction: Instruction
    leaf: ShapeIndex | None
    offset: tuple[Expr, ...]
    sizes: tuple[int, ...]
    disjoint: bool | None
    witness: tuple[int, int] | None
    loops: tuple[Instruction, ...]


def accesses(loop: CountedLoop) -> Iterator[Access]:
    """The accesses in the body, fusions, calls and branches in it included, in text order."""
    if loop.trip_count is None:
        return
    values, loops = _values_in_nest(loop, _MAX_NESTED)
    pending: list[tuple[Computation, tuple[Instruction, ...]]] = [(loop.body, ())]
    while pending:
        computation, callers = pending.pop()
        for at in computation.instructions:
            if at.opcode in ("fusion", "call", "conditional") and len(callers) < _MAX_NESTED:
                pending += [(called, (*callers, at)) for called in at.called_computations]
            window = _WINDOWS.get(at.opcode)
            found = window(at, values, callers) if window is not None else None
            if found is not None:
                offset, sizes = found
                leaf = forwards(loop.body, at.operands[0], callers)
                yield Access(at, leaf, offset, sizes, *_disjoint(offset, sizes, loop.trip_count), loops)


def _values_in_nest(loop: CountedLoop, depth: int) -> tuple[ScalarValues, tuple[Instruction, ...]]:
    """The scalars of the body over the iterations of the loop, as d0, and of those around it; and these loops."""
    around = enclosing_loop(loop.instruction) if depth else None
    outer: ScalarValues | None = None
    loops: tuple[Instruction, ...] = ()
    if around is not None and around.trip_count is not None:
        outer, loops = _values_in_nest(around, depth - 1)
    shifted = [Expr.dim(k + 1) for k in range(len(loops))]

    def initial(leaf: ShapeIndex) -> Value:
        start = initial_instruction(loop.instruction, leaf)
        found = outer.of(start) if outer is not None and start is not None else None
        return (
            Scalar(found.expr.substitute(dims=shifted), found.lower, found.upper) if isinstance(found, Scalar) else None
        )

    last = max((loop.trip_count or 1) - 1, 0)

    def parameter(leaf: ShapeIndex) -> Value:
        if (count := loop.inductions.get(leaf)) is not None:
            ends = (count.start, count.start + count.step * last)
            return Scalar(Expr.dim(0) * count.step + count.start, min(ends), max(ends))
        if leaf not in loop.invariants:
            return None
        known = loop.invariants[leaf]
        return initial(leaf) if known is None else Scalar.constant(known)

    return ScalarValues(loop.body, parameter), (loop.instruction, *loops)


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


Offsets = tuple[tuple[Expr, ...], tuple[int, ...]]


def _offset(value: Value, limit: int) -> Expr | None:
    """An affine offset that is not clamped."""
    if not isinstance(value, Scalar):
        return None
    if value.known is not None:
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
    return _one_index(at, at.attributes.get("scatter_dims_to_operand_dims"), window, values, callers)


def _one_index(
    at: Instruction, dims: object, window: object, values: ScalarValues, callers: tuple[Instruction, ...]
) -> Offsets | None:
    if at.operands[1].shape.n_elements != 1 or not isinstance(dims, list | tuple) or len(dims) != 1:
        return None
    sizes = at.operands[0].shape.dimensions
    if not isinstance(window, list | tuple) or len(window) != len(sizes):
        return None
    offset = _offset(values.of(at.operands[1], (), callers), sizes[dims[0]] - window[dims[0]])
    if offset is None:
        return None
    return tuple(offset if i == dims[0] else Expr.constant(0) for i in range(len(sizes))), tuple(window)


_WINDOWS = {"dynamic-slice": _slice, "dynamic-update-slice": _update, "gather": _gather, "scatter": _scatter}


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
