"""Changes from one module to another: instructions, fusions, bytes, and the dependence of outputs.

Instructions are matched by the number of their value (:mod:`hlomap.analysis.value_numbers`), then by their users, by
name, and by their origin in the program, also inside fusions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, cast

from .._core import Attributes, Instruction, Module
from ..analysis.value_numbers import Numbering, _literal, _meaning, _texts, identifies_all, numbered
from ..base.attached import Page
from ..base.later import Later, deferred, later
from ..base.lazy import np
from ..base.text import html, leaf_text, one_line, plural, printable
from ..base.types import expect_ints, json_fields, module_hint, wrong_type
from ..errors import HlomapError
from ..hlo.dump_directory import DumpedModule
from ..hlo.unread import unread_reason
from ..memory.cost import BytesMoved, bytes_moved
from ..memory.overview import Overview, module_title, overview
from ..ops._shapes import array_leaves, arrays
from ..verification.values import at_leaf
from .matching import How, Match
from .outputs import OutputDependence, OutputValues, Runs, ValueDifference, compare_outputs, compare_values

__all__ = ["AttributeChange", "FusionChange", "Match", "ModuleDiff", "diff"]

_MAX_LINES = 40
_MAX_NAMES = 8
_MAX_RUNS = 10_000
_MAX_DIFFERENCES = 8  # in the text
_MAX_LITERAL = 8  # elements of a constant that are written


@dataclass(frozen=True)
class FusionChange:
    """A fusion after the change, and the instructions before the change that it contains."""

    fusion: Instruction
    #: The instructions before that match one of its instructions, or are computed again in it, in the order of its
    #: text.
    parts: tuple[Match, ...]
    #: Its instructions without a match.
    new: tuple[Instruction, ...]
    #: The fusions before from which its parts come.
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
class AttributeChange:
    """A changed attribute, or the changed literal of a constant."""

    #: The instruction before, and the one after; None for an attribute of the module.
    instruction: Match | None
    name: str
    #: The values as text; None if the attribute is missing.
    before: str | None
    after: str | None
    #: For the ``literal`` of a large constant, the first element that differs, whose values these are.
    element: tuple[int, ...] | None = None

    def __str__(self) -> str:
        of = "" if self.instruction is None else f"{printable(self.instruction.after.name, 60)}: "
        before, after = (one_line(value, 100) if value else "none" for value in (self.before, self.after))
        at = f" at {list(self.element)}" if self.element is not None else ""
        return f"{of}{self.name}{at} {before} -> {after}"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return json_fields(self, "instruction name before after element")


@dataclass(frozen=True, kw_only=True)
class ModuleDiff(Later, Page):
    """The changes from one module to another; ``str()`` is text for people, ``to_dict()`` JSON values.

    What only describes the modules, and for equal modules what matches, is computed when it is first read.
    """

    before: Module
    after: Module
    #: Overviews of the modules, with the bytes that their instructions move.
    overviews: tuple[Overview, Overview] = later()
    #: Instructions that exist before and after, in the order of the text before.
    matches: tuple[Match, ...] = later()
    #: Instructions after the change that compute a matched value again.
    duplicates: tuple[Match, ...]
    #: Instructions that exist only before, and only after, without fusions and calls themselves.
    removed: tuple[Instruction, ...]
    added: tuple[Instruction, ...]
    #: The pairs whose operation itself differs, such as a constant with another value.
    changed: tuple[Match, ...]
    #: What the operations of these pairs differ in: the literals of constants, and attributes.
    changes: tuple[AttributeChange, ...]
    #: The attributes of the modules and of pairs that differ and do not affect the computed values: donations, aliases,
    #: numbers of devices and shardings.
    attributes: tuple[AttributeChange, ...]
    #: Whether all values, results and effects are proved to be the same, as far as the texts show them.
    has_same_values: bool
    #: Why the texts may hide a difference: constants without their values, lines that cannot be read.  None if both
    #: texts are complete.
    reason: str | None
    #: The fusions after the change whose contents no fusion had before.
    fusions: tuple[FusionChange, ...]
    #: The fusions after the change that existed before.
    unchanged_fusions: tuple[Instruction, ...] = later()
    #: How each output of the entry depends on each parameter; empty if the entries have other parameters or results.
    outputs: tuple[OutputDependence, ...] = later()
    #: The values in runs: of every output if ``runs`` were asked for, else of outputs whose dependence on some
    #: parameter is not known.
    values: tuple[OutputValues, ...] = later()
    #: The matched instructions whose values differ in these runs, in the order in which the module before computes
    #: them; the first one shows where the modules part.
    differences: tuple[ValueDifference, ...] = later()
    #: The number of outputs that were not compared, in programs with very many.
    n_outputs_left_out: int = later()
    # The outputs whose values are proved equal, and the number of all.
    _proved: tuple[int, int] = later()
    _bytes: tuple[BytesMoved, BytesMoved] = later()

    @property
    def bytes_before(self) -> BytesMoved:
        """The bytes that the instructions before move."""
        return self._bytes[0]

    @property
    def bytes_after(self) -> BytesMoved:
        """The bytes that the instructions after move."""
        return self._bytes[1]

    @property
    def title(self) -> str:
        """The names and sizes of both modules."""
        return f"{module_title(self.before)} -> {module_title(self.after)}"

    @property
    def is_empty(self) -> bool:
        """Whether the modules are the same program: the same instructions in the same fusions compute the same values,
        with the same donations, aliases, devices and shardings.  Layouts, the schedule and frontend attributes do not
        count.  False if that is not known, see :attr:`reason`."""
        return self.reason is None and not self._has_changes

    @property
    def _has_changes(self) -> bool:
        is_listed = self.duplicates or self.removed or self.added or self.fusions or self.attributes
        return not self.has_same_values or bool(is_listed)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        lists = {"removed": list(map(_dict, self.removed)), "added": list(map(_dict, self.added))}
        return (
            json_fields(self, "before after matches duplicates changed changes is_empty reason attributes")
            | lists
            | json_fields(self, "fusions unchanged_fusions outputs values differences n_outputs_left_out")
            | json_fields(self, "bytes_before bytes_after")
        )

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """The headings of the text, each with its lines, changes first."""
        changed, again = ([match.after for match in found] for found in (self.changed, self.duplicates))
        if self.reason is not None:
            yield "not known", [f"whether the modules are equal: {printable(self.reason)}"]
        is_listed = self.removed or self.added or self.changed or self.duplicates or self.fusions or self.attributes
        if self._has_changes and not is_listed:
            yield "changed", ["the operands of an instruction, or the result of the module"]
        for heading, found in (("removed", self.removed), ("added", self.added), ("changed", changed)):
            lines = list(_opcode_lines(found))
            yield heading, lines + [str(change) for change in self.changes if heading == "changed"]
        yield from self._difference_lines()
        yield "attributes changed", [str(change) for change in self.attributes]
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

    def _difference_lines(self) -> Iterator[tuple[str, list[str]]]:
        lines = [str(difference) for difference in self.differences[:_MAX_DIFFERENCES]]
        left = len(self.differences) - len(lines)
        if left:
            lines.append(f"… {left:,} more")
        yield "matched values that differ in a run, in the order of the program", lines

    def _output_lines(self) -> Iterator[str]:
        n_proved, n_all = self._proved
        if n_all:
            ran = any(values.status != "not run" for values in self.values)
            more = "" if ran or n_proved == n_all else "; runs=1 (--run) compares values in a run"
            yield f"values: {n_proved} of {plural(n_all, 'output')} proved equal{more}"
        yield from self._value_lines()
        if not self.outputs:
            yield "not compared: the entries have other parameters or results, or no output depends on a parameter"
            return
        counts = Counter(output.status for output in self.outputs)
        others = "".join(f", {n} {status}" for status, n in counts.items() if status != "same")
        n_pairs = plural(len(self.outputs), "output-parameter pair")
        yield f"dependence on the same elements: {counts['same']} of {n_pairs}{others}"
        for output in self.outputs:
            if output.status != "same":
                yield str(output)
        if self.n_outputs_left_out:
            yield f"{plural(self.n_outputs_left_out, 'further output')} not compared"

    def _value_lines(self) -> Iterator[str]:
        for values in self.values:
            if values.status != "not run":
                yield str(values)
        not_run = dict.fromkeys(values.reason for values in self.values if values.status == "not run")
        yield from (f"values not compared: {reason}" for reason in not_run)

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

    def _html(self) -> str:
        parts = "".join(
            f"<h4>{html(heading)}</h4><ul>{''.join(f'<li><code>{html(line)}</code></li>' for line in found[:200])}</ul>"
            for heading, found in self.sections()
            if found
        )
        return f"<div><p>{html(self.title)}</p>{parts}</div>"


def diff(before: Module | DumpedModule, /, after: Module | DumpedModule, runs: int = 0) -> ModuleDiff:
    """Compare two modules, such as two stages of one compilation.

    Args:
        before: a module, or an item of a :class:`DumpDirectory`.
        after: the same.
        runs: how many times both modules run on the same random arguments, whatever is proved about them.

    Returns:
        A :class:`ModuleDiff`: the instructions that were removed, added, changed and fused, the bytes moved, how
        instructions match, and for each output of the entry whether it depends on the same elements.  That says nothing
        about their values: another constant changes these alone.  ``has_same_values`` is a proof of equal values, and
        ``runs`` are a test: ``.values`` then has for each output arguments for which it differs, or the number of runs
        with equal values, and ``.differences`` the matched instructions whose values differ, the first one first.  With
        ``runs=0`` the modules run only if maps do not decide the dependence of an output, and both lists are about
        these runs.  Tests assert ``.is_empty``; it is False, with a ``.reason``, if
        the text of a module leaves out constants or cannot be read.

    Raises:
        TypeError: an argument is not a module, or ``runs`` is not an int.
        ValueError: ``runs`` is negative, or more than 10,000.
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
      values: 1 of 1 output proved equal
      dependence on the same elements: 1 of 1 output-parameter pair
    matched 2 instructions:
      2 by value
    """
    old, new = _as_module(before, "before"), _as_module(after, "after")
    expect_ints("diff", runs=runs)
    if not 0 <= runs <= _MAX_RUNS:
        raise ValueError(f"hm.diff: expected 0 to {_MAX_RUNS} as `runs`, got {runs}")
    reason = None if new is old else _reason(old, new)
    is_same = reason is None and (old.same_as(new) or (old.same_as(new, names=False) and identifies_all(old)))
    return _same(old, new) if is_same and not runs else _by_numbers(old, new, reason, runs)


def _unnumbered(_: Instruction) -> None:
    """The number of a value whose number does not count."""


class _Counterparts(NamedTuple):
    """What equal modules have in common."""

    matches: tuple[Match, ...]
    unchanged_fusions: tuple[Instruction, ...]
    outputs: tuple[OutputDependence, ...]
    values: tuple[OutputValues, ...]
    differences: tuple[ValueDifference, ...]
    n_outputs_left_out: int
    proved: tuple[int, int]


def _same(old: Module, new: Module) -> ModuleDiff:
    """The diff of modules that are the same up to names: each instruction matches the one in its place."""

    @cache
    def common() -> _Counterparts:
        # Values of their own, such as random numbers, are matched, but not proved to be equal.
        if new is not old and not identifies_all(old):
            diff = _by_numbers(old, new, None)
            found = diff.matches, diff.unchanged_fusions, diff.outputs, diff.values, diff.differences
            return _Counterparts(*found, diff.n_outputs_left_out, diff._proved)
        at = new.instruction
        inside = list(numbered(old))
        matches = tuple(Match(i, at(i.number), "value") for i, _ in inside)
        fusions = dict.fromkeys(fusion for _, fusion in inside if fusion is not None)
        leaves = array_leaves(old.entry.root.shape)
        outputs, n_left_out = compare_outputs(old, new, _unnumbered, _unnumbered, leaves)
        proved = len(leaves), len(leaves)
        unchanged = tuple(at(one.number) for one in fusions)
        return _Counterparts(matches, unchanged, tuple(outputs), (), (), n_left_out, proved)

    moved = cache(bytes_moved)
    return ModuleDiff(
        before=old,
        after=new,
        overviews=deferred(lambda: (first := overview(old, moved), first if new is old else overview(new, moved))),
        matches=deferred(lambda: common().matches),
        duplicates=(),
        removed=(),
        added=(),
        changed=(),
        changes=(),
        attributes=(),
        has_same_values=True,
        reason=None,
        fusions=(),
        unchanged_fusions=deferred(lambda: common().unchanged_fusions),
        outputs=deferred(lambda: common().outputs),
        values=deferred(lambda: common().values),
        differences=deferred(lambda: common().differences),
        n_outputs_left_out=deferred(lambda: common().n_outputs_left_out),
        _proved=deferred(lambda: common().proved),
        _bytes=deferred(lambda: (moved(old.entry)[0], moved(old.entry)[0])),
    )


class _Outputs(NamedTuple):
    """What becomes of the outputs."""

    outputs: tuple[OutputDependence, ...]
    values: tuple[OutputValues, ...]
    differences: tuple[ValueDifference, ...]
    n_left_out: int


def _by_numbers(old: Module, new: Module, reason: str | None, runs: int = 0) -> ModuleDiff:
    """The diff of two modules, by the numbers of their values."""
    numbering = Numbering()
    a = numbering.values(old)
    b = a if new is old else numbering.values(new)
    found = numbering.matches(a, b, _INSTRUCTION_ATTRIBUTES)
    roots = a.number_of(old.entry.root), b.number_of(new.entry.root)
    leaves = array_leaves(old.entry.root.shape)
    proved = {
        output
        for output in leaves
        if (array := numbering.array(roots[0], output)) is not None and array == numbering.array(roots[1], output)
    }

    def match(row: tuple[int, int, str]) -> Match:
        return Match(old.instruction(row[0]), new.instruction(row[1]), cast("How", row[2]))

    pairs = found.pairs

    @cache
    def compared() -> _Outputs:
        outputs, n_left_out = compare_outputs(old, new, a.number_of, b.number_of, proved)
        to_run = leaves if runs else list(dict.fromkeys(one.output for one in outputs if one.status == "unknown"))
        ran = compare_values(old, new, to_run, runs, list(map(match, pairs))) if to_run else Runs([], [])
        return _Outputs(tuple(outputs), tuple(ran.outputs), tuple(ran.differences), n_left_out)

    moved = cache(bytes_moved)
    n_outputs = len(leaves) if leaves == array_leaves(new.entry.root.shape) else 0
    fusions, same = _fusion_changes([*found.pairs, *found.duplicates], a.rows(), b.rows(), old, new)
    differing = [match(pairs[at]) for at in found.differing if pairs[at][2] != "value"]
    changed = tuple(one for one in differing if _is_changed(one))
    annotated = [match(pairs[at]) for at in found.annotated]
    return ModuleDiff(
        before=old,
        after=new,
        overviews=deferred(lambda: (overview(old, moved), overview(new, moved))),
        matches=deferred(lambda: tuple(map(match, pairs))),
        duplicates=tuple(map(match, found.duplicates)),
        removed=tuple(map(old.instruction, found.removed)),
        added=tuple(map(new.instruction, found.added)),
        changed=changed,
        changes=tuple(change for one in changed for change in _operation_changes(one)),
        attributes=tuple(_attribute_changes(old, new, (*annotated, *same))),
        reason=reason,
        has_same_values=old.entry.fingerprint == new.entry.fingerprint
        or (roots[0] == roots[1] and {how for _, _, how in pairs} <= {"value"}),
        fusions=tuple(fusions),
        unchanged_fusions=tuple(one.after for one in same),
        outputs=deferred(lambda: compared().outputs),
        values=deferred(lambda: compared().values),
        differences=deferred(lambda: compared().differences),
        n_outputs_left_out=deferred(lambda: compared().n_left_out),
        _proved=(len(proved), n_outputs),
        _bytes=deferred(lambda: (moved(old.entry)[0], moved(new.entry)[0])),
    )


def _is_changed(match: Match) -> bool:
    """Whether the operations of a pair differ, ignoring operands."""
    before, after = match.before, match.after
    if before.opcode == after.opcode and before._has("literal") and _literal(before) != _literal(after):
        return True
    if before.signature() == after.signature():
        return False
    one, other = (cast("tuple[Hashable, ...]", _meaning(i, ())) for i in (before, after))
    return one[:-1] != other[:-1]  # the last item is an instruction if nothing else identifies the value


def _operation_changes(match: Match) -> Iterator[AttributeChange]:
    """What makes the operations of a pair different."""
    before, after = match.before, match.after
    if before._has("literal") and after._has("literal"):
        yield from _literal_changes(match)
    first, second = (dict(_texts(i)) for i in (before, after))
    for name in dict.fromkeys([*first, *second]):
        if first.get(name) != second.get(name):
            yield AttributeChange(match, name, first.get(name), second.get(name))
    for one, other in zip(before.called_computations, after.called_computations, strict=False):
        if one.fingerprint != other.fingerprint:
            yield AttributeChange(match, "computation", one.name, other.name)


def _literal_changes(match: Match) -> Iterator[AttributeChange]:
    try:
        before, after = match.before.literal, match.after.literal
    except HlomapError:  # a text that leaves out values
        return
    if before is None or after is None:
        return
    for shape_index, shape in arrays(match.before.shape):
        first, second = (np.asarray(at_leaf(one, shape_index)) for one in (before, after))
        name = f"literal{leaf_text(shape_index)}"
        if first.tobytes() == second.tobytes():
            continue
        if first.shape != second.shape or shape.n_elements <= _MAX_LITERAL:
            yield AttributeChange(match, name, _literal_text(first), _literal_text(second))
            continue
        differs = first != second
        element = tuple(int(i) for i in np.argwhere(differs)[0]) if differs.any() else (0,) * first.ndim
        yield AttributeChange(match, name, str(first[element]), str(second[element]), element)


def _literal_text(array: Any) -> str:
    return f"{{{', '.join(map(_literal_text, array))}}}" if array.ndim else str(array[()])


# The attributes of a module that a diff compares, each with its default.
_MODULE_ATTRIBUTES = {
    "alias_passthrough_params": False,
    "buffer_donor": (),
    "input_output_alias": (),
    "num_partitions": 1,
    "replica_count": 1,
}
_INSTRUCTION_ATTRIBUTES = {"output_to_operand_aliasing": (), "sharding": None}


def _attribute_changes(old: Module, new: Module, matches: Iterable[Match]) -> Iterator[AttributeChange]:
    """The changed attributes that do not affect the computed values."""
    yield from _compared(None, old.attributes, new.attributes, _MODULE_ATTRIBUTES)
    for match in matches:
        yield from _compared(match, match.before.attributes, match.after.attributes, _INSTRUCTION_ATTRIBUTES)


def _compared(
    match: Match | None, before: Attributes, after: Attributes, names: Mapping[str, object]
) -> Iterator[AttributeChange]:
    for name, default in names.items():
        if name in before or name in after:
            one, other = before.get(name, default), after.get(name, default)
            if one != other and (_items(one) != _items(other)):
                old, new = (own.text(name) if name in own else None for own in (before, after))
                yield AttributeChange(match, name, old, new)


def _items(value: object) -> object:
    """A list of aliases or donors without its order."""
    return sorted(map(str, value)) if isinstance(value, (tuple, list)) else value


def _reason(old: Module, new: Module) -> str | None:
    """Why the texts of two modules do not show whether they are equal."""
    for name, module in (("before", old), ("after", new)):
        unread = unread_reason(module)
        if unread is not None:
            return f"{name}: {unread}"
        elided = module._elided
        if elided:
            more = f" and {len(elided) - 1:,} more" if len(elided) > 1 else ""
            return f"{name}: the text leaves out the value of {elided[0].name}{more}"
    return None


def _as_module(got: Module | DumpedModule, name: str) -> Module:
    if isinstance(got, DumpedModule):
        return got.load()
    if not isinstance(got, Module):
        raise wrong_type("diff", f"a Module or a DumpedModule as `{name}`", got, module_hint(got))
    return got


def _fusion_changes(
    matches: Sequence[tuple[int, int, str]],
    before: Sequence[tuple[int, int | None, int, bool]],
    after: Sequence[tuple[int, int | None, int, bool]],
    old: Module,
    new: Module,
) -> tuple[list[FusionChange], list[Match]]:
    """The fusions with new contents, and the fusions with unchanged contents, each with its predecessor."""
    contents: defaultdict[int, list[int]] = defaultdict(list)
    for number, fusion, _, is_container in after:
        if fusion is not None and not is_container:
            contents[fusion].append(number)
    if not contents:
        return [], []
    match_of = {one[1]: one for one in matches}
    fusion_of = {number: fusion for number, fusion, _, is_container in before if not is_container}
    sizes = Counter(fusion for fusion in fusion_of.values() if fusion is not None)
    at, then = old.instruction, new.instruction
    changed: list[FusionChange] = []
    unchanged: list[Match] = []
    for number, inside in contents.items():
        parts = [match_of[one] for one in inside if one in match_of]
        was = dict.fromkeys(fusion_of[part[0]] for part in parts)
        if (
            len(was) == 1
            and len(parts) == len(inside)
            and (same := next(iter(was))) is not None
            and sizes[same] == len(parts)
        ):
            unchanged.append(Match(at(same), then(number), "value"))
            continue
        own = tuple(then(one) for one in inside if one not in match_of)
        matched = tuple(Match(at(x), then(y), cast("How", how)) for x, y, how in parts)
        fusions = tuple(at(one) for one in was if one is not None)
        changed.append(FusionChange(then(number), matched, own, fusions))
    return changed, unchanged


def _names(instructions: Iterable[Instruction]) -> str:
    found = list(instructions)
    names = ", ".join(printable(i.name, 60) for i in found[:_MAX_NAMES])
    return names + (f", … {len(found) - _MAX_NAMES} more" if len(found) > _MAX_NAMES else "")


def _opcode_lines(instructions: Sequence[Instruction]) -> Iterator[str]:
    """A line for each operation, first operations that only move elements, then by count."""
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
