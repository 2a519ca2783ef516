"""The walks: rules asked once per signature, composed along the ways that data takes through a program.

Read :class:`Walk` first.  The law: the maps to a value are the union, over its uses, of the user's maps followed by
the rule of the user.  Every value is visited once, after all its users; equal maps are one, so work grows with
distinct maps and not with ways, and a leaf costs only what can be reached from it.  Nothing here recurses with the
length of a program, and deep calls are answered from the inside out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

from ._core import Computation, Expr, IndexingMap, Instruction, Shape
from .answers import SILENT, Answered, answers, contents, guarded
from .compose import compose_all
from .map_set import MapSet, Use, not_followed
from .node import Node, Nodes, users_first
from .ops._op import NOTHING, Footprint, Leaf, Part, Unknown
from .ops._shapes import array_leaves, must, n_elements
from .sources import renumbered, sources_of, with_sources

__all__ = ["MAX_MAPS", "MAX_NODES", "Plan", "Region", "Walk", "Walker"]

MAX_MAPS = 128
"""Distinct maps that one value may have; more become one map of the whole array, and the set is no longer exact."""

MAX_NODES = 4000
"""Expression nodes that one map may have; a bigger one becomes a map of the whole array, too."""

_DEEP_CALLS = 16
_LARGE = 2**62

Parts = Mapping[int, Part]
"""What is said of each operand or output; of those left out nothing is read."""


# -------------------------------------------------------------------------------------------------------- asking rules


class Walker:
    """Asks rules, follows called computations, and knows what instruction a runtime source stands for.

    Lives for one public call about one module.  It is the context that the rules of calling ops receive.
    """

    def __init__(self) -> None:
        self._nodes = Nodes()
        self._suppliers: dict[int, Instruction] = {}
        self._numbers: dict[tuple[int, int], int] = {}
        self._n_instructions: int | None = None
        self._plans: dict[int, Plan] = {}
        self._backward: dict[tuple[int, Leaf], Parts] = {}
        self._forward: dict[tuple[int, int, Leaf], Parts] = {}
        self._warm: set[int] = set()
        self._deep: set[int] = set()

    def node(self, instruction: Instruction) -> Node:
        return self._nodes.of(instruction)

    def inside(self, computation: Computation) -> tuple[Node, ...]:
        return self._nodes.inside(computation)

    def release(self) -> None:
        self._nodes.release()

    def shape_of(self, instruction: Instruction) -> Shape:
        return self._nodes.of(instruction).shape

    def backward(self, instruction: Instruction, leaf: Leaf) -> Parts:
        """The rule from an output leaf to every operand, sources being instruction numbers."""
        return self.ask_backward(self._nodes.of(instruction), leaf).parts

    def forward(self, instruction: Instruction, operand: int, leaf: Leaf) -> Parts:
        """The rule from a leaf of an operand to every output, sources being instruction numbers."""
        return self.ask_forward(self._nodes.of(instruction), operand, leaf).parts

    def ask_backward(self, node: Node, leaf: Leaf) -> Answered:
        """The answer to :meth:`backward`; a rule is asked once for a signature.

        Where a rule names values inside a computation that it calls, its answer belongs to that one instruction, and so
        does what it says of an offset that is given twice.
        """
        if node.is_empty_at(leaf) if leaf else node.is_empty:
            return SILENT
        op = node.op
        key = None if op.wiring else (node.key, leaf, -1)
        found = answers.find(key) if key is not None else None
        if found is None:
            operands = node.operands
            found = guarded(
                node,
                node.shape_of(leaf).dimensions,
                len(operands),
                lambda k: operands[k].shape,
                lambda: op.output_to_input(node.instruction, leaf, self),
            )
            if not all(operands[k].has_elements for k in found.parts):
                found = Answered(found.sizes, {k: part for k, part in found.parts.items() if operands[k].has_elements})
            if key is not None and not (op.per_instruction and (found.has_runtime or node.repeats_operands)):
                answers.keep(key, found)
        return self._renamed(node, found) if found.has_runtime and not op.per_instruction else found

    def ask_forward(self, node: Node, operand: int, leaf: Leaf) -> Answered:
        """The answer to :meth:`forward`."""
        given = node.operands[operand]
        if given.is_empty_at(leaf):
            return SILENT
        op = node.op
        key = None if op.wiring else (node.key, leaf, operand)
        found = answers.find(key) if key is not None else None
        if found is None:
            outputs = node.outputs
            found = guarded(
                node,
                given.shape_of(leaf).dimensions,
                len(outputs),
                lambda i: node.shape,
                lambda: op.input_to_output(node.instruction, operand, leaf, self),
            )
            if not all(_has_elements(outputs[i]) for i in found.parts):
                found = Answered(found.sizes, {i: part for i, part in found.parts.items() if _has_elements(outputs[i])})
            if key is not None and not (op.per_instruction and (found.has_runtime or node.repeats_operands)):
                answers.keep(key, found)
        return self._renamed(node, found) if found.has_runtime and not op.per_instruction else found

    def _renamed(self, node: Node, answer: Answered) -> Answered:
        """Source k of a rule is the value of operand k."""
        numbers = {k: operand.number for k, operand in enumerate(node.operands)}
        for operand in node.operands:
            self._suppliers[operand.number] = operand.instruction
        return Answered(answer.sizes, {k: with_sources(part, numbers) for k, part in answer.parts.items()})

    # What a computation is to the instruction that calls it.

    def output_to_input(self, instruction: Instruction, computation: Computation, leaf: Leaf) -> Parts:
        """From a leaf of the computation's root to its parameters, as the caller's operands."""
        self._must_fit(instruction)
        return self._outside(instruction, computation, self.through_backward(computation, leaf))

    def through_backward(self, computation: Computation, leaf: Leaf) -> Parts:
        """The same, sources being instruction numbers in the computation."""
        self._prepare(computation, forward=False)
        number = computation.number
        found = self._backward.get((number, leaf))
        if found is None:
            found = self._recalled(computation, leaf, -1)
        if found is None:
            plan = self._plans.get(number)
            if plan is None:
                region = Region(self.inside(computation), enters=number not in self._deep)
                plan = self.plan(region, computation.root)
                plan.find_ends(map(self.node, computation.parameters))
                self._plans[number] = plan
            found = Walk(self, plan, [leaf]).at_ends()
            self._remember(computation, leaf, -1, found)
        self._backward[number, leaf] = found
        return found

    def input_to_output(self, instruction: Instruction, computation: Computation, parameter: int, leaf: Leaf) -> Parts:
        """From a leaf of a parameter to the outputs of the computation's root."""
        self._must_fit(instruction)
        return self._outside(instruction, computation, self.through_forward(computation, parameter, leaf))

    def through_forward(self, computation: Computation, parameter: int, leaf: Leaf) -> Parts:
        """The same, sources being instruction numbers in the computation."""
        self._prepare(computation, forward=True)
        key = (computation.number, parameter, leaf)
        found = self._forward.get(key)
        if found is None:
            found = self._recalled(computation, leaf, parameter)
        if found is None:
            found = _forward_parts(self, computation, parameter, leaf)
            self._remember(computation, leaf, parameter, found)
        self._forward[key] = found
        return found

    # A computation of the same content has the same maps, its own values being in the same places.

    def _recalled(self, computation: Computation, leaf: Leaf, parameter: int) -> Parts | None:
        kept = contents.find((computation.content, leaf, parameter))
        if kept is None or not kept.has_runtime:
            return None if kept is None else kept.parts
        numbers: dict[int, int] = {}
        for position in sources_of(kept.parts):
            instruction = self.inside(computation)[position].instruction
            numbers[position] = instruction.number
            self._suppliers[instruction.number] = instruction
        return {k: with_sources(part, numbers) for k, part in kept.parts.items()}

    def _remember(self, computation: Computation, leaf: Leaf, parameter: int, parts: Parts) -> None:
        """Not where a value of another computation has a say: that one may be called elsewhere, too."""
        places: dict[int, int] = {}
        sources = sources_of(parts)
        if sources:
            places = {node.number: position for position, node in enumerate(self.inside(computation))}
            if not sources <= places.keys():
                return
        relative = {k: with_sources(part, places) for k, part in parts.items()} if places else dict(parts)
        contents.keep((computation.content, leaf, parameter), Answered((), relative))

    def plan(self, region: Region, start: Instruction) -> Plan:
        """The order of a walk through a region."""
        return Plan(self.node(start), region)

    def _must_fit(self, instruction: Instruction) -> None:
        node = self._nodes.of(instruction)
        must(not node.op.inlines or node.stands_for is not None, "a computation with other operands or output")

    def _prepare(self, computation: Computation, *, forward: bool) -> None:
        """Where calls nest deeply, answer for the innermost computations first, so that no stack grows."""
        if computation.number in self._warm:
            return
        order, depth = self._call_order(computation)
        numbers = [inner.number for inner in order]
        self._warm.update(numbers)
        if depth <= _DEEP_CALLS:
            return
        self._deep.update(numbers)
        for inner in order[:-1]:
            callers = inner.called_by
            for leaf in array_leaves(inner.root.shape) if not forward else ():
                self.output_to_input(callers[0], inner, leaf)
            for number, parameter in enumerate(inner.parameters) if forward else ():
                for leaf in array_leaves(parameter.shape):
                    self.input_to_output(callers[0], inner, number, leaf)

    def _call_order(self, computation: Computation) -> tuple[list[Computation], int]:
        """All computations that one reaches by calls, innermost first and itself last, and how deep they nest."""
        order: list[Computation] = []
        depth: dict[int, int] = {}
        pending: list[tuple[Computation, list[Computation] | None]] = [(computation, None)]
        while pending:
            here, inner = pending.pop()
            if inner is not None:
                depth[here.number] = 1 + max((depth[c.number] for c in inner), default=0)
                order.append(here)
            elif here.number not in depth:
                depth[here.number] = 0
                inner = [c for node in self.inside(here) if node.op.per_instruction for c in node.instruction.called]
                pending.append((here, inner))
                pending.extend((c, None) for c in reversed(inner))
        return order, depth[computation.number]

    def _outside(self, caller: Instruction, computation: Computation, parts: Parts) -> Parts:
        """The same maps seen by a caller: a parameter is its operand, a value inside belongs to this call."""
        sources = sources_of(parts)
        if not sources:
            return parts
        numbers = self.outside_numbers(caller, computation, sources)
        return {k: with_sources(part, numbers) for k, part in parts.items()}

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

    def elsewhere(self, m: IndexingMap) -> IndexingMap:
        """The same map where its runtime values are those of another device, which are no values of this one."""
        numbers: dict[int, int] = {}
        for source in [v.source for v in m.runtime if v.source is not None]:
            numbers[source] = self._numbers.setdefault((-1, source), _LARGE + len(self._numbers))
            if source in self._suppliers:
                self._suppliers[numbers[source]] = self._suppliers[source]
        return m.remap_sources(numbers) if numbers else m

    def suppliers_of(self, m: IndexingMap) -> dict[int, Instruction]:
        """The instructions that the runtime sources of a map stand for."""
        sources = (v.source for v in m.runtime)
        return {source: self._suppliers[source] for source in sources if source in self._suppliers}


