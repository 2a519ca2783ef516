"""Changes from one module to another: instructions, fusions, bytes, and what outputs depend on.

Instructions are matched by the number of their value (:mod:`hlomap.explanation.values`), then by their users, by name,
and by their origin in the program (:mod:`hlomap.differences.matching`); fusions are looked through.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from .. import hooks
from .._core import Instruction, Module
from ..analysis.cost import BytesMoved
from ..explanation.values import Numbering, Value, _literal, _meaning
from ..hlo.dump_directory import DumpedModule
from ..ops._shapes import array_leaves
from ..text import html, plural, printable
from ..types import json_fields, module_hint, wrong_type
from .matching import Match, computed, find_duplicates, match_instructions
from .outputs import OutputDependence, OutputValues, compare_outputs, compare_values
from .overview import Overview, overview

__all__ = ["FusionChange", "Match", "ModuleDiff", "diff"]

_MAX_LINES = 40
_MAX_NAMES = 8


@dataclass(frozen=True)
class FusionChange:
    """A fusion after the change, and the instructions before that it is made of."""

    fusion: Instruction
    #: The instructions that were matched with one of its own, or are computed again in it, in the order of its text.
    parts: tuple[Match, ...]
    #: Its own instructions that were matched with none.
    new: tuple[Instruction, ...]
    #: The fusions before that its parts come from.
    was: tuple[Instruction, ...] = ()

    def __str__(self) -> str:
        kind = printable(self.fusion.attributes.get("kind", ""), 20)
        parts = _names([match.before for match in self.parts])
        new = f"; new: {_names(self.new)}" if self.new else ""
        return f"{printable(self.fusion.name, 60)} {kind}: {parts}{new}".replace(": ; ", ": ")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return json_fields(self, "fusion parts new was")


@dataclass(frozen=True)
class ModuleDiff:
    """The changes from one module to another; ``str()`` is text for people, ``to_dict()`` JSON values."""

    before: Module
    after: Module
    #: The modules at a glance, and what their instructions move.
    overviews: tuple[Overview, Overview]
    #: Instructions that are there before and after, in the order of the text before.
    matches: tuple[Match, ...]
    #: Instructions after that compute a matched value again.
    duplicates: tuple[Match, ...]
    #: Instructions that are only before, and only after; fusions and calls themselves do not count.
    removed: tuple[Instruction, ...]
    added: tuple[Instruction, ...]
    #: The pairs of which the operation itself is another one, such as a constant with another value.
    changed: tuple[Match, ...]
    #: Whether all values are proved to be the same, results and effects included.
    has_same_values: bool
    #: The fusions after that were not there with the same contents before.
    fusions: tuple[FusionChange, ...]
    #: The fusions after that were there before.
    unchanged_fusions: tuple[Instruction, ...]
    #: How every output of the entry depends on every parameter; empty where the entries take or give other values.
    outputs: tuple[OutputDependence, ...]
    #: The values, in a few runs, of the outputs whose dependence on some parameter is not known.
    values: tuple[OutputValues, ...]
    #: How many further outputs were not compared, in programs with very many.
    n_outputs_left_out: int

    @property
    def bytes_before(self) -> BytesMoved:
        """The bytes that the instructions before move."""
        return self.overviews[0].total

    @property
    def bytes_after(self) -> BytesMoved:
        """The bytes that the instructions after move."""
        return self.overviews[1].total

    @property
    def title(self) -> str:
        """The names and sizes of both modules."""
        return " -> ".join(one.title for one in self.overviews)

    @property
    def is_empty(self) -> bool:
        """Whether the modules compute the same with the same instructions in the same fusions; layouts do not count."""
        return self.has_same_values and not (self.duplicates or self.removed or self.added or self.fusions)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        lists = {"removed": list(map(_dict, self.removed)), "added": list(map(_dict, self.added))}
        return (
            json_fields(self, "before after matches duplicates changed is_empty")
            | lists
            | json_fields(self, "fusions unchanged_fusions outputs values n_outputs_left_out bytes_before bytes_after")
        )

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """The headings of the text, each with its lines: what changed comes first."""
        changed, again = ([match.after for match in found] for found in (self.changed, self.duplicates))
        is_listed = self.removed or self.added or self.changed or self.duplicates or self.fusions
        if not self.is_empty and not is_listed:
            yield "changed", ["which values an instruction reads, or which one is the result"]
        for heading, found in (("removed", self.removed), ("added", self.added), ("changed", changed)):
            yield heading, list(_opcode_lines(found))
        yield "computed more than once", list(_opcode_lines(again))
        unchanged = len(self.unchanged_fusions)
        as_before = f" ({plural(unchanged, 'fusion')} as before)" if unchanged else ""
        yield f"fused{as_before}", [str(fusion) for fusion in self.fusions]
        yield "bytes moved, at most", [f"{self.bytes_before} before", f"{self.bytes_after} after"]
        yield "outputs", list(self._output_lines())
        counts = Counter(match.how for match in self.matches)
        proved, likely = (
            ", ".join(f"{n} by {name}" for name, n in counts.items() if (name == "value") is is_proved)
            for is_proved in (True, False)
        )
        how = [proved, f"not proved equal: {likely}" if likely else ""]
        yield f"matched {plural(len(self.matches), 'instruction')}", [line for line in how if line]

    def _output_lines(self) -> Iterator[str]:
        if not self.outputs:
            yield "not compared: the entries have other parameters or results, or no output depends on a parameter"
            return
        counts = Counter(output.status for output in self.outputs)
        yield f"output-parameter pairs: {', '.join(f'{n} {status}' for status, n in counts.items())}"
        for output in self.outputs:
            if output.status != "equal":
                yield str(output)
        for values in self.values:
            if values.status != "not run":
                yield str(values)
        not_run = dict.fromkeys(values.reason for values in self.values if values.status == "not run")
        yield from (f"values not compared: {reason}" for reason in not_run)
        if self.n_outputs_left_out:
            yield f"{plural(self.n_outputs_left_out, 'further output')} not compared"

    def __str__(self) -> str:
        lines = [self.title]
        for heading, found in self.sections():
            if found:
                lines.append(f"{heading}:")
                lines += [f"  {line}" for line in found[:_MAX_LINES]]
                if len(found) > _MAX_LINES:
                    lines.append(f"  … {len(found) - _MAX_LINES} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<ModuleDiff: {len(self.matches)} matched, {len(self.removed)} removed, {len(self.added)} added, "
            f"{len(self.changed)} changed, {plural(len(self.fusions), 'fusion')} changed>"
        )

    def _repr_html_(self) -> str | None:
        return hooks.html(self)

    def _html(self) -> str:
        parts = "".join(
            f"<h4>{html(heading)}</h4><ul>{''.join(f'<li><code>{html(line)}</code></li>' for line in found[:200])}</ul>"
            for heading, found in self.sections()
            if found
        )
        return f"<div><p>{html(self.title)}</p>{parts}</div>"


def diff(before: Module | DumpedModule, /, after: Module | DumpedModule) -> ModuleDiff:
    """Compares two modules, such as two stages of one compilation.

    Args:
        before: a module, or an item of a :class:`DumpDirectory`.
        after: the same.

    Returns:
        A :class:`ModuleDiff`: which instructions were removed, added and changed, what was fused into what, the bytes
        that are moved, how instructions match, and for each output of the entry whether it depends on the same
        elements.  ``.is_empty`` is what a test asserts.
        Where maps do not decide that, both modules run a few times, and ``.values`` has arguments for which the output
        differs, or the number of runs in which it was equal.

    Raises:
        TypeError: an argument is not a module.
        HloSyntaxError: a dumped module cannot be parsed.

    >>> before = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[4,6] parameter(0)
    ...   n = f32[4,6] negate(p)
    ...   t = f32[6,4] transpose(n), dimensions={1,0}
    ...   ROOT u = f32[4,6] transpose(t), dimensions={1,0}
    ... }''')
    >>> after = hm.parse('''HloModule m
    ... f {
    ...   a = f32[4,6] parameter(0)
    ...   ROOT b = f32[4,6] negate(a)
    ... }
    ... ENTRY e {
    ...   p = f32[4,6] parameter(0)
    ...   ROOT x = f32[4,6] fusion(p), kind=kLoop, calls=f
    ... }''')
    >>> print(hm.diff(before, after))
    m: 4 instructions -> m: 4 instructions, 1 fusion
    removed:
      2 transpose: t, u
    fused:
      x kLoop: n
    bytes moved, at most:
      576 before
      192 after
    outputs:
      output-parameter pairs: 1 equal
    matched 2 instructions:
      2 by value
    """
    old, new = _as_module(before, "before"), _as_module(after, "after")
    numbering = Numbering()
    a = numbering.values(old)
    b = a if new is old else numbering.values(new)
    matches = match_instructions(a, b, old.entry.root, new.entry.root)
    duplicates = find_duplicates(matches, b)
    gone, kept = {match.before for match in matches}, {match.after for match in (*matches, *duplicates)}
    roots = a[old.entry.root].number, b[new.entry.root].number
    proved = {
        output
        for output in array_leaves(old.entry.root.shape)
        if (array := numbering.array(roots[0], output)) is not None and array == numbering.array(roots[1], output)
    }
    outputs, n_left_out = compare_outputs(old, new, a, b, proved)
    undecided = list(dict.fromkeys(output.output for output in outputs if output.status == "unknown"))
    fusions, unchanged = _fusion_changes([*matches, *duplicates], a, b)
    return ModuleDiff(
        before=old,
        after=new,
        overviews=(first := overview(old), first if new is old else overview(new)),
        matches=tuple(matches),
        duplicates=tuple(duplicates),
        removed=tuple(v.instruction for v in computed(a) if v.instruction not in gone),
        added=tuple(v.instruction for v in computed(b) if v.instruction not in kept),
        changed=tuple(match for match in matches if match.how != "value" and _is_changed(match)),
        has_same_values=old.entry.fingerprint == new.entry.fingerprint
        or (a[old.entry.root].number == b[new.entry.root].number and all(match.how == "value" for match in matches)),
        fusions=tuple(fusions),
        unchanged_fusions=tuple(unchanged),
        outputs=tuple(outputs),
        values=tuple(compare_values(old, new, undecided) if undecided else ()),
        n_outputs_left_out=n_left_out,
    )


def _is_changed(match: Match) -> bool:
    """Whether the operation of a pair is another one, whatever its operands are."""
    before, after = match.before, match.after
    if before.opcode == after.opcode == "constant" and _literal(before) != _literal(after):
        return True
    one, other = (cast("tuple[Hashable, ...]", _meaning(i, ())) for i in (before, after))
    return one[:-1] != other[:-1]  # the last is an instruction where that stands for itself


def _as_module(got: Module | DumpedModule, name: str) -> Module:
    if isinstance(got, DumpedModule):
        return got.load()
    if not isinstance(got, Module):
        raise wrong_type("diff", f"a Module or a DumpedModule as `{name}`", got, module_hint(got))
    return got


def _fusion_changes(
    matches: Sequence[Match], old: dict[Instruction, Value], new: dict[Instruction, Value]
) -> tuple[list[FusionChange], list[Instruction]]:
    """The fusions with other contents than before, and those with the same."""
    match_of = {match.after: match for match in matches}
    contents: defaultdict[Instruction, list[Value]] = defaultdict(list)
    for value in computed(new):
        if value.fusion is not None:
            contents[value.fusion].append(value)
    sizes = Counter(value.fusion for value in computed(old) if value.fusion is not None)
    changed, unchanged = [], []
    for fusion, values in contents.items():
        parts = tuple(match_of[v.instruction] for v in values if v.instruction in match_of)
        was = dict.fromkeys(old[part.before].fusion for part in parts)
        if len(was) == 1 and len(parts) == len(values) and (same := next(iter(was))) and sizes[same] == len(parts):
            unchanged.append(fusion)
            continue
        own = tuple(v.instruction for v in values if v.instruction not in match_of)
        changed.append(FusionChange(fusion, parts, own, tuple(one for one in was if one is not None)))
    return changed, unchanged


def _names(instructions: Iterable[Instruction]) -> str:
    found = list(instructions)
    names = ", ".join(printable(i.name, 60) for i in found[:_MAX_NAMES])
    return names + (f", … {len(found) - _MAX_NAMES} more" if len(found) > _MAX_NAMES else "")


def _opcode_lines(instructions: Sequence[Instruction]) -> Iterator[str]:
    """A line for each operation, those that only move elements first, then by number."""
    by_opcode: defaultdict[str, list[Instruction]] = defaultdict(list)
    for instruction in instructions:
        by_opcode[instruction.opcode].append(instruction)
    ordered = sorted(by_opcode.items(), key=lambda item: (not item[1][0]._has("moves"), -len(item[1]), item[0]))
    for opcode, found in ordered:
        yield f"{len(found)} {printable(opcode, 40)}: {_names(found)}"


def _dict(instruction: Instruction) -> dict[str, Any]:
    return {
        "instruction": instruction.name,
        "opcode": instruction.opcode,
        "shape": str(instruction.shape),
        "computation": instruction.computation.name,
    }
