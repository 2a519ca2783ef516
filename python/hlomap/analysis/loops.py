"""Behaviour of a loop over its iterations: how often it runs, and what becomes of every array that it carries.

:func:`loop` is the entry point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from .._core import Computation, Expr, IndexingMap, Instruction, Shape, Variable, _CountedLoop, _Nest
from ..base.answers import ReadOnly, Unknown
from ..base.attached import Page
from ..base.types import ShapeIndex, instruction_of
from ..errors import HlomapError, ShapeError
from ..maps.map_set import MapSet
from ..maps.variables import suppliers_of, with_variables
from ..ops._indexing.index_vectors import clamp
from ..ops._shapes import array_leaves, shape_at
from .queries import indexing
from .questions import Questions
from .structure import is_loop

if TYPE_CHECKING:
    from .._core import _Carried

__all__ = ["Access", "CarriedValue", "Kind", "Loop", "LoopCounter", "loop"]

Kind: TypeAlias = Literal["invariant", "induction", "stacked", "consumed", "recurrence", "general"]


class Access(NamedTuple):
    """A slice, update, gather or scatter whose offset is affine in the iterations of the loops around it.

    ``shape_index`` is that of the carried array that is accessed, None for a value that the body computes.  ``offset``
    has an expression for each dimension, where ``d0`` is the iteration of this loop, ``d1`` that of the loop around it,
    and so on: ``loops`` lists them.  ``sizes`` are those of the window.  ``disjoint`` says whether iterations of this
    loop access different elements; if they do not, ``witness`` has two iterations that share some; None is not known.
    """

    instruction: Instruction
    shape_index: ShapeIndex | None
    offset: tuple[Expr, ...]
    sizes: tuple[int, ...]
    disjoint: bool | None
    witness: tuple[int, int] | None
    loops: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class LoopCounter:
    """The leaf that the condition of a loop reads: ``start + step * t`` at the beginning of iteration ``t``."""

    shape_index: ShapeIndex
    start: int
    step: int


@dataclass(frozen=True, slots=True)
class CarriedValue:
    """One array of the state that a loop carries.

    ``kind`` is the first of these that applies:

    - ``invariant``: every iteration hands it on as it is;
    - ``consumed``: the same, and the body reads it only at offsets that depend on the iteration, as ``xs`` of a scan;
    - ``induction``: an integer that is ``start + step * t`` at the beginning of iteration ``t``;
    - ``stacked``: every iteration writes another window of it, in dimension ``dim`` the ``size`` elements from
      ``start + step * t`` on, as ``ys`` of a scan;
    - ``recurrence``: an iteration reads it at the index ``d + moves`` or, where an item of ``moves`` is None, in the
      whole dimension: such a dimension is mixed;
    - ``general``: anything else, for the given ``reason``.

    Fields that do not belong to the kind are None.
    """

    shape_index: ShapeIndex
    shape: Shape
    kind: Kind
    start: int | None = None
    step: int | None = None
    dim: int | None = None
    size: int | None = None
    moves: tuple[int | None, ...] | None = None
    reason: str | None = None

    @property
    def mixed_dims(self) -> tuple[int, ...]:
        """The dimensions of a recurrence of which an iteration may read all elements."""
        return tuple(i for i, move in enumerate(self.moves or ()) if move is None)


class Loop(Page, ReadOnly):
    """A ``while`` instruction, as :func:`hlomap.loop` describes it."""

    def __init__(self, instruction: Instruction) -> None:
        self._instruction = instruction
        self._facts: _CountedLoop = _counted(instruction)

    def __reduce__(self) -> tuple[type[Loop], tuple[Instruction]]:
        return Loop, (self._instruction,)

    @property
    def instruction(self) -> Instruction:
        """The ``while``."""
        return self._instruction

    @property
    def body(self) -> Computation:
        """The computation that every iteration applies to the state."""
        return self._facts.body

    @property
    def condition(self) -> Computation:
        """The computation that decides whether there is another iteration."""
        return self._facts.condition

    @property
    def trip_count(self) -> int | Unknown:
        """The number of iterations."""
        n = self._facts.trip_count
        return Unknown(self._facts.reason or "unknown") if n is None else n

    @property
    def counter(self) -> LoopCounter | None:
        """The leaf that the condition counts with; None where there is none."""
        shape_index = self._facts.counter
        count = None if shape_index is None else self._facts.inductions.get(shape_index)
        return None if shape_index is None or count is None else LoopCounter(shape_index, *count)

    @cached_property
    def carried(self) -> tuple[CarriedValue, ...]:
        """Each array of the state, in the order of the shape."""
        at = self._instruction
        questions, is_counted = Questions(at.module), self._facts.trip_count is not None
        found: dict[ShapeIndex, _Carried | str | None] = {
            index: questions.carried(at.number, index) if is_counted else None for index in array_leaves(at.shape)
        }
        at_offsets: dict[ShapeIndex, bool] = {}  # whether all reads for other arrays are at offsets of the iteration
        for index, own in found.items():
            for target, at_iteration, reason in () if own is None or isinstance(own, str) else own[4]:
                if target != index:
                    at_offsets[target] = at_iteration and reason is None and at_offsets.get(target, True)
        return tuple(
            self._carried_value(index, shape_at(at.shape, index), own, at_offsets.get(index, False))
            for index, own in found.items()
        )

    def accesses(self) -> tuple[Access, ...]:
        """The slices, updates, gathers and scatters of the body whose offset is affine in the iterations.

        The iterations are those of this loop and of the loops around it.  Accesses in an inner loop belong to that one.
        """
        found, loops = self._facts.accesses()
        return tuple(Access(*one, (0, 1) if one[-1] is False else None, loops) for one in found)

    def indexing(self, output: int | ShapeIndex = 0) -> dict[Instruction, MapSet]:
        """The elements that an element of an array that the body returns depends on, in every iteration.

        The maps of :func:`hlomap.indexing` for :attr:`body`, with a dimension for the iteration of this loop behind
        those of the output, ``t0``, and further ones for those of the loops around it, ``t1``, and so on.  Offsets that
        are affine in the iterations are expressions of these; other offsets remain runtime variables.  Where the number
        of iterations is not known, the maps have the dimensions of the output alone.

        Raises :class:`~hlomap.errors.ShapeError` for an output that does not exist.

        >>> module = hm.parse('''HloModule m
        ... body {
        ...   s = (s32[], f32[2], f32[9]) parameter(0)
        ...   i = s32[] get-tuple-element(s), index=0
        ...   two = s32[] constant(2)
        ...   next = s32[] add(i, two)
        ...   x = f32[9] get-tuple-element(s), index=2
        ...   y = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
        ...   ROOT t = (s32[], f32[2], f32[9]) tuple(next, y, x)
        ... }
        ... condition {
        ...   s = (s32[], f32[2], f32[9]) parameter(0)
        ...   i = s32[] get-tuple-element(s), index=0
        ...   n = s32[] constant(7)
        ...   ROOT less = pred[] compare(i, n), direction=LT
        ... }
        ... ENTRY e {
        ...   zero = s32[] constant(0)
        ...   y = f32[2] parameter(0)
        ...   x = f32[9] parameter(1)
        ...   s = (s32[], f32[2], f32[9]) tuple(zero, y, x)
        ...   ROOT w = (s32[], f32[2], f32[9]) while(s), condition=condition, body=body
        ... }''')
        >>> print(hm.loop(module["w"]).indexing(1)[module.computation("body")["x"]])
        (d0, t0) -> (d0 + t0 * 2), domain: d0 in [0, 1], t0 in [0, 3]
        """
        found = indexing(self.body, output)
        if self._facts.trip_count is None:
            return found
        nest = self._facts.nest()
        counts = [_counted(one).trip_count or 0 for one in nest.loops]
        return {at: over_iterations(maps, nest, counts) for at, maps in found.items()}

    def __repr__(self) -> str:
        n = self.trip_count
        count = "an unknown number of" if isinstance(n, Unknown) else n
        return f"<Loop {self._instruction.name}: {count} iterations>"

    def _carried_value(
        self, shape_index: ShapeIndex, shape: Shape, found: _Carried | str | None, is_consumed: bool
    ) -> CarriedValue:
        if self.body._forwards(shape_index):
            return CarriedValue(shape_index, shape, "consumed" if is_consumed else "invariant")
        if (count := self._facts.inductions.get(shape_index)) is not None:
            return CarriedValue(shape_index, shape, "induction", start=count[0], step=count[1])
        if found is None:
            found = f"the number of iterations is not known: {self._facts.reason}"
        if isinstance(found, str):
            return CarriedValue(shape_index, shape, "general", reason=found)
        kind, reason, window, moves, _ = found
        if window is not None:
            dim, start, step, size = window
            return CarriedValue(shape_index, shape, "stacked", start=start, step=step, dim=dim, size=size)
        if kind == "general":
            return CarriedValue(shape_index, shape, "general", reason=reason)
        return CarriedValue(shape_index, shape, "recurrence", moves=moves, reason=reason)


def _counted(instruction: Instruction) -> _CountedLoop:
    if not is_loop(instruction):
        raise ShapeError(f"{instruction.name} is a {instruction.opcode}, expected a while")
    return _CountedLoop(instruction)


def loop(instruction: Instruction, /) -> Loop:
    """The facts about a loop: its number of iterations, its counter, and the kind of every array that it carries.

    The number of iterations comes from the condition and the leaf that it counts with, where both are affine; else from
    the backend config (``known_trip_count``), which XLA writes; else from running the integer scalars that the
    condition depends on, for at most 1000 iterations.  Otherwise ``trip_count`` is
    :class:`~hlomap.Unknown`, with the reason.

    Raises :class:`~hlomap.errors.ShapeError` (a ``ValueError``) for an instruction that is not a ``while``, or whose
    condition or body does not fit the state.

    >>> module = hm.parse('''HloModule m
    ... body {
    ...   s = (s32[], f32[5]) parameter(0)
    ...   i = s32[] get-tuple-element(s), index=0
    ...   two = s32[] constant(2)
    ...   next = s32[] add(i, two)
    ...   x = f32[5] get-tuple-element(s), index=1
    ...   y = f32[5] negate(x)
    ...   ROOT t = (s32[], f32[5]) tuple(next, y)
    ... }
    ... condition {
    ...   s = (s32[], f32[5]) parameter(0)
    ...   i = s32[] get-tuple-element(s), index=0
    ...   n = s32[] constant(9)
    ...   ROOT less = pred[] compare(i, n), direction=LT
    ... }
    ... ENTRY e {
    ...   zero = s32[] constant(0)
    ...   x = f32[5] parameter(0)
    ...   s = (s32[], f32[5]) tuple(zero, x)
    ...   ROOT w = (s32[], f32[5]) while(s), condition=condition, body=body
    ... }''')
    >>> found = hm.loop(module["w"])
    >>> found.trip_count, found.counter
    (5, LoopCounter(shape_index=(0,), start=0, step=2))
    >>> [(leaf.shape_index, leaf.kind) for leaf in found.carried]
    [((0,), 'induction'), ((1,), 'recurrence')]
    """
    instruction_of(instruction, "loop", "the Instruction of a while")
    return Loop(instruction)


def fixed_leaves(instruction: Instruction) -> dict[ShapeIndex, int]:
    """The integers in the operand of a loop on which its maps rest: those with which it begins to count.

    There are none for any other instruction, nor for a loop whose number of iterations is not known.
    """
    if not is_loop(instruction):
        return {}
    try:
        facts = _CountedLoop(instruction)
    except HlomapError:
        return {}
    return facts.numbers if facts.trip_count is not None else {}


def stated_count(instruction: Instruction) -> tuple[Computation, int] | None:
    """The body of a loop and the number of its iterations, where that rests on what the program states of the loop.

    None for any other instruction, and for a loop whose iterations are counted from its operand alone.
    """
    if not is_loop(instruction):
        return None
    try:
        facts = _CountedLoop(instruction)
    except HlomapError:
        return None
    return (facts.body, facts.trip_count) if facts.is_stated and facts.trip_count is not None else None


# Maps of the body whose offsets are written with the iterations of the loops around it.


def over_iterations(maps: MapSet, nest: _Nest, trip_counts: Sequence[int]) -> MapSet:
    """The maps with dimensions t0, t1, ... for the iterations of a loop and of those around it.

    ``nest`` has the integer scalars of the body as expressions over these iterations.
    """
    if maps.is_unknown:
        return maps
    members = [found for m in maps if not (found := _over_iterations(m, nest, trip_counts)).is_known_empty]
    return MapSet(members, exact=maps.exact, reason=maps.reason)


def _over_iterations(m: IndexingMap, nest: _Nest, trip_counts: Sequence[int]) -> IndexingMap:
    iterations = [Expr.dim(len(m.dims) + k) for k in range(len(trip_counts))]
    replaced: list[Expr | int] = []
    kept: list[Variable] = []
    for variable in m.runtime:
        value = None if variable.supplier is None or variable.element else nest.scalar(variable.supplier)
        if value is not None:
            expr, lower, upper = value
            own = expr.substitute(dims=iterations)
            replaced.append(clamp(own, (lower, upper), (variable.lower, variable.upper)))
        else:
            replaced.append(Expr.runtime(len(kept)))
            kept.append(variable)
    dims = [*m.dims, *(Variable(f"t{k}", 0, max(n - 1, 0)) for k, n in enumerate(trip_counts))]
    found = with_variables(m, dims, m.ranges, ((), (), replaced), kept).simplify(keep_point_dims=True, drop_unused=True)
    return found._placed(m.shape_index, m.use, suppliers_of(m))
