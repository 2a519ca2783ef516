"""The walks: rules asked once per signature, composed along the ways that data takes through a program.

Read :class:`Walk` first.  The law: the maps to a value are the union, over its uses, of the user's maps followed by
the rule of the user.  Every value is visited once, after all its users; equal maps are one, so work grows with
distinct maps and not with ways.  Nothing here recurses with the length of a program, and deep calls are answered
from the inside out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ._core import Computation, Expr, IndexingMap, Instruction, Shape, compose_many, linear_index, logical_index
from .answers import answers, guarded, has_runtime
from .errors import HlomapError
from .map_set import MapSet, Use
from .ops import lookup
from .ops._op import (
    NOTHING,
    Answer,
    Footprint,
    Leaf,
    Op,
    Part,
    Unknown,
    array_leaves,
    fits,
    n_elements,
    n_outputs,
    shape_at,
)

__all__ = ["MAX_MAPS", "MAX_NODES", "Region", "Walk", "Walker", "in_memory"]

MAX_MAPS = 128
"""Distinct maps that one value may have; more become one map of the whole array, and the set is no longer exact."""

MAX_NODES = 4000
"""Expression nodes that one map may have; a bigger one becomes a map of the whole array, too."""

_DEEP_CALLS = 16
_WIDE = 256
_LARGE = 2**62


# -------------------------------------------------------------------------------------------------------- asking rules


def _is_empty(shape: Shape) -> bool:
    return shape.is_array and n_elements(shape.dimensions) == 0


def _has_elements(shape: Shape) -> bool:
    return shape.is_array or any(True for _ in array_leaves(shape))


class Walker:
    """Asks rules, follows called computations, and knows what instruction a runtime source stands for.

    Lives for one public call.  It is the context that the rules of calling ops receive.
    """

    def __init__(self) -> None:
        self._suppliers: dict[int, Instruction] = {}
        self._numbers: dict[tuple[int, int], int] = {}
        self._n_instructions: int | None = None
        self._backward: dict[tuple[Computation, Leaf], Answer] = {}
        self._forward: dict[tuple[Computation, int, Leaf], Answer] = {}
        self._warm: set[Computation] = set()
        self._deep: set[Computation] = set()

    def backward(self, instruction: Instruction, leaf: Leaf) -> Answer:
        """The rule from an output leaf to every operand, sources being instruction numbers."""
        operands = instruction.operands
        source = shape_at(instruction.shape, leaf)
        if _is_empty(source):
            return (NOTHING,) * len(operands)
        op = lookup(instruction.opcode)
        answer = self._answer(
            op,
            instruction,
            (leaf, -1),
            lambda: op.output_to_input(instruction, leaf, self),
            source.rank,
            lambda: [operand.shape for operand in operands],
        )
        # Of a wide tuple most operands are not read, and need no second look.
        return tuple(
            part if part is NOTHING or _has_elements(operand.shape) else NOTHING
            for part, operand in zip(answer, operands, strict=True)
        )

    def forward(self, instruction: Instruction, operand: int, leaf: Leaf) -> Answer:
        """The rule from a leaf of an operand to every output, sources being instruction numbers."""
        source = shape_at(instruction.operands[operand].shape, leaf)
        if _is_empty(source):
            return (NOTHING,) * n_outputs(instruction.shape)
        op = lookup(instruction.opcode)
        answer = self._answer(
            op,
            instruction,
            (leaf, operand),
            lambda: op.input_to_output(instruction, operand, leaf, self),
            source.rank,
            lambda: [instruction.shape] * n_outputs(instruction.shape),
        )
        shapes = instruction.shape.tuple_shapes if instruction.shape.is_tuple else (instruction.shape,)
        return tuple(
            part if part is NOTHING or _has_elements(shape) else NOTHING
            for part, shape in zip(answer, shapes, strict=True)
        )

    def _answer(
        self,
        op: Op,
        instruction: Instruction,
        question: tuple[Leaf, int],
        rule: Callable[[], Answer],
        rank: int,
        targets: Callable[[], Sequence[Shape]],
    ) -> Answer:
        """The rule's answer, asked once for a signature.

        Where a rule names values inside a computation that it calls, its answer belongs to that one instruction.
        """
        key = (instruction.signature(op.looked_at(instruction)), *question)
        found = answers.find(key)
        if found is None:
            shapes = targets()
            answer = guarded(instruction, rank, shapes, rule)
            found = answer, has_runtime(answer)
            if len(shapes) <= _WIDE and not (op.per_instruction and found[1]):
                answers.keep(key, found)
        answer, with_runtime = found
        return self._renamed(instruction, answer) if with_runtime and not op.per_instruction else answer

    def _renamed(self, instruction: Instruction, answer: Answer) -> Answer:
        """Source k of a rule is the value of operand k."""
        operands = instruction.operands
        numbers = {k: operand.number for k, operand in enumerate(operands)}
        for operand in operands:
            self._suppliers[operand.number] = operand
        return tuple(_with_sources(part, numbers) for part in answer)

    # What a computation is to the instruction that calls it.

    def output_to_input(self, instruction: Instruction, computation: Computation, leaf: Leaf) -> Answer:
        """From a leaf of the computation's root to its parameters, as the caller's operands."""
        self._prepare(computation, forward=False)
        key = (computation, leaf)
        if key not in self._backward:
            region = Region(computation.instructions, enters=computation not in self._deep)
            walk = Walk(self, region, computation.root, [leaf])
            self._backward[key] = tuple(walk.part(parameter) for parameter in computation.parameters)
        return self._outside(instruction, computation, self._backward[key])

    def input_to_output(self, instruction: Instruction, computation: Computation, parameter: int, leaf: Leaf) -> Answer:
        """From a leaf of a parameter to the outputs of the computation's root."""
        self._prepare(computation, forward=True)
        key = (computation, parameter, leaf)
        if key not in self._forward:
            self._forward[key] = _forward_answer(self, computation, parameter, leaf)
        return self._outside(instruction, computation, self._forward[key])

    def _prepare(self, computation: Computation, *, forward: bool) -> None:
        """Where calls nest deeply, answer for the innermost computations first, so that no stack grows."""
        if computation in self._warm:
            return
        order, depth = _call_order(computation)
        self._warm.update(order)
        if depth <= _DEEP_CALLS:
            return
        self._deep.update(order)
        for inner in order[:-1]:
            callers = inner.called_by
            for leaf in array_leaves(inner.root.shape) if not forward else ():
                self.output_to_input(callers[0], inner, leaf)
            for number, parameter in enumerate(inner.parameters) if forward else ():
                for leaf in array_leaves(parameter.shape):
                    self.input_to_output(callers[0], inner, number, leaf)

    def _outside(self, caller: Instruction, computation: Computation, answer: Answer) -> Answer:
        """The same maps seen by a caller: a parameter is its operand, a value inside belongs to this call."""
        sources = {
            v.source
            for part in answer
            if isinstance(part, Footprint)
            for _, m in part.maps
            for v in m.runtime
            if v.source is not None
        }
        numbers = self.outside_numbers(caller, computation, sources)
        return tuple(_with_sources(part, numbers) for part in answer) if sources else answer

    def outside_numbers(self, caller: Instruction, computation: Computation, sources: Iterable[int]) -> dict[int, int]:
        """The numbers that a caller has for the sources inside: called twice, a computation has different values."""
        parameters = {parameter.number: k for k, parameter in enumerate(computation.parameters)}
        once = len(computation.called_by) <= 1
        numbers: dict[int, int] = {}
        for source in sorted(sources):
            if source in parameters:
                operand = caller.operands[parameters[source]]
                numbers[source] = operand.number
                self._suppliers[operand.number] = operand
            elif once:
                numbers[source] = source
            else:
                number = self._number_of_call(caller, source)
                numbers[source] = number
                if source in self._suppliers:
                    self._suppliers[number] = self._suppliers[source]
        return numbers

    def _number_of_call(self, caller: Instruction, source: int) -> int:
        """A number for what ``source`` is in one call: the same whenever it is asked, as long as it fits."""
        if self._n_instructions is None:
            self._n_instructions = sum(len(computation.instructions) for computation in caller.module.computations)
        number = (caller.number + 1) * self._n_instructions + source
        return (
            number
            if number < _LARGE
            else self._numbers.setdefault((caller.number, source), _LARGE + len(self._numbers))
        )

    def suppliers_of(self, m: IndexingMap) -> dict[int, Instruction]:
        """The instructions that the runtime sources of a map stand for."""
        sources = (v.source for v in m.runtime)
        return {source: self._suppliers[source] for source in sources if source in self._suppliers}


