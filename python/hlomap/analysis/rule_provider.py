"""The rules that a propagation requests, and the results that are cached from one query to the next.

Rules are composed by the compiled :class:`~hlomap._core.Propagation`; nothing is composed here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
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
    _Reach,
    checked_rule,
)
from ..answers import Unknown
from ..errors import HlomapError, UnsupportedError
from ..ops import lookup, op_of
from ..ops._evaluation import Device
from ..ops._indexing.maps import merge_parts
from ..ops._known import Known
from ..ops._operations import Operations
from ..ops._registry import custom_rules
from ..ops._rule import InputToOutput, OperandIndexing, OutputToInput, RuleContext, no_constant_operands
from ..types import ShapeIndex
from .rule_cache import cache
from .traits import asked

if TYPE_CHECKING:
    from .known_values import KnownValues

T = TypeVar("T")

_N_TRIP_COUNTS = 4096

_trip_counts: dict[bytes, int | None] = {}
"""By signature and surroundings, which determine them; no custom rule takes part."""


class RuleTraits(NamedTuple):
    """The traits of a rule that the propagation reads, by these names; see ``RuleTraits`` in ``rust/flow``."""

    inlines: bool
    per_instruction: bool
    structural: bool
    hands_on: bool
    constant_operands: tuple[int, ...]
    by_opcode: bool
    rules: tuple[OutputToInput, InputToOutput] | None
    """The rules themselves, where the signature determines their results and the propagation may call them."""
    sizes_class: str | None
    unshared: bool
    work: str
    moves_nothing: bool
    updated_operand: int | None


class RuleProvider:
    """Provides the rules of operations to a propagation through one module.

    It is also the context of the rules of operations that call computations, and lives as long as one query.
    """

    shares_computations: bool = True
    """Whether computations with equal fingerprints have equal indexing."""

    cache: RuleCache | None = cache
    """Where the propagation finds traits and results before it asks for them; None where they are of other rules."""

    def __init__(self, module: Module, *, of_all: bool = False) -> None:
        self.module = module
        self.propagation: Propagation = Propagation(module, of_all)
        self._shapes: dict[int, Shape] = {}
        self._facts: dict[tuple[Instruction, Callable[[Instruction, RuleContext], Any]], Any] = {}
        self._keys: dict[int, bytes] = {}
        self._known_integers: dict[Device | Literal["computation"] | None, KnownValues] = {}
        self._calls: dict[tuple[int, int, ShapeIndex, int], Mapping[int, OperandIndexing]] = {}

    # Called by the propagation.

    def traits(self, instruction: Instruction) -> RuleTraits:
        """The traits that decide how the rule is used."""
        op, plain = op_of(instruction), lookup(instruction.opcode)
        updated, own = plain.updated_operand, bool(custom_rules) or op.surroundings is not None
        return RuleTraits(
            inlines=op.inlines,
            per_instruction=op.depends_on_called_values,
            structural=op.structural,
            hands_on=op.hands_on,
            constant_operands=op.constant_operands(instruction),
            rules=None if own or op.depends_on_called_values else (op.output_to_input, op.input_to_output),
            by_opcode=op.constant_operands is no_constant_operands and not custom_rules and updated is None,
            sizes_class=op.sizes_class,
            unshared=op.surroundings is not None,
            work="counted" if callable(op.operations) else op.operations or plain.runs or "unknown",
            moves_nothing=plain.moves_nothing,
            updated_operand=None if updated is None else updated(instruction),
        )

    def rule(
        self, instruction: Instruction, key: bytes, index: ShapeIndex, direction: int, repeats: bool
    ) -> InstructionIndexing:
        """The result of a rule for an array of the output (direction -1), or of operand ``direction``.

        It is cached by the signature ``key``, unless it names values inside a called computation: such a result
        belongs to one instruction, also if an operand occurs twice (``repeats``).
        """
        op = op_of(instruction)
        if op.surroundings is not None and not instruction.has_unnamed_operands:
            key = self._key_with_surroundings(instruction, op.surroundings)
        found = cache.find(key, index, direction)
        if found is None:
            if direction < 0:
                found = checked_rule(instruction, index, -1, op.output_to_input, instruction, index, self)
            else:
                rule = op.input_to_output
                found = checked_rule(instruction, index, direction, rule, instruction, direction, index, self)
            if not (op.depends_on_called_values and (found.has_runtime or repeats)):
                cache.keep(key, index, direction, found)
        return found

    def _key_with_surroundings(
        self, instruction: Instruction, surroundings: Callable[[Instruction, RuleContext], Hashable]
    ) -> bytes:
        number = instruction.number
        if number not in self._keys:
            contents = op_of(instruction).constant_operands(instruction)
            self._keys[number] = instruction.signature(contents) + repr(surroundings(instruction, self)).encode()
        return self._keys[number]

    def trip_count(self, instruction: Instruction) -> int | None:
        """The number of iterations of a ``while``; None where it is not known."""
        surroundings = op_of(instruction).surroundings
        if surroundings is None or instruction.inconsistency is not None or instruction.has_unnamed_operands:
            return None
        key = self._key_with_surroundings(instruction, surroundings)
        count = _trip_counts.get(key, -1)
        if count == -1:
            from ..ops.loops import While  # which modules without loops do without

            try:
                count = self.fact(instruction, While).counts.trip_count
            except HlomapError:
                count = None
            if len(_trip_counts) >= _N_TRIP_COUNTS:
                _trip_counts.clear()
            _trip_counts[key] = count
        return count

    def operations(self, instruction: Instruction) -> tuple[int, int, tuple[int, ...], bool] | str:
        """The operations of an instruction that has a function for them, or why they are unknown."""
        found = self.counted(instruction)
        if isinstance(found, Computation):
            rules = RuleProvider(found.module)
            once = rules.propagation.once(rules, found.number)
            return once if isinstance(once, str) else (once[0], once[1], (), once[2])
        return found.reason if isinstance(found, Unknown) else found.counted

    # Called by the walk of costs, too.

    def counted(self, instruction: Instruction) -> Operations | Computation | Unknown:
        """What the function of an instruction for its operations says."""
        count = op_of(instruction).operations
        return asked(count, instruction) if callable(count) else Unknown("")

    def distinct(self, maps: Sequence[IndexingMap]) -> tuple[int, int]:
        """Bounds of the number of elements that maps into one array reach, which maps are taken apart to count."""
        from ..maps.map_set import MapSet  # which most modules do without

        found = MapSet(maps).count(distinct=True)
        return found.lower, found.upper

    # Called by rules: the context of an operation that calls computations.

    def shape_of(self, instruction: Instruction) -> Shape:
        """The shape of an instruction, cached: converting that of a wide tuple is slow."""
        number = instruction.number
        shape = self._shapes.get(number)
        if shape is None:
            shape = self._shapes[number] = instruction.shape
        return shape

    def fact(self, instruction: Instruction, compute: Callable[[Instruction, RuleContext], T]) -> T:
        """``compute(instruction, context)``, cached: what the rules for each of very many arrays have in common."""
        key = (instruction, compute)
        if key not in self._facts:
            self._facts[key] = compute(instruction, self)
        found: T = self._facts[key]
        return found

    def parameters_read(self, computation: Computation, index: ShapeIndex) -> Mapping[int, bool]:
        """From an array of a computation's root to the parameters, by rules of what is mentioned also for what is used,
        since results that are cached depend on it."""
        rules = self._of_mentioned() if computation.module == self.module else RuleProvider(computation.module)
        read = {}
        for number, part in rules._call(computation.root.number, computation.number, index, -1).items():
            if isinstance(part, Unknown):
                raise UnsupportedError(part.reason)
            if part.maps:
                read[number] = part.exact
        return read

    def parts(self, instruction: Instruction, index: ShapeIndex = ()) -> Mapping[int, OperandIndexing]:
        """From an array of the output to the operands, by number; runtime variables are of no use."""
        key = instruction.signature(op_of(instruction).constant_operands(instruction))
        return self.rule(instruction, key, index, -1, True).parts

    def known_integers(self, instruction: Instruction) -> Known:
        """Known values of an integer array, from its computation alone."""
        return self._integers("computation").in_call(instruction, ())

    def known_values(self, instruction: Instruction, device: Device | None = None) -> Known:
        """Known values of an integer array, from the whole module; on one device, or on any."""
        return self._integers(device).of(instruction)

    def _integers(self, where: Device | Literal["computation"] | None) -> KnownValues:
        found = self._known_integers.get(where)
        if found is None:
            from .known_values import KnownValues

            alone, device = where == "computation", None if where == "computation" else where
            rules = self._of_mentioned()
            found = KnownValues(rules, integers_alone=True, own_computation_alone=alone, device=device)
            self._known_integers[where] = found
        return found

    def _of_mentioned(self) -> RuleProvider:
        """The rules by which values move: not those of what is used, or between devices."""
        return self if type(self) is RuleProvider else RuleProvider(self.module)

    def output_to_input(
        self, instruction: Instruction, computation: Computation, index: ShapeIndex
    ) -> Mapping[int, OperandIndexing]:
        """From an array of the computation's root to its parameters, as the caller's operands."""
        return self._of(instruction)._call(instruction.number, computation.number, index, -1)

    def input_to_output(
        self, instruction: Instruction, computation: Computation, parameter: int, index: ShapeIndex
    ) -> Mapping[int, OperandIndexing]:
        """From an array of a parameter to the outputs of the computation's root."""
        return self._of(instruction)._call(instruction.number, computation.number, index, parameter)

    def iteration(self, body: Computation, index: ShapeIndex, direction: int) -> OperandIndexing:
        """Through one iteration of a loop that runs any number of times."""
        provider = self._of(body)
        return merge_parts(provider.propagation.iteration(provider, body.number, index, direction).parts)

    def reach(self, body: Computation) -> _Reach:
        """The arrays to which iterations of a loop may lead, where all of them are asked for."""
        provider = self._of(body)
        return provider.propagation.reach(provider, body.number)

    def _of(self, instruction: Instruction | Computation) -> RuleProvider:
        """The provider for an instruction: another one if its module is that of a definition."""
        return self if instruction.module == self.module else RuleProvider(instruction.module)

    def _call(self, caller: int, computation: int, index: ShapeIndex, direction: int) -> Mapping[int, OperandIndexing]:
        """Cached, since the rule of a loop requests each array of the body once for every carried array."""
        key = (caller, computation, index, direction)
        found = self._calls.get(key)
        if found is None:
            found = self._calls[key] = self.propagation.call(self, *key).parts
        return found
