"""Follows the memory of an array through a module to its readers, and counts how often each reader runs.

By its op rule, an instruction passes the array on, updates it in place, or reads it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

from .._core import Computation, Expr, IndexingMap, Instruction, Shape, _condition_and_body
from ..analysis.executions import effects
from ..analysis.loops import loop
from ..analysis.queries import operand_maps, reached
from ..analysis.questions import Questions
from ..analysis.slices import identity_set
from ..analysis.structure import fused_by, is_looked_through
from ..base.answers import Unknown
from ..base.types import ShapeIndex
from ..errors import HlomapError
from ..maps.map_set import MapSet, union
from ..ops import op_of
from ..ops._shapes import array_leaves, shape_at

_MAX_STATES = 64  # iterations within which the carried state of a loop must repeat

_Sources: TypeAlias = Mapping[tuple[Instruction, ShapeIndex], MapSet]
"""The places of the value: maps from elements of arrays to elements of the value."""


@dataclass(frozen=True, slots=True)
class Times:
    """A number of executions; an upper bound if there is a reason, None if not known."""

    n: int | None = 1
    reason: str | None = None

    def __add__(self, other: Times) -> Times:
        n = None if self.n is None or other.n is None else self.n + other.n
        return Times(n, self.reason or other.reason)

    def __mul__(self, other: Times) -> Times:
        n = None if self.n is None or other.n is None else self.n * other.n
        return Times(n, self.reason or other.reason)


Reads: TypeAlias = dict[tuple[Instruction, MapSet], Times]


def _add(reads: Reads, more: Reads, times: Times) -> None:
    for key, own in more.items():
        if own.n == 0 or times.n == 0:
            continue
        reads[key] = reads[key] + own * times if key in reads else own * times


class _Found(NamedTuple):
    """The readers of the value in a computation, and the places of the value in the root."""

    reads: Reads
    outs: dict[ShapeIndex, MapSet]


_Steps: TypeAlias = Generator[_Sources, _Found, _Found]
"""A walk through a computation, which yields walks through the computations that it enters; :meth:`Walk._follow` runs
nested walks without Python's stack."""


