"""The columns of the analysis table about shardings.

:func:`sharding_columns` is the entry point, which the table calls for a module that has shardings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .._core import Instruction
from ..base.answers import Unknown
from ..base.types import ShapeIndex
from ..errors import HlomapError
from .partition import partitioned_in
from .program import Program

if TYPE_CHECKING:
    from ..analysis.table import Table


def sharding_columns(table: Table, rows: Sequence[tuple[int, Instruction, Instruction | None]]) -> dict[str, list[Any]]:
    """The columns by name; ``rows`` has the number, instruction and operand of each row that may have a sharding."""
    columns: dict[str, list[Any]] = {
        name: [None] * len(table) for name in ("sharding", "operand_sharding", "remote_bytes")
    }
    if not rows:
        return columns
    program = Program(rows[0][1].module)
    outputs, operands, indices = table["output_index"], table["operand"], table["operand_index"]
    remote: dict[Instruction, _RemoteBytes | None] = {}
    known: dict[object, _RemoteBytes | None] = {}
    for i, instruction, operand in rows:
        columns["sharding"][i] = _text(program, instruction, outputs[i])
        if operand is not None and indices[i] is not None:
            columns["operand_sharding"][i] = _text(program, operand, indices[i])
            if instruction not in remote:
                remote[instruction] = _remote_bytes(program, instruction, known)
            own = remote[instruction]
            columns["remote_bytes"][i] = None if own is None else own.get((operands[i], indices[i]), 0)
    return columns


def _text(program: Program, value: Instruction, index: ShapeIndex) -> str | None:
    try:
        sharding = program.written_shardings(value).get(index)
    except HlomapError:
        return None
    return None if sharding is None else str(sharding)


_RemoteBytes: TypeAlias = Mapping[tuple[int, ShapeIndex], int]


def _remote_bytes(
    program: Program, instruction: Instruction, known: dict[object, _RemoteBytes | None]
) -> _RemoteBytes | None:
    """The remote bytes of each array of an operand that is read; None if unknown.

    Instructions on arrays with one signature and equal shardings share them.
    """
    key = _key(program, instruction)
    if key is None or key not in known:
        found = partitioned_in(program, instruction)
        reads = None if isinstance(found, Unknown) else found.reads
        remote = None if reads is None else {(k, one.shape_index): one.bytes for one in reads for k in one.operands}
        if key is None:
            return remote
        known[key] = remote
    return known[key]


def _key(program: Program, instruction: Instruction) -> object:
    """A key that determines the bytes; None for tuples, whose signatures grow with their arrays."""
    values = (instruction, *instruction.operands)
    if not all(() in program.arrays(value) for value in values):
        return None
    try:
        said = [program.written_shardings(value).get(()) for value in values]
        sources = [one is None and program.split_source(value) for value, one in zip(values, said, strict=True)]
    except HlomapError:
        return None
    first: dict[Instruction, int] = {}
    numbers = (first.setdefault(value, k) for k, value in enumerate(values))
    return (instruction.signature(), *said, *(source is None for source in sources), *numbers)
