"""Interprets HLO with NumPy: every op rule has an ``evaluate`` function with the semantics of its operation.

No value comes from an indexing map, so maps and values can check each other.  Every result is cast to the declared type
of its instruction.  ``plan.py`` orders the instructions of a computation and frees values, ``machine.py`` runs frames
on devices, ``arguments.py`` checks arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from .._core import Computation, Instruction, Module
from ..base.types import expect, expect_ints, module_hint
from ..ops._evaluation import DeviceGrid, Value
from ..ops._numpy.input_checks import owned
from .arguments import distribute_arguments, own_results, parse_rng_state
from .library import CALLS
from .machine import Budget, Machine, OnValue
from .plan import plan_instruction, plan_module

MAX_STEPS = 1_000_000
MAX_WORK = 250_000
_BUDGET = Budget(MAX_STEPS, MAX_WORK)


def execute(
    program: Module | Computation,
    /,
    *arrays: npt.ArrayLike,
    n_replicas: int = 1,
    n_partitions: int = 1,
    infeed: Iterable[Any] | Sequence[Iterable[Any]] = (),
    outfeed: list[Any] | None = None,
    received: Mapping[int, Iterable[Any]] | None = None,
    sent: dict[int, list[Any]] | None = None,
    rng_state: int | npt.ArrayLike = 0,
    custom_calls: Mapping[str, Callable[..., Any]] | None = None,
    max_steps: int = MAX_STEPS,
    max_work: int = MAX_WORK,
    on_value: Callable[..., None] | None = None,
) -> Value:
    """Run a module's entry, or a computation, on one array for each parameter and return its value.

    The value is an array, or a list if the root is a tuple.  No returned array shares memory with another one, with an
    argument or with a constant.  Python numbers and lists take the type of the parameter: floats are rounded, and an
    integer or bool must hold every number exactly.  With ``n_replicas * n_partitions`` devices, device
    ``replica * n_partitions + partition``, the value is a list with one value for each device, and an argument is
    one array for all devices, a list with an array for each device, or one array with the devices along a new first
    dimension.

    - ``infeed``: the values that infeed instructions read, tuples or lists for tuples; with several devices, an
      iterable of them for each.
    - ``outfeed``: a list to which the values of outfeed instructions are appended.
    - ``received``, ``sent``: the values that the host sends to the program and gets from it, by channel.
    - ``rng_state``: 128 bits, as an int or as two 64-bit words with the low word first.
    - ``custom_calls``: functions by custom call target.  A function takes copies of the operands, which it may
      overwrite, and the instruction as ``instruction=`` if it has a parameter of that name.  Library calls are built
      in (docs, "Library calls").
    - ``max_steps``: the most iterations of all loops together on one device, including loops over elements: a reduction
      whose ``to_apply`` is more than one operation takes a step for each reduced element of an output, for all outputs
      at once.
    - ``max_work``: the most instructions that calls run on one device beyond the text.  The text counts once for each
      iteration of a loop and each element to which a computation is applied, and an array counts as one more
      instruction for each 2**18 elements.  Only nested calls that share computations need more than the default.
    - ``on_value(instruction, value)``: called with every computed value, also in called computations; with several
      devices it gets the device's number as a third argument.

    Raises :class:`~hlomap.errors.ShapeError` if an argument does not fit its parameter or an instruction is
    inconsistent, and :class:`~hlomap.errors.UnsupportedError` for a program that cannot be run.  Both name the
    instruction.

    >>> import numpy as np, hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[2,3] parameter(0)
    ...   ROOT t = f32[3,2] transpose(p), dimensions={1,0}
    ... }''')
    >>> execute(module, np.arange(6, dtype=np.float32).reshape(2, 3)).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    >>> execute(module, np.ones(3, np.float32))
    Traceback (most recent call last):
    hlomap.errors.ShapeError: hm.execute: parameter 0, p, is f32[2,3]; an array float32[3] was given: its sizes differ
    """
    expect((Module, Computation), program, "execute", "a Module or a Computation", module_hint(program))
    numbers = {"n_replicas": n_replicas, "n_partitions": n_partitions, "max_steps": max_steps}
    expect_ints("execute", **numbers, max_work=max_work)
    computation = program.entry if isinstance(program, Module) else program
    n_devices = n_replicas * n_partitions
    arguments = distribute_arguments(computation, arrays, n_replicas, n_partitions)
    feeds = list(infeed)
    grid = DeviceGrid(
        n_replicas,
        n_partitions,
        infeed=[iter(feeds)] if n_devices == 1 else [iter(feed) for feed in feeds],
        outfeed=outfeed,
        received={channel: iter(queue) for channel, queue in (received or {}).items()},
        sent=sent,
        custom_calls={**CALLS, **(custom_calls or {})},
    )
    del arrays, feeds

    def report(at: Instruction, value: Value, device: int, calls: tuple[int, ...]) -> None:
        assert on_value is not None
        on_value(at, owned(value), *([device] if n_devices > 1 else []))

    machine = Machine(
        plan_module(computation.module),
        grid,
        Budget(max_steps, max_work, True),
        parse_rng_state(rng_state),
        on_value and report,
    )
    results = machine.run(computation, arguments)
    given: set[int] = set()
    own = [own_results(result, given) for result in results]
    return own[0] if n_devices == 1 else own


def execute_within(
    computation: Computation, arguments: Sequence[Any], max_steps: int, max_work: int, on_value: OnValue | None = None
) -> Any:
    """:func:`execute` on one device, for callers without arguments for the limits of work.

    ``on_value`` must copy the values that it keeps.
    """
    budget = Budget(max_steps, max_work)
    machine = Machine(plan_module(computation.module), DeviceGrid(custom_calls=CALLS), budget, 0, on_value)
    return machine.run(computation, distribute_arguments(computation, tuple(arguments), 1, 1))[0]


def evaluate_one(instruction: Instruction, operands: Sequence[Value]) -> Value:
    """The value of one instruction for values of its operands.

    >>> import numpy as np, hlomap as hm
    >>> module = hm.parse("HloModule m\\nENTRY e { p = s32[] parameter(0)\\n ROOT a = s32[] add(p, p) }")
    >>> int(evaluate_one(module.entry.root, [np.int32(2), np.int32(3)]))
    5
    """
    machine = Machine(plan_module(instruction.module), DeviceGrid(custom_calls=CALLS), _BUDGET, 0)
    return machine.run(plan_instruction(instruction), [list(operands)])[0]