class Walk:
    """Follows one array through the computations of a module."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._entered: set[Computation] = set()
        self._unnamed: dict[Computation, list[Instruction]] = {}
        self._found: dict[object, _Found] = {}
        self._numbers_of: dict[Instruction, dict[Instruction, list[int]]] = {}
        self._loops: dict[Instruction, tuple[Computation, Computation, int | Unknown]] = {}
        self._needs: dict[tuple[Instruction, ShapeIndex], dict[int, MapSet]] = {}
        self._effects: dict[Computation, list[tuple[Instruction, Instruction, MapSet]]] = {}
        self._users_of: dict[Instruction, tuple[list[Instruction], dict[ShapeIndex, list[Instruction]]]] = {}

    def reads(self, value: Instruction, shape_index: ShapeIndex) -> Reads:
        """The readers of an array, in its computation, its callees and its callers."""
        shape = shape_at(self._questions.shape_of(value), shape_index)
        here = self._follow({(value, shape_index): identity_set(shape)})
        reads = dict(here.reads)
        for one in value.module.unread if here.outs and value.computation != value.module.entry else ():
            _add(reads, _unknown_reads(one, here.outs.values()), Times(1))  # it may also be a call
        pending = [(value.computation, here.outs)]
        seen: set[object] = set()
        while pending:
            computation, outs = pending.pop()
            for caller in computation.callers if outs else ():
                key = (caller, *((index, maps) for index, maps in outs.items()))
                if key in seen:
                    continue
                seen.add(key)
                above = self._above(caller, computation, outs)
                _add(reads, above.reads, Times(1))
                pending.append((caller.computation, above.outs))
        return reads

    def _above(self, caller: Instruction, computation: Computation, outs: dict[ShapeIndex, MapSet]) -> _Found:
        """Follow an array that one execution of a called computation returns."""
        reads: Reads = {}
        if op_of(caller).calls.parameter_to_operands is not None:
            if computation != _condition_and_body(caller)[1]:
                return _Found({}, {})  # only the loop uses the result of the condition
            found = self._run(self._loop(caller, outs, is_after_one=True))
            reason = f"an iteration of {caller.name} may be any of them"
            _add(reads, found.reads, Times(1, reason))
            outs = {**outs, **found.outs}
        elif caller.shape != computation.root.shape:
            return _Found({}, {})
        if not outs:
            return _Found(reads, {})
        here = self._follow({(caller, index): maps for index, maps in outs.items()})
        _add(reads, here.reads, Times(1))
        return _Found(reads, here.outs)

    def _follow(self, sources: _Sources) -> _Found:
        return self._run(self._enter(sources))

    def _run(self, steps: _Steps) -> _Found:
        """Runs a walk and the walks that it yields, innermost first."""
        running: list[_Steps] = [steps]
        found: _Found | None = None
        while running:
            try:
                wanted = next(running[-1]) if found is None else running[-1].send(found)
            except StopIteration as stop:
                running.pop()
                found = stop.value
            else:
                running.append(self._enter(wanted))
                found = None
        assert found is not None, "a walk ends with its result"
        return found

    def _enter(self, sources: _Sources) -> _Steps:
        """The result of a walk, computed once for equal sources."""
        key = tuple(sources.items())
        if key not in self._found:
            entered = {value.computation for value, _ in sources} - self._entered
            self._entered |= entered
            self._found[key] = yield from self._search(sources)
            self._entered -= entered
        return self._found[key]

    def _search(self, sources: _Sources) -> _Steps:
        """Visits the users of instructions that hold the value, operands before users."""
        if not sources:
            return _Found({}, {})
        states: dict[Instruction, dict[ShapeIndex, MapSet]] = {}
        reads: dict[Instruction, Reads] = {}
        pending: list[tuple[int, Instruction]] = []
        waiting: set[Instruction] = set()
        held: dict[Instruction, set[Instruction]] = {}  # for each user the operands that hold the value

        def push(value: Instruction) -> None:
            for user in self._users(value, states[value]):
                held.setdefault(user, set()).add(value)
                if user not in waiting:
                    waiting.add(user)
                    heappush(pending, (user.number, user))

        for (value, shape_index), maps in sources.items():
            states.setdefault(value, {})[shape_index] = maps
        for value in states:
            push(value)
        while pending:
            user = heappop(pending)[1]
            waiting.remove(user)
            operands = ((k, operand) for operand in held[user] for k in self._numbers(user)[operand])
            arguments = {
                (k, shape_index): maps
                for k, operand in sorted(operands)
                for shape_index, maps in states[operand].items()
            }
            found = yield from self._use(user, arguments)
            reads[user] = found.reads
            if found.outs != states.get(user, {}):
                states[user] = found.outs
                push(user)
        total: Reads = {}
        for own in reads.values():
            _add(total, own, Times(1))
        first = min(value.number for value in states)
        after = [one for one in self._may_read_any(next(iter(states)).computation) if one.number > first]
        if after:
            held_by_any = union([maps for own in states.values() for maps in own.values()])
            for one in after:
                _add(total, _unknown_reads(one, [held_by_any]), Times(1))
        root = next(iter(states)).computation.root
        return _Found(total, states.get(root, {}))

    def _numbers(self, user: Instruction) -> dict[Instruction, list[int]]:
        """The operand numbers at which a value is used."""
        if user not in self._numbers_of:
            numbers: dict[Instruction, list[int]] = {}
            for k, operand in enumerate(user.operands):
                numbers.setdefault(operand, []).append(k)
            self._numbers_of[user] = numbers
        return self._numbers_of[user]

    def _users(self, value: Instruction, leaves: Iterable[ShapeIndex]) -> list[Instruction]:
        """The users of some arrays of a value; most users of a wide tuple extract other arrays."""
        if not self._questions.shape_of(value).is_tuple:
            return list(value.users)
        if value not in self._users_of:
            every, by_shape_index = self._users_of[value] = [], {}
            for user in value.users:
                if not op_of(user).maps.structural:
                    every.append(user)
                    continue
                numbers = set(self._numbers(user)[value])
                for out in array_leaves(self._questions.shape_of(user)):
                    for k, maps in operand_maps(self._questions, user, out).items():
                        for shape_index in {m.shape_index for m in maps} if k in numbers else ():
                            by_shape_index.setdefault(shape_index, []).append(user)
        every, by_shape_index = self._users_of[value]
        return [*every, *(user for shape_index in leaves for user in by_shape_index.get(shape_index, ()))]

    def _may_read_any(self, computation: Computation) -> list[Instruction]:
        """The instructions of a computation whose operands are not known."""
        if computation not in self._unnamed:
            self._unnamed[computation] = [i for i in computation if i.has_unnamed_operands]
        return self._unnamed[computation]

    def _is_unclear(self, user: Instruction, called: Computation) -> bool:
        """Whether the uses of a caller's operands are unknown: a part was not read, or does not fit."""
        return user.inconsistency is not None or (called.is_fusion and bool(self._may_read_any(called)))

    def _use(self, user: Instruction, arguments: Mapping[tuple[int, ShapeIndex], MapSet]) -> _Steps:
        """Follow the value through a user, from the arrays of its operands that hold it."""
        op = op_of(user)
        called = user.called_computations
        if called and self._is_unclear(user, called[0]):
            return _Found(_unknown_reads(user, list(arguments.values())), {})
        is_entered = not any(computation.is_fusion or computation in self._entered for computation in called)
        if is_entered and op.calls.parameter_to_operands is not None:
            return (yield from self._loop(user, {shape_index: maps for (_, shape_index), maps in arguments.items()}))
        is_like_root = called and all(computation.root.shape == user.shape for computation in called)
        if is_entered and is_like_root and op.calls.value_of_parameter is not None:
            return (yield from self._call(user, arguments))
        if op.memory.moves_nothing and not user.called_computations:
            return _Found({}, self._handed_on(user, arguments))
        return self._read(user, arguments)

    def _call(self, user: Instruction, arguments: Mapping[tuple[int, ShapeIndex], MapSet]) -> _Steps:
        """Follow the value through a call or a branch."""
        op, called, operands = op_of(user), user.called_computations, user.operands
        assert op.calls.value_of_parameter is not None, "the user is a call"
        given: dict[Instruction, dict[ShapeIndex, MapSet]] = {}
        for (k, shape_index), maps in arguments.items():
            given.setdefault(operands[k], {})[shape_index] = maps
        reads: Reads = {}
        outs: dict[ShapeIndex, list[MapSet]] = {}
        passed: set[Instruction | None] = set()
        times = Times(1, None if len(called) == 1 else f"one of the branches of {user.name} runs")
        for position, computation in enumerate(called):
            sources: dict[tuple[Instruction, ShapeIndex], MapSet] = {}
            for number, parameter in enumerate(computation.parameters):
                value = op.calls.value_of_parameter(user, position, number)
                passed.add(value)
                if value is not None:
                    sources |= {(parameter, shape_index): maps for shape_index, maps in given.get(value, {}).items()}
            if not sources:
                continue
            found = yield sources
            _add(reads, found.reads, times)
            for shape_index, maps in found.outs.items():
                outs.setdefault(shape_index, []).append(maps)
        own = [maps for (k, _), maps in arguments.items() if operands[k] not in passed]
        _add(reads, _whole_reads(user, own, None), Times(1))  # the index of the branch
        unions = {shape_index: union(list(dict.fromkeys(sets))) for shape_index, sets in outs.items()}
        if len(called) > 1:
            unions = {shape_index: _inexact(maps, str(times.reason)) for shape_index, maps in unions.items()}
        return _Found(reads, unions)

    def _loop(self, user: Instruction, carried: dict[ShapeIndex, MapSet], *, is_after_one: bool = False) -> _Steps:
        """Follow the value through a loop, from the state after an iteration until the state repeats."""
        try:
            if user not in self._loops:
                self._loops[user] = (*_condition_and_body(user), loop(user).trip_count)
            condition, body, n = self._loops[user]
            n = max(n - is_after_one, 0) if isinstance(n, int) else n
        except HlomapError as error:
            return _Found(_whole_reads(user, carried.values(), str(error), None), {})
        states, found, tested = [carried], [], []
        repeats: int | None = None
        while repeats is None:
            state = states[-1]
            found.append((yield {(body.parameters[0], shape_index): maps for shape_index, maps in state.items()}))
            tested.append((yield {(condition.parameters[0], shape_index): maps for shape_index, maps in state.items()}))
            following = found[-1].outs
            if following in states:
                repeats = states.index(following)
            elif len(states) == _MAX_STATES:
                reason = f"the state of {user.name} differs in each iteration"
                return _Found(
                    _whole_reads(user, carried.values(), reason, None),
                    {shape_index: MapSet.unknown(reason) for shape_index in array_leaves(user.shape)},
                )
            else:
                states.append(following)
        period = len(states) - repeats
        reads: Reads = {}
        for k in range(len(states)):
            for one, extra in ((found[k], 0), (tested[k], 1)):
                _add(reads, one.reads, _executions(user, n, extra, k, repeats, period))
        if isinstance(n, Unknown):
            outs: dict[ShapeIndex, MapSet] = {}
            for state in states:
                outs |= {
                    shape_index: outs[shape_index] | maps if shape_index in outs else maps
                    for shape_index, maps in state.items()
                }
            if len(states) > 1:
                outs = {shape_index: _inexact(maps, n.reason) for shape_index, maps in outs.items()}
            return _Found(reads, outs)
        return _Found(reads, states[n if n < len(states) else repeats + (n - repeats) % period])

    def _handed_on(
        self, user: Instruction, arguments: Mapping[tuple[int, ShapeIndex], MapSet]
    ) -> dict[ShapeIndex, MapSet]:
        """The places of the arrays in the output of an operation that moves nothing."""
        outs: dict[ShapeIndex, MapSet] = {}
        for (k, shape_index), maps in arguments.items():
            for out in self._outputs_of(user, k, shape_index):
                found = self._maps(user, out, k, shape_index).then(maps)
                outs[out] = outs[out] | found if out in outs else found
        return outs

    def _outputs_of(self, user: Instruction, operand: int, shape_index: ShapeIndex) -> list[ShapeIndex]:
        """The arrays of the output that contain elements of an array of an operand."""
        (records,) = self._questions.query(user, operand, [shape_index])
        outs: dict[ShapeIndex, None] = {}
        for record in records:
            if record.unknown is not None:
                shape = self._questions.shape_of(user)
                below = (record.number,) if shape.is_tuple else ()
                outs |= dict.fromkeys(array_leaves(shape_at(shape, below), below))
            outs |= dict.fromkeys(m.shape_index for m in record.maps)
        return list(outs)

    def _maps(self, user: Instruction, out: ShapeIndex, operand: int, shape_index: ShapeIndex) -> MapSet:
        """The elements of an array of an operand that an array of the output reads."""
        if (user, out) not in self._needs:
            self._needs[user, out] = operand_maps(self._questions, user, out)
        return self._needs[user, out].get(operand, MapSet())._at(shape_index)

    def _read(self, user: Instruction, arguments: Mapping[tuple[int, ShapeIndex], MapSet]) -> _Found:
        """The reads of an instruction, except from operands that it updates in place."""
        shape, operands = self._questions.shape_of(user), user.operands
        outputs = array_leaves(shape)
        parts: list[MapSet] = []
        outs: dict[ShapeIndex, MapSet] = {}
        for (k, shape_index), maps in arguments.items():
            place = self._in_place(user, k, shape_index)
            for out, replaces in place.kept.items():
                operand, kept = shape_at(self._questions.shape_of(operands[k]), shape_index), shape_at(shape, out)
                same = kept.dimensions == operand.dimensions
                held = maps if same else _all_of(maps, kept)
                held = _inexact(held, f"{user.name} updates it in place") if replaces or not same else held
                outs[out] = outs[out] | held if out in outs else held
            if place.is_read and not outputs:
                parts.append(_inexact(maps.image(), f"{user.name} has no output array, so its reads are not known"))
            for out in outputs if place.is_read else ():
                if out not in place.unread:
                    found = self._maps(user, out, k, shape_index).then(maps)
                    is_exact = out not in place.kept
                    parts.append(found if is_exact else _inexact(found, f"{user.name} updates it in place"))
            for acting, found in self._effects_on(user, k) if place.is_read else ():
                image = found._at(shape_index).then(maps).image()
                reason = f"{acting.name} in {user.name} has no output array, so its reads are not known"
                parts.append(_inexact(image, reason))
        total = union(parts)
        return _Found({(user, total): Times(1)} if total or total.is_unknown else {}, outs)

    def _effects_on(self, user: Instruction, operand: int) -> list[tuple[Instruction, MapSet]]:
        """The reads of a fusion from an operand that belong to no output: the instructions inside, and the elements."""
        called = fused_by(user)
        if called is None or operand >= len(called.parameters):
            return []
        if called not in self._effects:
            found = self._effects[called] = []
            for acting in effects(called):
                for value in dict.fromkeys(acting.operands):
                    indices = array_leaves(value.shape)
                    maps = reached(self._questions, value, indices, called.instructions) if indices else {}
                    found += [(acting, parameter, one) for parameter, one in maps.items()]
        parameter = called.parameters[operand]
        return [(acting, maps) for acting, value, maps in self._effects[called] if value == parameter]

    def _in_place(self, user: Instruction, operand: int, shape_index: ShapeIndex) -> _Place:
        """How an instruction that moves data uses the memory of an array of an operand."""
        op = op_of(user)
        if not is_looked_through(user):
            own = {(*out, *shape_index): one for out, one in op.memory.in_place(user).items() if one.operand == operand}
            kept = {out: one.replaces for out, one in own.items()}
            for alias in user.attributes.get("output_to_operand_aliasing", ()):
                n = len(alias.operand_index)
                if alias.operand == operand and shape_index[:n] == tuple(alias.operand_index):
                    kept[(*alias.output_index, *shape_index[n:])] = True
            unread = {out for out, one in own.items() if not one.reads}
            is_read = not unread or any(out not in unread for out in array_leaves(user.shape))
            return _Place(kept, unread, is_read)
        called = user.called_computations[0]
        if operand >= len(called.parameters):
            return _Place({}, set(), True)  # it does not fit its call, so nothing is known
        kept, is_read = {}, False
        pending = [(called.parameters[operand], shape_index, False)]
        seen = set(pending)
        while pending:
            value, at, is_updated = pending.pop()
            if value == called.root:
                kept |= {at: True} if is_updated else {}
                is_read |= not is_updated
            uses = [(user, k) for user in value.users for k, one in enumerate(user.operands) if one == value]
            for inner, k in uses:
                if op_of(inner).memory.moves_nothing and not inner.called_computations:
                    following = [(inner, out, is_updated) for out in self._outputs_of(inner, k, at)]
                else:
                    place = self._in_place(inner, k, at)
                    is_read |= place.is_read
                    following = [(inner, out, True) for out in place.kept]
                pending += [one for one in following if one not in seen]
                seen.update(following)
        return _Place(kept, set(), is_read)


