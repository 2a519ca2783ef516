"""The interpreter as an operation's semantics see it: values, requests, the grid of simulated devices."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .._core import Computation, Instruction

Array: TypeAlias = npt.NDArray[Any]
Value: TypeAlias = Any
"""An array, a tuple of values, or None for a token."""


class Request:
    """What a meaning asks of the executor and waits for; made by :meth:`EvalContext.call` and
    :meth:`EvalContext.meet`."""

    __slots__ = ()


class EvalContext(Protocol):
    """The executor, as an op's meaning sees it on one device.

    A meaning that runs a computation or waits for other devices is a generator: it yields a request and is sent its
    value, so neither nesting nor waiting takes Python's stack:  ``state = yield context.call(body, [state])``.
    """

    @property
    def device(self) -> Device:
        """Which of the simulated devices this is."""

    @property
    def grid(self) -> DeviceGrid:
        """What all devices share: sizes, queues, registered functions."""

    @property
    def pointwise(self) -> bool:
        """Whether values are whole arrays where the text has scalars (:meth:`apply`)."""

    def call(self, computation: Computation, arguments: list[Value]) -> Request:
        """To be yielded: the value of a computation.  The list is emptied, so that nothing lives longer than needed."""

    def rendezvous(self, key: Hashable, devices: Sequence[int], value: Value) -> Request:
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
class DeviceGrid:
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
    channels: dict[tuple[int, int, int], deque[Value]] = field(default_factory=dict)
    """By channel, source and target, what one device has sent to another and was not yet received."""
    custom_calls: Mapping[str, Callable[..., Value]] = field(default_factory=dict)
    """By target, the function that stands for a custom call."""


Evaluate: TypeAlias = Callable[[Instruction, list[Value], EvalContext], Value]
"""An operation's meaning: from the values of its operands to its own, or a generator of requests that returns it."""

Steps: TypeAlias = Generator[Request, Value, Value]
"""A meaning that waits for requests."""
