"""What cannot be read is never read as nothing: every line of every case, made unreadable, and every rule taken away.

The reference is the graph of the program as it was: which values lead from a root to a line.  An answer that reaches
the line may get wider and is unknown for what stands before the line; every other answer stays as it is, to the letter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache

import pytest
from conftest import Case, all_cases

import hlomap as hm

LINE = re.compile(r"^(\s*)(ROOT )?(%?[\w.-]+) = .*$", re.M)
ALL_LINES = "HLOMAP_CASES" in os.environ
SHAPE = re.compile(r" = (.*?) [a-z][\w-]*\(")
UNREADABLE = ("f7[2] copy(", "f32[2] copy(??)", "{} copy(??)")
"""A shape of no type, and operands that are no names behind a shape that can be read: another one, and the same."""


def lost_lines(text: str, how: str) -> Iterator[tuple[str, str]]:
    """The name of each instruction that has a line of its own, with the text in which that line cannot be read."""
    for line in LINE.finditer(text):
        if line[0].count("{") != line[0].count("}"):
            continue  # it ends its computation, too
        indent, root, name = line.groups(default="")
        shape = SHAPE.search(line[0])
        if shape is not None:
            lost = f"{indent}{root}{name} = {how.format(shape[1])}"
            yield name.lstrip("%"), f"{text[: line.start()]}{lost}{text[line.end() :]}"


Answers = dict[tuple[tuple[int, ...], str], hm.MapSet]


def answers(module: hm.Module, used: bool) -> Answers:
    """The elements of each parameter that each array of the entry's root needs."""
    found: Answers = {}
    for output, _ in module.entry.root.shape.leaves():
        try:
            needed = hm.backward_slice(module.entry, output, used=used)
        except hm.HlomapError:
            continue
        found.update({(output, value.name): maps for value, maps in needed.items()})
    return found


def graph(module: hm.Module) -> dict[int, set[int]]:
    """The values that each value is made of: operands, roots of what it calls, and what its callers pass."""
    edges: dict[int, set[int]] = {}
    sends = [i for i in module.instructions if i.opcode == "send"]
    for instruction in module.instructions:
        own = edges.setdefault(instruction.number, set())
        own.update(operand.number for operand in instruction.operands)
        own.update(called.root.number for called in instruction.called_computations)
        if instruction.opcode == "parameter":
            own.update(operand.number for c in instruction.computation.callers for operand in c.operands)
        if instruction.opcode == "recv":
            own.update(send.number for send in sends)
    return edges


def reached(edges: dict[int, set[int]], start: int) -> set[int]:
    seen, pending = {start}, [start]
    while pending:
        new = edges.get(pending.pop(), set()) - seen
        seen |= new
        pending += new
    return seen


def is_same(a: hm.MapSet | None, b: hm.MapSet | None) -> bool:
    if a is None or b is None:
        return a is b
    return (str(a), a.exact, a.is_unknown) == (str(b), b.exact, b.is_unknown)


def is_wider(new: hm.MapSet | None, old: hm.MapSet) -> bool:
    """Whether no pair of the old set is surely missing in the new one."""
    if new is None:
        return False
    return new.is_unknown or is_same(new, old) or new.covers(old).value is not False


def is_honest(new: hm.MapSet | None, old: hm.MapSet) -> bool:
    """Whether a set that is called exact is the old one."""
    return new is not None and (new.is_unknown or not new.exact or is_same(new, old))


def check_lost_line(module: hm.Module, text: str, name: str, before: tuple[Answers, Answers]) -> str | None:
    """Compares all answers with those of the module in which ``name`` is read; None if the text says something else."""
    try:
        lost = hm.parse(text)
    except hm.HlomapError:
        return None  # the whole text is refused, which is not silent
    pairs = list(zip(module.instructions, lost.instructions, strict=False))
    found = [a for a, b in pairs if b.opcode == "unreadable" != a.opcode and a.name == b.name == name]
    if lost.n_instructions != module.n_instructions or not found:
        return None
    root, line = module.entry.root.number, found[0]
    on_the_way = reached(graph(module), root)
    # Without one of its parameters a computation is no longer what its callers call.
    reaches = line.number in on_the_way or (
        line.opcode == "parameter" and any(caller.number in on_the_way for caller in line.computation.callers)
    )
    in_entry = line.computation == module.entry
    is_called = line.computation in {called for i in module.entry.instructions for called in i.called_computations}
    in_called = is_called and line.number in reached(graph(module), line.computation.root.number)
    needed = hm.indexing(module.entry, ()) if in_entry else {}
    has_elements = any(0 not in leaf.dimensions for _, leaf in line.shape.leaves())
    is_read = line.number == root or any(value == line and (maps or maps.is_unknown) for value, maps in needed.items())
    parameters = {p.name for p in lost.entry.parameters}
    outputs = [output for output, _ in lost.entry.root.shape.leaves()]
    for used, old in zip((False, True), before, strict=True):
        new = answers(lost, used)
        if not reaches:
            keys = {key for key in old.keys() | new.keys() if key[1] in parameters}
            for key in keys:
                assert is_same(new.get(key), old.get(key)), (name, key, used, str(old.get(key)), str(new.get(key)))
            continue
        for (output, parameter), maps in old.items():
            if parameter not in parameters:
                continue  # the line itself, or a parameter behind it
            for at in [output] if output in outputs else outputs:
                wider = is_wider(new.get((at, parameter)), maps)
                assert wider, (name, at, parameter, used, str(maps), str(new.get((at, parameter))))
                honest = not in_called or not maps or is_honest(new.get((at, parameter)), maps)
                assert honest, (name, at, parameter, used, str(maps), str(new.get((at, parameter))))
        if used or not in_entry or not is_read or not has_elements:
            continue
        for parameter in parameters:
            if module[parameter].number < line.number:
                assert any(new[at, parameter].is_unknown for at in outputs if (at, parameter) in new), (name, parameter)
    return name


