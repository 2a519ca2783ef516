"""The record of an op rule, the results that its rules return, and the context that they receive.

A rule returns exactly the elements that depend on each other; or more than those, marked as inexact; or
:class:`Unknown` with a reason.  A footprint without maps means that no element is read.  Rules name the value of
operand k as runtime source k, so that one result serves every instruction of which the rule reads the same; the
propagation renames the sources.  This module depends on no operation, nor on the propagation or the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from .._core import Computation, Expr, Footprint as Footprint, Instruction, InstructionIndexing, PlainRule, Shape
from ..base.answers import Unknown
from ..base.types import ShapeIndex
from ..hlo.device_counts import device_counts
from ._evaluation import EvalContext, Evaluate
from ._exchange import Exchanges, exchanges_nothing
from ._shapes import arrays

if TYPE_CHECKING:
    from ..maps.device_groups import GroupTable
    from ._attributes import MatrixProduct
    from ._folding import Fold
    from ._operations import Cost, Operations

ExprLike: TypeAlias = Expr | int
Bounds: TypeAlias = tuple[int, int]

NOTHING = Footprint()

OperandIndexing: TypeAlias = Footprint | Unknown
RuleResult: TypeAlias = Sequence[OperandIndexing] | Mapping[int, OperandIndexing] | InstructionIndexing
"""One item for each operand or output; a mapping leaves out those that are ``NOTHING``."""


T = TypeVar("T")


class Question(NamedTuple):
    """A question about the program around an instruction: rules share results where the answers have one text."""

    name: str
    answer: Callable[[Instruction, RuleContext], Any]
    text: Callable[[Any], str]


class RuleContext(Protocol):
    """The interface of the propagation to a rule: the maps through a computation that ``instruction`` calls.

    What a rule reads of its instruction, of what that leads to and of the context is noted, and instructions share its
    results where all of it is equal.  What tells an instruction from all others, such as its name, users or module,
    makes the results those of one instruction.  In the maps of called computations a runtime source below 0 stands for
    a value, whichever instruction has the result.
    """

    def shape_of(self, instruction: Instruction) -> Shape:
        """The shape of an instruction, cached: converting that of a wide tuple is slow."""

    def fact(self, instruction: Instruction, compute: Callable[[Instruction, RuleContext], T]) -> T:
        """``compute(instruction, context)``, cached as long as the context: what the rules for each of very many arrays
        have in common."""

    def ask(self, instruction: Instruction, question: Question) -> Any:
        """The answer to a question, cached as long as the context: what rules know of the program around."""

    def output_to_input(
        self, instruction: Instruction, computation: Computation, shape_index: ShapeIndex
    ) -> RuleResult:
        """From ``shape_index`` of the computation's root to each of its parameters."""

    def input_to_output(
        self, instruction: Instruction, computation: Computation, parameter: int, shape_index: ShapeIndex
    ) -> RuleResult:
        """From ``shape_index`` of a parameter to each output of the computation's root."""

    def parameters_read(self, computation: Computation, shape_index: ShapeIndex) -> Mapping[int, bool]:
        """The parameters from which a computation on scalars computes ``shape_index`` of its root, for any values, each
        with whether it certainly does; ``UnsupportedError`` where that is not known, so that nothing is known of the
        operation that applies the computation."""

    def known_integers(self, instruction: Instruction) -> Any:
        """Known values of an integer array, from its computation alone (:mod:`hlomap.ops._known`)."""

    def through_loop(
        self, instruction: Instruction, shape_index: ShapeIndex, direction: int, *, anywhere: bool = False
    ) -> InstructionIndexing:
        """Through all iterations of a loop, from ``shape_index`` of its value (direction -1) or of its operand.

        If their number is unknown, through any number of them.  ``anywhere``: from the value before any iteration, too.
        """


OutputToInput: TypeAlias = Callable[[Instruction, ShapeIndex, RuleContext], RuleResult]
InputToOutput: TypeAlias = Callable[[Instruction, int, ShapeIndex, RuleContext], RuleResult]


