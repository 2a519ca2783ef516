"""Compares all modules of two dump directories, each at its final stage.

:func:`diff_dumps` is the entry point.  Modules are paired by name; a name that occurs several times is paired by the
ids of the dump, and what is left in the order of compilation if both sides have as many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..base.text import plural, printable
from ..hlo.dump_directory import DumpedModule
from .diff import ModuleDiff, diff

How = Literal["name", "id", "order"]


@dataclass(frozen=True)
class DumpPair:
    """Two modules of two dumps and what changed, or why that is not known."""

    before: DumpedModule
    after: DumpedModule
    #: ``"name"``: no other module has the name; ``"id"``: the name and the id agree; ``"order"``: the name agrees, and
    #: so many modules of this name are left on both sides.
    how: How
    #: None if a module cannot be read.
    diff: ModuleDiff | None
    error: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether both are the same program."""
        return self.diff is not None and self.diff.is_empty

    def __str__(self) -> str:
        head = f"{printable(self.before.name, 80)} (paired by {self.how})"
        if self.diff is None:
            return f"{head}: not compared: {printable(self.error or '', 400)}"
        if self.diff.is_empty:
            return f"{head}: the same program"
        return "\n".join([f"{head}:", *(f"  {line}" for line in str(self.diff).splitlines())])

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {
            "name": self.before.name,
            "paired_by": self.how,
            "before": _dict(self.before),
            "after": _dict(self.after),
            "is_empty": self.is_empty,
            "diff": None if self.diff is None else self.diff.to_dict(),
            "error": self.error,
        }


@dataclass(frozen=True)
class Pairing:
    """The pairs of modules of two dumps, and the modules without a partner."""

    pairs: tuple[tuple[DumpedModule, DumpedModule, How], ...]
    only_before: tuple[DumpedModule, ...]
    only_after: tuple[DumpedModule, ...]

    def lines(self) -> Iterator[str]:
        """What is paired, and what is not."""
        alone = len(self.only_before), len(self.only_after)
        yield f"{plural(len(self.pairs), 'pair')} of modules, {alone[0]} only before, {alone[1]} only after"
        for heading, modules in (("only before", self.only_before), ("only after", self.only_after)):
            for module in modules:
                number = "" if module.id is None else f" id {module.id}"
                yield f"{heading}: {printable(module.name, 80)}{number} ({printable(module.files[0], 200)})"

    def to_dict(self) -> dict[str, Any]:
        """The modules without a partner as JSON values."""
        sides = {"only_before": self.only_before, "only_after": self.only_after}
        return {name: [_dict(module) for module in modules] for name, modules in sides.items()}


def pair_modules(before: Sequence[DumpedModule], after: Sequence[DumpedModule]) -> Pairing:
    """Pairs modules by name, then by id, then by order; in the order of the modules before."""
    by_name: defaultdict[str, tuple[list[DumpedModule], list[DumpedModule]]] = defaultdict(lambda: ([], []))
    for side, modules in enumerate((before, after)):
        for module in modules:
            by_name[module.name][side].append(module)
    partner: dict[DumpedModule, tuple[DumpedModule, How]] = {}
    for old, new in by_name.values():
        if len(old) == len(new) == 1:
            partner[old[0]] = new[0], "name"
            continue
        by_id = {module.id: module for module in reversed(new) if module.id is not None}
        for module in old:
            if module.id in by_id:
                partner[module] = by_id.pop(module.id), "id"
        met = {partner[module][0] for module in old if module in partner}
        rest = [[module for module in side if module not in seen] for side, seen in ((old, partner), (new, met))]
        if len(rest[0]) == len(rest[1]):
            partner |= {module: (one, "order") for module, one in zip(*rest, strict=True)}
    taken = {module for module, _ in partner.values()}
    return Pairing(
        tuple((module, *partner[module]) for module in before if module in partner),
        tuple(module for module in before if module not in partner),
        tuple(module for module in after if module not in taken),
    )


def diff_dumps(pairing: Pairing, runs: int = 0) -> Iterator[DumpPair]:
    """The diff of each pair, one at a time; a module that cannot be read makes a pair with the error."""
    for before, after, how in pairing.pairs:
        try:
            yield DumpPair(before, after, how, diff(before, after, runs))
        except (ValueError, OSError) as error:
            yield DumpPair(before, after, how, None, str(error))


def _dict(module: DumpedModule) -> dict[str, Any]:
    return {"name": module.name, "id": module.id, "stage": module.stage, "path": str(module.files[0])}
