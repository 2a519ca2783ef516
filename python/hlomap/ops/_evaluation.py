"""The interface of the interpreter to the semantics of operations: values, requests, the grid of simulated devices."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from .._core import Computation, Instruction
from ..base.lazy import np, npt

Array: TypeAlias = "npt.NDArray[Any]"
Value: TypeAlias = Any
"""An array, a tuple of values, or None for a token."""


class Request:
    """Something that semantics ask of the interpreter and wait for.

    :meth:`EvalContext.call`, :meth:`EvalContext.rendezvous` and :meth:`EvalContext.wait` make them.
    """

    __slots__ = ()


class EvalContext(Protocol):
    """The interface of the interpreter to the semantics of an operation, on one device.

    Semantics that call a computation or wait for other devices are a generator: it yields a request and receives the
    requested value, so that neither nesting nor waiting uses Python's stack: ``state = yield context.call(body,
    [state])``.
    """

    device: Device
    """The simulated device."""
    grid: DeviceGrid
    """The state that all devices share: sizes, queues, registered functions."""
    pointwise: bool
    """Whether values are whole arrays in place of scalars in the HLO (:meth:`apply`)."""

    def call(self, computation: Computation, arguments: list[Value]) -> Request:
        """A request for the value of a computation.

        The list of arguments is emptied, so that no argument outlives its last use.
        """

    def rendezvous(self, key: Hashable, devices: Sequence[int], value: Value) -> Request:
        """A request for the values that ``devices`` pass under the same key, in their order, once all have done so."""

    def wait(self, until: Callable[[], bool]) -> Request:
        """A request to continue once ``until()`` holds, through the action of other devices."""

    def apply(self, computation: Computation, arguments: Sequence[Array]) -> Value:
        """A computation on scalars, applied elementwise to whole arrays; results have the broadcast shape."""

    def parameter(self, number: int) -> Value:
        """An argument of the running computation."""

    def count_steps(self, n: int = 1) -> None:
        """Counts iterations of a loop, of the program or of its semantics in Python over elements, which
        :meth:`apply` counts itself; :class:`~hlomap.errors.UnsupportedError` after ``max_steps``."""

    def count_elements(self, n: int) -> None:
        """Counts elements of an array that has no instruction of its own, such as all windows, for ``max_work``."""

    def random_state(self, delta: int) -> int:
        """The 128 bits of the device's random state, which then advances by ``delta``."""

    def random(self) -> np.random.Generator:
        """Random numbers for operations whose values XLA does not specify; a new generator from the random state."""


class Device(NamedTuple):
    """A simulated device: number ``replica * n_partitions + partition``."""

    replica: int
    partition: int
    number: int


class DeviceGrid:
    """The simulated devices, and the state that they share."""

    def __init__(
        self,
        n_replicas: int = 1,
        n_partitions: int = 1,
        *,
        infeed: Sequence[Iterator[Value]] = (),
        outfeed: list[Value] | None = None,
        received: Mapping[int, Iterator[Value]] | None = None,
        sent: dict[int, list[Value]] | None = None,
        custom_calls: Mapping[str, Callable[..., Value]] | None = None,
    ) -> None:
        self.n_replicas: int = n_replicas
        self.n_partitions: int = n_partitions
        self.infeed: Sequence[Iterator[Value]] = infeed
        """By device, the values that its infeeds receive."""
        self.outfeed: list[Value] | None = outfeed
        """The values of outfeeds in the order they run; with several devices as (device number, value)."""
        self.received: Mapping[int, Iterator[Value]] = received or {}
        """By channel, the values that the host sends."""
        self.sent: dict[int, list[Value]] = {} if sent is None else sent
        """By channel, the values that the host receives."""
        self.channels: dict[tuple[int, int, int], deque[Value]] = {}
        """By channel, source and target, the values in flight between two devices."""
        self.custom_calls: Mapping[str, Callable[..., Value]] = custom_calls or {}
        """By target, the function that implements a custom call."""


def on_arrays(function: Callable[..., Any], *values: Value) -> Value:
    """The function of the arrays at the same place in values of one shape; a token stays a token."""
    if isinstance(values[0], tuple):
        return tuple(on_arrays(function, *parts) for parts in zip(*values, strict=True))
    return None if values[0] is None else function(*values)


Evaluate: TypeAlias = Callable[[Instruction, list[Value], EvalContext], Value]
"""The semantics of an operation: from the values of its operands to its own value, or to a generator of requests
(:data:`Steps`) that returns it."""

Steps: TypeAlias = Generator[Request, Value, Value]
"""Semantics that wait for requests."""
