"""What an op page is made of: the :class:`Op` record, what its rules answer, and the registry of pages.

Read :class:`Op` first.  The law: a rule answers :class:`Unknown` with a reason, or says precisely what is read;
no maps means that nothing is read.  Rules name the value of operand k as runtime source k, so that one answer
serves every instruction with the same signature; the walker renames the sources.
No op is known here, and neither the walker nor the executor: they pass themselves in (`Context`, `Run`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .._core import Computation, Expr, IndexingMap, Instruction, Shape
from ._shapes import n_outputs

Leaf: TypeAlias = tuple[int, ...]
"""A shape index: the way from a value to one of the arrays in it, ``()`` for an array itself."""

Array: TypeAlias = npt.NDArray[Any]
Value: TypeAlias = Any
"""An array, a tuple of values, or None for a token."""

ExprLike: TypeAlias = Expr | int
Bounds: TypeAlias = tuple[int, int]

INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing can be said, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Footprint:
    """What belongs to one value: maps, each with the leaf of the value that its results index.

    ``across``: the elements are on other devices, which the maps do not say.  So two such footprints one after the
    other mention too much, and a runtime value there is not the one here.
    """

    maps: tuple[tuple[Leaf, IndexingMap], ...] = ()
    exact: bool = True
    reason: str | None = None
    across: bool = False

    def __add__(self, other: Footprint) -> Footprint:
        exact, reason = self.exact and other.exact, self.reason or other.reason
        return Footprint(self.maps + other.maps, exact, reason, self.across or other.across)

    def of(self, maps: Iterable[tuple[Leaf, IndexingMap]]) -> Footprint:
        """Other maps of which the same is true."""
        return Footprint(tuple(maps), self.exact, self.reason, self.across)

    def at(self, leaf: Leaf) -> Footprint:
        """The same maps below ``leaf`` of a bigger value."""
        return self.of((leaf + below, m) for below, m in self.maps)


NOTHING = Footprint()

Part: TypeAlias = Footprint | Unknown
Answer: TypeAlias = Sequence[Part] | Mapping[int, Part]
"""A part for each operand or output; a mapping leaves out the parts that are ``NOTHING``."""


class Context(Protocol):
    """The walker, as a rule sees it: the maps through a computation that ``instruction`` calls."""

    def shape_of(self, instruction: Instruction) -> Shape:
        """The shape of an instruction, which the walker keeps: that of a wide tuple is long."""

    def output_to_input(self, instruction: Instruction, computation: Computation, leaf: Leaf) -> Answer:
        """From ``leaf`` of the computation's root to each of its parameters."""

    def input_to_output(self, instruction: Instruction, computation: Computation, parameter: int, leaf: Leaf) -> Answer:
        """From ``leaf`` of a parameter to each output of the computation's root."""


class Request:
    """What a meaning asks of the executor and waits for; made by :meth:`Run.call` and :meth:`Run.meet`."""

    __slots__ = ()


class Run(Protocol):
    """The executor, as an op's meaning sees it on one device.

    A meaning that runs a computation or waits for other devices is a generator: it yields a request and is sent its
    value, so neither nesting nor waiting takes Python's stack:  ``state = yield run.call(body, [state])``.
    """

    @property
    def device(self) -> Device:
        """Which of the simulated devices this is."""

    @property
    def world(self) -> World:
        """What all devices share: sizes, queues, registered functions."""

    @property
    def pointwise(self) -> bool:
        """Whether values are whole arrays where the text has scalars (:meth:`apply`)."""

    def call(self, computation: Computation, arguments: list[Value]) -> Request:
        """To be yielded: the value of a computation.  The list is emptied, so that nothing lives longer than needed."""

    def meet(self, key: Hashable, devices: Sequence[int], value: Value) -> Request:
        """To be yielded: the values that those devices give under the same key, in their order, when all have."""

    def wait(self, until: Callable[[], bool]) -> Request:
        """To be yielded: goes on when ``until()`` holds, which other devices bring about."""

    def apply(self, computation: Computation, arguments: Sequence[Array]) -> Value:
        """A computation on scalars at every place of whole arrays at once; results have the arguments' common sizes."""

    def parameter(self, number: int) -> Value:
        """An argument of the computation that runs."""

    def count_iteration(self, instruction: Instruction) -> None:
        """To be called by a loop each time it goes round; an error after ``max_steps``."""

    def random_state(self, delta: int) -> int:
        """The 128 bits of the device's random state, which moves on by ``delta``."""

    def random(self) -> np.random.Generator:
        """Random numbers for operations whose values are not specified; made anew from :meth:`random_state`."""