def _with_sources(part: Part, numbers: Mapping[int, int]) -> Part:
    if isinstance(part, Unknown):
        return part
    return Footprint(
        tuple((leaf, m.remap_sources(numbers) if m.runtime else m) for leaf, m in part.maps), part.exact, part.reason
    )


def _call_order(computation: Computation) -> tuple[list[Computation], int]:
    """All computations that one reaches by calls, innermost first and itself last, and how deep they nest."""
    order: list[Computation] = []
    depth: dict[Computation, int] = {}
    pending: list[tuple[Computation, list[Computation] | None]] = [(computation, None)]
    while pending:
        here, inner = pending.pop()
        if inner is not None:
            depth[here] = 1 + max((depth[c] for c in inner), default=0)
            order.append(here)
        elif here not in depth:
            depth[here] = 0
            inner = [c for i in here.instructions if lookup(i.opcode).per_instruction for c in i.called]
            pending.append((here, inner))
            pending.extend((c, None) for c in reversed(inner))
    return order, depth[computation]


# ------------------------------------------------------------------------------------------------------------ walking


@dataclass
class _State:
    """What is known of one value during a walk: its maps with their uses, by leaf, and what is not known."""

    maps: dict[tuple[Leaf, IndexingMap], list[Use]] = field(default_factory=dict)
    unknown: dict[Leaf, str] = field(default_factory=dict)
    reason: str | None = None
    exact: bool = True

    def begin(self, shape: Shape, leaf: Leaf) -> None:
        """Every element of a leaf belongs to itself."""
        sizes = shape_at(shape, leaf).dimensions
        if n_elements(sizes):
            self.add(leaf, IndexingMap.identity([(0, size - 1) for size in sizes]), None)

    def add(self, leaf: Leaf, m: IndexingMap, use: Use | None) -> None:
        uses = self.maps.setdefault((leaf, m), [])
        if use is not None and use not in uses:
            uses.append(use)

    def blur(self, reason: str | None) -> None:
        self.exact = False
        self.reason = self.reason or reason

    def forget(self, leaves: Iterable[Leaf], reason: str) -> None:
        for leaf in leaves:
            self.unknown.setdefault(leaf, reason)

    def by_leaf(self) -> dict[Leaf, list[IndexingMap]]:
        """The maps of each leaf that has maps or is unknown."""
        leaves: dict[Leaf, list[IndexingMap]] = {}
        for leaf, m in self.maps:
            leaves.setdefault(leaf, []).append(m)
        for leaf in self.unknown:
            leaves.setdefault(leaf, [])
        return leaves

    def part(self) -> Part:
        if self.unknown:
            return Unknown(next(iter(self.unknown.values())))
        return Footprint(tuple(self.maps), self.exact, self.reason)

    def keep_budget(self, instruction: Instruction) -> None:
        """Too many maps, or too big ones, become the whole array."""
        for leaf, maps in self.by_leaf().items():
            if len(maps) <= MAX_MAPS and all(m.cost().nodes <= MAX_NODES for m in maps):
                continue
            uses = list(dict.fromkeys(use for m in maps for use in self.maps.pop((leaf, m))))
            for whole in _whole(maps, shape_at(instruction.shape, leaf)):
                self.maps[leaf, whole] = uses
            self.blur(f"the maps of {instruction.name} exceed the budget")