@lru_cache(maxsize=1)
def programs() -> tuple[Case, ...]:
    return tuple(case for case in all_cases() if case.module.n_instructions < 60)


@pytest.mark.parametrize("part", range(8))
def test_a_line_that_cannot_be_read_is_never_read_as_nothing(part: int) -> None:
    """With ``HLOMAP_CASES`` all lines of all cases, otherwise the roots and one more of each."""
    n_lines = 0
    for case in programs()[part::8]:
        before = answers(case.module, False), answers(case.module, True)
        for how in UNREADABLE:
            lines = list(lost_lines(case.text, how))
            if not ALL_LINES:
                roots = {computation.root.name for computation in case.module.computations}
                lines = lines[part % 2 :: max(1, len(lines))] + [line for line in lines if line[0] in roots]
            for name, text in lines:
                n_lines += check_lost_line(case.module, text, name, before) is not None
    assert n_lines > 50
    print(f"{n_lines} lines made unreadable")


def forward_answers(module: hm.Module) -> dict[tuple[str, str], hm.MapSet]:
    """The elements of each value of the entry that each parameter reaches."""
    found: dict[tuple[str, str], hm.MapSet] = {}
    for parameter in module.entry.parameters:
        found.update({(parameter.name, value.name): maps for value, maps in hm.forward_slice(parameter).items()})
    return found


@pytest.mark.parametrize("part", range(4))
def test_a_parameter_reaches_what_a_line_that_cannot_be_read_may_pass_on(part: int) -> None:
    """Forward, a line of the entry depends on all that stands before it, and what depends on the line is not known."""
    for case in programs()[part::4]:
        module = case.module
        old = forward_answers(module)
        entry = [i for i in module.entry.instructions if i.opcode != "parameter" and 0 not in i.shape.dimensions]
        for name, text in lost_lines(case.text, UNREADABLE[part % 3]):
            line = next((i for i in entry if i.name == name), None)
            try:
                lost = hm.parse(text)
            except hm.HlomapError:
                continue
            unread = [i for i in lost.unread if i.computation == lost.entry]
            if line is None or [i.name for i in unread] != [name]:
                continue
            new = forward_answers(lost)
            for (parameter, value), maps in old.items():
                if value != name:
                    assert is_wider(new.get((parameter, value)), maps), (name, parameter, value)
            for parameter in lost.entry.parameters:
                if parameter.number < unread[0].number and 0 not in parameter.shape.dimensions:
                    assert new[parameter.name, name].is_unknown, (name, parameter.name)


def test_without_a_rule_nothing_is_known() -> None:
    """Each opcode in turn has a rule that knows nothing."""
    cases = [(case, *(answers(case.module, used) for used in (False, True))) for case in programs()]
    opcodes = sorted({i.opcode for case, *_ in cases for i in case.module.instructions if i.operands})
    n_cases = 0
    for opcode in opcodes:
        with hm.register_rule(opcode, lambda call, index: [hm.MapSet.unknown("taken away") for _ in call.operands]):
            for case, *before in cases:
                own = [i for i in case.module.instructions if i.opcode == opcode]
                if not own:
                    continue
                n_cases += 1
                way = reached(graph(case.module), case.module.entry.root.number)
                for used, old in zip((False, True), before, strict=True):
                    new = answers(case.module, used)
                    for key in old.keys() | new.keys():
                        if not way.intersection(i.number for i in own):
                            assert is_same(new.get(key), old.get(key)), (opcode, case.id, key)
                        elif key in old:
                            assert is_wider(new.get(key), old[key]), (opcode, case.id, key)
    assert len(opcodes) > 80 and n_cases > 800, (len(opcodes), n_cases)


def test_no_limit_begins_to_hold_where_a_line_cannot_be_read() -> None:
    n_limits = 0
    for number, case in enumerate(programs()):
        parameters = {p.name: 1 for p in case.module.entry.parameters}
        limits = {"max_bytes": 10**9, "max_reads": parameters, "max_wire_bytes": 0, "forbid": ["copy", "transpose"]}
        try:
            old = hm.check(case.module, **limits)
        except ValueError:
            continue  # two computations have a parameter of that name
        lines = list(lost_lines(case.text, UNREADABLE[number % 3]))
        for _, text in lines if ALL_LINES else lines[-1:]:
            try:
                lost = hm.parse(text)
                new = hm.check(lost, **limits)
            except (hm.HlomapError, ValueError):
                continue  # refused, or the line is a parameter that a limit names
            if lost.unread:
                assert not new.ok and new.reason is not None
                before = {str(limit.rule): limit.status for limit in old.limits}
                for limit in new.limits:
                    n_limits += 1
                    held = before.get(str(limit.rule)) == "holds"
                    assert limit.status != "holds" or held, (case.id, text, limit)
    assert n_limits > 500, n_limits
