"""The origin of an instruction in the source program.

:func:`source_of` is the entry point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .._core import Frame, Instruction
from ..base.text import plural, printable

_MAX_FRAMES = 100
MAX_OPERANDS = 12
"""The number of operands that a line shows."""
_OWN_FILE = "/hlomap/interop/jax.py"  # the file of the function that passes a program to JAX
_INSTALLED = re.compile(r"(?:^|/)(?:site|dist)-packages/([^/]+)")
_PRIVATE = re.compile(r"(?:^|/)([^/]+)/_src/")
_STANDARD = re.compile(r"(?:^|/)lib(?:64)?/python\d[\d.]*t?/|^<frozen ")
_MAX_LIBRARIES = 4


@dataclass(frozen=True)
class Source:
    """The origin of an instruction; fields that the program does not record are None or empty."""

    op_name: str | None
    file: str | None
    line: int | None
    function: str | None
    #: The calls that led here, outermost first, each as ``file:line in function``, those in libraries as well.
    stack: tuple[str, ...]

    def __str__(self) -> str:
        """The innermost frame outside of libraries, or the innermost one, and the name of the operation."""
        own = self._own_frames()
        if own and library_of(self.file or "") is not None:
            place = own[-1].replace(" in ", "  in ")
            return printable("  ".join(part for part in (place, self.op_name or "") if part), 400)
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file or ""
        parts = [place, f"in {self.function}" if self.function else "", self.op_name or ""]
        return printable("  ".join(part for part in parts if part), 400)

    def callers(self) -> Iterator[str]:
        """Lines for the other frames, innermost first; one line for all frames in libraries."""
        own = self._own_frames()
        inside = [library for frame in self.stack if (library := library_of(_file(frame))) is not None]
        if not own:
            inside = inside[:-1]  # the innermost frame is the source
        for frame in own[:-1][::-1]:
            yield f"called from {printable(frame)}"
        if inside:
            names = list(dict.fromkeys(inside))
            more = f" and {len(names) - _MAX_LIBRARIES} more" if len(names) > _MAX_LIBRARIES else ""
            shown = ", ".join(printable(name, 40) for name in names[:_MAX_LIBRARIES])
            yield f"… {plural(len(inside), 'frame')} inside {shown}{more}"

    def _own_frames(self) -> list[str]:
        """The frames outside of libraries, outermost first."""
        return [frame for frame in self.stack if library_of(_file(frame)) is None]


def library_of(file: str) -> str | None:
    """The library that a file belongs to, as its path tells; None for a file of the user.

    >>> library_of("/env/lib/python3.12/site-packages/flax/linen/module.py"), library_of("/src/jax/_src/core.py")
    ('flax', 'jax')
    >>> library_of("/usr/lib/python3.12/functools.py"), library_of("<frozen runpy>"), library_of("/home/me/train.py")
    ('python', 'python', None)
    """
    path = file.replace("\\", "/")
    for pattern in (_INSTALLED, _PRIVATE):
        if found := pattern.search(path):
            return found[1].removesuffix(".py")
    return "python" if _STANDARD.search(path) else None


def _file(frame: str) -> str:
    """The file of a frame of :attr:`Source.stack`."""
    return frame.rpartition(" in ")[0].rpartition(":")[0]


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
        if not (frame.file or "").endswith(_OWN_FILE):
            yield f"{frame.file or ''}:{frame.line or '?'} in {frame.function or ''}"