@dataclass
class _Job:
    """A map to be followed by a rule's map, for a leaf of a value that it then reaches."""

    target: _State
    leaf: Leaf
    use: Use | None
    first: IndexingMap
    second: IndexingMap


def _spread(state: _State, leaf: Leaf, part: Part, shape: Shape, below: Leaf, target: _State, use: Use) -> list[_Job]:
    """Follow one part of a rule's answer: at once what needs no composition, the rest as jobs."""
    if isinstance(part, Unknown):
        target.forget(array_leaves(shape, below), part.reason)
        return []
    if not part.exact:
        target.blur(part.reason)
    if leaf in state.unknown:
        target.forget((to for to, _ in part.maps), state.unknown[leaf])
        return []
    if part.maps and not state.exact:
        target.blur(state.reason)
    firsts = [m for at, m in state.maps if at == leaf]
    return [_Job(target, to, use, first, second) for to, second in part.maps for first in firsts]


def _finish(jobs: Sequence[_Job]) -> None:
    """Compose all in one call; equal pairs are composed once."""
    pairs = list(dict.fromkeys((job.first, job.second) for job in jobs))
    composed = dict(zip(pairs, _composed(pairs), strict=True))
    for job in jobs:
        m = composed[job.first, job.second]
        if isinstance(m, Unknown):
            job.target.forget([job.leaf], m.reason)
        elif not m.is_known_empty:
            job.target.add(job.leaf, m, job.use)


