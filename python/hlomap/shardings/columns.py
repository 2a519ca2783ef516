"""The columns of the analysis table that tell about shardings.

:func:`sharding_columns` is the entry point, which the table calls for a module that has shardings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._core import Instruction
from ..errors import HlomapError
from ..types import ShapeIndex
from .partition import Partitioned, partitioned
from .program import leaf_shardings

if TYPE_CHECKING:
    from ..analysis.table import Table


def sharding_columns(table: Table, rows: Sequence[tuple[int, Instruction, Instruction | None]]) -> dict[str, list[Any]]:
    """The columns by name; ``rows`` are the numbers of those rows that have shardings, instructions and operands."""
    columns: dict[str, list[Any]] = {
        name: [None] * len(table) for name in ("sharding", "operand_sharding", "remote_bytes")
    }
    outputs, operands, indices = table["output_index"], table["operand"], table["operand_index"]
    texts: dict[Instruction, Mapping[ShapeIndex, str]] = {}
    known: dict[object, Mapping[tuple[int, ShapeIndex], int]] = {}
    remote: dict[Instruction, Mapping[tuple[int, ShapeIndex], int]] = {}
    for i, instruction, operand in rows:
        for value in (instruction, operand):
            if value is not None and value not in texts:
                texts[value] = _texts(value)
        columns["sharding"][i] = texts[instruction].get(outputs[i])
        if operand is not None and indices[i] is not None:
            columns["operand_sharding"][i] = texts[operand].get(indices[i])
            if columns["sharding"][i] is not None:
                if instruction not in remote:
                    remote[instruction] = _remote_bytes(instruction, known)
                columns["remote_bytes"][i] = remote[instruction].get((operands[i], indices[i]))
    return columns


def _texts(value: Instruction) -> dict[ShapeIndex, str]:
    try:
        return {index: str(sharding) for index, sharding in leaf_shardings(value).items()}
    except HlomapError:
        return {}


def _remote_bytes(
    instruction: Instruction, known: dict[object, Mapping[tuple[int, ShapeIndex], int]]
) -> Mapping[tuple[int, ShapeIndex], int]:
    """The bytes of each array of an operand; instructions with one signature and equal shardings share them."""
    shardings = (str(value.attributes.get("sharding")) for value in (instruction, *instruction.operands))
    first: dict[Instruction, int] = {}
    numbers = [first.setdefault(value, k) for k, value in enumerate(instruction.operands)]
    key = (instruction.signature(), *shardings, *numbers)
    if key not in known:
        found = partitioned(instruction)
        reads = found.reads if isinstance(found, Partitioned) else ()
        known[key] = {(operand, read.shape_index): read.bytes for read in reads for operand in read.operands}
    return known[key]
