"""The walker: rules asked once per signature, composed along the ways that data takes through a program.

Read :class:`Walker` first.  The walks themselves are compiled (``rust/flow``); here are the pages that they ask, and
what is kept of the answers from one question to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .._core import Computation, IndexingMap, Instruction, InstructionIndexing, Module, Rows, Shape, Walks
from ..maps.map_set import MapSet, Use, not_followed
from ..ops import op_of
from ..ops._registry import custom_rules
from ..ops._rule import OperandIndexing, no_constant_operands
from ..types import ShapeIndex
from .rule_cache import answers, checked_rule, contents

__all__ = ["Walker"]

Parts = Mapping[int, OperandIndexing]
"""What is said of each operand or output; of those left out nothing is read."""


class Walker:
    """Asks rules, follows called computations, and knows what instruction a runtime source stands for.

    Lives for one public call about one module.  It is the context that the rules of calling ops receive.
    """

    def __init__(self, module: Module) -> None:
        self._walks = Walks(module)
        self._shapes: dict[int, Shape] = {}
        self._outside: dict[tuple[int, int, ShapeIndex, int], Parts] = {}

    def backward(self, instruction: Instruction, leaf: ShapeIndex) -> Parts:
        """The rule from an output leaf to every operand, sources being instruction numbers."""
        return self._walks.ask(self, instruction.number, leaf, -1).parts

    def forward(self, instruction: Instruction, operand: int, leaf: ShapeIndex) -> Parts:
        """The rule from a leaf of an operand to every output, sources being instruction numbers."""
        return self._walks.ask(self, instruction.number, leaf, operand).parts

    def through_backward(self, computation: Computation, leaf: ShapeIndex) -> Parts:
        """From a leaf of a computation's root to its parameters, sources being instruction numbers in it."""
        return self._walks.through(self, computation.number, leaf, -1).parts

    def through_forward(self, computation: Computation, parameter: int, leaf: ShapeIndex) -> Parts:
        """From a leaf of a parameter to the outputs of the computation's root."""
        return self._walks.through(self, computation.number, leaf, parameter).parts

    def found(
        self,
        start: Instruction,
        leaves: Sequence[ShapeIndex],
        inside: Iterable[Instruction],
        root: Instruction | None = None,
        ends: Iterable[Instruction] = (),
    ) -> dict[Instruction, MapSet]:
        """What each value on the ways from leaves of ``start`` is to it, users before what they use.

        The ways go through the instructions ``inside``.  A fusion or call among them is entered where it is the only
        call of its computation, or the ``root``; others are asked as a whole.  Of ``ends`` those that no way leads to
        are told of, too.
        """
        numbers = [instruction.number for instruction in inside]
        module = start.module
        sets: dict[Instruction, MapSet] = {}
        entered = None if root is None else root.number
        blind, walked = self._walks.walk(self, start.number, leaves, numbers, entered)
        for number, unknown, exact, reason, across, entries in walked:
            value = module.instruction(number)
            if unknown is not None:
                sets[value] = MapSet.unknown(unknown)
                continue
            placed = []
            uses: dict[tuple[ShapeIndex, IndexingMap], list[Use]] = {}
            for leaf, m, found in entries:
                ordered = [(module.instruction(user), k) for user, k in found]
                placed.append(m._placed(leaf, ordered[0] if ordered else None, self.suppliers_of(m)))
                uses[leaf, m] = ordered
            replicas = not_followed("the ways to other devices were not followed") if across else None
            sets[value] = MapSet(placed, exact=exact, reason=reason, uses=uses, devices=replicas)
        for end in ends:
            sets.setdefault(end, MapSet() if blind is None else MapSet.unknown(blind))
        return sets

    def suppliers_of(self, m: IndexingMap) -> dict[int, Instruction]:
        """The instructions that the runtime sources of a map stand for."""
        found: dict[int, Instruction] = {}
        for v in m.runtime:
            supplier = None if v.source is None else self._walks.supplier(v.source)
            if v.source is not None and supplier is not None:
                found[v.source] = supplier
        return found

    def rows(self) -> Rows:
        """The rows of the module."""
        return self._walks.rows(self)

    # What a page's rule may ask.

    def shape_of(self, instruction: Instruction) -> Shape:
        number = instruction.number
        shape = self._shapes.get(number)
        if shape is None:
            shape = self._shapes[number] = instruction.shape
        return shape

    def output_to_input(self, instruction: Instruction, computation: Computation, leaf: ShapeIndex) -> Parts:
        """From a leaf of the computation's root to its parameters, as the caller's operands."""
        return self._called(instruction.number, computation.number, leaf, -1)

    def input_to_output(
        self, instruction: Instruction, computation: Computation, parameter: int, leaf: ShapeIndex
    ) -> Parts:
        """From a leaf of a parameter to the outputs of the computation's root."""
        return self._called(instruction.number, computation.number, leaf, parameter)

    def _called(self, number: int, computation: int, leaf: ShapeIndex, parameter: int) -> Parts:
        """Kept, since a loop asks for each leaf of its body again for each of its own."""
        key = (number, computation, leaf, parameter)
        found = self._outside.get(key)
        if found is None:
            found = self._outside[key] = self._walks.outside(self, *key).parts
        return found

    # What a walk asks.

    def kind(self, instruction: Instruction) -> tuple[bool, bool, bool, tuple[int, ...], bool, str | None]:
        """What a page says of itself: the same for instructions of one signature, or even for all of the opcode."""
        op = op_of(instruction)
        by_opcode = op.constant_operands is no_constant_operands and not custom_rules
        return (
            op.inlines,
            op.per_instruction,
            op.structural,
            op.constant_operands(instruction),
            by_opcode,
            op.sizes_class,
        )

    def ask(
        self, instruction: Instruction, key: bytes, leaf: ShapeIndex, operand: int, repeats: bool
    ) -> InstructionIndexing:
        """A rule's answer for a leaf of an operand, -1 being the output; a source is the number of an operand.

        Where a rule names values inside a computation that it calls, its answer belongs to that one instruction, and so
        does what it says of an offset that is given twice (``repeats``); the sources are then instruction numbers.
        """
        found = answers.find((key, leaf, operand))
        if found is None:
            op = op_of(instruction)
            if operand < 0:
                found = checked_rule(instruction, leaf, -1, lambda: op.output_to_input(instruction, leaf, self))
            else:
                found = checked_rule(
                    instruction, leaf, operand, lambda: op.input_to_output(instruction, operand, leaf, self)
                )
            if not (op.per_instruction and (found.has_runtime or repeats)):
                answers.keep((key, leaf, operand), found)
        return found

    def recall(self, content: bytes, leaf: ShapeIndex, parameter: int) -> InstructionIndexing | None:
        """What is kept of a computation of this content; sources are positions in it."""
        return contents.find((content, leaf, parameter))

    def keep(self, content: bytes, leaf: ShapeIndex, parameter: int, answer: InstructionIndexing) -> None:
        contents.keep((content, leaf, parameter), answer)
