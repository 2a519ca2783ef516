"""A program as rules applied to values: calls are inlined, tuples and barriers are transparent.

:func:`graph_of` is the entry point.  A value is one array of an instruction.  A loop has one value for each array that
it carries, and each of its computations is a region; so is each branch of a conditional.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from .._core import Computation, IndexingMap, Instruction, Module, Shape, Sharding, _condition_and_body
from ..analysis.queries import operand_maps
from ..analysis.questions import Questions
from ..analysis.structure import element_index, elements_of, fused_by, is_copy, is_loop
from ..base.types import ShapeIndex
from ..errors import HlomapError, UnsupportedError
from ..hlo.annotations import leaf_shardings
from ..hlo.order import postorder
from ..maps.map_set import MapSet
from ..ops import lookup
from ..ops._shapes import INT64_MAX, same_arrays
from ..ops.asynchronous import is_done, is_later_step
from ..ops.custom_call import constrains_sharding, has_parts_of_devices
from ..shardings.assignment import is_bounded

MAX_INSTRUCTIONS = 1 << 21
"""More instructions than this, once calls are inlined, are not planned: calls of calls grow without bound."""

_ArrayKey: TypeAlias = tuple[tuple[int, ...], int]
_Rule: TypeAlias = "tuple[list[list[IndexingMap] | None] | None, list[_ArrayKey], list[_ArrayKey], bool | None]"
"""The maps to each operand, the operands, the outputs, and whether partial results are gathered; no maps for a value
that is handed on."""
_Values: TypeAlias = list[int]
_Work: TypeAlias = Generator["_Work", Any, _Values]


class Value(NamedTuple):
    """One array of an instruction, or another leaf, which is never split."""

    instruction: Instruction
    shape_index: ShapeIndex
    shape: Shape

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The sizes of dimensions that may be split: none of an array without a bound."""
        return tuple(self.shape.dimensions) if is_bounded(self.shape) else ()

    @property
    def element_bits(self) -> int:
        return self.shape.element_bits if self.shape.is_array else 0


@dataclass
class Graph:
    """The tables from which the compiled planner is made."""

    module: Module
    values: list[Value] = field(default_factory=list)
    rules: list[_Rule] = field(default_factory=list)
    applications: list[tuple[int, list[int], int]] = field(default_factory=list)
    """The number of a rule, operands and outputs, and the region."""
    sources: list[Instruction] = field(default_factory=list)
    """The instruction of each application."""
    regions: list[tuple[int | None, int | None, int]] = field(default_factory=list)
    """The region around it, the number of the conditional of which it is a branch, and the runs."""
    invariant: list[tuple[int, int]] = field(default_factory=list)
    """Values that a loop passes on unchanged, each with the region around the loop."""
    parameters: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    constraints: list[tuple[int, Sharding]] = field(default_factory=list)
    of_instruction: dict[Instruction, list[list[int]]] = field(default_factory=dict)
    """The values of an instruction, once for each call around it."""
    notes: dict[Instruction, str] = field(default_factory=dict)
    """Why an instruction needs, or has, whole arrays on every device."""


def graph_of(module: Module) -> Graph:
    """The graph of a module's entry.

    Raises :class:`~hlomap.errors.UnsupportedError` for more than 2**21 instructions once calls are inlined.
    """
    _check_size(module)
    try:
        return _graph(module)
    except (IndexError, KeyError, ValueError) as error:
        if isinstance(error, HlomapError) or not module.diagnostics:
            raise
        # Operands, parameters and computations of a program that XLA refuses may not fit together.
        problem = f"{module.name} is inconsistent: {module.diagnostics[0]}"
        raise UnsupportedError(f"hm.shard: {problem}") from error


def _graph(module: Module) -> Graph:
    graph = Graph(module, regions=[(None, None, 1)])
    reader = _Reader(graph, Questions(module))
    arguments = [reader.new(parameter) for parameter in module.entry.parameters]
    for parameter, values in zip(module.entry.parameters, arguments, strict=True):
        reader.note(parameter)
        graph.parameters += values
    found = _finished(reader.computation(module.entry, arguments, 0))
    for v in found:
        result = reader.value(graph.values[v])
        reader.hand_on(v, result, module.entry.root, 0)
        graph.outputs.append(result)
    return graph


