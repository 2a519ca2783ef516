"""The accesses of a loop's body whose offset is affine in the iterations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...._core import Computation, Expr, Instruction
from ....types import ShapeIndex
from .counter import CountedLoop, analyze_counts, initial_instruction
from .scalar_values import Scalar, ScalarValues, Value
from .window import accessed_window, forwards

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