def _has_elements(shape: Shape) -> bool:
    return shape.is_array or any(True for _ in array_leaves(shape))


# ------------------------------------------------------------------------------------------------------------ walking


@dataclass(slots=True)
class _State:
    """What is known of one value during a walk: its maps with their uses, by leaf, and what is not known."""

    maps: dict[tuple[Leaf, IndexingMap], list[tuple[Node, int]]] = field(default_factory=dict)
    unknown: dict[Leaf, str] = field(default_factory=dict)
    reason: str | None = None
    exact: bool = True
    across: bool = False
    """Whether it is reached on other devices."""
    is_raw: bool = False
    """Whether it has maps that no composition has simplified."""
    is_big: bool = False
    """Whether it has a map of more than MAX_NODES nodes."""

    def add(self, leaf: Leaf, m: IndexingMap, use: tuple[Node, int] | None) -> None:
        key = (leaf, m)
        uses = self.maps.get(key)
        if uses is None:
            self.maps[key] = [] if use is None else [use]
        elif use is not None and use not in uses:
            uses.append(use)

    def blur(self, reason: str | None) -> None:
        self.exact = False
        self.reason = self.reason or reason

    def cross(self, part: Footprint, before: _State) -> None:
        """Take over from ``before`` by a part that may lead to other devices; which ones, two in a row do not say."""
        self.across = self.across or part.across or before.across
        if part.across and before.across:
            self.blur("which devices belong together is not known")

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
        return self.part_of(self.maps)

    def part_of(self, maps: Iterable[tuple[Leaf, IndexingMap]]) -> Footprint:
        """Some of the maps, with what is true of all."""
        return Footprint(tuple(maps), self.exact, self.reason, self.across)

    def keep_budget(self, node: Node) -> None:
        """Too many maps, or too big ones, become the whole array."""
        if len(self.maps) <= MAX_MAPS and not self.is_big:
            return
        self.is_big = False
        for leaf, maps in self.by_leaf().items():
            if len(maps) <= MAX_MAPS and all(m.cost().nodes <= MAX_NODES for m in maps):
                continue
            uses = list(dict.fromkeys(use for m in maps for use in self.maps.pop((leaf, m))))
            for whole in _whole(maps, node.shape_of(leaf)):
                self.maps[leaf, whole] = uses
            self.blur(f"the maps of {node.instruction.name} exceed the budget")