ValidOperand: TypeAlias = Callable[[Instruction, int, EvalContext, int], Any]
"""See :attr:`Values.valid_operand`."""


def combines_nothing(instruction: Instruction) -> Computation | None:
    """Elements move between devices as they are."""
    return None


class CollectiveRule(NamedTuple):
    """How an operation moves elements between devices: the device groups, and rules whose maps include the device.

    For a table of groups the rules return the results of an :class:`OpRule`, but each map has two more dimensions and
    two more results, the group and the position in it; so has the index of a runtime variable, for the device that
    holds the value.  Footprints without ``crosses_devices`` are plain maps of elements that stay on their device.
    Without a table the maps are those to elements on any device.
    """

    groups: Callable[[Instruction], GroupTable | Unknown]
    output_to_input: Callable[[Instruction, ShapeIndex, GroupTable | None], Mapping[int, OperandIndexing]]
    input_to_output: Callable[[Instruction, int, ShapeIndex, GroupTable | None], Mapping[int, OperandIndexing]]
    combiner: Callable[[Instruction], Computation | None] = combines_nothing
    """The computation that combines the elements of a group, so that it decides which of them matter."""

    def maps(
        self,
        instruction: Instruction,
        shape_index: ShapeIndex,
        direction: int,
        table: GroupTable | None,
        context: RuleContext,
    ) -> Mapping[int, OperandIndexing]:
        """The maps from an array of the output (direction -1), or of operand ``direction``."""
        computation = self.combiner(instruction)
        read = {0: True, 1: True} if computation is None else context.parameters_read(computation, ())
        if direction < 0:
            parts = self.output_to_input(instruction, shape_index, table)
        else:
            parts = self.input_to_output(instruction, direction, shape_index, table)
        if read.get(0) and read.get(1):
            return parts
        reason = "which elements of a group matter depends on the computation"
        return {
            k: part if isinstance(part, Unknown) else Footprint(part.maps, False, reason, part.crosses_devices)
            for k, part in parts.items()
        }

    def without_devices(self) -> tuple[OutputToInput, InputToOutput]:
        """The rules of an :class:`OpRule`."""
        return (
            lambda instruction, shape_index, context: self.maps(instruction, shape_index, -1, None, context),
            lambda instruction, operand, shape_index, context: self.maps(
                instruction, shape_index, operand, None, context
            ),
        )


class InPlace(NamedTuple):
    """An array of an output that takes over the memory of the operand ``operand``, of the same shape.

    ``replaces``: the operation replaces some of the elements, and leaves the others where they are.
    ``reads``: it reads those that it replaces.
    """

    operand: int
    replaces: bool = True
    reads: bool = False


def nothing_in_place(instruction: Instruction) -> Mapping[ShapeIndex, InPlace]:
    """No output takes over the memory of an operand."""
    return {}


def nothing_to_work_in(instruction: Instruction) -> Collection[ShapeIndex]:
    """All elements of the output are results."""
    return ()


def has_several_devices(instruction: Instruction) -> bool:
    """Whether the module of an instruction runs on several devices."""
    return device_counts(instruction.module).grid != (1, 1)


class ElementwiseMethod(NamedTuple):
    """A method of :class:`hlomap.Builder` that writes an elementwise operation.

    ``summary``: the result in words, the first sentence of the method's docstring.
    ``kinds``: the kinds of element types that it accepts, separated by spaces; None for all that the operation takes.
    ``attributes``: attributes that it writes always; ``on_floats``: those that it writes only for float operands.
    """

    name: str
    summary: str
    kinds: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    on_floats: tuple[tuple[str, str], ...] = ()


