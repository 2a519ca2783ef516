"""Numbers for values: two instructions with one number compute the same array, in one module or in two.

A value is numbered by its operation, its attributes and the numbers of its operands; layouts and names do not count.
Fusions and calls are looked through.  An operation that only moves elements is numbered by the origin of its elements,
so that a transpose of a transpose is the value itself, and a reshape that became a bitcast keeps its number.
Different numbers prove nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from .._core import Computation, IndexingMap, Instruction, Module
from ..base.types import ShapeIndex
from ..errors import HlomapError
from .queries import output_to_input
from .structure import element_index, elements_of, is_container, runs_calls

# Semantic attributes that count in other ways or not at all: computations count by their fingerprint; layouts and the
# compilation of a fusion do not change the computed values.
_NOT_COMPARED = frozenset(
    """
    body branch_computations called_computations calls condition false_computation frontend_attributes kind
    operand_layout_constraints output_to_operand_aliasing to_apply true_computation
    """.split()  # noqa: SIM905 (a list would be 20 lines)
)
_MAX_NODES = 64  # for each dimension of a composed map; no program of the corpus needs 20 in total
_DEEPEST = 100  # nested calls that are followed
_MAX_REPEATS = 20_000  # instructions numbered again, since their computation is called again


class Value(NamedTuple):
    """An executed instruction, the fusion around it, and the number of its value."""

    instruction: Instruction
    fusion: Instruction | None
    number: int
    #: Whether the value is that of the computation that the instruction calls.
    is_container: bool = False


class _Facts(NamedTuple):
    """What counts of instructions with one signature, without operands and the values of constants."""

    signature: int
    """A number for the signature."""
    meaning: int
    """A number for the function that the operation computes."""
    parameter: int | None
    shape: str
    """Without layout."""
    dimensions: tuple[int, ...] | None
    """None if it is not an array."""
    is_container: bool
    is_same: bool
    """Whether the value is that of the only operand."""
    calls: bool
    runs_calls: bool
    element: int | None
    makes_tuple: bool
    moves: bool
    is_literal: bool
    varies: bool


class _Move(NamedTuple):
    """The elements of a value as those of another: the map, its number, and whether it is the identity or long."""

    map: IndexingMap
    number: int
    is_identity: bool
    is_long: bool


class _Place(NamedTuple):
    """The store of numbers, the fusion around the instructions, and their depth in calls."""

    found: dict[Instruction, Value]
    fusion: Instruction | None = None
    depth: int = 0


class Numbering:
    """Numbers the values of any number of modules.

    >>> module = hm.parse('''ENTRY e {
    ...   p = f32[2,3] parameter(0)
    ...   t = f32[3,2] transpose(p), dimensions={1,0}
    ...   ROOT u = f32[2,3] transpose(t), dimensions={1,0}
    ... }''')
    >>> [value.number for value in Numbering().values(module).values()]
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._facts: dict[bytes, _Facts] = {}
        self._meanings: dict[Hashable, int] = {}
        self._origins: dict[int, tuple[int, _Move]] = {}
        self._elements: dict[int, tuple[int, ...]] = {}
        self._sizes: dict[int, tuple[int, ...]] = {}
        self._moves: dict[int, IndexingMap | None] = {}
        self._composed: dict[tuple[int, int | None], _Move | None] = {}
        self._maps: dict[IndexingMap, int] = {}
        self._budget = 0

    def values(self, module: Module) -> dict[Instruction, Value]:
        """The values of a module: the instructions of its entry and of the fusions, loops and branches below it."""
        found: dict[Instruction, Value] = {}
        self._budget = module.n_instructions + _MAX_REPEATS
        self._computation(module.entry, None, _Place(found))
        return found

    def array(self, number: int, index: ShapeIndex) -> Hashable:
        """A key for an array of a value with this number: equal for equal arrays; None if nothing identifies it."""
        for at, k in enumerate(index):
            elements = self._elements.get(number, ())
            if k >= len(elements):
                return None if number < 0 else (number, index[at:])
            number = elements[k]
        return None if number < 0 else (number, ())

    def _key(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _computation(self, computation: Computation, arguments: Sequence[int] | None, place: _Place) -> int:
        """Numbers the instructions in the order of the text, and returns the number of the root.

        An instruction of a computation that is called again keeps the number of the first call.
        """
        self._budget -= len(computation)
        instructions = computation.instructions
        first = instructions[0].number
        numbers = [-1] * len(instructions)
        found, fusion = place.found, place.fusion
        for k, (instruction, named) in enumerate(zip(instructions, computation._operand_numbers(), strict=True)):
            facts = self._facts_of(instruction)
            parameter = facts.parameter
            if parameter is None:
                number = self._value(instruction, facts, [numbers[operand - first] for operand in named], place)
            elif arguments is not None and parameter < len(arguments):
                numbers[k] = arguments[parameter]
                continue
            else:
                number = self._key(("parameter", parameter, facts.shape))
            if facts.dimensions is not None and number not in self._sizes:
                self._sizes[number] = facts.dimensions
            numbers[k] = number
            if instruction not in found:
                found[instruction] = Value(instruction, fusion, number, facts.is_container)
        return numbers[computation.root.number - first]

    def _facts_of(self, instruction: Instruction) -> _Facts:
        signature = instruction.signature()
        facts = self._facts.get(signature)
        if facts is None:
            shape = instruction.shape
            facts = self._facts[signature] = _Facts(
                signature=len(self._facts),
                meaning=self._meanings.setdefault(_function(instruction), len(self._meanings)),
                parameter=instruction.parameter_number,
                shape=str(shape.without_layout()),
                dimensions=shape.dimensions if shape.is_array else None,
                is_container=is_container(instruction),
                is_same=instruction._has("same") and len(instruction.operands) == 1,
                calls=bool(instruction.called_computations),
                runs_calls=runs_calls(instruction),
                element=element_index(instruction),
                makes_tuple=elements_of(instruction) is not None,
                moves=instruction._has("moves"),
                is_literal=instruction._has("literal"),
                varies=instruction.has_unnamed_operands or instruction._has("varies"),
            )
        return facts

    def _value(self, instruction: Instruction, facts: _Facts, operands: list[int], place: _Place) -> int:
        if facts.calls:
            called = instruction.called_computations
            enters = place.depth < _DEEPEST and sum(map(len, called)) <= self._budget
            inner = place._replace(depth=place.depth + 1)
            if facts.is_container and enters:
                inside = place.fusion or (instruction if called[0].is_fusion else None)
                return self._computation(called[0], operands, inner._replace(fusion=inside))
        if facts.is_same:
            return operands[0]
        if facts.calls and facts.runs_calls:
            if enters:
                return self._caller(instruction, operands, inner)
            return self._of_operation(instruction, facts, operands)
        elements = self._elements.get(operands[0]) if facts.element is not None and operands else None
        if facts.element is not None and elements is not None and 0 <= facts.element < len(elements):
            return elements[facts.element]
        moved = self._moved(instruction, facts, operands) if facts.moves else None
        number = self._of_operation(instruction, facts, operands) if moved is None else moved
        if facts.makes_tuple:
            self._elements[number] = tuple(operands)
        return number

    def _of_operation(self, instruction: Instruction, facts: _Facts, operands: list[int]) -> int:
        is_alone = facts.varies or -1 in operands
        own = instruction if is_alone else _literal(instruction) if facts.is_literal else None
        return self._key((facts.meaning, tuple(operands), own))

    def _caller(self, instruction: Instruction, operands: list[int], inner: _Place) -> int:
        """The number of a loop or branch, from its operation, its operands and the results of its computations.

        The parameters of the computations are numbered twice: first by position, which gives the numbers of the roots;
        then specifically for this loop, so that values of different loops differ.
        """
        called = instruction.called_computations
        roots: list[int] = []
        for computation in called:
            places = [self._key(("place", k)) for k in range(len(computation.parameters))]
            roots.append(self._computation(computation, places, _Place({}, None, inner.depth)))
        own = self._key((instruction.opcode, "calls", tuple(operands), tuple(roots)))
        for position, computation in enumerate(called):
            arguments = [self._key(("in", own, position, k)) for k in range(len(computation.parameters))]
            self._computation(computation, arguments, inner)
        return own

    def _moved(self, instruction: Instruction, facts: _Facts, operands: list[int]) -> int | None:
        """The number of a value whose elements are those of another; None if it is not one exact map."""
        if len(operands) != 1 or facts.dimensions is None:
            return None
        base, before = self._origins.get(operands[0], (operands[0], None))
        key = facts.signature, None if before is None else before.number
        if key not in self._composed:
            self._composed[key] = self._move(instruction, facts, before)
        move = self._composed[key]
        if move is None:
            return None
        if move.is_identity and self._sizes.get(base) == facts.dimensions:
            return base
        if move.is_long:
            return None
        number = self._key(("moved", base, facts.dimensions, move.number))
        self._origins.setdefault(number, (base, move))
        return number

    def _move(self, instruction: Instruction, facts: _Facts, before: _Move | None) -> _Move | None:
        shape = instruction.shape
        if shape.dtype != instruction.operands[0].shape.dtype:
            return None
        if facts.signature not in self._moves:
            self._moves[facts.signature] = _one_map(instruction)
        m = self._moves[facts.signature]
        if m is None:
            return None
        try:
            m = (m if before is None else m.then(before.map)).simplify()
            identity = IndexingMap.identity(shape.dimensions).simplify()
        except (HlomapError, OverflowError):
            return None
        is_long = m.cost().nodes > _MAX_NODES * (1 + shape.rank)
        return _Move(m, self._maps.setdefault(m, len(self._maps)), m == identity, is_long)


def numbered(module: Module) -> Iterator[tuple[Instruction, Instruction | None]]:
    """The instructions that :meth:`Numbering.values` numbers, in its order, each with the fusion around it, without
    the fusions and calls around others.  Calls may nest in any depth."""
    seen = {module.entry}
    stack = [_Frame.of(module.entry, 0, None, None)]
    while stack:
        frame = stack[-1]
        for instruction in frame.instructions:
            parameter = instruction.parameter_number
            if parameter is not None and parameter < frame.n_arguments:
                continue
            if instruction.number not in frame.calling:
                yield instruction, frame.fusion
                continue
            called, is_entered = instruction.called_computations, is_container(instruction)
            inside, last = frame.fusion, (instruction, frame.fusion)
            if is_entered:
                called = called[:1]
                inside = inside or (instruction if called[0].is_fusion else None)
            elif not runs_calls(instruction):
                called = ()
            frames = []
            for computation in called:
                if computation not in seen:
                    seen.add(computation)
                    n_arguments = len(instruction.operands if is_entered else computation.parameters)
                    frames.append(_Frame.of(computation, n_arguments, inside, None))
            if frames:  # an instruction follows what it calls
                frames[-1] = frames[-1]._replace(last=None if is_entered else last)
                stack += reversed(frames)
                break
            if not is_entered:
                yield last
        else:
            stack.pop()
            if frame.last is not None:
                yield frame.last


class _Frame(NamedTuple):
    """The rest of the instructions of a computation, and the instruction after them."""

    instructions: Iterator[Instruction]
    calling: frozenset[int]
    n_arguments: int
    fusion: Instruction | None
    last: tuple[Instruction, Instruction | None] | None

    @classmethod
    def of(
        cls,
        computation: Computation,
        n_arguments: int,
        fusion: Instruction | None,
        last: tuple[Instruction, Instruction | None] | None,
    ) -> _Frame:
        calling = frozenset(i.number for i in computation._calling)
        return cls(iter(computation), calling, n_arguments, fusion, last)


def identifies_all(module: Module) -> bool:
    """Whether every value has a number that depends on the program alone."""
    at = module.instruction
    for computation in module.computations:
        for numbers in computation._by_opcode().values():
            first = at(numbers[0])
            if first._has("varies") or (first._has("literal") and any(_literal(at(k)) == at(k) for k in numbers)):
                return False
    return not any(i.has_unnamed_operands for i in module.instructions)


def _one_map(instruction: Instruction) -> IndexingMap | None:
    """The map to the elements of the operand if it is a single exact map without choices; else None."""
    try:
        (maps,) = output_to_input(instruction)
    except (HlomapError, OverflowError):
        return None
    return maps[0] if maps.exact and len(maps) == 1 and not maps[0].ranges and not maps[0].runtime else None


def _texts(instruction: Instruction) -> Hashable:
    """The attributes that determine the computed values."""
    attributes = instruction.attributes
    counts = (name for name in sorted(attributes) if name not in _NOT_COMPARED and instruction._is_semantic(name))
    return tuple((name, attributes.text(name)) for name in counts)


def _meaning(instruction: Instruction, operands: Sequence[int]) -> Hashable:
    """A key for the function that an operation computes from its operands, without layouts, names and annotations."""
    is_alone = -1 in operands or instruction.has_unnamed_operands or instruction._has("varies")
    # The value of a constant, or the constant itself if its text leaves the value out.
    own = instruction if is_alone else _literal(instruction) if instruction._has("literal") else None
    return *_function(instruction), tuple(operands), own


def _function(instruction: Instruction) -> tuple[Hashable, ...]:
    called = tuple(computation.fingerprint for computation in instruction.called_computations)
    return instruction.opcode, str(instruction.shape.without_layout()), _texts(instruction), called


def _literal(instruction: Instruction) -> Hashable:
    try:
        return _hashable(instruction.literal)
    except HlomapError:
        return instruction


def _hashable(value: Any) -> Hashable:
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    return None if value is None else value.tobytes()