class Region:
    """The instructions that a walk goes through.

    A fusion or call among them is entered where it is the only call of its computation, or the ``root`` asked about;
    entered twice, a computation would mix the values of two calls, so others are asked as a whole.
    """

    def __init__(self, inside: Iterable[Instruction], root: Instruction | None = None, *, enters: bool = True) -> None:
        self._inside = set(inside)
        self._enters = enters
        self._root = root
        self._callers: dict[Computation, Instruction] = {}

    def step(self, instruction: Instruction) -> _Step:
        """Where the maps of an instruction go; asked once of each, users first."""
        caller = self._callers.get(instruction.computation) if self._callers else None
        if caller is None and instruction not in self._inside:
            return _Step(())
        if caller is not None and instruction.parameter_number is not None:
            return _Step((caller.operands[instruction.parameter_number],), caller=caller)
        inner = self._entry(instruction)
        return _Step(instruction.operands) if inner is None else _Step((inner.root,), enters=True)

    def _entry(self, instruction: Instruction) -> Computation | None:
        """The computation that the walk enters at this instruction."""
        if not self._enters or not lookup(instruction.opcode).inlines or len(instruction.called) != 1:
            return None
        computation = instruction.called[0]
        if computation in self._callers or not fits(instruction, computation):
            return None
        if instruction != self._root and len(computation.called_by) != 1:
            return None
        self._callers[computation] = instruction
        return computation


@dataclass(frozen=True, slots=True)
class _Step:
    """The values that an instruction hands its maps on to: by its rule, or unchanged at the border of a computation."""

    values: Sequence[Instruction]
    caller: Instruction | None = None
    enters: bool = False


class Walk:
    """One walk from leaves of a value against the arrows of data, users before what they use."""

    def __init__(self, walker: Walker, region: Region, start: Instruction, leaves: Iterable[Leaf]) -> None:
        self._walker = walker
        self._steps: dict[Instruction, _Step] = {}
        self.order = _users_first(start, lambda here: self._steps.setdefault(here, region.step(here)).values)
        self._states = {instruction: _State() for instruction in self.order}
        for leaf in leaves:
            self._states[start].begin(start.shape, leaf)
        self._blind: str | None = None
        for instruction in self.order:
            self._visit(instruction)

    def part(self, instruction: Instruction) -> Part:
        """What was found for a value; nothing where no way leads to it."""
        state = self._states.get(instruction)
        if self._blind is not None:
            return Unknown(self._blind)
        return state.part() if state is not None else NOTHING

    def map_set(self, instruction: Instruction) -> MapSet:
        """What was found for a value, with places."""
        state = self._states.get(instruction, _State())
        if self._blind is not None and instruction != self.order[0]:
            return MapSet.unknown(self._blind)
        if state.unknown:
            return MapSet.unknown(next(iter(state.unknown.values())))
        placed = []
        uses: dict[tuple[Leaf, IndexingMap], list[Use]] = {}
        for (leaf, m), found in state.maps.items():
            ordered = sorted(found, key=lambda use: (use[0].number, use[1]))
            placed.append(m._placed(leaf, ordered[0] if ordered else None, self._walker.suppliers_of(m)))
            uses[leaf, m] = ordered
        return MapSet(placed, exact=state.exact, reason=state.reason, uses=uses)

    def _visit(self, instruction: Instruction) -> None:
        state = self._states[instruction]
        state.keep_budget(instruction)
        step = self._steps[instruction]
        if instruction.has_unnamed_operands and not step.enters and (state.maps or state.unknown):
            # It reads values that the text does not name, so any value may be read.
            self._blind = self._blind or f"the operands of {instruction.name} have no names"
        if step.caller is not None:
            self._leave(instruction, state, step.values[0], step.caller)
        elif step.enters:
            self._hand_on(state, step.values[0], None, {})
        elif step.values:
            self._apply_rule(instruction, state)

    def _hand_on(self, state: _State, to: Instruction, use: Use | None, numbers: Mapping[int, int]) -> None:
        target = self._states[to]
        for leaf, m in state.maps:
            target.add(leaf, m.remap_sources(numbers) if numbers and m.runtime else m, use)
        for leaf, reason in state.unknown.items():
            target.forget([leaf], reason)
        if not state.exact:
            target.blur(state.reason)

    def _leave(self, parameter: Instruction, state: _State, operand: Instruction, caller: Instruction) -> None:
        """From a parameter of an entered computation to the operand that it stands for."""
        number = parameter.parameter_number
        assert number is not None, "only parameters are left"
        sources = {v.source for _, m in state.maps for v in m.runtime if v.source is not None}
        numbers = self._walker.outside_numbers(caller, parameter.computation, sources)
        self._hand_on(state, operand, (caller, number), numbers)

    def _apply_rule(self, instruction: Instruction, state: _State) -> None:
        jobs: list[_Job] = []
        for leaf in state.by_leaf():
            for k, part in enumerate(self._walker.backward(instruction, leaf)):
                operand = instruction.operands[k]
                jobs += _spread(state, leaf, part, operand.shape, (), self._states[operand], (instruction, k))
        _finish(jobs)


