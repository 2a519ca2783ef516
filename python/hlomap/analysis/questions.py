"""The object that answers questions about a module: it has the rules, and what is known of earlier questions.

The compiled base class composes rules; nothing is composed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from .._core import (
    Computation,
    IndexingMap,
    Instruction,
    InstructionIndexing,
    Module,
    Propagation,
    RuleCache,
    Shape,
    checked_rule,
)
from ..base.answers import Unknown
from ..base.types import ShapeIndex
from ..errors import UnsupportedError
from ..ops import lookup, op_of
from ..ops._evaluation import Device
from ..ops._known import Known, Parts, is_plain
from ..ops._operations import Operations
from ..ops._registry import custom_rule_of, custom_rules, traits
from ..ops._rule import InputToOutput, OperandIndexing, OutputToInput, Question, RuleContext, RuleTraits
from . import rule_cache
from .structure import is_loop
from .traits import asked

if TYPE_CHECKING:
    from .known_values import KnownValues

T = TypeVar("T")

_asked: dict[str, Question] = {}
"""The questions that rules have asked, by name."""


class Region(NamedTuple):
    """What a propagation through single values visits, by the numbers of instructions."""

    inside: Sequence[int]
    entered: int | None
    """A fusion or call that is entered although others call its computation."""
    ends: Sequence[int]
    """They are in the answer, whether they are reached or not."""

    @classmethod
    def of(
        cls, inside: Iterable[Instruction], entered: Instruction | None = None, ends: Iterable[Instruction] = ()
    ) -> Region:
        """The region of these instructions."""
        numbers = list(dict.fromkeys(end.number for end in ends))
        return cls([one.number for one in inside], None if entered is None else entered.number, numbers)


class Questions(Propagation):
    """Answers questions about one module, by the rules of its operations.

    The methods of the base class ask; those below say what it asks for.  It is also the context of the rules of
    operations that call computations.  It lives as long as one question, or several that share what they find.
    """

    custom_rules: Mapping[str, object] = custom_rules
    """The rules that users have registered; only where there are any, :meth:`has_custom_rule` is asked."""

    registered_traits: Mapping[str, RuleTraits] = traits
    """The traits of the rules of opcodes, which :meth:`traits` is not asked for unless users have registered rules."""

    shares_computations: bool = True
    """Whether computations with equal fingerprints have equal indexing."""

    cache: RuleCache | None = rule_cache.cache
    """Where the propagation finds traits and results before it asks for them; None where they are of other rules."""

    reads: RuleCache = rule_cache.cache
    """Where the propagation notes what rules read."""

    def __init__(self, module: Module, *, of_all: bool = False) -> None:
        self.module = module
        self._shapes: dict[int, Shape] = {}
        self._facts: dict[tuple[Instruction, int, Callable[[Instruction, RuleContext], Any]], Any] = {}
        self._answers: dict[tuple[Instruction, str], Any] = {}
        self._known_integers: dict[Device | Literal["computation"] | None, KnownValues] = {}

    # Called by the propagation.

    def registered_rules(self, opcode: str) -> tuple[OutputToInput, InputToOutput]:
        """The rules of an opcode, unless users have registered one."""
        maps = lookup(opcode).maps
        return maps.output_to_input, maps.input_to_output

    def traits(self, instruction: Instruction) -> RuleTraits:
        """The traits that decide how the rule is used."""
        return RuleTraits.of(op_of(instruction), lookup(instruction.opcode))

    def updated_operand(self, instruction: Instruction) -> int | None:
        """The operand with the new elements of an operation that changes some of operand 0."""
        updated = lookup(instruction.opcode).memory.updated_operand
        return None if updated is None else updated(instruction)

    def has_custom_rule(self, instruction: Instruction) -> bool:
        """Whether users have registered the rule, or the cost, of an instruction."""
        return custom_rule_of(instruction) is not None

    def rule(self, instruction: Instruction, index: ShapeIndex, direction: int) -> InstructionIndexing:
        """The result of a rule for an array of the output (direction -1), or of operand ``direction``."""
        op = op_of(instruction._bare)
        if direction < 0:
            return checked_rule(instruction, index, -1, op.maps.output_to_input, instruction, index, self)
        return checked_rule(instruction, index, direction, op.maps.input_to_output, instruction, direction, index, self)

    def answer_text(self, instruction: Instruction, question: str) -> str:
        """The text of the answer to a question, which tells instructions apart that share results otherwise."""
        return _asked[question].text(self.ask(instruction, _asked[question]))

    def trip_count(self, instruction: Instruction) -> int | None:
        """The number of iterations of a ``while``; None where it is not known."""
        if not is_loop(instruction):
            return None
        return self.count_iterations(instruction.number)

    def count_operations(self, instruction: Instruction) -> Operations | str:
        """The operations of an instruction that has a function for them, or why they are unknown."""
        found = self.counted(instruction)
        if isinstance(found, Computation):
            once = Questions(found.module).once(found.number)
            return once if isinstance(once, str) else Operations(once.flops, once.transcendentals, exact=once.exact)
        return found.reason if isinstance(found, Unknown) else found

    # Called by the walk of costs, too.

    def counted(self, instruction: Instruction) -> Operations | Computation | Unknown:
        """What the function of an instruction for its operations says."""
        count = op_of(instruction).semantics.operations
        return asked(count, instruction) if callable(count) else Unknown("")

    def distinct(self, maps: Sequence[IndexingMap]) -> tuple[int, int]:
        """Bounds of the number of elements that maps into one array reach, which maps are taken apart to count."""
        from ..maps.map_set import MapSet  # which most modules do without

        found = MapSet(maps).count(distinct=True)
        return found.lower, found.upper

    # Called by rules: the context of an operation that calls computations.

    def shape_of(self, instruction: Instruction) -> Shape:
        """The shape of an instruction, cached: converting that of a wide tuple is slow."""
        number = instruction._bare.number
        shape = self._shapes.get(number)
        if shape is None:
            shape = self._shapes[number] = instruction.shape
        else:
            instruction._reads_shape()
        return shape

    def fact(self, instruction: Instruction, compute: Callable[[Instruction, RuleContext], T]) -> T:
        """``compute(instruction, context)``, cached: what the rules for each of very many arrays have in common."""
        given: object = instruction
        if not isinstance(given, Instruction):
            return compute(instruction, self)  # made up for one rule
        # Whoever asks again reads the same, which is noted at the same place.
        key = (instruction._bare, instruction._reads, compute)
        if key not in self._facts:
            self._facts[key] = compute(instruction, self), instruction
        found: T = self._facts[key][0]
        return found

    def ask(self, instruction: Instruction, question: Question) -> Any:
        """The answer to a question, cached; that it was asked is noted, not what the answer comes from."""
        _asked.setdefault(question.name, question)
        instruction._reads_answer(question.name)
        bare = instruction._bare
        key = (bare, question.name)
        if key not in self._answers:
            self._answers[key] = question.answer(bare, self)
        return self._answers[key]

    def parameters_read(self, computation: Computation, index: ShapeIndex) -> Mapping[int, bool]:
        """From an array of a computation's root to the parameters, by rules of what is mentioned also for what is used,
        since results that are cached depend on it."""
        computation = computation._bare
        questions = self._of_mentioned() if computation.module == self.module else Questions(computation.module)
        read = {}
        for number, part in questions._call(computation.root.number, computation.number, index, -1).items():
            if isinstance(part, Unknown):
                raise UnsupportedError(part.reason)
            if part.maps:
                read[number] = part.exact
        return read

    def parts(self, instruction: Instruction, index: ShapeIndex = ()) -> Mapping[int, OperandIndexing]:
        """From an array of the output to the operands, by number; runtime variables are of no use."""
        return self.unplaced(instruction.number, index, -1).parts

    def known_integers(self, instruction: Instruction) -> Known:
        """Known values of an integer array, from its computation alone."""
        found: Known = self.ask(instruction, _KNOWN_INTEGERS)
        return found

    def known_values(self, instruction: Instruction, device: Device | None = None) -> Known:
        """Known values of an integer array, from the whole module; on one device, or on any."""
        return self._integers(device).of(instruction)

    def _integers(self, where: Device | Literal["computation"] | None) -> KnownValues:
        found = self._known_integers.get(where)
        if found is None:
            from .known_values import KnownValues

            alone, device = where == "computation", None if where == "computation" else where
            questions = self._of_mentioned()
            found = KnownValues(questions, integers_alone=True, own_computation_alone=alone, device=device)
            self._known_integers[where] = found
        return found

    def _of_mentioned(self) -> Questions:
        """The rules by which values move: not those of what is used, or between devices."""
        return self if type(self) is Questions else Questions(self.module)

    def output_to_input(
        self, instruction: Instruction, computation: Computation, index: ShapeIndex
    ) -> Mapping[int, OperandIndexing]:
        """From an array of the computation's root to its parameters, as the caller's operands."""
        instruction._reads_repetition()
        caller = instruction._bare
        return self._of(caller)._call(caller.number, computation._bare.number, index, -1)

    def input_to_output(
        self, instruction: Instruction, computation: Computation, parameter: int, index: ShapeIndex
    ) -> Mapping[int, OperandIndexing]:
        """From an array of a parameter to the outputs of the computation's root."""
        instruction._reads_repetition()
        caller = instruction._bare
        return self._of(caller)._call(caller.number, computation._bare.number, index, parameter)

    def through_loop(
        self, instruction: Instruction, shape_index: ShapeIndex, direction: int, *, anywhere: bool = False
    ) -> InstructionIndexing:
        """Through all iterations of a loop."""
        return self._of(instruction._bare).all_iterations(instruction, shape_index, direction, anywhere)

    def _of(self, instruction: Instruction | Computation) -> Questions:
        """Those about the module of an instruction, which may be that of a definition."""
        return self if instruction.module == self.module else Questions(instruction.module)

    def _call(self, caller: int, computation: int, index: ShapeIndex, direction: int) -> Mapping[int, OperandIndexing]:
        return self.call(caller, computation, index, direction).parts


def _known_text(known: Known) -> str:
    if isinstance(known, Parts):
        return f"({', '.join(map(_known_text, known))})"
    return "" if is_plain(known) else repr([(str(piece.values), str(piece.region)) for piece in known])


_KNOWN_INTEGERS = Question(
    "known integers",
    lambda instruction, context: context._integers("computation").in_call(instruction, ()),  # type: ignore[attr-defined]
    _known_text,
)