def _begun(node: Node, leaves: Iterable[Leaf]) -> _State:
    """Every element of a leaf belongs to itself."""
    state = _State(is_raw=True)
    for leaf in leaves:
        sizes = node.shape_of(leaf).dimensions
        if n_elements(sizes):
            state.add(leaf, IndexingMap.identity([(0, size - 1) for size in sizes]), None)
    return state


_Job: TypeAlias = tuple[_State, Leaf, tuple[Node, int], IndexingMap, IndexingMap | None]
"""A map for a leaf of a value, reached by a use: the first, followed by a rule's map unless that moves nothing."""


def _finish(jobs: Sequence[_Job]) -> None:
    """Compose all in one call; equal pairs are composed once."""
    pairs = {(first, second): None for *_, first, second in jobs if second is not None}
    composed = dict(zip(pairs, compose_all(list(pairs)), strict=True)) if pairs else {}
    for target, leaf, use, first, second in jobs:
        if second is None:
            target.add(leaf, first, use)
            continue
        m = composed[first, second]
        if isinstance(m, Unknown):
            target.forget([leaf], m.reason)
        elif not m.is_known_empty:
            if m.cost().nodes > MAX_NODES:
                target.is_big = True
            target.add(leaf, m, use)


class Region:
    """The instructions that a walk goes through.

    A fusion or call among them is entered where it is the only call of its computation, or the ``root`` asked about;
    entered twice, a computation would mix the values of two calls, so others are asked as a whole.
    """

    def __init__(self, inside: Iterable[Node], root: Node | None = None, *, enters: bool = True) -> None:
        self._inside = {node.number for node in inside}
        self._enters = enters
        self._root = root
        self._callers: dict[int, Node] = {}

    def step(self, node: Node) -> Step:
        """Where the maps of an instruction go; asked once of each, users first."""
        caller = self._callers.get(node.instruction.computation.number) if self._callers else None
        if caller is None and node.number not in self._inside:
            return _STOP
        if caller is not None and node.parameter_number is not None:
            return Step((caller.operands[node.parameter_number],), caller=caller)
        inner = self._entry(node) if self._enters and node.op.inlines else None
        return Step(node.operands) if inner is None else Step((inner,), enters=True)

    def _entry(self, node: Node) -> Node | None:
        """The root of the computation that the walk enters at this instruction."""
        computation = node.stands_for
        if computation is None or computation.number in self._callers:
            return None
        if node is not self._root and len(computation.called_by) != 1:
            return None
        self._callers[computation.number] = node
        return node.of_same_module(computation.root)