def _check_size(module: Module) -> None:
    n_inlined: dict[Computation, int] = {}
    for computation in postorder([module.entry], lambda c: (called for i in c for called in _run_by(i))):
        inner = (n_inlined.get(called, 0) for i in computation for called in _run_by(i))
        n_inlined[computation] = len(computation.instructions) + sum(inner)
    if n_inlined[module.entry] > MAX_INSTRUCTIONS:
        problem = f"more than {MAX_INSTRUCTIONS:,} instructions once calls are inlined"
        raise UnsupportedError(f"hm.shard: {module.name} has {problem}")


def _run_by(instruction: Instruction) -> Sequence[Computation]:
    """The computations whose instructions have values of their own: of loops, branches and calls."""
    called = instruction.called_computations
    if not called:
        return ()
    op = lookup(instruction.opcode)
    is_call = op.calls.inlines and len(called) == 1 and fused_by(instruction) is None
    is_nested = is_call or is_loop(instruction) or op.calls.runs == "branch"
    return called if is_nested or _starts_call(instruction) else ()


def _starts_call(instruction: Instruction) -> bool:
    """Whether it starts a call that runs asynchronously, with a value for each parameter."""
    called, calls = instruction.called_computations, lookup(instruction.opcode).calls
    is_start = calls.forwards and not calls.inlines and len(called) == 1
    return is_start and len(called[0].parameters) == len(instruction.operands)


def _continues_call(instruction: Instruction) -> bool:
    """Whether it is a later step of a call that :func:`_starts_call`."""
    steps = instruction.async_steps if is_later_step(instruction) else ()
    return bool(steps) and len(instruction.operands) == 1 and _starts_call(steps[0])


def _finished(work: _Work) -> _Values:
    """The result of nested work, without recursion, since calls nest to any depth."""
    stack: list[_Work] = [work]
    result: _Values | None = None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as end:
            stack.pop()
            result = end.value
    assert result is not None
    return result