class _Place(NamedTuple):
    """How an instruction uses the memory of an operand."""

    kept: dict[ShapeIndex, bool]
    """The arrays of the output in that memory, and whether the instruction replaces elements."""
    unread: set[ShapeIndex]
    """The arrays of the output for which it does not read the operand."""
    is_read: bool


def _executions(user: Instruction, n: int | Unknown, extra: int, k: int, repeats: int, period: int) -> Times:
    """How often a loop of ``n`` iterations is in state ``k`` if the states from ``repeats`` on recur."""
    if isinstance(n, Unknown):
        reason = f"the number of iterations of {user.name} is not known: {n.reason}"
        return Times(None if k >= repeats else 1, reason)
    n += extra
    if n <= k:
        return Times(0)
    return Times(1 if k < repeats else -(-(n - k) // period))


def _inexact(maps: MapSet, reason: str) -> MapSet:
    return maps if maps.is_unknown or not maps.exact else MapSet(maps, exact=False, reason=reason)


def _all_of(maps: MapSet, shape: Shape) -> MapSet:
    """The set from each element of an array to all elements that maps reach."""
    dims = [(0, size - 1) for size in shape.dimensions]
    if maps.is_unknown or 0 in shape.dimensions:
        return maps
    constant = [
        IndexingMap(dims, [Expr.range(i) for i in range(len(m.dims))], ranges=[(v.lower, v.upper) for v in m.dims])
        for m in maps
    ]
    return MapSet(constant).then(maps) if constant else maps


def _unknown_reads(user: Instruction, held: Iterable[MapSet]) -> Reads:
    """The reads of an instruction without known operands, which may read any of the value any number of times."""
    unread = next((i for c in user.called_computations for i in c if i.has_unnamed_operands), user)
    reason = f"{unread.name}: {unread.inconsistency or 'its operands are not known'}"
    return {(user, _inexact(union([maps.image() for maps in held]), reason)): Times(None, reason)}


def _whole_reads(user: Instruction, held: Iterable[MapSet], reason: str | None, n: int | None = 1) -> Reads:
    """The reads of an instruction that reads everything that its operands hold of the value."""
    sets = [maps.image() for maps in held]
    if not sets:
        return {}
    total = union(sets)
    return {(user, total if reason is None else _inexact(total, reason)): Times(n, reason)}
