"""Runs the steps of plans on one or several devices.

:class:`Processor` is the ``EvalContext`` that ``evaluate`` functions get.  Its stack is a list of frames
and of suspended ``evaluate`` generators, so nested calls use no Python stack.  A device runs until it ends
or reaches a rendezvous; the devices of a rendezvous continue once all of them have arrived.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import product, zip_longest
from types import GeneratorType
from typing import Any, NamedTuple

import numpy as np

from .._core import Computation, Instruction
from ..base.dtypes import is_float
from ..errors import HlomapError, ShapeError, UnsupportedError
from ..ops._evaluation import Device, DeviceGrid, Request, Steps, Value, on_arrays
from ..ops._numpy.input_checks import UserFunctionError, call_user_function
from ..ops._numpy.numeric import cast
from .plan import ELEMENTS_OF_WORK, Dtypes, Plan, Plans, dtype_of

OnValue = Callable[[Instruction, Value, int, tuple[int, ...]], None]
"""Receives each instruction with its value, the number of the device, and the calls that lead to its computation, by
number and outermost first.  Only calls of computations with several callers are listed, since only these differ."""

MAX_DEPTH = 5000
"""The deepest nesting of calls; each computation that is applied to elements has its own count."""
MAX_APPLIED = 50
"""The deepest nesting of computations that are applied to every element."""

_MASK = 2**128 - 1


@dataclass(slots=True, eq=False)
class _Call(Request):
    computation: Computation
    arguments: list[Value]


@dataclass(slots=True, eq=False)
class _Rendezvous(Request):
    key: Hashable
    devices: tuple[int, ...]
    value: Value


@dataclass(slots=True, eq=False)
class _Wait(Request):
    until: Callable[[], bool]


class _Frame:
    """One activation of a plan."""

    __slots__ = ("arguments", "at", "calls", "is_suspended", "plan", "values")

    def __init__(self, plan: Plan, arguments: list[Value], calls: tuple[int, ...]) -> None:
        self.plan = plan
        self.calls = calls
        self.arguments = arguments[:]
        arguments.clear()
        self.at = 0
        self.is_suspended = False
        self.values: list[Value] = [None] * plan.n_slots
        if plan.n_arguments:
            self.values[: plan.n_arguments], self.arguments = self.arguments, []


class Budget(NamedTuple):
    """Limits of a program on one device: steps, and work of calls beyond what its text shows.

    A step is an iteration of a loop of the program or of the interpreter, such as one that combines the next elements
    of all outputs of a reduction.

    A program does at most the work of its text (:attr:`Plans.work`) once, and once more for every iteration of a loop
    and every element to which a computation is applied, unless nested calls share computations: then a short text can
    make very many calls.
    """

    max_steps: int
    max_work: int
    is_argument: bool = False
    """Whether the caller chose the limits, so that an error suggests larger ones."""

    def advice(self, name: str) -> str:
        """The end of an error."""
        return f"; pass a larger {name}" if self.is_argument else ""


class Machine:
    """All devices of one run."""

    def __init__(
        self, plans: Plans, grid: DeviceGrid, budget: Budget, state: int, on_value: OnValue | None = None
    ) -> None:
        self.plans = plans
        self._processors = [
            Processor(self.plans, grid, Device(replica, partition, number), budget, _DeviceState(state), on_value)
            for number, (replica, partition) in enumerate(product(range(grid.n_replicas), range(grid.n_partitions)))
        ]

    def run(self, plan: Plan | Computation, arguments: Sequence[list[Value]]) -> list[Value]:
        """The value on each device; empties the argument lists, so that values can be freed."""
        try:
            with np.errstate(all="ignore"), flush_denormals():
                return self._run(plan, arguments)
        except UserFunctionError as outside:
            raise outside.error from outside.error.__cause__

    def _run(self, plan: Plan | Computation, arguments: Sequence[list[Value]]) -> list[Value]:
        if isinstance(plan, Computation):
            plan = self.plans.plan_for(plan)
        for processor, own_arguments in zip(self._processors, arguments, strict=True):
            processor.enter(plan, own_arguments)
        ready = deque(self._processors)
        rendezvous: dict[Hashable, dict[int, Processor]] = {}
        waiting: list[Processor] = []
        while ready:
            processor = ready.popleft()
            request = processor.advance()
            if isinstance(request, _Wait):
                waiting.append(processor)
            elif isinstance(request, _Rendezvous):
                key = (request.key, request.devices)
                arrived = rendezvous.setdefault(key, {})
                arrived[processor.device.number] = processor
                if len(arrived) == len(request.devices):
                    del rendezvous[key]
                    ready.extend(_exchange(arrived, request.devices))
            if not ready and waiting:
                ready.extend(p for p in waiting if isinstance(p.waits_for, _Wait) and p.waits_for.until())
                waiting = [p for p in waiting if p not in ready]
                for processor in ready:
                    processor.resume(None)
        stuck = [*(next(iter(arrived.values())) for arrived in rendezvous.values()), *waiting]
        if stuck:
            raise UnsupportedError(_describe_deadlock(stuck[0], rendezvous))
        return [processor.result for processor in self._processors]


def _exchange(arrived: dict[int, Processor], devices: Sequence[int]) -> list[Processor]:
    """Resumes the devices of a rendezvous with the values of all of them."""
    values = [p.waits_for.value for p in (arrived[i] for i in devices) if isinstance(p.waits_for, _Rendezvous)]
    for processor in arrived.values():
        processor.resume(list(values))
    return list(arrived.values())


def _describe_deadlock(processor: Processor, rendezvous: dict[Hashable, dict[int, Processor]]) -> str:
    request = processor.waits_for
    here = f"{processor.location()}: device {processor.device.number} waits forever"
    if not isinstance(request, _Rendezvous):
        return f"{here}: nothing is sent to it"
    missing = sorted(set(request.devices) - set(rendezvous[(request.key, request.devices)]))
    return f"{here}: devices {missing} do not reach this instruction"


@dataclass(slots=True)
class _DeviceState:
    """The mutable state of one device, which applied computations share."""

    state: int
    n_steps: int = 0
    elements: int = 0
    work: int = 0


class Processor:
    """One device: runs frames, and is the ``EvalContext`` of the operations' ``evaluate`` functions."""

    def __init__(
        self,
        plans: Plans,
        grid: DeviceGrid,
        device: Device,
        budget: Budget,
        state: _DeviceState,
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
        self._budget = budget
        self._state = state
        self._depth = depth
        self._stack: list[Any] = []
        self._inbox: Value = None

    # Called by the machine.

    def enter(self, plan: Plan, arguments: list[Value], calls: tuple[int, ...] = ()) -> None:
        """Start a plan that these calls lead to; see :data:`OnValue`."""
        self._stack.append(_Frame(plan, arguments, calls))

    def resume(self, value: Value) -> None:
        """Continue with the value that the device has waited for."""
        self.waits_for, self._inbox = None, value

    def advance(self) -> Request | None:
        """Run to the end, or to a request that the machine must serve; returns that request."""
        stack = self._stack
        value, self._inbox = self._inbox, None
        try:
            while stack:
                top = stack[-1]
                if isinstance(top, _Frame):
                    suspended = self._run(top, value)
                    value = None
                    if suspended is None:
                        value = top.values[top.plan.root]
                        stack.pop()
                    else:
                        stack.append(suspended)
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
                    plan = self._plans.plan_for(request.computation)
                    if request.computation.module == self._plans.module:  # not the definition of a library call
                        self._count_work(plan.work)
                    caller = stack[-2]
                    calls: tuple[int, ...] = caller.calls
                    if self.on_value is not None and plan.has_several_callers:
                        calls = (*calls, caller.plan.steps[caller.at].instruction.number)
                    self.enter(plan, request.arguments, calls)
                else:
                    assert isinstance(request, Request), "evaluate functions yield requests"
                    self.waits_for = request
                    return request
        except HlomapError as error:
            raise self._locate(error) from error.__cause__
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            message = f"attributes and shapes do not fit ({type(error).__name__}: {error})"
            raise self._locate(ShapeError(message)) from error
        except MemoryError as error:
            raise self._locate(UnsupportedError(f"not enough memory ({error})")) from error
        self.result = value
        return None

    def _locate(self, error: HlomapError) -> HlomapError:
        """The error with the instruction that raised it; idempotent."""
        if getattr(error, "located", False) or self._depth:
            return error
        located = type(error)(f"{self.location()}: {error}")
        located.located = True  # type: ignore[attr-defined]
        return located

    def location(self) -> str:
        """The running instruction, with its opcode and computation."""
        for top in reversed(self._stack):
            if isinstance(top, _Frame):
                step = top.plan.steps[min(top.at, len(top.plan.steps) - 1)]
                here = step.instruction
                return f"{here.name} ({here.opcode} in {here.computation.name or 'a computation without name'})"
        return "execute"

    def _run(self, frame: _Frame, arrived: Value) -> Steps | None:
        """Run steps up to one that suspends, or all; ``arrived`` is the value of the suspended step."""
        steps, values = frame.plan.steps, frame.values
        first = frame.at
        if frame.is_suspended:
            frame.is_suspended = False
            self._store(frame, steps[first], arrived)
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
                frame.is_suspended = True
                generator: Steps = value
                return generator
            self._store(frame, step, value)
        return None

    def _store(self, frame: _Frame, step: Any, value: Value) -> None:
        dtype = step.dtype
        if type(dtype) is tuple:
            value = _rounded(value, dtype)
        elif dtype is not None:
            if type(value) is not np.ndarray:
                value = np.asarray(value)
            if value.shape != step.sizes and not self.pointwise:
                _check_sizes(step, value)
            if value.dtype != dtype:
                if value.dtype.kind == "c" and dtype.kind != "c":
                    raise ShapeError(
                        f"its type is {step.instruction.shape.dtype}, its computed value has type {value.dtype}"
                    )
                value = cast(value, dtype)
        if self.on_value is not None and step.instruction.module == self._plans.module:
            call_user_function(self.on_value, step.instruction, value, self.device.number, frame.calls)
        frame.values[step.slot] = value

    # The EvalContext.

    def parameter(self, number: int) -> Value:
        arguments = self._frame.arguments
        value, arguments[number] = arguments[number], None
        return value

    def call(self, computation: Computation, arguments: list[Value]) -> Request:
        return _Call(computation, arguments)

    def rendezvous(self, key: Hashable, devices: Sequence[int], value: Value) -> Request:
        return _Rendezvous(key, tuple(devices), value)

    def wait(self, until: Callable[[], bool]) -> Request:
        return _Wait(until)

    def apply(self, computation: Computation, arguments: Sequence[Value]) -> Value:
        plan = self._plans.plan_for(computation)
        if self._depth >= MAX_APPLIED:
            raise UnsupportedError(f"computations applied to every element nest more than {MAX_APPLIED} deep")
        sizes = np.broadcast_shapes(*(np.shape(argument) for argument in arguments))
        if self._plans.is_pointwise(plan):
            found = self._run_applied(plan, list(arguments), pointwise=True)
            return on_arrays(lambda x: x if x.shape == sizes else np.broadcast_to(x, sizes), found)
        return self._one_by_one(computation, plan, arguments, sizes)

    def _run_applied(self, plan: Plan, arguments: list[Value], *, pointwise: bool) -> Value:
        self.count_steps()
        inner = Processor(self._plans, self.grid, self.device, self._budget, self._state, depth=self._depth + 1)
        inner.pointwise = pointwise
        inner.enter(plan, arguments)
        if inner.advance() is not None:
            raise UnsupportedError("collectives are not supported in a computation that is applied to every element")
        return inner.result

    def _one_by_one(
        self, computation: Computation, plan: Plan, arguments: Sequence[Value], sizes: tuple[int, ...]
    ) -> Value:
        """Applies a computation to one element at a time, since it has operations that are not pointwise."""
        whole = [np.broadcast_to(argument, sizes).reshape(-1) for argument in arguments]
        shape = computation.root.shape
        parts = shape.tuple_shapes if shape.is_tuple else (shape,)
        results = [np.empty(whole[0].size if whole else 1, dtype_of(part)) for part in parts]
        for k in range(len(results[0])):
            value = self._run_applied(plan, [np.asarray(argument[k]) for argument in whole], pointwise=False)
            for array, scalar in zip(results, value if shape.is_tuple else (value,), strict=True):
                array[k] = scalar
        reshaped = tuple(array.reshape(sizes) for array in results)
        return reshaped if shape.is_tuple else reshaped[0]

    def _count_work(self, work: int) -> None:
        state = self._state
        state.work += work
        if state.work > self._budget.max_work:
            n_runs = 1 + state.n_steps
            if state.work > self._budget.max_work + self._plans.work * n_runs:
                raise UnsupportedError(
                    f"nested calls run more than {self._budget.max_work} instructions "
                    f"beyond those of the text{self._budget.advice('max_work')}"
                )

    def count_steps(self, n: int = 1) -> None:
        self._state.n_steps += n
        if self._state.n_steps > self._budget.max_steps:
            raise UnsupportedError(
                f"loops exceed {self._budget.max_steps} iterations, including loops over elements"
                f"{self._budget.advice('max_steps')}"
            )

    def count_elements(self, n: int) -> None:
        self._state.elements += n
        self._count_work(self._state.elements // ELEMENTS_OF_WORK)
        self._state.elements %= ELEMENTS_OF_WORK

    def random_state(self, delta: int) -> int:
        state = self._state.state
        self._state.state = (state + delta) & _MASK
        return state

    def random(self) -> np.random.Generator:
        return np.random.default_rng(self.random_state(1))


def _check_sizes(step: Any, value: Any) -> None:
    fits = step.dynamic and len(value.shape) == len(step.sizes)
    if not fits or any(
        found != size and not (dynamic and found < size)
        for found, size, dynamic in zip(value.shape, step.sizes, step.instruction.shape.dynamic, strict=True)
    ):
        raise ShapeError(f"its shape is {step.instruction.shape}, its computed value has sizes {list(value.shape)}")


def _rounded(value: Value, dtype: Dtypes) -> Value:
    """The floats of a tuple rounded to the declared types; the values of contexts may be missing."""
    if isinstance(value, tuple) and isinstance(dtype, tuple):
        return tuple(_rounded(*pair) for pair in zip_longest(value, dtype[: len(value)]))
    if isinstance(value, np.ndarray) and isinstance(dtype, np.dtype) and value.dtype != dtype:
        return cast(value, dtype) if is_float(value.dtype) and is_float(dtype) else value
    return value


# Flushes denormal operands and results to zero, as XLA does on CPU.
#
# :func:`flush_denormals` sets the processor's mode for the current thread through the C library's floating-point
# environment.  On other processors and C libraries arithmetic keeps denormals.


_FLUSH_BITS = 0x8040
"""Bits of the SSE control word: flush denormal results to zero, and treat denormal operands as zero."""
_Environment = ctypes.c_uint32 * 8
"""The environment of glibc on x86-64, whose last word is the SSE control word."""


@cache
def _library() -> ctypes.CDLL | None:
    is_known = sys.platform == "linux" and platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
    return ctypes.CDLL("libm.so.6") if is_known else None


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treats denormals as zero in this thread until the end of the block."""
    library = _library()
    if library is None:
        yield
        return
    before = _Environment()
    library.fegetenv(before)
    flushing = _Environment(*before)
    flushing[7] |= _FLUSH_BITS
    library.fesetenv(flushing)
    try:
        yield
    finally:
        library.fesetenv(before)
