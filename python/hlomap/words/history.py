"""The changes that each pass of a compilation made: the diffs of consecutive dumped stages.

:func:`history` is :meth:`hlomap.DumpDirectory.history`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .._core import Module
from ..base.text import html, plural, printable
from ..base.types import wrong_type
from ..errors import NotFoundError
from ..hlo.dump_directory import DumpDirectory, DumpedModule
from .diff import ModuleDiff, diff


@dataclass(frozen=True)
class StageChange:
    """Two consecutive stages that differ, and their diff."""

    #: The stages.
    before: DumpedModule
    after: DumpedModule
    #: The changes.
    diff: ModuleDiff

    @property
    def passes(self) -> str:
        """The passes between the stages, as far as file names show."""
        first = self.before.before or self.before.stage
        last = self.after.after or self.after.stage
        return printable(first if first == last else f"{first} … {last}")

    def __str__(self) -> str:
        d = self.diff
        parts = _numbers(Counter(i.opcode for i in d.removed), Counter(i.opcode for i in d.added))
        if d.changed:
            parts.append(f"{plural(len(d.changed), 'instruction')} changed")
        if d.fusions:
            parts.append(f"{plural(len(d.fusions), 'fusion')} changed")
        if not parts:  # inlined calls, and unused instructions
            before, after = (Counter(i.opcode for c in m.computations for i in c) for m in (d.before, d.after))
            parts = _numbers(before - after, after - before)
        statuses = Counter(output.status for output in d.outputs)
        counts = ", ".join(
            f"{n} {'on the same elements' if status == 'same' else status}" for status, n in statuses.items()
        )
        outputs = f"on parameters: {counts}" if counts else "not compared"
        if [*statuses] == ["same"]:
            outputs = "depend on the same elements"
        return f"{self.passes}: {', '.join(parts) or 'layouts, order or annotations'}; outputs {outputs}"


def _numbers(removed: Counter[str], added: Counter[str]) -> list[str]:
    """The numbers by operation, the most frequent first."""
    signs = (("-", removed), ("+", added))
    return [f"{sign}{n} {printable(opcode, 40)}" for sign, numbers in signs for opcode, n in numbers.most_common(6)]


@dataclass(frozen=True)
class History:
    """The changes of one compilation in order; ``str()`` has a line for each."""

    #: The stages that were dumped, in order.
    stages: tuple[DumpedModule, ...]
    #: The changes from one stage to the next, for stages whose text differs.
    changes: tuple[StageChange, ...]
    #: The stages that could not be read, with the message of the error.
    errors: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.changes)

    def __getitem__(self, i: int) -> StageChange:
        return self.changes[i]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {
            "stages": [stage.stage for stage in self.stages],
            "changes": [
                {"before": c.before.stage, "after": c.after.stage, "diff": c.diff.to_dict()} for c in self.changes
            ],
            "errors": self.errors,
        }

    def __str__(self) -> str:
        name = printable(self.stages[0].name, 80)
        lines = [f"{name}: {plural(len(self.stages), 'stage')}, {plural(len(self.changes), 'change')}"]
        lines += [f"  {change}" for change in self.changes]
        lines += [f"  {printable(stage)}: not read: {printable(error)}" for stage, error in self.errors.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{html(change)}</li>" for change in self.changes)
        return f"<div><p>{html(self.stages[0].name)}: {len(self.stages)} stages</p><ol>{rows}</ol></div>"


def history(dump: DumpDirectory, module: DumpedModule | str) -> History:
    """See :meth:`hlomap.DumpDirectory.history`."""
    if isinstance(module, str):
        first = next((one for one in dump if one.name == module), None)
        if first is None:
            names = ", ".join(dict.fromkeys(printable(one.name, 60) for one in dump))
            raise NotFoundError(f"no module {printable(module)!r} in {dump.path}; expected one of {names or 'nothing'}")
    elif isinstance(module, DumpedModule):
        first = module
    else:
        raise wrong_type("DumpDirectory.history", "a DumpedModule or the name of a module", module)
    stages = tuple(one for one in dump if one.is_same_compilation(first))
    if not stages:
        raise NotFoundError(f"{first!r} is not a module of {dump.path}")
    loaded: list[tuple[DumpedModule, Module]] = []
    errors: dict[str, str] = {}
    for stage in stages:
        try:
            loaded.append((stage, stage.load()))
        except (ValueError, OSError) as error:
            errors[stage.stage] = str(error)
    changes = [
        StageChange(a, b, diff(before, after))
        for (a, before), (b, after) in pairwise(loaded)
        if not before.same_as(after)
    ]
    return History(stages, tuple(changes), errors)
