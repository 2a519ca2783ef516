"""Runs HLO with NumPy by asking each op for its meaning.

Read :func:`execute` first.  The law: no value is taken from an indexing map, so that the two check each other.
Element types are as declared: every result is brought to the type of its instruction.  `plan.py`: in which order a
computation runs and when values go; `machine.py`: frames and devices; `arguments.py`: what is given and what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from .._core import Computation, Instruction, Module
from ..ops._evaluation import DeviceGrid
from ..types import expect
from .arguments import by_device, listed, state_bits
from .library import CALLS
from .machine import Machine
from .plan import plans_of, single

__all__ = ["evaluate_one", "execute", "values"]

Value = Any

MAX_STEPS = 1_000_000


def execute(
    program: Module | Computation,
    *arrays: npt.ArrayLike,
    num_replicas: int = 1,
    num_partitions: int = 1,
    infeed: Iterable[Any] | Sequence[Iterable[Any]] = (),
    outfeed: list[Any] | None = None,
    received: Mapping[int, Iterable[Any]] | None = None,
    sent: dict[int, list[Any]] | None = None,
    rng_state: int | npt.ArrayLike = 0,
    custom_calls: Mapping[str, Callable[..., Any]] | None = None,
    max_steps: int = MAX_STEPS,
    on_value: Callable[..., None] | None = None,
) -> Value:
    """The value of a module's entry, or of a computation, at one array for each parameter.

    Gives an array, or a list where the root is a tuple.  With several devices, ``num_replicas * num_partitions`` of
    them numbered ``replica * num_partitions + partition``, it gives a list of the values by device, and an argument is
    one array for all, a list of one array for each device, or one array with the devices along a new first dimension.

    ``infeed``: the values that infeeds take, a tuple or list for a tuple; with several devices such an iterable for
    each.  ``outfeed``: the list that gets what outfeeds put out.  ``received``, ``sent``: the same for what the host
    sends and gets, by channel.  ``rng_state``: 128 bits as an int or as two 64-bit words, the low one first.
    ``custom_calls``: by target the function that stands for it; it takes the operands, and the instruction as
    ``instruction=`` if it has a parameter of that name; LAPACK routines and TopK are there.  ``max_steps``: how often
    all loops together may go round on one device.  ``on_value(instruction, value)`` sees every value when it is made,
    those of called computations too; with several devices it gets the device's number as a third argument.

    Raises :class:`ShapeError` where an argument does not fit its parameter or text does not fit together,
    :class:`UnsupportedError` for what cannot be run here.  Both name the instruction.

    >>> import numpy as np, hlomap as hm
    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[2,3] parameter(0)
    ...   ROOT t = f32[3,2] transpose(p), dimensions={1,0}
    ... }''')
    >>> execute(module, np.arange(6, dtype=np.float32).reshape(2, 3)).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    >>> execute(module, np.ones((2, 3)))
    Traceback (most recent call last):
    hlomap.errors.ShapeError: parameter 0, p, is f32[2,3]; an array float64[2, 3] was given: convert it to float32
    """
    takes = "an hlomap.Module or hlomap.Computation"
    expect((Module, Computation), program, "execute", takes, "read a file with hlomap.load(path)")
    computation = program.entry if isinstance(program, Module) else program
    n_devices = num_replicas * num_partitions
    arguments = by_device(computation, arrays, num_replicas, num_partitions)
    feeds = list(infeed)
    grid = DeviceGrid(
        num_replicas,
        num_partitions,
        infeed=[iter(feeds)] if n_devices == 1 else [iter(feed) for feed in feeds],
        outfeed=outfeed,
        received={channel: iter(queue) for channel, queue in (received or {}).items()},
        sent={} if sent is None else sent,
        custom_calls={**CALLS, **(custom_calls or {})},
    )
    del arrays, feeds
    machine = Machine(plans_of(computation.module), grid, max_steps, state_bits(rng_state), on_value)
    results = machine.run(computation, arguments)
    return listed(results[0]) if n_devices == 1 else [listed(result) for result in results]


def values(computation: Computation, arguments: Sequence[Value]) -> dict[Instruction, Value]:
    """The value of every instruction that the root of a computation needs, by instruction.

    >>> import hlomap as hm
    >>> module = hm.parse("HloModule m\\nENTRY e { ROOT c = s32[] constant(7) }")
    >>> int(values(module.entry, [])[module.entry.root])
    7
    """
    found: dict[Instruction, Value] = {}
    own = {instruction.number for instruction in computation.instructions}

    def keep(instruction: Instruction, value: Value) -> None:
        if instruction.number in own:
            found[instruction] = value

    Machine(plans_of(computation.module), DeviceGrid(), MAX_STEPS, 0, keep).run(computation, [list(arguments)])
    return found


def evaluate_one(instruction: Instruction, operands: Sequence[Value]) -> Value:
    """The value of one instruction at values of its operands.

    >>> import numpy as np, hlomap as hm
    >>> module = hm.parse("HloModule m\\nENTRY e { p = s32[] parameter(0)\\n ROOT a = s32[] add(p, p) }")
    >>> int(evaluate_one(module.entry.root, [np.int32(2), np.int32(3)]))
    5
    """
    machine = Machine(plans_of(instruction.module), DeviceGrid(), MAX_STEPS, 0)
    return machine.run(single(instruction), [list(operands)])[0]
