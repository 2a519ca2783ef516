"""Numbers for values: two instructions with one number compute the same array, in one module or in two.

A value is numbered by its operation, its attributes and the numbers of its operands; layouts and names do not count.
Fusions and calls are looked through.  An operation that only moves elements is numbered by the origin of its elements,
so that a transpose of a transpose is the value itself, and a reshape that became a bitcast keeps its number.
Different numbers prove nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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
        self._origins: dict[int, tuple[int, IndexingMap]] = {}
        self._elements: dict[int, tuple[int, ...]] = {}
        self._sizes: dict[int, tuple[int, ...]] = {}
        self._moves: dict[Hashable, IndexingMap | None] = {}
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
        numbers: dict[Instruction, int] = {}
        self._budget -= len(computation)
        for instruction in computation:
            parameter = instruction.parameter_number
            if parameter is None:
                operands = [numbers.get(o, -1) for o in instruction.operands]
                number = self._value(instruction, operands, place)
            elif arguments is not None and parameter < len(arguments):
                numbers[instruction] = arguments[parameter]
                continue
            else:
                number = self._key(("parameter", parameter, str(instruction.shape.without_layout())))
            if number not in self._sizes and (shape := instruction.shape).is_array:
                self._sizes[number] = shape.dimensions
            numbers[instruction] = number
            if instruction not in place.found:
                place.found[instruction] = Value(instruction, place.fusion, number, is_container(instruction))
        return numbers.get(computation.root, -1)

    def _value(self, instruction: Instruction, operands: list[int], place: _Place) -> int:
        called = instruction.called_computations
        enters = place.depth < _DEEPEST and sum(map(len, called)) <= self._budget
        inner = place._replace(depth=place.depth + 1) if called else place
        if is_container(instruction) and enters:
            inside = place.fusion or (instruction if called[0].is_fusion else None)
            return self._computation(called[0], operands, inner._replace(fusion=inside))
        if instruction._has("same") and len(operands) == 1:
            return operands[0]
        if called and runs_calls(instruction):
            return self._caller(instruction, operands, inner) if enters else self._key(_meaning(instruction, operands))
        index = element_index(instruction)
        elements = self._elements.get(operands[0]) if index is not None and operands else None
        if index is not None and elements is not None and 0 <= index < len(elements):
            return elements[index]
        moved = self._moved(instruction, operands) if instruction._has("moves") else None
        number = self._key(_meaning(instruction, operands)) if moved is None else moved
        if elements_of(instruction) is not None:
            self._elements[number] = tuple(operands)
        return number

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

    def _moved(self, instruction: Instruction, operands: list[int]) -> int | None:
        """The number of a value whose elements are those of another; None if it is not one exact map."""
        shape = instruction.shape
        if len(operands) != 1 or not shape.is_array or shape.dtype != instruction.operands[0].shape.dtype:
            return None
        base, before = self._origins.get(operands[0], (operands[0], None))
        move = (instruction.opcode, str(shape), str(instruction.operands[0].shape), _texts(instruction))
        if move not in self._moves:
            self._moves[move] = _one_map(instruction)
        m = self._moves[move]
        if m is None:
            return None
        try:
            m = (m if before is None else m.then(before)).simplify()
            identity = IndexingMap.identity(shape.dimensions).simplify()
        except (HlomapError, OverflowError):
            return None
        if m == identity and self._sizes.get(base) == shape.dimensions:
            return base
        if m.cost().nodes > _MAX_NODES * (1 + shape.rank):
            return None
        number = self._key(("moved", base, shape.dimensions, m))
        self._origins.setdefault(number, (base, m))
        return number


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
    opcode = instruction.opcode
    called = tuple(computation.fingerprint for computation in instruction.called_computations)
    is_alone = -1 in operands or instruction.has_unnamed_operands or instruction._has("varies")
    # The value of a constant, or the constant itself if its text leaves the value out.
    own = instruction if is_alone else _literal(instruction) if instruction._has("literal") else None
    shape = str(instruction.shape.without_layout())
    return opcode, shape, _texts(instruction), called, tuple(operands), own


def _literal(instruction: Instruction) -> Hashable:
    try:
        return _hashable(instruction.literal)
    except HlomapError:
        return instruction


def _hashable(value: Any) -> Hashable:
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    return None if value is None else value.tobytes()
