"""The execution order of the instructions of a computation, and the lifetime of their values.

Every instruction runs after its operands, and a value is freed by the last instruction that reads it.  Instructions
that the root does not depend on run only if they have a side effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._core import Computation, Instruction, Module, Shape
from ..base.dtypes import max_rank, numpy_dtype
from ..errors import HlomapError, ShapeError, UnsupportedError
from ..hlo.order import callees, postorder
from ..ops import lookup
from ..ops._evaluation import EvalContext, Evaluate

MAX_BYTES = 2**34
"""The largest array that an instruction may compute; declared shapes may exceed any memory."""

ELEMENTS_OF_WORK = 2**18
"""An array counts as one more instruction of work for each multiple of this number of elements."""


Dtypes: TypeAlias = "np.dtype[Any] | tuple[Dtypes, ...] | None"


class Step(NamedTuple):
    """One instruction: the slots that it reads, the slots to free after it, and the declared type and sizes.

    ``dtype`` is the type of an array; for a tuple that the instruction computes, the types of its parts; else None.
    """

    instruction: Instruction
    evaluate: Evaluate
    operands: tuple[int, ...]
    dying: tuple[int, ...]
    slot: int
    dtype: Dtypes
    sizes: tuple[int, ...]
    dynamic: bool


@dataclass(eq=False)
class Plan:
    """The steps of a computation, its number of slots and the slot of its root.

    The first ``n_arguments`` slots hold arguments.
    """

    steps: list[Step]
    n_slots: int
    root: int
    n_arguments: int = 0
    has_several_callers: bool = False
    pointwise: bool | None = None

    @cached_property
    def work(self) -> int:
        """The number of instructions, plus one for each :data:`ELEMENTS_OF_WORK` elements of an array."""
        return sum(_work_of(step.instruction) for step in self.steps)


@lru_cache(maxsize=4)
def plan_module(module: Module) -> Plans:
    """The plans of a module; the latest few are cached, which is safe since modules are immutable."""
    return Plans(module)


class Plans:
    """The plans of the computations of a module, created when they are first called."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[int, Plan] = {}
        self._side_effects: dict[int, bool] = {}

    def plan_for(self, computation: Computation) -> Plan:
        """The plan of a computation, which may belong to another module, such as the definition of a library call."""
        if computation.module != self.module:
            return plan_module(computation.module).plan_for(computation)
        number = computation.number
        plan = self._known.get(number)
        if plan is None:
            roots = [i for i in computation.instructions if i._has("acts") or self._calls_side_effect(i)]
            live = postorder([*roots, computation.root], lambda one: one.operands)
            order = _schedule_elements_early(live)
            plan = self._known[number] = _build_plan(order, computation.root)
            plan.has_several_callers = len(computation.callers) > 1
        return plan

    @cached_property
    def work(self) -> int:
        """The work of running each computation once, and once more for every call of it in the text."""
        computations = self.module.computations
        own = {c.number: sum(map(_work_of, c.instructions)) for c in computations}
        return sum(own.values()) + sum(own[called.number] for one in computations for called in callees(one))

    def is_pointwise(self, plan: Plan) -> bool:
        """Whether every operation of the plan can be applied to whole arrays in place of scalars."""
        if plan.pointwise is None:
            visited: set[int] = set()
            pending = [plan]
            plan.pointwise = True
            while pending and plan.pointwise:
                for step in pending.pop().steps:
                    plan.pointwise = plan.pointwise and lookup(step.instruction.opcode).semantics.pointwise
                    for called in step.instruction.called_computations:
                        if called.number not in visited:
                            visited.add(called.number)
                            pending.append(self.plan_for(called))
        return plan.pointwise

    def _calls_side_effect(self, instruction: Instruction) -> bool:
        """Whether a computation that it calls, directly or not, has an instruction with a side effect."""
        known, called = self._side_effects, instruction.called_computations
        for here in postorder(called, lambda one: () if one.number in known else callees(one)):
            if here.number not in known:
                own = any(i._has("acts") for i in here.instructions)
                known[here.number] = own or any(known.get(c.number) for c in callees(here))
        return any(known[computation.number] for computation in called)