class Step(NamedTuple):
    """The values that an instruction hands its maps on to: by its rule, or unchanged at the border of a computation."""

    values: Sequence[Node]
    caller: Node | None = None
    enters: bool = False


_STOP = Step(())


class Plan:
    """What can be reached from a value, users first, and where each step leads; the same for all its leaves."""

    def __init__(self, start: Node, region: Region) -> None:
        steps: dict[int, Step] = {}

        def following(node: Node) -> Sequence[Node]:
            step = steps[node.number] = region.step(node)
            return step.values

        self.order = users_first(start, following)
        self.steps = [steps[node.number] for node in self.order]
        self.place = {node.number: place for place, node in enumerate(self.order)}
        self.ends: dict[int, int] = {}

    def find_ends(self, ends: Iterable[Node]) -> None:
        """Which of these values are reached: their places, with their numbers among them."""
        self.ends = {self.place[node.number]: k for k, node in enumerate(ends) if node.number in self.place}


class Walk:
    """One walk from leaves of a value against the arrows of data, users before what they use."""

    def __init__(self, walker: Walker, plan: Plan, leaves: Iterable[Leaf]) -> None:
        self._walker = walker
        self._plan = plan
        self._states: dict[int, _State] = {0: _begun(plan.order[0], leaves)}
        self._waiting = [0]
        self._blind: str | None = None
        while self._waiting:
            self._visit(heappop(self._waiting))

    def at_ends(self) -> Parts:
        """What was found for the ends of the plan."""
        ends = self._plan.ends
        if self._blind is not None:
            return dict.fromkeys(sorted(ends.values()), Unknown(self._blind))
        found = {ends[place]: state.part() for place, state in self._states.items() if place in ends}
        return {k: part for k, part in sorted(found.items()) if part != NOTHING}

    def map_set(self, node: Node) -> MapSet:
        """What was found for a value, with places."""
        place = self._plan.place.get(node.number, -1)
        state = self._states.get(place, _State())
        if self._blind is not None and place != 0:
            return MapSet.unknown(self._blind)
        if state.unknown:
            return MapSet.unknown(next(iter(state.unknown.values())))
        placed = []
        uses: dict[tuple[Leaf, IndexingMap], list[Use]] = {}
        for (leaf, m), found in state.maps.items():
            ordered = [(user.instruction, k) for user, k in sorted(found, key=lambda use: (use[0].number, use[1]))]
            placed.append(m._placed(leaf, ordered[0] if ordered else None, self._walker.suppliers_of(m)))
            uses[leaf, m] = ordered
        replicas = not_followed("the ways to other devices were not followed") if state.across else None
        return MapSet(placed, exact=state.exact, reason=state.reason, uses=uses, replicas=replicas)

    def _target(self, node: Node) -> _State:
        place = self._plan.place[node.number]
        state = self._states.get(place)
        if state is None:
            state = self._states[place] = _State()
            heappush(self._waiting, place)
        return state

    def _visit(self, place: int) -> None:
        node, step, state = self._plan.order[place], self._plan.steps[place], self._states[place]
        state.keep_budget(node)
        reached = state.maps or state.unknown
        if reached and not step.enters and not node.operands and node.instruction.has_unnamed_operands:
            # It reads values that the text does not name, so any value may be read.
            self._blind = self._blind or f"the operands of {node.instruction.name} have no names"
        if step.caller is not None:
            self._leave(node, state, step.values[0], step.caller)
        elif step.enters:
            self._hand_on(state, step.values[0], None, {})
        elif step.values:
            self._apply_rule(node, state)

    def _hand_on(self, state: _State, to: Node, use: tuple[Node, int] | None, numbers: Mapping[int, int]) -> None:
        target = self._target(to)
        target.is_raw = target.is_raw or state.is_raw
        for leaf, m in state.maps:
            m = renumbered(m, numbers) if numbers and m.runtime else m
            if not m.is_known_empty:
                target.add(leaf, m, use)
        for leaf, reason in state.unknown.items():
            target.forget([leaf], reason)
        if not state.exact:
            target.blur(state.reason)
        target.across = target.across or state.across

    def _leave(self, parameter: Node, state: _State, operand: Node, caller: Node) -> None:
        """From a parameter of an entered computation to the operand that it stands for."""
        number = parameter.parameter_number
        assert number is not None, "only parameters are left"
        sources = {v.source for _, m in state.maps for v in m.runtime if v.source is not None}
        computation = parameter.instruction.computation
        numbers = self._walker.outside_numbers(caller.instruction, computation, sources) if sources else {}
        self._hand_on(state, operand, (caller, number), numbers)

    def _apply_rule(self, node: Node, state: _State) -> None:
        jobs: list[_Job] = []
        for leaf, firsts in state.by_leaf().items():
            for k, part, links in self._walker.ask_backward(node, leaf).links:
                operand = node.operands[k]
                target = self._target(operand)
                if isinstance(part, Unknown):
                    target.forget(array_leaves(operand.shape), part.reason)
                    continue
                if not part.exact:
                    target.blur(part.reason)
                if leaf in state.unknown:
                    target.forget((to for to, _ in part.maps), state.unknown[leaf])
                    continue
                if links and not state.exact:
                    target.blur(state.reason)
                if part.across or state.across:
                    target.cross(part, state)
                near = [self._walker.elsewhere(first) for first in firsts] if part.across else firsts
                use = node, k
                for to, second, moves_nothing in links:
                    after = None if moves_nothing and not state.is_raw else second
                    if after is None and not jobs:  # nothing waits that would have to come first
                        for first in near:
                            target.add(to, first, use)
                        continue
                    jobs += [(target, to, use, first, after) for first in near]
        if jobs:
            _finish(jobs)