def _forward_answer(walker: Walker, computation: Computation, parameter: int, leaf: Leaf) -> Answer:
    """From a leaf of a parameter along the arrows of data to each output of the root."""
    start, root = computation.parameters[parameter], computation.root
    for instruction in computation.instructions:
        if instruction.has_unnamed_operands:
            return (Unknown(f"the operands of {instruction.name} have no names"),) * n_outputs(root.shape)
    states = {start: _State()}
    states[start].begin(start.shape, leaf)
    for user in reversed(_users_first(root, lambda instruction: instruction.operands)):
        state = states.get(user, _State())
        jobs: list[_Job] = []
        for k, operand in enumerate(user.operands):
            if operand not in states:
                continue
            states[user] = state
            for below in states[operand].by_leaf():
                for i, part in enumerate(walker.forward(user, k, below)):
                    shape, at = (user.shape.tuple_shapes[i], (i,)) if user.shape.is_tuple else (user.shape, ())
                    jobs += _spread(states[operand], below, part, shape, at, state, (user, k))
        _finish(jobs)
        state.keep_budget(user)
    return _by_output(states[root].part() if root in states else NOTHING, root.shape)


def _by_output(part: Part, shape: Shape) -> Answer:
    n = n_outputs(shape)
    if isinstance(part, Unknown) or not shape.is_tuple:
        return (part,) * n
    return tuple(
        Footprint(tuple((leaf, m) for leaf, m in part.maps if leaf[0] == i), part.exact, part.reason) for i in range(n)
    )


def _users_first(start: Instruction, following: Callable[[Instruction], Sequence[Instruction]]) -> list[Instruction]:
    """Reverse post order of everything that can be reached: every value after all its users."""
    done: list[Instruction] = []
    seen = {start}
    pending: list[tuple[Instruction, Iterator[Instruction]]] = [(start, iter(following(start)))]
    while pending:
        here, rest = pending[-1]
        step = next((value for value in rest if value not in seen), None)
        if step is None:
            done.append(here)
            pending.pop()
        else:
            seen.add(step)
            pending.append((step, iter(following(step))))
    done.reverse()
    return done


def _whole(maps: Sequence[IndexingMap], shape: Shape) -> list[IndexingMap]:
    """Every element of an array, for every point that some map has: one map for each number of dimensions."""
    widest: dict[int, list[tuple[int, int]]] = {}
    for m in maps:
        box = [(v.lower, v.upper) for v in m.dims]
        before = widest.get(len(box), box)
        widest[len(box)] = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(before, box, strict=True)]
    results = [Expr.range(i) for i in range(shape.rank)]
    ranges = [(0, size - 1) for size in shape.dimensions]
    return [IndexingMap(box, results, ranges=ranges) for box in widest.values()]


def in_memory(part: Part, source: Shape, target: Shape) -> Part:
    """The same maps between positions in memory: of an array, and of the leaves of a value."""
    if isinstance(part, Unknown) or not part.maps:
        return part
    maps: list[tuple[Leaf, IndexingMap]] = []
    try:
        begin = logical_index(source)
        ends = {leaf: linear_index(shape_at(target, leaf)) for leaf, _ in part.maps}
    except (HlomapError, OverflowError) as error:
        return Unknown(f"layout: {error}")
    placed = _composed([(begin, m) for _, m in part.maps])
    for (leaf, _), m in zip(part.maps, placed, strict=True):
        done = m if isinstance(m, Unknown) else _composed_one((m, ends[leaf]))
        if isinstance(done, Unknown):
            return done
        if not done.is_known_empty:
            maps.append((leaf, done))
    return Footprint(tuple(maps), part.exact, part.reason)


def _composed(pairs: Sequence[tuple[IndexingMap, IndexingMap]]) -> Sequence[IndexingMap | Unknown]:
    """Each first map followed by its second, simplified; what overflows is unknown and costs only itself."""
    if not pairs:
        return []
    try:
        return compose_many(pairs, simplify=True, drop_unused=True)
    except (HlomapError, OverflowError):
        return [_composed_one(pair) for pair in pairs]


def _composed_one(pair: tuple[IndexingMap, IndexingMap]) -> IndexingMap | Unknown:
    try:
        return compose_many([pair], simplify=True, drop_unused=True)[0]
    except (HlomapError, OverflowError) as error:
        return Unknown(f"composition: {error}")