class _Reader:
    def __init__(self, graph: Graph, questions: Questions) -> None:
        self.graph, self._questions = graph, questions
        self._rules: dict[Any, int] = {}
        self._identities: dict[tuple[_ArrayKey, _ArrayKey], int] = {}
        self._n_conditionals = 0
        self._inside: list[Computation] = []
        self._arrays: dict[Shape, list[tuple[ShapeIndex, Shape]]] = {}

    def value(self, value: Value) -> int:
        """A new value."""
        values = self.graph.values
        values.append(value)
        return len(values) - 1

    def new(self, instruction: Instruction) -> _Values:
        """New values for all arrays of an instruction."""
        return [self.value(Value(instruction, index, shape)) for index, shape in self._leaves(instruction.shape)]

    def _leaves(self, shape: Shape) -> list[tuple[ShapeIndex, Shape]]:
        if shape.is_array:
            return [((), shape)]
        if shape not in self._arrays:
            self._arrays[shape] = list(shape.leaves())
        return self._arrays[shape]

    def _key(self, v: int) -> _ArrayKey:
        value = self.graph.values[v]
        return value.dimensions, value.element_bits

    def hand_on(self, source: int, target: int, instruction: Instruction, region: int) -> None:
        """A value that is another one, perhaps with another sharding."""
        key = (self._key(source), self._key(target))
        if key not in self._identities:
            self._identities[key] = len(self.graph.rules)
            self.graph.rules.append((None, [key[0]], [key[1]], None))
        self._apply(self._identities[key], [source, target], instruction, region)

    def _apply(self, rule: int, values: _Values, instruction: Instruction, region: int) -> None:
        self.graph.applications.append((rule, values, region))
        self.graph.sources.append(instruction)

    def _region(self, parent: int, times: int, conditional: int | None = None) -> int:
        runs = min(self.graph.regions[parent][2] * times, INT64_MAX)
        self.graph.regions.append((parent, conditional, runs))
        return len(self.graph.regions) - 1

    def computation(self, computation: Computation, arguments: Sequence[_Values], region: int) -> _Work:
        """The values of the root; a generator of the work that comes before."""
        values: dict[Instruction, _Values] = {}
        # Instructions that are not used for the root count as well, as in a run of the text.
        for instruction in _operands_first(computation):
            operands = [values[operand] for operand in instruction.operands]
            if instruction.parameter_number is not None:
                found = arguments[instruction.parameter_number]
            elif elements_of(instruction) is not None:
                found = [v for operand in operands for v in operand]
            elif (k := element_index(instruction)) is not None:
                leaves = instruction.operands[0].shape.leaves()
                found = [v for (index, _), v in zip(leaves, operands[0], strict=True) if index[0] == k]
            elif _continues_call(instruction):
                leaves = instruction.operands[0].shape.leaves()
                result = [v for (index, _), v in zip(leaves, operands[0], strict=True) if index[0] == 1]
                found = result if is_done(instruction) else operands[0]
            elif _run_by(instruction):
                found = yield self._nested(instruction, operands, region)
            else:
                found = self._operation(instruction, operands, region)
            values[instruction] = found
            self.graph.of_instruction.setdefault(instruction, []).append(found)
        return values[computation.root]

    def _nested(self, instruction: Instruction, operands: list[_Values], region: int) -> _Work:
        if is_loop(instruction):
            return self._loop(instruction, operands[0], region)
        if lookup(instruction.opcode).calls.runs == "branch":
            return self._conditional(instruction, operands, region)
        if _starts_call(instruction):
            return self._started(instruction, operands, region)
        return self.computation(_run_by(instruction)[0], operands, region)

    def _started(self, start: Instruction, operands: list[_Values], region: int) -> _Work:
        """The values of a call that runs asynchronously: the operands, the result, and its context."""
        result = yield self.computation(start.called_computations[0], operands, region)
        context = [Value(start, index, shape) for index, shape in self._leaves(start.shape) if index[0] > 1]
        return [*(v for operand in operands for v in operand), *result, *map(self.value, context)]

    def _loop(self, loop: Instruction, before: _Values, region: int) -> _Work:
        condition, body = _condition_and_body(loop)
        carried = self.new(loop)
        for source, target in zip(before, carried, strict=True):
            self.hand_on(source, target, loop, region)
        trips = self._questions.trip_count(loop)
        if trips is None:
            self.graph.notes[loop] = "unknown trip count, one iteration is counted"
        times = 1 if trips is None else trips
        yield self.computation(condition, [carried], self._region(region, times + 1))
        inside = self._region(region, times)
        after = yield self.computation(body, [carried], inside)
        for source, target in zip(after, carried, strict=True):
            if source == target:
                self.graph.invariant.append((target, region))
            else:
                self.hand_on(source, target, loop, inside)
        return carried

    def _conditional(self, conditional: Instruction, operands: list[_Values], region: int) -> _Work:
        results = self.new(conditional)
        number, self._n_conditionals = self._n_conditionals, self._n_conditionals + 1
        branches = [self._region(region, 1, number) for _ in conditional.called_computations]
        for called, given, branch in zip(conditional.called_computations, operands[1:], branches, strict=True):
            found = yield self.computation(called, [given], branch)
            for source, target in zip(found, results, strict=True):
                self.hand_on(source, target, conditional, branch)
        return results

    def _operation(self, instruction: Instruction, operands: list[_Values], region: int) -> _Values:
        if _passes_on(instruction):
            return operands[0]
        results = self.new(instruction)
        inputs = [v for operand in operands for v in operand]
        if not results:
            return results
        self._constrain(instruction, results)
        rule = self._rule_of(instruction, inputs, results)
        self._apply(rule, [*inputs, *results], instruction, region)
        return results

    def _constrain(self, instruction: Instruction, results: _Values) -> None:
        is_annotated = constrains_sharding(instruction) or (
            is_copy(instruction) and "sharding_constraint" in (instruction.metadata.op_name or "")
        )
        if is_annotated and "sharding" in instruction.attributes:
            said = leaf_shardings(instruction)
            values = self.graph.values
            self.graph.constraints += [(v, said[values[v].shape_index]) for v in results]

    def note(self, instruction: Instruction) -> str | None:
        """Why an instruction differs between devices, noted; None if it does not."""
        reason = None
        if has_parts_of_devices(instruction):
            reason = "its program differs between devices, so every device is assumed to have all of it"
        elif lookup(instruction.opcode).maps.collective is not None:
            reason = "a collective of the program itself: every device is assumed to have all of it"
        if reason is not None:
            self.graph.notes[instruction] = reason
        return reason

    def _rule_of(self, instruction: Instruction, inputs: _Values, results: _Values) -> int:
        # What maps read beyond the signature are values, and only of integers: an offset, an index.
        may_read = any(self.graph.values[v].shape.is_array and _is_index(self.graph.values[v].shape) for v in inputs)
        is_own = instruction.has_unnamed_operands or (may_read and not instruction._has("elementwise"))
        key: Any = instruction if is_own else instruction.signature()
        if key in self._rules:
            return self._rules[key]
        arrays = ([self._key(v) for v in inputs], [self._key(v) for v in results])
        maps = self._maps(instruction, inputs, results)
        partial = lookup(instruction.opcode).semantics.partial_results
        combines = partial(instruction) if partial is not None else None
        self.graph.rules.append((maps, *arrays, None if combines is None else combines == "gather"))
        self._rules[key] = len(self.graph.rules) - 1
        return self._rules[key]

    def _maps(self, instruction: Instruction, inputs: _Values, results: _Values) -> list[list[IndexingMap] | None]:
        """The maps from output 0 to each array of the operands; None where they are not known."""
        unknown: list[list[IndexingMap] | None] = [None] * len(inputs)
        if self.note(instruction) is not None:
            return unknown
        try:
            sets = self._sets(instruction, results)
        except HlomapError as error:
            self.graph.notes[instruction] = str(error)
            return unknown
        found: list[list[IndexingMap] | None] = []
        for k, operand in enumerate(instruction.operands):
            maps = sets.get(k)
            if maps is not None and maps.is_unknown:
                self.graph.notes.setdefault(instruction, f"replicated: {maps.reason}")
            for index, _ in self._leaves(operand.shape):
                found.append(_at(maps, index))
        return found

    def _sets(self, instruction: Instruction, results: _Values) -> dict[int, MapSet]:
        """The maps from output 0; to an operand that it does not read, from the next output of the same shape."""
        values = self.graph.values
        found: dict[int, MapSet] = {}
        for v in results:
            if values[v].shape.dimensions == values[results[0]].shape.dimensions:
                sets = operand_maps(self._questions, instruction, values[v].shape_index)
                found.update((k, maps) for k, maps in sets.items() if not _is_read(found.get(k)))
            if all(_is_read(found.get(k)) for k in range(len(instruction.operands))):
                break
        return found


