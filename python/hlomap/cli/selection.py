"""The selection and order of the instructions that ``hlomap show`` lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .._core import Computation, Instruction, Module
from ..base.text import plural
from ..words.source import source_of
from .console import blaming

if TYPE_CHECKING:
    from ..memory.overview import Overview


class Place(NamedTuple):
    """A file of the source program, or a line of it."""

    file: str
    line: int | None


@dataclass(frozen=True)
class Selection:
    """Computations and filters; an instruction must pass every filter."""

    computation: str | None = None
    everything: bool = False
    opcodes: tuple[str, ...] = ()
    only_fusions: bool = False
    source: Place | None = None

    def sections(self, module: Module, found: Overview) -> Iterator[tuple[Computation, list[Instruction]]]:
        """The entry, then the computations that it runs; with ``everything`` all other computations too."""
        if self.computation is not None:
            computations = [_find_computation(module, self.computation)]
        else:
            computations = [*found.executed, *(_others(module, found) if self.everything else ())]
        for computation in computations:
            if instructions := [i for i in computation if self._includes(i)]:
                yield computation, instructions

    def left_out(self, module: Module, found: Overview) -> str:
        """The computations that are not listed, in words; empty if there are none."""
        rest = [] if self.computation or self.everything else _others(module, found)
        fused = sum(computation.is_fusion for computation in rest)
        counts = [(fused, "fused"), (len(rest) - fused, "applied to elements or not run")]
        words = " and ".join(f"{n} {kind}" for n, kind in counts if n)
        return f"{plural(len(rest), 'computation')}: {words}" if rest else ""

    def _includes(self, instruction: Instruction) -> bool:
        from ..analysis.structure import is_fusion  # `--help` does without

        return (
            (not self.opcodes or instruction.opcode in self.opcodes)
            and (not self.only_fusions or is_fusion(instruction))
            and (self.source is None or _comes_from(instruction, self.source))
        )


def _others(module: Module, found: Overview) -> list[Computation]:
    executed = set(found.executed)
    return [computation for computation in module.computations if computation not in executed]


def _comes_from(instruction: Instruction, place: Place) -> bool:
    """Whether the instruction, or a call that led to it, is at the place."""
    origin = source_of(instruction)
    if origin is None:
        return False
    frames = [frame.split(" in ")[0].rpartition(":") for frame in origin.stack]
    places = [(file, line) for file, _, line in frames]
    if origin.file is not None:
        places.append((origin.file, str(origin.line)))
    return any(
        (file == place.file or file.endswith(f"/{place.file}")) and (place.line is None or line == str(place.line))
        for file, line in places
    )


def parse_place(text: str) -> Place:
    """A place from ``FILE`` or ``FILE:LINE``.

    >>> parse_place("model.py:12"), parse_place("model.py")
    (Place(file='model.py', line=12), Place(file='model.py', line=None))
    """
    file, _, line = text.rpartition(":")
    return Place(file, int(line)) if file and line.isdecimal() else Place(text, None)


def find_instruction(module: Module, name: str, computation: str | None, option: str = "--instruction") -> Instruction:
    """The instruction with this name, in one computation or in all."""
    with blaming(option):
        return module[name] if computation is None else _find_computation(module, computation)[name]


def _find_computation(module: Module, name: str) -> Computation:
    with blaming("--computation"):
        return module.computation(name)
