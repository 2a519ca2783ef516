"""What runs, and what a program is made of: operations, fusions, calls, loops, branches, and tuples of values.

Facts about opcodes come from op rules and from the table of opcodes; no other module tests them to ask this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._core import Computation, Instruction, Module
from ..hlo.order import reachable
from ..ops import lookup, op_of


def is_container(instruction: Instruction) -> bool:
    """Whether the instruction stands for the instructions of the computation that it calls: a fusion or a call."""
    return lookup(instruction.opcode).calls.inlines and bool(instruction.called_computations)


def is_fusion(instruction: Instruction) -> bool:
    """Whether the instruction is a fusion, also one whose computation cannot be read."""
    op = lookup(instruction.opcode)
    return op.calls.inlines and not op.memory.moves_nothing


def is_looked_through(instruction: Instruction) -> bool:
    """Whether its value is that of one computation at its operands, by the rules of users, too."""
    return op_of(instruction).calls.inlines and len(instruction.called_computations) == 1


def is_loop(instruction: Instruction) -> bool:
    """Whether it runs computations in a loop, by the rules of users, too."""
    return op_of(instruction).calls.runs == "loop"


def is_copy(instruction: Instruction) -> bool:
    """Whether every element is that of one operand at the same place."""
    return instruction._has("elementwise") and instruction._has("moves") and len(instruction.operands) == 1


def elements_of(instruction: Instruction) -> Sequence[Instruction] | None:
    """The values of which an instruction makes a tuple; None where it does something else."""
    is_structural = lookup(instruction.opcode).maps.structural
    return instruction.operands if is_structural and element_index(instruction) is None else None


def element_index(instruction: Instruction) -> int | None:
    """The number of the element of a tuple that an instruction takes out; None where it does something else."""
    index = instruction.attributes.get("index") if lookup(instruction.opcode).maps.structural else None
    return index if isinstance(index, int) else None


def fused_by(instruction: Instruction) -> Computation | None:
    """The computation of a fusion, also of one that runs asynchronously."""
    from ..ops.asynchronous import begun_by  # with the rules of all steps

    called = instruction.called_computations
    op = lookup(begun_by(instruction.opcode))
    return called[0] if op.calls.inlines and not op.memory.moves_nothing and len(called) == 1 else None


def runs_once(instruction: Instruction) -> bool:
    """Whether the instruction is one kernel: an operation or a fusion."""
    return lookup(instruction.opcode).calls.runs is None or fused_by(instruction) is not None


def runs_calls(instruction: Instruction) -> bool:
    """Whether the instruction runs the computations that it calls as they are: a call, a loop or a branch."""
    op = lookup(instruction.opcode)
    return op.calls.inlines or op.calls.value_of_parameter is not None or op.calls.parameter_to_operands is not None


def run_by(instruction: Instruction) -> Sequence[Computation]:
    """The computations that a call, a loop or a branch runs, whose instructions are kernels of their own."""
    return [c for c in instruction.called_computations if not c.is_fusion] if runs_calls(instruction) else ()


def executed_computations(start: Module | Computation) -> list[Computation]:
    """The entry or a computation, and the computations that calls, loops and branches run."""

    def run(computation: Computation) -> Iterable[Computation]:
        return (c for i in computation._calling for c in run_by(i))

    return list(reachable([start.entry if isinstance(start, Module) else start], run))


def inlined(computation: Computation) -> Iterable[Computation]:
    """The computations that the fusions and calls in a computation stand for."""
    return (called for i in computation._calling if is_container(i) for called in i.called_computations)