def _is_read(maps: MapSet | None) -> bool:
    return maps is not None and (maps.is_unknown or len(maps) > 0)


def _operands_first(computation: Computation) -> Iterable[Instruction]:
    """The instructions in the order of the text, unless operands follow their users there."""
    met: set[Instruction] = set()
    for instruction in computation:
        if not met.issuperset(instruction.operands):
            return postorder(computation, lambda i: i.operands)
        met.add(instruction)
    return computation


def _at(maps: MapSet | None, index: ShapeIndex) -> list[IndexingMap] | None:
    """The maps to one array of an operand; an operand without a set is not read."""
    if maps is None:
        return []
    return None if maps.is_unknown else [m for m in maps if m.shape_index == index]


def _is_index(shape: Shape) -> bool:
    return shape.dtype[0] in "su" and shape.dtype != "u1"


def _passes_on(instruction: Instruction) -> bool:
    """Whether the value is that of operand 0, as of a barrier."""
    op, operands = lookup(instruction.opcode), instruction.operands
    is_plain = op.memory.moves_nothing and op.calls.runs is None and not op.maps.structural
    return is_plain and bool(operands) and same_arrays(operands[0].shape, instruction.shape)


def values_in(graph: Graph, instructions: Iterable[Instruction]) -> list[int]:
    """The values of some instructions, each once."""
    return list(dict.fromkeys(v for i in instructions for found in graph.of_instruction[i] for v in found))