def _work_of(instruction: Instruction) -> int:
    shape = instruction.shape
    return 1 + (prod(shape.dimensions) // ELEMENTS_OF_WORK if shape.is_array else 0)


def plan_instruction(instruction: Instruction) -> Plan:
    """The plan of one instruction whose operands are the arguments."""
    n = len(instruction.operands)
    return Plan([_step(instruction, tuple(range(n)), tuple(range(n)), n)], n + 1, n, n_arguments=n)


def _build_plan(order: list[Instruction], root: Instruction) -> Plan:
    slots = {instruction.number: slot for slot, instruction in enumerate(order)}
    reads = [tuple(slots[operand.number] for operand in instruction.operands) for instruction in order]
    last: dict[int, int] = {}
    for slot, read in enumerate(reads):
        last.update(dict.fromkeys(read, slot))
    last[slots[root.number]] = -1
    steps = [
        _step(instruction, read, tuple({s for s in read if last[s] == slot}), slot)
        for slot, (instruction, read) in enumerate(zip(order, reads, strict=True))
    ]
    return Plan(steps, len(order), slots[root.number])


def _step(instruction: Instruction, reads: tuple[int, ...], dying: tuple[int, ...], slot: int) -> Step:
    shape = instruction.shape
    evaluate = lookup(instruction.opcode).semantics.evaluate
    if not shape.is_array:
        passes = lookup(instruction.opcode).maps.structural or not instruction.operands
        return Step(instruction, evaluate, reads, dying, slot, None if passes else _dtypes(shape), (), False)
    try:
        dynamic = any(shape.dynamic)
        if dynamic and lookup(instruction.opcode).semantics.pointwise and not instruction.called_computations:
            evaluate = _trim_operands(evaluate)
        return Step(instruction, evaluate, reads, dying, slot, dtype_of(shape), tuple(shape.dimensions), dynamic)
    except HlomapError as error:
        raise type(error)(f"{instruction.name}: {error}") from None


def _schedule_elements_early(order: list[Instruction]) -> list[Instruction]:
    """Moves structural instructions with one operand right after that operand, so that the operand is freed earlier."""
    followers: dict[int, list[Instruction]] = {}
    for instruction in order:
        if lookup(instruction.opcode).maps.structural and len(instruction.operands) == 1:
            followers.setdefault(instruction.operands[0].number, []).append(instruction)
    scheduled: dict[int, Instruction] = {}
    for instruction in order:
        pending = [instruction]
        while pending:
            here = pending.pop()
            if here.number not in scheduled:
                scheduled[here.number] = here
                pending.extend(reversed(followers.get(here.number, ())))
    return list(scheduled.values())


def _trim_operands(evaluate: Evaluate) -> Evaluate:
    """Cuts the operands of an elementwise operation to common sizes, for dynamic shapes.

    Only operands with a dynamic size can be shorter than their bound.
    """

    def trimmed(instruction: Instruction, operands: list[Any], context: EvalContext) -> Any:
        rank = instruction.shape.rank
        arrays = [x for x in operands if isinstance(x, np.ndarray) and x.ndim == rank]
        ends = [slice(0, min(sizes)) for sizes in zip(*(x.shape for x in arrays), strict=True)]
        cut = [x[tuple(ends)] if isinstance(x, np.ndarray) and x.ndim == rank else x for x in operands]
        return evaluate(instruction, cut, context)

    return trimmed


def _dtypes(shape: Shape) -> Dtypes:
    if shape.is_tuple:
        return tuple(map(_dtypes, shape.tuple_shapes))
    return numpy_dtype(shape.dtype) if shape.is_array else None


def dtype_of(shape: Shape) -> np.dtype[Any]:
    """The NumPy type of an array's elements; :class:`ShapeError` for an array above :data:`MAX_BYTES`."""
    dtype = numpy_dtype(shape.dtype)
    if len(shape.dimensions) > max_rank():
        raise UnsupportedError(f"an array of {len(shape.dimensions)} dimensions: NumPy has up to {max_rank()}")
    if min(shape.dimensions, default=0) < 0:
        raise UnsupportedError(f"{shape} has an unbounded dimension")
    if prod(shape.dimensions) * dtype.itemsize > MAX_BYTES:
        raise ShapeError(f"{shape} takes more than {MAX_BYTES >> 30} GiB: run a smaller shape")
    return dtype
