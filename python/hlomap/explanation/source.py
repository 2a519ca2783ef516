"""Where an instruction comes from in the program that was compiled.

:func:`source_of` is the entry point.  The tables of stack frames are read from the text of the module, once per module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from .._core import Instruction, Module
from ..text import printable

_SECTIONS = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_ROW = re.compile(r"(\d+) (.*)")
_FIELD = re.compile(r"(\w+)=(\d+)")
_MAX_FRAMES = 100
MAX_OPERANDS = 12
"""How many operands a line shows."""
_OWN_FRAME = "/hlomap/interop/jax.py:"  # of the function that hands a program to JAX


@dataclass(frozen=True)
class Source:
    """The origin of an instruction; what the program does not record is None or empty."""

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
    stack = _stack(instruction.module, m.stack_frame_id) if m.stack_frame_id is not None else ()
    return Source(m.op_name, m.source_file, m.source_line, m.function, stack)


def instruction_line(i: Instruction) -> str:
    """An instruction in one line, with its first operands."""
    number, left = i.parameter_number, len(i.operands) - MAX_OPERANDS
    inside = ", ".join(printable(o.name, 60) for o in i.operands[:MAX_OPERANDS]) if number is None else f"{number}"
    more = f", … {left} more" if left > 0 else ""
    return f"{printable(i.name, 80)} = {printable(i.shape, 120)} {printable(i.opcode, 60)}({inside}{more})"


def value_label(instruction: Instruction) -> str:
    """The name of a value in a sentence: of a parameter the name in the source, where there is one."""
    if instruction.parameter_number is not None:
        name = instruction.metadata.op_name
        if name and len(name) <= 60:
            return printable(name)
    return printable(instruction.name, 80)


def _stack(module: Module, frame: int) -> tuple[str, ...]:
    tables = _frame_tables(module)
    found: list[str] = []
    seen: set[int] = set()
    while frame in tables and frame not in seen and len(found) < _MAX_FRAMES:
        seen.add(frame)
        text, parent = tables[frame]
        if _OWN_FRAME not in text and not text.startswith("<frozen "):
            found.append(text)
        frame = parent
    return tuple(reversed(found))


@lru_cache(maxsize=2)
def _frame_tables(module: Module) -> dict[int, tuple[str, int]]:
    """For each stack frame its text and its parent; a module never changes, so neither do its tables.

    Text has the parent's number plus 1, and 1 where a frame has no parent.
    """
    sections: dict[str, dict[int, str]] = {name: {} for name in _SECTIONS}
    rows: dict[int, str] | None = None
    for line in module.to_string(large_constants=False).split("\n"):
        if line in sections:
            rows = sections[line]
        elif rows is not None and (match := _ROW.fullmatch(line)):
            rows[int(match[1])] = match[2]
        elif line.endswith("{"):
            break
    found = {}
    for number, row in sections["StackFrames"].items():
        frame = dict(_FIELD.findall(row))
        place = dict(_FIELD.findall(sections["FileLocations"].get(int(frame.get("file_location_id", 0)), "")))
        file = sections["FileNames"].get(int(place.get("file_name_id", 0)), "").strip('"')
        function = sections["FunctionNames"].get(int(place.get("function_name_id", 0)), "").strip('"')
        found[number] = f"{file}:{place.get('line', '?')} in {function}", int(frame.get("parent_frame_id", 1)) - 1
    return found
