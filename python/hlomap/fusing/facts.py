"""Facts that forbid a fusion, in words, whatever a compiler would do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .._core import Instruction
from ..analysis.executions import effects
from ..analysis.structure import fused_by, is_fusion
from ..ops import lookup
from ..ops._shapes import arrays
from ..ops.asynchronous import is_done


def is_value(instruction: Instruction) -> bool:
    """Whether an instruction only names, hands on or states a value, so that it has no row."""
    op = lookup(instruction.opcode)
    if op.calls.runs is not None or op.calls.inlines or op.calls.value_of_parameter is not None:
        return False
    hands_on = op.memory.moves_nothing and instruction._has("no_kernel") and not is_done(instruction)
    return hands_on or instruction._has("literal")


def of_kernel(instruction: Instruction) -> str | None:
    """Why an instruction cannot be a part of a fusion; None if it can."""
    if instruction.has_unnamed_operands or instruction.inconsistency:
        return f"{instruction.name}: {instruction.inconsistency or 'the text names no operands'}"
    fused = fused_by(instruction)
    if fused is None:
        target = instruction.attributes.get("custom_call_target")
        if target is not None and not instruction.attributes.get("custom_call_has_side_effect"):
            return f"{instruction.name} is a kernel of a library, {target}"
        if instruction._has("acts"):
            return f"{instruction.name} ({instruction.opcode}) has a side effect"
        if instruction._has("no_kernel"):
            return f"{instruction.name} ({instruction.opcode}) does not run as a fusion kernel"
        return None
    if not is_fusion(instruction):
        return f"{instruction.name} ({instruction.opcode}) does not run as a fusion kernel"
    acting = next(iter(effects(fused)), None)
    if acting is not None:
        return f"{instruction.name} has a side effect: {acting.name} ({acting.opcode})"
    return None


def random_part(instruction: Instruction) -> Instruction | None:
    """The instruction of a kernel whose value differs each time that it is computed."""
    fused = fused_by(instruction)
    parts: Iterable[Instruction] = (instruction,) if fused is None else fused
    return next((part for part in parts if part._has("varies")), None)


def of_edge(producer: Instruction, consumer: Instruction, n_others: int) -> list[str]:
    """Why an edge cannot be fused although both kernels can be parts of fusions."""
    found = []
    random = random_part(producer)
    if random is not None and n_others:
        found.append(f"{random.name} ({random.opcode}) gives each of {n_others + 1} readers another value")
    spaces = [_spaces(instruction) for instruction in (producer, consumer)]
    if spaces[0] != spaces[1]:
        found.append(f"memory space: {_list(spaces[0])} of {producer.name}, {_list(spaces[1])} of {consumer.name}")
    shardings = [i.attributes.text("sharding") if "sharding" in i.attributes else None for i in (producer, consumer)]
    if shardings[0] is not None and shardings[0] != shardings[1]:
        other = "none" if shardings[1] is None else shardings[1]
        found.append(f"sharding: {shardings[0]} of {producer.name}, {other} of {consumer.name}")
    return found


def control_edges(instructions: Iterable[Instruction]) -> Mapping[Instruction, str]:
    """The instructions with control edges, with the fact in words."""
    found: dict[Instruction, str] = {}
    for instruction in instructions:
        if "control-predecessors" in instruction.attributes:
            before: Sequence[Instruction] = instruction.attributes["control-predecessors"]
            names = ", ".join(getattr(one, "name", str(one)) for one in before)
            found[instruction] = f"{instruction.name} has control predecessors: {names}"
            for one in before:
                if isinstance(one, Instruction):
                    found.setdefault(one, f"{one.name} is a control predecessor of {instruction.name}")
    return found


def _spaces(instruction: Instruction) -> list[int]:
    """The memory spaces of the arrays of a value."""
    layouts = (array.layout for _, array in arrays(instruction.shape))
    return sorted({0 if layout is None else layout.memory_space for layout in layouts})


def _list(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))
