"""Matches the instructions after a change with those before.

:func:`match_instructions` is the entry point.  Values with equal numbers are certainly the same.  The rest is matched
from the outputs down, if matched users have operands of one kind; then by name, by the line of the program, and finally
if each side has only one value of its kind left.  Each instruction is in one pair at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Literal

from .._core import Instruction
from ..analysis.structure import is_container, is_copy
from ..analysis.value_numbers import Value
from ..base.types import json_fields
from ..hlo.order import reachable
from ..ops import lookup

How = Literal["value", "use", "name", "origin", "elimination"]
Values = Mapping[Instruction, Value]
_MAX_STEPS = 1000  # from a value through fusions and copies to the instruction that computes it


@dataclass(frozen=True)
class Match:
    """An instruction before and its counterpart after."""

    before: Instruction
    after: Instruction
    #: ``"value"``: proved to compute the same.  Others are likely: ``"use"``, the same operation for the same user;
    #: ``"name"``, the same name, operation and sizes; ``"origin"``, the same operation, sizes and line of the program;
    #: ``"elimination"``, no other value of this operation, these sizes and this called computation was left.
    how: How

    def to_dict(self) -> dict[str, str]:
        """The record as JSON values."""
        return json_fields(self, "before after how")


def computed(values: Values) -> list[Value]:
    """The values without the fusions and calls around them."""
    return [v for v in values.values() if not v.is_container]


def match_instructions(old: Values, new: Values, old_root: Instruction, new_root: Instruction) -> list[Match]:
    """Pairs of instructions, in the order of the text before."""
    matching = _Matching(old, new)
    matching.by_key("value", lambda v: (v.number, v.instruction.opcode, v.instruction.name))
    matching.by_key("value", lambda v: (v.number, v.instruction.opcode))
    matching.by_key("value", lambda v: v.number if v.instruction._has("moves") else None)
    matching.by_use(old_root, new_root)
    matching.by_key("name", lambda v: (v.instruction.name, *_kind(v.instruction)))
    matching.by_key("origin", _origin)
    matching.by_elimination()
    matching.by_use(old_root, new_root)
    return [matching.found[v.instruction] for v in matching.computed[0] if v.instruction in matching.found]


def find_duplicates(matches: list[Match], new: Values) -> list[Match]:
    """Instructions after the change that compute a matched value again, as fusions do with shared operands."""
    taken = {match.after for match in matches}
    first: dict[Hashable, Match] = {}
    for match in matches:
        first.setdefault((new[match.after].number, match.after.opcode), match)
    return [
        Match(again.before, v.instruction, again.how)
        for v in computed(new)
        if v.instruction not in taken
        and not is_copy(v.instruction)
        and (again := first.get((v.number, v.instruction.opcode)))
    ]


class _Matching:
    """The pairs so far, and the unmatched values of both sides."""

    def __init__(self, old: Values, new: Values) -> None:
        self.old, self.new = old, new
        self.computed = computed(old), computed(new)
        self.left = self.computed
        self.found: dict[Instruction, Match] = {}
        self.taken: set[Instruction] = set()
        self.callers = _callers(old) | _callers(new)
        self._sources: dict[Instruction, Instruction] = {}

    def by_key(self, how: How, key: Callable[[Value], Hashable]) -> None:
        """Pairs values with equal keys in the order of the text; a key of None matches nothing."""
        waiting: defaultdict[Hashable, list[Instruction]] = defaultdict(list)
        for value in reversed(self.left[1]):
            if (k := key(value)) is not None:
                waiting[k].append(value.instruction)
        for value in self.left[0]:
            if (k := key(value)) is not None and waiting.get(k):
                self._pair(value.instruction, waiting[k].pop(), how)
        self._drop_pairs()

    def by_elimination(self) -> None:
        """Pairs values that are the last of their kind; copies of one value count once."""
        left: tuple[defaultdict[Hashable, dict[int, Instruction]], ...] = (defaultdict(dict), defaultdict(dict))
        for side, values in zip(left, self.left, strict=True):
            for value in values:
                instruction = value.instruction
                if not _is_common(instruction):
                    called = tuple(computation.fingerprint for computation in instruction.called_computations)
                    side[(*_kind(instruction), called)].setdefault(value.number, instruction)
        for key, olds in left[0].items():
            news = left[1].get(key, {})
            if len(olds) == len(news) == 1:
                self._pair(next(iter(olds.values())), next(iter(news.values())), "elimination")
        self._drop_pairs()

    def by_use(self, old_root: Instruction, new_root: Instruction) -> None:
        """Pairs the operands of pairs, from the roots down, while operation and sizes agree."""
        if not all(self.left):
            return
        above = self._above_unmatched()
        pending = [(old_root, new_root)] + [(m.before, m.after) for m in self.found.values() if m.before in above]
        seen: set[tuple[Instruction, Instruction]] = set()
        while pending:
            pair = a, b = tuple(self._source(one) for one in pending.pop())
            if pair in seen:
                continue
            seen.add((a, b))
            if a not in self.found and b not in self.taken and a in self.old and b in self.new and _kind(a) == _kind(b):
                self._pair(a, b, "use")
            if a in above and a in self.found and self.found[a].after == b and len(a.operands) == len(b.operands):
                pending += zip(a.operands, b.operands, strict=True)
                pending += [
                    (x.root, y.root) for x, y in zip(a.called_computations, b.called_computations, strict=False)
                ]
        self._drop_pairs()

    def _above_unmatched(self) -> set[Instruction]:
        """The instructions before the change that are unmatched or depend on an unmatched one."""
        users: defaultdict[Instruction, list[Instruction]] = defaultdict(list)
        for value in self.computed[0]:
            instruction = value.instruction
            for below in (*instruction.operands, *(inner.root for inner in instruction.called_computations)):
                users[self._source(below)].append(instruction)
        return {*reachable((value.instruction for value in self.left[0]), lambda one: users.get(one, ()))}

    def _drop_pairs(self) -> None:
        before, after = self.left
        self.left = (
            [value for value in before if value.instruction not in self.found],
            [value for value in after if value.instruction not in self.taken],
        )

    def _pair(self, before: Instruction, after: Instruction, how: How) -> None:
        self.found[before] = Match(before, after, how)
        self.taken.add(after)

    def _source(self, instruction: Instruction) -> Instruction:
        """The instruction that computes a value, followed into and out of fusions and through copies."""
        found = self._sources.get(instruction)
        if found is None:
            found = self._sources[instruction] = self._followed(instruction)
        return found

    def _followed(self, instruction: Instruction) -> Instruction:
        for _ in range(_MAX_STEPS):
            if is_container(instruction):
                instruction = instruction.called_computations[0].root
            elif instruction.parameter_number is not None:
                caller = self.callers.get(instruction)
                if caller is None:
                    break
                instruction = caller
            elif is_copy(instruction):
                instruction = instruction.operands[0]
            else:
                break
        return instruction


def _callers(values: Values) -> dict[Instruction, Instruction]:
    """For each parameter of a fusion or call, its operand at the first caller."""
    found: dict[Instruction, Instruction] = {}
    for value in values.values():
        instruction = value.instruction
        if value.is_container:
            for parameter, operand in zip(
                instruction.called_computations[0].parameters, instruction.operands, strict=False
            ):
                found.setdefault(parameter, operand)
    return found


def _kind(instruction: Instruction) -> tuple[str, str]:
    return instruction.opcode, str(instruction.shape.without_layout())


def _is_common(instruction: Instruction) -> bool:
    """Whether a kind is too common to identify a value: constants, tuples, parameters, and moves of elements."""
    makes = not instruction.operands and not instruction._has("varies")
    return makes or instruction._has("moves") or lookup(instruction.opcode).maps.structural


def _origin(value: Value) -> Hashable:
    """The operation, its sizes and the line of the program; None if no line is recorded."""
    m = value.instruction.metadata
    if m.op_name is None or m.source_file is None:
        return None
    return (*_kind(value.instruction), m.op_name, m.source_file, m.source_line)
