"""The columns of the analysis table that tell about shardings.

:func:`sharding_columns` is the entry point, which the table calls for a module that has shardings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._core import Instruction
from ..errors import HlomapError
from ..types import ShapeIndex
from .partition import Partitioned, partitioned
from .program import sharding_of

if TYPE_CHECKING:
    from ..analysis.table import Table

__all__ = ["sharding_columns"]


def sharding_columns(table: Table, rows: Sequence[tuple[int, Instruction, Instruction | None]]) -> dict[str, list[Any]]:
    """The columns by name; ``rows`` are the numbers of those rows that have shardings, instructions and operands."""
    columns: dict[str, list[Any]] = {
        name: [None] * len(table) for name in ("sharding", "operand_sharding", "remote_bytes")
    }
    outputs, operands, indices = table["output_index"], table["operand"], table["operand_index"]
    known: dict[object, Partitioned | None] = {}
    for i, instruction, operand in rows:
        columns["sharding"][i] = _text(instruction, outputs[i])
        if operand is not None and indices[i] is not None:
            columns["operand_sharding"][i] = _text(operand, indices[i])
            if columns["sharding"][i] is not None:
                columns["remote_bytes"][i] = _remote_bytes(instruction, operands[i], indices[i], known)
    return columns


def _text(value: Instruction, index: ShapeIndex) -> str | None:
    try:
        found = sharding_of(value, index)
    except HlomapError:
        return None
    return None if found is None else str(found)


def _remote_bytes(
    instruction: Instruction, operand: int, index: ShapeIndex, known: dict[object, Partitioned | None]
) -> int | None:
    """The bytes of one array of an operand; instructions with one signature and equal shardings share their answer."""
    shardings = (str(value.attributes.get("sharding")) for value in (instruction, *instruction.operands))
    first = [instruction.operands.index(value) for value in instruction.operands]
    key = (instruction.signature(), *shardings, *first)
    if key not in known:
        known[key] = _partitioned(instruction)
    found = known[key]
    if found is None:
        return None
    return next((read.bytes for read in found.reads if operand in read.operands and read.index == index), None)


def _partitioned(instruction: Instruction) -> Partitioned | None:
    try:
        found = partitioned(instruction)
    except HlomapError:
        return None
    return found if isinstance(found, Partitioned) else None
