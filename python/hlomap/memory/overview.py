"""Overview of a module: the computations that run, the instructions that move the most bytes, and the state of maps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._core import Computation, Instruction, Module
from ..analysis.rows import analyze
from ..analysis.structure import executed_computations, is_fusion
from ..base.text import plural, printable
from ..base.types import ReadOnlyDict, json_fields
from .cost import BytesMoved, Moved, bytes_moved

_MAX_NAMES = 3


@dataclass(frozen=True)
class Overview:
    """A summary of a module; ``str()`` has three lines."""

    module: Module
    #: The entry, then the computations that calls, loops and branches run, in the order of the calls.
    executed: tuple[Computation, ...]
    #: The bytes that all of them move in all their runs.
    total: BytesMoved
    #: The bytes of each instruction, the most first, without instructions that move nothing or are in a lighter branch.
    moved: dict[Instruction, BytesMoved]
    #: The numbers of maps, one for each output and operand, that are exact, over-approximate, unknown or in error.
    statuses: dict[str, int] = field(default_factory=ReadOnlyDict)
    #: The reasons why maps are unknown or in error, with their numbers.
    reasons: dict[str, int] = field(default_factory=ReadOnlyDict)

    @property
    def title(self) -> str:
        """The name of the module and its size."""
        return module_title(self.module)

    def share(self, instruction: Instruction) -> str:
        """The share of all bytes that an instruction moves, such as ``67 %``."""
        return f"{100 * self.moved[instruction].total / max(self.total.total, 1):.0f} %"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {
            "module": self.module.name,
            "n_instructions": self.module.n_instructions,
            "executed": [computation.name for computation in self.executed],
            "bytes": json_fields(self.total, "distinct_bytes bytes_written unknown"),
            "moved": [
                {"instruction": i.name, **json_fields(moved, "distinct_bytes bytes_written unknown")}
                for i, moved in self.moved.items()
            ],
            "maps": dict(self.statuses),
            "reasons": dict(self.reasons),
        }

    def lines(self) -> list[str]:
        """The lines after the title."""
        names = ((printable(i.name, 60), i) for i in [*self.moved][:_MAX_NAMES])
        most = ", ".join(f"{name} {self.moved[i]} ({self.share(i)})" for name, i in names)
        found = [f"moves {self.total.bound} bytes" + (f"; most: {most}" if most else "")]
        found += [f"  not known: {printable(reason, 160)}" for reason in self.total.unknown[:_MAX_NAMES]]
        if self.statuses:
            found.append("maps: " + ", ".join(f"{n:,} {status}" for status, n in Counter(self.statuses).most_common()))
        for reason, n in Counter(self.reasons).most_common(_MAX_NAMES):
            found.append(f"  {n} {printable(reason, 160)}")
        return found

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {line}" for line in self.lines())])


def module_title(module: Module) -> str:
    """The name of a module and its size."""
    alike = (numbers for c in module.computations for numbers in c._by_opcode().values())
    n = sum(len(numbers) for numbers in alike if is_fusion(module.instruction(numbers[0])))
    fusions = f", {plural(n, 'fusion')}" if n else ""
    return f"{printable(module._title, 60)}: {plural(module.n_instructions, 'instruction')}{fusions}"


def overview(module: Module, bytes_of: Callable[[Computation], Moved] = bytes_moved) -> Overview:
    """An overview of a module; ``bytes_of`` is :func:`~hlomap.memory.cost.bytes_moved`, or knows its answer.

    >>> module = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[4,6] parameter(0)
    ...   n = f32[4,6] negate(p)
    ...   ROOT s = f32[2,6] slice(n), slice={[0:2], [0:6]}
    ... }''')
    >>> print(overview(module))
    m: 3 instructions
      moves at most 288 bytes; most: n 192 (67 %), s 96 (33 %)
      maps: 2 exact
    """
    computations = executed_computations(module)
    table = analyze(module)
    by_name = {(c.name, i.name): i for c in computations for i in c}
    total, moved = bytes_of(module.entry)
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    columns = ("computation", "instruction", "exact", "unknown", "error")
    for computation, name, exact, unknown, error in zip(*(table[column] for column in columns), strict=True):
        instruction = by_name.get((computation, name))
        if instruction is None:
            continue
        status = "error" if error else "unknown" if unknown else "exact" if exact else "over-approximate"
        statuses[status] += 1
        if error or unknown:
            reasons[f"{instruction.opcode}: {error or unknown}"] += 1
    order = sorted(moved.pairs(), key=lambda item: -item[1].total)
    about = ReadOnlyDict(order), ReadOnlyDict(statuses), ReadOnlyDict(reasons)
    return Overview(module, tuple(computations), total, *about)
