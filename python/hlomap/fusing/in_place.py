"""Whether a kernel that updates a buffer in place may still need old elements of it, decided by maps.

A thread writes element d of the buffer after it has read what d needs.  That is safe unless another thread may have
written one of these elements before: d needs an element r of the same buffer, r is written too, and r is not d.
Elements that are not written stay as they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from .._core import Constraint, Expr, IndexingMap, Instruction, Variable
from ..analysis.queries import operand_maps, reached
from ..analysis.questions import Questions
from ..analysis.structure import elements_of, fused_by
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..ops import lookup
from ..ops._shapes import array_leaves

_FAR = 1 << 40
_MAX_CASES = 16


class Update(NamedTuple):
    """An operation at an output of a kernel that writes into the buffer of an operand of the kernel."""

    root: Instruction
    """The output."""
    operation: Instruction
    operand: int
    """The number of the operand of the kernel."""


def base(value: Instruction) -> Instruction:
    """The value that owns the memory of a bitcast."""
    while lookup(value.opcode).memory.moves_nothing and len(value.operands) == 1 and value.shape.is_array:
        if not value.operands[0].shape.is_array:
            break
        value = value.operands[0]
    return value


def updates(kernel: Instruction) -> Iterator[Update]:
    """The updates in place of a fusion or an operation."""
    fused = fused_by(kernel)
    if fused is None:
        for index, place in lookup(kernel.opcode).memory.in_place(kernel).items():
            if place.replaces and not index:
                yield Update(kernel, kernel, place.operand)
        return
    for root in elements_of(fused.root) or (fused.root,):
        operation = base(root)
        for index, place in lookup(operation.opcode).memory.in_place(operation).items():
            buffer = base(operation.operands[place.operand])
            if place.replaces and not index and buffer.parameter_number is not None:
                yield Update(root, operation, buffer.parameter_number)


def hazard(fused: Instruction, writer: str, reader: Instruction) -> str | None:
    """Why a fused kernel must not write in place what its producer ``reader`` reads, in words; None if it may.

    ``writer`` is the name of the consumer, whose updates in place the kernel does.
    """
    shared = {operand.name for operand in reader.operands}
    for update in updates(fused):
        buffer = fused.operands[update.operand]
        if buffer.name in shared:
            found = _conflict(fused, update)
            if found is not None:
                still = f"in place: {writer} writes {buffer.name} while {reader.name} still reads other elements of it"
                return f"{still}: {found}"
    return None


def _conflict(kernel: Instruction, update: Update) -> str | None:
    """The reads that conflict with the writes of an update, as text; None if there are none."""
    questions, operation = Questions(kernel.module), update.operation
    inside = operation.computation.instructions
    buffer = operation.computation.parameters[update.operand]
    updated = lookup(operation.opcode).memory.updated_operand
    new = updated(operation) if updated is not None else None
    if new is None:
        return "which elements it writes is not known"
    needs = operand_maps(questions, operation, ())
    written = needs.get(new, MapSet())
    if written.is_unknown:
        return written.reason
    place = IndexingMap.identity(operation.shape.dimensions)
    old = lookup(operation.opcode).memory.in_place(operation)[()].operand
    target = operation.operands[old]

    def reads(start: Instruction) -> MapSet:
        """The elements of the buffer that a value needs, by their index in the output of the operation."""
        found = reached(questions, start, array_leaves(start.shape), inside, ends=[buffer], ends_alone=True)[buffer]
        return found.then(_places(questions, target, buffer)) if target != buffer else found

    try:
        for k, operand in enumerate(operation.operands):
            # The old elements stay where they are.
            needed = MapSet() if k == old or k not in needs else needs[k].then(reads(operand))
            if (found := _other_written(needed, written, place)) is not None:
                return found
        root = operation.computation.root
        for other in elements_of(root) or ():
            if other != update.root and (found := _other_written(reads(other), written, None)) is not None:
                return found
    except HlomapError as error:
        return str(error)
    return None


def _places(questions: Questions, target: Instruction, buffer: Instruction) -> MapSet:
    """The map from elements of a buffer to those of the bitcast of it that is updated."""
    (m,) = reached(questions, target, [()], target.computation.instructions, ends=[buffer], ends_alone=True)[buffer]
    back = m.inverse()
    if not isinstance(back, IndexingMap):
        raise HlomapError(f"{target.name}: {back.reason}")
    return MapSet([back])


def _other_written(needed: MapSet, written: MapSet, place: IndexingMap | None) -> str | None:
    """A map to elements that are written by another thread than the one that needs them, as text; None if there is
    none.

    ``needed`` leads from what a thread computes to elements of the buffer, ``written`` from its elements to those of
    the update; ``place`` from what a thread computes to the element that it writes, None if that is not known.
    """
    if needed.is_unknown:
        return needed.reason
    for m in needed:
        n, rank = len(m.results), len(m.dims)
        dims = [Expr.dim(d) for d in range(rank)]
        both = IndexingMap(m.dims, [*m.results, *dims], ranges=m.ranges, runtime=m.runtime, constraints=m.constraints)
        for w in written:
            apart: list[list[Constraint]] = [[]]
            if place is not None:
                off = [(Expr.dim(d) - Expr.dim(n + d), *side) for d in range(n) for side in ((1, _FAR), (-_FAR, -1))]
                apart = [[Constraint(*one)] for one in off]
            for constraints in apart:
                pair = IndexingMap(
                    [*w.dims, *m.dims],
                    w.results,
                    ranges=w.ranges,
                    runtime=w.runtime,
                    constraints=[*w.constraints, *constraints],
                )
                if not all(map(_has_no_point, MapSet([both]).then(MapSet([pair])))):
                    conditions = "".join(f", {c.expr} in [{c.lower}, {c.upper}]" for c in m.constraints)
                    return f"{str(m).split(', domain:')[0]}{conditions}"
    return None


def _has_no_point(m: IndexingMap) -> bool:
    """Whether a map has no point for any values at run time; False if that is not known."""
    n = len(m.ranges)
    values = [Expr.range(n + k) for k in range(len(m.runtime))]
    ranges = [*m.ranges, *(Variable(f"v{k}", v.lower, v.upper) for k, v in enumerate(m.runtime))]
    given = [Constraint(c.expr.substitute(runtime=values), c.lower, c.upper) for c in m.constraints]
    alike = _clamped_alike(m.runtime, values)
    sets = (MapSet([IndexingMap(m.dims, [], ranges=ranges, constraints=[*given, *case])]) for case in alike)
    # A set has no element in common with itself only if it is empty.
    return all(one.overlap(one).value is False for one in sets)


def _clamped_alike(runtime: Sequence[Variable], values: Sequence[Expr]) -> list[list[Constraint]]:
    """What is known of values at run time that are one number, clamped to ranges of the same lower end: a list of
    cases, one of which holds."""
    cases: list[list[Constraint]] = [[]]
    first: dict[Hashable, int] = {}
    for k, v in sorted(enumerate(runtime), key=lambda one: -one[1].upper):
        if v.source is None or v.element or len(cases) >= _MAX_CASES:
            continue
        widest = first.setdefault((v.source, v.lower), k)
        if widest == k:
            continue
        a, b = values[widest], values[k]
        within = [Constraint(a, v.lower, v.upper), Constraint(a - b, 0, 0)]
        beyond = [Constraint(a, v.upper + 1, max(runtime[widest].upper, v.upper + 1)), Constraint(b, v.upper, v.upper)]
        cases = [[*case, *more] for case in cases for more in (within, beyond)]
    return cases