class Maps(NamedTuple):
    """The indexing maps of an operation in both directions, and how the propagation uses them."""

    output_to_input: OutputToInput
    """``output_to_input(instruction, shape_index, context)``: for each operand the elements on which an element of the
    output's array at ``shape_index`` depends."""
    input_to_output: InputToOutput
    """``input_to_output(instruction, operand, shape_index, context)``: for each output (the elements of a tuple, else
    one) the elements that depend on an element of that operand's array at ``shape_index``."""
    collective: CollectiveRule | None = None
    """The maps between devices, for an operation that exchanges elements within device groups."""
    follows_tokens: bool = False
    """The rules know what tokens and opaque values carry, as those through called computations do."""
    structural: bool = False
    """The operation only creates tuples or extracts elements of them; its rules are cheaper than the signature under
    which their results would be cached."""
    sizes_class: str | None = None
    """The rules depend on the dimensions of operands and output alone, and operations with the same name here have the
    same rules, so that they share results."""
    plain: PlainRule | None = None
    """What the rules say where it says anything, so that the propagation need not call them."""


class Semantics(NamedTuple):
    """What an operation computes, what that takes, and how the builder writes it."""

    evaluate: Evaluate
    """``evaluate(instruction, operands, context)``: the value of the instruction at the values of its operands."""
    operations: Cost | None = None
    """How many arithmetic operations the whole output takes.  None for an operation that runs computations: see
    :attr:`Calls.runs`."""
    pointwise: bool = False
    """``evaluate`` also accepts arrays for the scalar operands of a scalar instruction, and applies elementwise; see
    :meth:`EvalContext.apply`."""
    matrix_product: Callable[[Instruction], MatrixProduct | Computation | Unknown | None] | None = None
    """The product of matrices that the operation computes; a computation of another module in which it is; None where
    there is none, as where the attribute itself is None."""
    partial_results: Callable[[Instruction], str | None] | None = None
    """How results that devices compute from different elements of the operands combine to the whole: ``"reduce"`` by an
    operation of an all-reduce, ``"gather"`` only by applying the operation's computation to all of them.  None, and
    without this function, if they do not."""
    builder_methods: tuple[str | ElementwiseMethod, ...] = ()
    """The methods of :class:`hlomap.Builder` that write the operation: names of methods in :mod:`hlomap.builder`, or
    :class:`ElementwiseMethod`.  If empty, the method is named like the opcode, and is derived from the
    attributes of the operation where :mod:`hlomap.builder` has none of that name."""


class Values(NamedTuple):
    """What is known of the values of an operation without running it."""

    known: Callable[[Instruction, Sequence[Any], Any], Any] | None = None
    """``known(instruction, operands, context)``: what is known of the values of the output, from what is known of those
    of the operands (:mod:`hlomap.ops._known`).  Without this function nothing is."""
    possible: Callable[[Instruction, Sequence[Any], bool], Any] | None = None
    """The values that a single element may have, from those that the operands' elements may have."""
    used: Callable[[Instruction, Sequence[Any], Mapping[int, Any], Any], Mapping[int, Any]] | None = None
    """``used(instruction, operands, maps, context)``: the maps from the output to the operands without the elements
    that cannot change it, from what is known of the values of the operands."""
    folds: Fold | None = None
    """The value of the output where it is computed from constants alone, with the error of each element
    (:mod:`hlomap.ops._folding`).  Without this function it is not known."""
    chooses: bool = False
    """An element of the output is that of one of the other operands, which the first operand chooses."""
    valid_operand: ValidOperand | None = None
    """``valid_operand(instruction, operand, context, seed)``: numbers on one device for an operand whose numbers the
    operation restricts, so that all restricted operands fit together on all devices; None for an operand that may have
    any.  Another seed may give other numbers.  Without this function every operand may."""