@dataclass(frozen=True, slots=True)
class Device:
    """A simulated device: number ``replica * n_partitions + partition``."""

    replica: int
    partition: int
    number: int


@dataclass(slots=True)
class World:
    """What the simulated devices share."""

    n_replicas: int = 1
    n_partitions: int = 1
    infeed: Sequence[Iterator[Value]] = ()
    """By device, the values that its infeeds take."""
    outfeed: list[Value] | None = None
    """Where outfeeds put their values, in the order they run; of several devices, with the device's number."""
    received: Mapping[int, Iterator[Value]] = field(default_factory=dict)
    """By channel, the values that the host sends."""
    sent: dict[int, list[Value]] = field(default_factory=dict)
    """By channel, the values that went to the host."""
    mail: dict[tuple[int, int, int], deque[Value]] = field(default_factory=dict)
    """By channel, source and target, what one device has sent to another and was not yet received."""
    custom_calls: Mapping[str, Callable[..., Value]] = field(default_factory=dict)
    """By target, the function that stands for a custom call."""


OutputToInput: TypeAlias = Callable[[Instruction, Leaf, Context], Answer]
InputToOutput: TypeAlias = Callable[[Instruction, int, Leaf, Context], Answer]
Evaluate: TypeAlias = Callable[[Instruction, list[Value], Run], Value]
"""An operation's meaning: from the values of its operands to its own, or a generator of requests that returns it."""

Steps: TypeAlias = Generator[Request, Value, Value]
"""A meaning that waits for requests."""


class Groups(Protocol):
    """A table of groups of devices; ``ids`` says whether the numbers in it are replicas, partitions or devices."""

    @property
    def ids(self) -> str: ...
    @property
    def groups(self) -> Sequence[Sequence[int]]: ...

    def runs(self) -> list[tuple[Bounds, int]]:
        """First and last of neighbouring groups of one size, with that size."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """How an operation moves elements between devices: the groups, and maps that have group and position, too.

    The rules answer as those of an :class:`Op`; behind the dimensions and the results of each of their maps come the
    group and the position in it, and behind the index of a runtime variable those of the device that holds the value.
    Parts that are not ``across`` are plain maps of elements that stay on their device.
    """

    groups: Callable[[Instruction], Groups | Unknown]
    output_to_input: Callable[[Instruction, Leaf], Mapping[int, Part]]
    input_to_output: Callable[[Instruction, int, Leaf], Mapping[int, Part]]


def looks_at_nothing(instruction: Instruction) -> tuple[int, ...]:
    """No operand's content matters to the rules."""
    return ()