def _forward_parts(walker: Walker, computation: Computation, parameter: int, leaf: Leaf) -> Parts:
    """From a leaf of a parameter along the arrows of data to each output of the root."""
    start, root = walker.node(computation.parameters[parameter]), walker.node(computation.root)
    for instruction in computation.instructions:
        if instruction.has_unnamed_operands:
            return dict.fromkeys(range(len(root.outputs)), Unknown(f"the operands of {instruction.name} have no names"))
    states = {start.number: _begun(start, [leaf])}
    for user in reversed(users_first(root, lambda node: node.operands)):
        state = states.get(user.number) or _State()
        jobs: list[_Job] = []
        for k, operand in enumerate(user.operands):
            given = states.get(operand.number)
            if given is None:
                continue
            states[user.number] = state
            for below, firsts in given.by_leaf().items():
                for i, part, links in walker.ask_forward(user, k, below).links:
                    if isinstance(part, Unknown):
                        at = (i,) if user.shape.is_tuple else ()
                        state.forget(array_leaves(user.outputs[i], at), part.reason)
                        continue
                    if not part.exact:
                        state.blur(part.reason)
                    if below in given.unknown:
                        state.forget((to for to, _ in part.maps), given.unknown[below])
                        continue
                    if links and not given.exact:
                        state.blur(given.reason)
                    if part.across or given.across:
                        state.cross(part, given)
                    near = [walker.elsewhere(first) for first in firsts] if part.across else firsts
                    for to, second, moves_nothing in links:
                        after = None if moves_nothing and not given.is_raw else second
                        jobs += [(state, to, (user, k), first, after) for first in near]
        _finish(jobs)
        state.keep_budget(user)
    return _by_output(states.get(root.number) or _State(), root)


def _by_output(state: _State, root: Node) -> Parts:
    """What is unknown of one output says nothing of the others."""
    if not root.shape.is_tuple:
        part = state.part()
        return {0: part} if part != NOTHING else {}
    maps: dict[int, list[tuple[Leaf, IndexingMap]]] = {}
    for leaf, m in state.maps:
        maps.setdefault(leaf[0], []).append((leaf, m))
    outputs = sorted(maps) if state.exact else range(len(root.outputs))
    parts: dict[int, Part] = {i: state.part_of(maps.get(i, ())) for i in outputs}
    for leaf, reason in state.unknown.items():
        if not isinstance(parts.get(leaf[0]), Unknown):
            parts[leaf[0]] = Unknown(reason)
    return dict(sorted(parts.items()))


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