class Memory(NamedTuple):
    """The arrays that an operation writes, takes over or only names, and what devices send each other."""

    moves_nothing: bool = False
    """The operation hands values on or names them: it reads and writes no array in memory.  The instructions of the
    computations that a call, loop or branch runs do that themselves."""
    in_place: Callable[[Instruction], Mapping[ShapeIndex, InPlace]] = nothing_in_place
    """The arrays of the output that take over the memory of an operand."""
    updated_operand: Callable[[Instruction], int | None] | None = None
    """The operand that has the new elements of the output.  The output takes the memory of operand 0 of the same
    number of arrays, whose other elements stay where they are."""
    first_state: int | None = None
    """The first element of the output that is the state of an asynchronous operation: nothing that a program reads."""
    scratch: Callable[[Instruction], Collection[ShapeIndex]] = nothing_to_work_in
    """The elements of the output that are memory to work in, whose contents nobody reads."""
    exchange: Exchanges = exchanges_nothing
    """What devices send each other in one run (:mod:`hlomap.ops._exchange`).  What the computations send that a call or
    a loop runs is that of their instructions."""

    def written(self, instruction: Instruction) -> list[tuple[ShapeIndex, Shape]]:
        """The arrays of the output that the operation writes for others to read: no operand in its own memory, no state
        of an asynchronous operation, no memory to work in."""
        handed_on = (index for index, place in self.in_place(instruction).items() if not place.replaces)
        left_out = (*handed_on, *self.scratch(instruction))
        state = (self.first_state,) if self.first_state is not None else None
        return [
            (index, shape)
            for index, shape in arrays(instruction.shape)
            if (state is None or index[:1] < state) and not any(index[: len(at)] == at for at in left_out)
        ]


class Calls(NamedTuple):
    """How an operation calls its computations, and what their parameters are."""

    runs: Literal["once", "loop", "branch"] | None = None
    """How often the called computations run, if they are the work of the operation: once, in a loop (the body and a
    condition), or one of them."""
    inlines: bool = False
    """The value is that of the one called computation at the operands (fusion, call), so that a propagation may go
    through the computation in its place."""
    forwards: bool = False
    """The indexing rules return the context's maps through called computations as they are."""
    value_of_parameter: Callable[[Instruction, int, int], Instruction | None] | None = None
    """``value_of_parameter(instruction, called, parameter)``: the value that the parameter of that number of the called
    computation has, None if that is not known.  Without this function a parameter may depend on all operands."""
    parameter_to_operands: OutputToInput | None = None
    """``parameter_to_operands(instruction, shape_index, context)``: the elements of each operand on which an element of
    a called computation's parameter depends, in any of the calls.  For an operation that calls a computation
    repeatedly, each time with another value; in place of ``value_of_parameter``."""
    known_parameter: Callable[[Instruction, Sequence[Any]], Any] | None = None
    """``known_parameter(instruction, operands)``: what is known of the one parameter of the computations that the
    operation calls repeatedly, in any of the calls.  Without this function nothing is."""


class OpRule(NamedTuple):
    """The rule of one operation.  The first two records are required; a part that is left out says that the operation
    calls nothing, that nothing is known of its values, and that it reads its operands and writes its output."""

    opcode: str
    maps: Maps
    semantics: Semantics
    values: Values = Values()
    memory: Memory = Memory()
    calls: Calls = Calls()


class RuleTraits(NamedTuple):
    """The traits of a rule that the propagation reads, by these names; see ``RuleTraits`` in ``rust/flow``."""

    inlines: bool
    follows_tokens: bool
    structural: bool
    is_built_in: bool
    sizes_class: str | None
    work: str
    moves_nothing: bool
    updates: bool
    plain: str | None = None

    @classmethod
    def of(cls, op: OpRule, plain: OpRule) -> RuleTraits:
        """The traits of a rule that a user may have registered in place of the plain one."""
        count = op.semantics.operations
        return cls(
            inlines=op.calls.inlines,
            follows_tokens=op.maps.follows_tokens,
            structural=op.maps.structural,
            is_built_in=op.maps is plain.maps,
            sizes_class=op.maps.sizes_class,
            work="counted" if callable(count) else count or plain.calls.runs or "unknown",
            moves_nothing=plain.memory.moves_nothing,
            updates=plain.memory.updated_operand is not None,
            plain=None if op.maps.plain is None else op.maps.plain.text,
        )


class CustomRule(NamedTuple):
    """What a user has registered for an opcode or a custom call target, in place of what the op rule has: maps in both
    directions, the operations, or all of them."""

    maps: tuple[OutputToInput, InputToOutput] | None
    operations: Callable[[Instruction], Operations | Unknown] | None