@dataclass(frozen=True, slots=True)
class Pointwise:
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
class Op:
    """One operation: how its elements belong together, in both directions, and what it computes.

    ``output_to_input(instruction, leaf, context)`` has one part for each operand,
    ``input_to_output(instruction, operand, leaf, context)`` one for each output (the elements of a tuple, else one).
    ``looked_at`` names the operands whose constant content the rules use.
    ``inlines``: the value is that of the one called computation at the operands.
    ``per_instruction``: the answer depends on more than the signature, so it is not shared between instructions.
    ``pointwise``: ``evaluate`` may be given arrays where the instruction is on scalars.
    ``acts``: it does something besides giving a value, so it runs even where nobody needs the value.
    ``parameter_is(instruction, called, parameter)``: the operand that a parameter of a called computation stands for,
    None for the output at some iteration; without it a parameter may be made of all operands.
    ``exchange``: how elements belong together on the devices of a group, where they are on others.
    ``passes_calls``: what it says of a computation that it calls is what the context says, put in its place.
    ``by_sizes``: operations of this name answer alike where the sizes of their arrays agree; nothing else is looked at.
    ``wiring``: values are put side by side or taken out, and none is computed; its rules cost less than a signature.
    ``methods``: what writes it from Python, by names of methods in ``build`` or as a :class:`Pointwise`; left out, the
    one there that is called as the opcode, or one made from the attributes that the reader knows.
    """

    opcode: str
    output_to_input: OutputToInput
    input_to_output: InputToOutput
    evaluate: Evaluate
    looked_at: Callable[[Instruction], tuple[int, ...]] = looks_at_nothing
    inlines: bool = False
    per_instruction: bool = False
    pointwise: bool = False
    acts: bool = False
    exchange: Exchange | None = None
    passes_calls: bool = False
    by_sizes: str | None = None
    wiring: bool = False
    parameter_is: Callable[[Instruction, int, int], int | None] | None = None
    methods: tuple[str | Pointwise, ...] = ()


_registry: dict[str, Op] = {}
_listeners: list[Callable[[Op], None]] = []


def register(op: Op) -> None:
    """Make an op known; two pages for one opcode are a mistake of ours and end the import."""
    if op.opcode in _registry:
        raise RuntimeError(f"two op pages for {op.opcode!r}")
    _registry[op.opcode] = op
    for listener in _listeners:
        listener(op)


def each(listener: Callable[[Op], None]) -> None:
    """Calls ``listener`` with the op of every page, and of every page to come."""
    for op in _registry.values():
        listener(op)
    _listeners.append(listener)


def registered() -> tuple[str, ...]:
    """The opcodes that have a page, sorted."""
    return tuple(sorted(_registry))


def lookup(opcode: str) -> Op:
    """The op of an opcode; an opcode without a page gets rules that answer Unknown."""
    found = _registry.get(opcode)
    return found if found is not None else _without_page(opcode)


@lru_cache(maxsize=256)
def _without_page(opcode: str) -> Op:
    from ._short_async import short_form

    return short_form(opcode, _registry) or unknown_op(opcode)


@dataclass(frozen=True, slots=True)
class UserRule:
    """A rule that a user has given for an opcode or a custom call target, in place of a page's own."""

    output_to_input: OutputToInput
    input_to_output: InputToOutput
    looked_at: tuple[int, ...]


user_rules: dict[str, UserRule] = {}


def op_of(instruction: Instruction) -> Op:
    """The op of an instruction; a user's rule for its opcode or its target goes before its page's."""
    op = lookup(instruction.opcode)
    if user_rules:
        target = instruction.attributes.get("custom_call_target")
        rule = user_rules.get(target) if isinstance(target, str) else None
        rule = rule if rule is not None else user_rules.get(instruction.opcode)
        if rule is not None:
            looked_at = rule.looked_at
            return Op(op.opcode, rule.output_to_input, rule.input_to_output, op.evaluate, lambda instruction: looked_at)
    return op


@lru_cache(maxsize=256)
def unknown_op(opcode: str) -> Op:
    """An op of which nothing is known but its name."""
    unknown = Unknown(f"no rule for {opcode}")

    def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
        return [unknown] * len(instruction.operands)

    def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
        return [unknown] * n_outputs(instruction.shape)

    return Op(opcode, output_to_input, input_to_output, _cannot_run)


def _cannot_run(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    from ..errors import UnsupportedError

    raise UnsupportedError(f"no meaning for {instruction.opcode}, needed by {instruction.name}")
