"""Frames and devices: what runs the steps of a plan.

Read :class:`Processor` first: it is the ``EvalContext`` that meanings see.  Its stack is a list of frames and of
meanings that wait, so nesting takes no Python stack.  The law: a device runs until it ends or meets others; the
devices of a meeting go on when all of them have come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from itertools import product
from types import GeneratorType
from typing import Any

import numpy as np

from .._core import Computation, Instruction
from ..errors import HlomapError, ShapeError, UnsupportedError
from ..ops._evaluation import Device, DeviceGrid, Request, Steps
from ..ops._numpy.input_checks import UserFunctionError, call_user_function
from ..ops._numpy.numeric import cast
from .denormals import flushed
from .plan import Plan, Plans, dtype_of

__all__ = ["Machine", "Processor"]

Value = Any
OnValue = Callable[..., None]

MAX_DEPTH = 5000
"""How deep calls may nest, those of applied computations counted in themselves."""
MAX_APPLIED = 50
"""How deep computations may nest that are applied to every element."""

_MASK = 2**128 - 1


class _Call(Request):
    __slots__ = ("arguments", "computation")

    def __init__(self, computation: Computation, arguments: list[Value]) -> None:
        self.computation = computation
        self.arguments = arguments


class _Meeting(Request):
    __slots__ = ("devices", "key", "value")

    def __init__(self, key: Hashable, devices: tuple[int, ...], value: Value) -> None:
        self.key = key
        self.devices = devices
        self.value = value


class _Waiting(Request):
    __slots__ = ("until",)

    def __init__(self, until: Callable[[], bool]) -> None:
        self.until = until


class _Frame:
    """One run of one plan."""

    __slots__ = ("arguments", "at", "plan", "values", "waits")

    def __init__(self, plan: Plan, arguments: list[Value]) -> None:
        self.plan = plan
        self.arguments = arguments[:]
        arguments.clear()
        self.at = 0
        self.waits = False
        self.values: list[Value] = [None] * plan.n_slots
        if plan.given:
            self.values[: plan.given], self.arguments = self.arguments, []


class Machine:
    """All devices of one run."""

    def __init__(
        self, plans: Plans, grid: DeviceGrid, max_steps: int, state: int, on_value: OnValue | None = None
    ) -> None:
        self.plans = plans
        self._processors = [
            Processor(self.plans, grid, Device(replica, partition, number), max_steps, _Counts(state), on_value)
            for number, (replica, partition) in enumerate(product(range(grid.n_replicas), range(grid.n_partitions)))
        ]
        if on_value is not None and len(self._processors) > 1:
            for processor in self._processors:
                processor.on_value = _numbered(on_value, processor.device.number)

    def run(self, plan: Plan | Computation, arguments: Sequence[list[Value]]) -> list[Value]:
        """The value on each device; the lists of arguments are emptied."""
        try:
            with np.errstate(all="ignore"), flushed():
                return self._run(plan, arguments)
        except UserFunctionError as outside:
            raise outside.error from outside.error.__cause__

    def _run(self, plan: Plan | Computation, arguments: Sequence[list[Value]]) -> list[Value]:
        if isinstance(plan, Computation):
            plan = self.plans.of(plan)
        for processor, given in zip(self._processors, arguments, strict=True):
            processor.enter(plan, given)
        ready = deque(self._processors)
        meetings: dict[Hashable, dict[int, Processor]] = {}
        waiting: list[Processor] = []
        while ready:
            processor = ready.popleft()
            request = processor.advance()
            if isinstance(request, _Waiting):
                waiting.append(processor)
            elif isinstance(request, _Meeting):
                place = (request.key, request.devices)
                met = meetings.setdefault(place, {})
                met[processor.device.number] = processor
                if len(met) == len(request.devices):
                    del meetings[place]
                    ready.extend(_exchanged(met, request.devices))
            if not ready and waiting:
                ready.extend(p for p in waiting if isinstance(p.waits_for, _Waiting) and p.waits_for.until())
                waiting = [p for p in waiting if p not in ready]
                for processor in ready:
                    processor.resume(None)
        stuck = [*(next(iter(met.values())) for met in meetings.values()), *waiting]
        if stuck:
            raise UnsupportedError(_stuck(stuck[0], meetings))
        return [processor.result for processor in self._processors]


def _numbered(on_value: OnValue, number: int) -> OnValue:
    return lambda instruction, value: on_value(instruction, value, number)


def _exchanged(met: dict[int, Processor], devices: Sequence[int]) -> list[Processor]:
    given = [p.waits_for.value for p in (met[number] for number in devices) if isinstance(p.waits_for, _Meeting)]
    for processor in met.values():
        processor.resume(list(given))
    return list(met.values())


def _stuck(processor: Processor, meetings: dict[Hashable, dict[int, Processor]]) -> str:
    request = processor.waits_for
    here = f"{processor.where()}: device {processor.device.number} waits forever"
    if not isinstance(request, _Meeting):
        return f"{here}: nothing is sent to it"
    missing = sorted(set(request.devices) - set(meetings[(request.key, request.devices)]))
    return f"{here}: devices {missing} do not come to the same place"


class _Counts:
    """What moves on while one device runs, in applied computations too."""

    __slots__ = ("n_iterations", "state")

    def __init__(self, state: int) -> None:
        self.state = state
        self.n_iterations = 0


class Processor:
    """One device: runs frames, and is the ``EvalContext`` that the meanings of operations see."""

    def __init__(
        self,
        plans: Plans,
        grid: DeviceGrid,
        device: Device,
        max_steps: int,
        counts: _Counts,
        on_value: OnValue | None = None,
        depth: int = 0,
    ) -> None:
        self.grid = grid
        self.device = device
        self.on_value = on_value
        self.pointwise = False
        self.waits_for: Request | None = None
        self.result: Value = None
        self._plans = plans
        self._max_steps = max_steps
        self._counts = counts
        self._depth = depth
        self._stack: list[Any] = []
        self._inbox: Value = None

    # What the machine does with it.

    def enter(self, plan: Plan, arguments: list[Value]) -> None:
        """Begin a plan."""
        self._stack.append(_Frame(plan, arguments))

    def resume(self, value: Value) -> None:
        """End its waiting with the value of the meeting."""
        self.waits_for, self._inbox = None, value

    def advance(self) -> Request | None:
        """Run until it waits for other devices, or to the end."""
        stack = self._stack
        value, self._inbox = self._inbox, None
        try:
            while stack:
                top = stack[-1]
                if isinstance(top, _Frame):
                    waiting = self._run(top, value)
                    value = None
                    if waiting is None:
                        value = top.values[top.plan.root]
                        stack.pop()
                    else:
                        stack.append(waiting)
                    continue
                try:
                    request = top.send(value)
                except StopIteration as end:
                    value = end.value
                    stack.pop()
                    continue
                value = None
                if isinstance(request, _Call):
                    if len(stack) > MAX_DEPTH:
                        raise UnsupportedError(f"calls nest more than {MAX_DEPTH // 2} deep")
                    self.enter(self._plans.of(request.computation), request.arguments)
                else:
                    assert isinstance(request, Request), "meanings yield requests"
                    self.waits_for = request
                    return request
        except HlomapError as error:
            raise self._placed(error) from error.__cause__
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            message = f"attributes and shapes do not fit ({type(error).__name__}: {error})"
            raise self._placed(ShapeError(message)) from error
        except MemoryError as error:
            raise self._placed(UnsupportedError(f"not enough memory ({error})")) from error
        self.result = value
        return None

    def _placed(self, error: HlomapError) -> HlomapError:
        """The same error with the place where it happened, once."""
        if getattr(error, "placed", False) or self._depth:
            return error
        named = type(error)(f"{self.where()}: {error}")
        named.placed = True  # type: ignore[attr-defined]
        return named

    def where(self) -> str:
        """The instruction that runs, with its opcode and computation."""
        for top in reversed(self._stack):
            if isinstance(top, _Frame):
                step = top.plan.steps[min(top.at, len(top.plan.steps) - 1)]
                here = step.instruction
                return f"{here.name} ({here.opcode} in {here.computation.name or 'a computation without name'})"
        return "execute"

    def _run(self, frame: _Frame, arrived: Value) -> Steps | None:
        """Run steps up to one that waits, or all; ``arrived`` is what the one before has waited for."""
        steps, values = frame.plan.steps, frame.values
        first = frame.at
        if frame.waits:
            frame.waits = False
            self._keep(frame, steps[first], arrived)
            first += 1
        self._frame = frame
        for at in range(first, len(steps)):
            frame.at = at
            step = steps[at]
            operands = [values[slot] for slot in step.operands]
            for slot in step.dying:
                values[slot] = None
            value = step.evaluate(step.instruction, operands, self)
            if type(value) is GeneratorType:
                frame.waits = True
                steps_of_it: Steps = value
                return steps_of_it
            self._keep(frame, step, value)
        return None

    def _keep(self, frame: _Frame, step: Any, value: Value) -> None:
        dtype = step.dtype
        if dtype is not None:
            if type(value) is not np.ndarray:
                value = np.asarray(value)
            if value.shape != step.sizes and not self.pointwise:
                _check_sizes(step, value)
            if value.dtype != dtype:
                if value.dtype.kind == "c" and dtype.kind != "c":
                    raise ShapeError(f"its type is {step.instruction.shape.dtype}, its operands make {value.dtype}")
                value = cast(value, dtype)
        if self.on_value is not None:
            call_user_function(self.on_value, step.instruction, value)
        frame.values[step.slot] = value

    # What meanings see.

    def parameter(self, number: int) -> Value:
        arguments = self._frame.arguments
        value, arguments[number] = arguments[number], None
        return value

    def call(self, computation: Computation, arguments: list[Value]) -> Request:
        return _Call(computation, arguments)

    def rendezvous(self, key: Hashable, devices: Sequence[int], value: Value) -> Request:
        return _Meeting(key, tuple(devices), value)

    def wait(self, until: Callable[[], bool]) -> Request:
        return _Waiting(until)

    def apply(self, computation: Computation, arguments: Sequence[Value]) -> Value:
        plan = self._plans.of(computation)
        if self._depth >= MAX_APPLIED:
            raise UnsupportedError(f"computations applied to every element nest more than {MAX_APPLIED} deep")
        sizes = np.broadcast_shapes(*(np.shape(argument) for argument in arguments))
        if self._plans.is_pointwise(plan):
            return _stretched(self._applied(plan, list(arguments), pointwise=True), sizes)
        return self._one_by_one(computation, plan, arguments, sizes)

    def _applied(self, plan: Plan, arguments: list[Value], *, pointwise: bool) -> Value:
        inner = Processor(self._plans, self.grid, self.device, self._max_steps, self._counts, depth=self._depth + 1)
        inner.pointwise = pointwise
        inner.enter(plan, arguments)
        if inner.advance() is not None:
            raise UnsupportedError("devices that meet inside a computation that is applied to every element")
        return inner.result

    def _one_by_one(
        self, computation: Computation, plan: Plan, arguments: Sequence[Value], sizes: tuple[int, ...]
    ) -> Value:
        """For computations with operations that see more than single elements."""
        whole = [np.broadcast_to(argument, sizes).reshape(-1) for argument in arguments]
        shape = computation.root.shape
        parts = shape.tuple_shapes if shape.is_tuple else (shape,)
        made = [np.empty(whole[0].size if whole else 1, dtype_of(part)) for part in parts]
        for k in range(len(made[0])):
            value = self._applied(plan, [np.asarray(argument[k]) for argument in whole], pointwise=False)
            for array, scalar in zip(made, value if shape.is_tuple else (value,), strict=True):
                array[k] = scalar
        done = tuple(array.reshape(sizes) for array in made)
        return done if shape.is_tuple else done[0]

    def count_iteration(self, instruction: Instruction) -> None:
        self._counts.n_iterations += 1
        if self._counts.n_iterations > self._max_steps:
            raise UnsupportedError(f"loops went round {self._max_steps} times; if they do end, pass a larger max_steps")

    def random_state(self, delta: int) -> int:
        state = self._counts.state
        self._counts.state = (state + delta) & _MASK
        return state

    def random(self) -> np.random.Generator:
        return np.random.default_rng(self.random_state(1))


def _check_sizes(step: Any, value: Any) -> None:
    fits = step.dynamic and len(value.shape) == len(step.sizes)
    if not fits or any(
        found != size and not (dynamic and found < size)
        for found, size, dynamic in zip(value.shape, step.sizes, step.instruction.shape.dynamic, strict=True)
    ):
        raise ShapeError(f"its shape is {step.instruction.shape}, its operands make {list(value.shape)}")


def _stretched(value: Value, sizes: tuple[int, ...]) -> Value:
    if isinstance(value, tuple):
        return tuple(_stretched(x, sizes) for x in value)
    return value if value.shape == sizes else np.broadcast_to(value, sizes)
