"""Numbers for values: two instructions with one number compute the same array, in one module or in two.

A value is numbered by its operation, its attributes and the numbers of its operands; layouts and names do not count.
Fusions and calls are looked through.  An operation that only moves elements is numbered by the origin of its elements,
so that a transpose of a transpose is the value itself, and a reshape that became a bitcast keeps its number.
Different numbers prove nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .._core import Computation, IndexingMap, Instruction, Module, _Numbered, _Numbers
from ..base.types import ShapeIndex
from ..errors import HlomapError
from ..ops import lookup
from .queries import output_to_input
from .structure import element_index, is_container, runs_calls

# Semantic attributes that count in other ways or not at all: computations count by their fingerprint; layouts and the
# compilation of a fusion do not change the computed values.
_NOT_COMPARED = frozenset(
    """
    body branch_computations called_computations calls condition false_computation frontend_attributes kind
    operand_layout_constraints output_to_operand_aliasing to_apply true_computation
    """.split()  # noqa: SIM905 (a list would be 20 lines)
)
_MAX_NODES = 64  # for each dimension of a composed map; no program of the corpus needs 20 in total


class Numbering:
    """Numbers the values of any number of modules.

    >>> module = hm.parse('''ENTRY e {
    ...   p = f32[2,3] parameter(0)
    ...   t = f32[3,2] transpose(p), dimensions={1,0}
    ...   ROOT u = f32[2,3] transpose(t), dimensions={1,0}
    ... }''')
    >>> values = Numbering().values(module)
    >>> [values.number_of(instruction) for instruction in module.entry]
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self._numbers = _Numbers(_Meanings())

    def values(self, module: Module) -> _Numbered:
        """The values of a module: the instructions of its entry and of the fusions, loops and branches below it."""
        return self._numbers.values(module)

    def array(self, number: int | None, index: ShapeIndex) -> Hashable:
        """A key for an array of a value with this number: equal for equal arrays; None if nothing identifies it."""
        found = None if number is None else self._numbers.array(number, index)
        return None if found is None else (found[0], tuple(found[1]))

    def matches(self, before: _Numbered, after: _Numbered, attributes: Iterable[str]) -> Matches:
        """The instructions of two modules in pairs; ``attributes`` are names, see :class:`Matches`."""
        return Matches(*self._numbers.match_(before, after, list(attributes)))


class Matches(NamedTuple):
    """The instructions of two modules by number, without the fusions and calls around others."""

    #: Instructions before and after, and why they match, in the order in which those before run.
    pairs: Sequence[tuple[int, int, str]]
    #: Instructions after that compute a matched value again, each with the one before.
    duplicates: Sequence[tuple[int, int, str]]
    #: The other instructions before, and after.
    removed: Sequence[int]
    added: Sequence[int]
    #: The positions of the pairs with different signatures and of pairs of constants; others have the same operation.
    differing: Sequence[int]
    #: The positions of the pairs of which an instruction has one of the attributes that were asked for.
    annotated: Sequence[int]


class _Meanings:
    """What operations compute, each asked of the first instruction with its signature."""

    def __init__(self) -> None:
        self._meanings: dict[Hashable, int] = {}
        self._literals: dict[Hashable, int] = {}
        self._maps: dict[IndexingMap, int] = {}
        self._by_number: list[IndexingMap] = []

    def facts(self, instruction: Instruction) -> tuple[int, bool, bool, bool, int | None]:
        """A number for the function that the operation computes; whether it stands for the computation that it calls,
        runs those that it calls as they are, and is structural; and the element of a tuple that it takes out."""
        meaning = self._meanings.setdefault(_function(instruction), len(self._meanings))
        is_structural = lookup(instruction.opcode).maps.structural
        element = element_index(instruction)
        return meaning, is_container(instruction), runs_calls(instruction), is_structural, element

    def literal(self, instruction: Instruction) -> int | None:
        """A number for the value of a constant; None if the text leaves it out."""
        value = _literal(instruction)
        return None if value is instruction else self._literals.setdefault(value, len(self._literals))

    def moved(self, instruction: Instruction, before: int | None) -> tuple[int, bool, bool] | None:
        """The elements of a value as those of another, of which its operand has the elements by the map with the number
        ``before``: the number of the map, and whether it is the identity or long; None if they are not those of one."""
        shape = instruction.shape
        if shape.dtype != instruction.operands[0].shape.dtype:
            return None
        m = _one_map(instruction)
        if m is None:
            return None
        try:
            m = (m if before is None else m.then(self._by_number[before])).simplify()
            identity = IndexingMap.identity(shape.dimensions).simplify()
        except (HlomapError, OverflowError):
            return None
        number = self._maps.setdefault(m, len(self._maps))
        if number == len(self._by_number):
            self._by_number.append(m)
        return number, m == identity, m.cost().nodes > _MAX_NODES * (1 + shape.rank)


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


def _texts(instruction: Instruction) -> tuple[tuple[str, str | None], ...]:
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
