"""What an op page is made of: the :class:`OpRule` record, what its rules answer, and the registry of pages.

Read :class:`OpRule` first.  The law: a rule answers :class:`Unknown` with a reason, or says precisely what is read;
no maps means that nothing is read.  Rules name the value of operand k as runtime source k, so that one answer
serves every instruction with the same signature; the walker renames the sources.
No op is known here, and neither the walker nor the executor: they pass themselves in (`RuleContext`, `EvalContext`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from .._core import Computation, Expr, IndexingMap, Instruction, Shape
from ..types import ShapeIndex, Unknown
from ._evaluation import Evaluate

ExprLike: TypeAlias = Expr | int
Bounds: TypeAlias = tuple[int, int]

INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Footprint:
    """What belongs to one value: maps, each with the leaf of the value that its results index.

    ``across``: the elements are on other devices, which the maps do not say.  So two such footprints one after the
    other mention too much, and a runtime value there is not the one here.
    """

    maps: tuple[tuple[ShapeIndex, IndexingMap], ...] = ()
    exact: bool = True
    reason: str | None = None
    crosses_devices: bool = False

    def __add__(self, other: Footprint) -> Footprint:
        exact, reason = self.exact and other.exact, self.reason or other.reason
        return Footprint(self.maps + other.maps, exact, reason, self.crosses_devices or other.crosses_devices)

    def of(self, maps: Iterable[tuple[ShapeIndex, IndexingMap]]) -> Footprint:
        """Other maps of which the same is true."""
        return Footprint(tuple(maps), self.exact, self.reason, self.crosses_devices)

    def at(self, leaf: ShapeIndex) -> Footprint:
        """The same maps below ``leaf`` of a bigger value."""
        return self.of((leaf + below, m) for below, m in self.maps)


NOTHING = Footprint()

OperandIndexing: TypeAlias = Footprint | Unknown
RuleResult: TypeAlias = Sequence[OperandIndexing] | Mapping[int, OperandIndexing]
"""A part for each operand or output; a mapping leaves out the parts that are ``NOTHING``."""


class RuleContext(Protocol):
    """The walker, as a rule sees it: the maps through a computation that ``instruction`` calls."""

    def shape_of(self, instruction: Instruction) -> Shape:
        """The shape of an instruction, which the walker keeps: that of a wide tuple is long."""

    def output_to_input(self, instruction: Instruction, computation: Computation, leaf: ShapeIndex) -> RuleResult:
        """From ``leaf`` of the computation's root to each of its parameters."""

    def input_to_output(
        self, instruction: Instruction, computation: Computation, parameter: int, leaf: ShapeIndex
    ) -> RuleResult:
        """From ``leaf`` of a parameter to each output of the computation's root."""


OutputToInput: TypeAlias = Callable[[Instruction, ShapeIndex, RuleContext], RuleResult]
InputToOutput: TypeAlias = Callable[[Instruction, int, ShapeIndex, RuleContext], RuleResult]


class Groups(Protocol):
    """A table of groups of devices; ``ids`` says whether the numbers in it are replicas, partitions or devices."""

    @property
    def ids(self) -> str: ...
    @property
    def groups(self) -> Sequence[Sequence[int]]: ...

    def runs(self) -> list[tuple[Bounds, int]]:
        """First and last of neighbouring groups of one size, with that size."""


@dataclass(frozen=True, slots=True)
class CollectiveRule:
    """How an operation moves elements between devices: the groups, and maps that have group and position, too.

    The rules answer as those of an :class:`OpRule`; behind the dimensions and the results of each of their maps come
    the group and the position in it, and behind the index of a runtime variable those of the device that holds the
    value. Parts that are not ``across`` are plain maps of elements that stay on their device.
    """

    groups: Callable[[Instruction], Groups | Unknown]
    output_to_input: Callable[[Instruction, ShapeIndex], Mapping[int, OperandIndexing]]
    input_to_output: Callable[[Instruction, int, ShapeIndex], Mapping[int, OperandIndexing]]


def no_constant_operands(instruction: Instruction) -> tuple[int, ...]:
    """No operand's content matters to the rules."""
    return ()


@dataclass(frozen=True, slots=True)
class ElementwiseMethod:
    """A method of the builder for an elementwise operation: element types that it takes, and in words what it gives.

    ``on_floats``: attributes that are written only where the operands are floats.
    """

    name: str
    n_operands: int
    element_types: str
    gives: str
    attributes: tuple[tuple[str, str], ...] = ()
    on_floats: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class OpRule:
    """One operation: how its elements belong together, in both directions, and what it computes.

    ``output_to_input(instruction, leaf, context)`` has one part for each operand,
    ``input_to_output(instruction, operand, leaf, context)`` one for each output (the elements of a tuple, else one).
    ``constant_operands`` names the operands whose constant content the rules use.
    ``inlines``: the value is that of the one called computation at the operands.
    ``depends_on_called_values``: the answer depends on more than the signature, so it is not shared between
    instructions.
    ``pointwise``: ``evaluate`` may be given arrays where the instruction is on scalars.
    ``has_side_effect``: it does something besides giving a value, so it runs even where nobody needs the value.
    ``operand_of_parameter(instruction, called, parameter)``: the operand that a parameter of a called computation
    stands for, None for the output at some iteration; without it a parameter may be made of all operands.
    ``exchange``: how elements belong together on the devices of a group, where they are on others.
    ``forwards_calls``: what it says of a computation that it calls is what the context says, put in its place.
    ``sizes_class``: operations of this name answer alike where the sizes of their arrays agree; nothing else is looked
    at.
    ``structural``: values are put side by side or taken out, and none is computed; its rules cost less than a
    signature.
    ``methods``: what writes it from Python, by names of methods in ``build`` or as a :class:`ElementwiseMethod`; left
    out, the one there that is called as the opcode, or one made from the attributes that the reader knows.
    """

    opcode: str
    output_to_input: OutputToInput
    input_to_output: InputToOutput
    evaluate: Evaluate
    constant_operands: Callable[[Instruction], tuple[int, ...]] = no_constant_operands
    inlines: bool = False
    depends_on_called_values: bool = False
    pointwise: bool = False
    has_side_effect: bool = False
    collective: CollectiveRule | None = None
    forwards_calls: bool = False
    sizes_class: str | None = None
    structural: bool = False
    operand_of_parameter: Callable[[Instruction, int, int], int | None] | None = None
    builder_methods: tuple[str | ElementwiseMethod, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomRule:
    """A rule that a user has given for an opcode or a custom call target, in place of a page's own."""

    output_to_input: OutputToInput
    input_to_output: InputToOutput
    constant_operands: tuple[int, ...]
