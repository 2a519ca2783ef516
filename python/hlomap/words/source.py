"""The origin of an instruction in the source program.

:func:`source_of` is the entry point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .._core import Frame, Instruction
from ..base.text import printable

_MAX_FRAMES = 100
MAX_OPERANDS = 12
"""The number of operands that a line shows."""
_OWN_FILE = "/hlomap/interop/jax.py"  # the file of the function that passes a program to JAX


@dataclass(frozen=True)
class Source:
    """The origin of an instruction; fields that the program does not record are None or empty."""

    op_name: str | None
    file: str | None
    line: int | None
    function: str | None
    #: The calls that led here, outermost first, each as ``file:line in function``.
    stack: tuple[str, ...]

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file or ""
        parts = [place, f"in {self.function}" if self.function else "", self.op_name or ""]
        return printable("  ".join(part for part in parts if part), 400)


def source_of(instruction: Instruction) -> Source | None:
    """The origin that the metadata records; None without metadata."""
    m = instruction.metadata
    if not (m.op_name or m.source_file or m.function or m.stack_frame_id):
        return None
    stack = tuple(_stack(m.frames)) if m.function is not None else ()  # only frames of the tables have one
    return Source(m.op_name, m.source_file, m.source_line, m.function, stack)


def instruction_line(i: Instruction) -> str:
    """An instruction in one line, with its first operands."""
    number, left = i.parameter_number, len(i.operands) - MAX_OPERANDS
    inside = ", ".join(printable(o.name, 60) for o in i.operands[:MAX_OPERANDS]) if number is None else f"{number}"
    more = f", … {left} more" if left > 0 else ""
    return f"{printable(i.name, 80)} = {printable(i.shape, 120)} {printable(i.opcode, 60)}({inside}{more})"


def value_label(instruction: Instruction) -> str:
    """The name of a value in a sentence; for a parameter the name in the source, if known."""
    if instruction.parameter_number is not None:
        name = instruction.metadata.op_name
        if name and len(name) <= 60:
            return printable(name)
    return printable(instruction.name, 80)


def _stack(frames: Sequence[Frame]) -> Iterator[str]:
    for frame in frames[:_MAX_FRAMES][::-1]:
        file = frame.file or ""
        if not file.endswith(_OWN_FILE) and not file.startswith("<frozen "):
            yield f"{file}:{frame.line or '?'} in {frame.function or ''}"
