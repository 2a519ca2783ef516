"""Programs with their counted loops unrolled: the oracle of the maps through loops.

The unrolled program has a copy of the body, and of every computation that it calls, for each iteration, so that every
value of every iteration is another instruction.  It uses nothing of the analysis but the trip counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from conftest import at_leaf, leaves, random_value, related, replaced

import hlomap as hm
from hlomap.analysis.loops import fixed_leaves

MAX_COPIES = 4000

_CALLEE = re.compile(r"((?:to_apply|calls|condition|body|true_computation|false_computation)=)%?([\w.-]+)")
_CALLEES = re.compile(r"((?:branch_computations|called_computations)=)\{([^}]*)\}")
_WHILE = re.compile(r"^\s*(ROOT )?%([\w.-]+) = (.*) while\(%?([\w.-]+)\)")


class TooLarge(Exception):
    """The unrolled program would be too large."""


class _Copies:
    """Copies of computations, each with names of its own."""

    def __init__(self, module: hm.Module) -> None:
        self.module = module
        self.texts: list[str] = []
        self._n = 0

    def copy(self, computation: hm.Computation) -> str:
        """The name of a new copy."""
        self._n += 1
        if self._n > MAX_COPIES:
            raise TooLarge
        name = f"copy_{self._n}"
        lines = computation.to_string().splitlines()
        body = [line for at in lines[1:-1] for line in self._line(at, computation)]
        self.texts.append("\n".join([f"{name} {{", *body, "}"]))
        return name

    def _line(self, line: str, computation: hm.Computation) -> list[str]:
        found = _WHILE.match(line)
        if found:
            root, name, shape, operand = found.groups()
            loop = computation[name]
            count = hm.loop(loop).trip_count
            if isinstance(count, int):
                return unrolled_lines(self, loop, count, operand, shape, name, root or "")
        line = _CALLEE.sub(lambda m: m[1] + self.copy(self.module.computation(m[2])), line)
        return [_CALLEES.sub(lambda m: m[1] + "{" + self._all(m[2]) + "}", line)]

    def _all(self, names: str) -> str:
        return ", ".join(self.copy(self.module.computation(name.strip().lstrip("%"))) for name in names.split(","))


def unrolled_lines(
    copies: _Copies, loop: hm.Instruction, count: int, operand: str, shape: str, name: str, root: str
) -> list[str]:
    """Calls of copies of the body in place of a loop."""
    lines, state = [], operand
    for k in range(count):
        called = copies.copy(loop.attributes["body"])
        lines.append(f"  %{name}.step{k} = {shape} call(%{state}), to_apply=%{called}")
        state = f"{name}.step{k}"
    return [*lines, f"  {root}%{name} = {shape} copy(%{state})"]


def unroll(loop: hm.Instruction, count: int) -> hm.Module:
    """A module whose entry takes the state of a loop and gives that after all iterations."""
    copies = _Copies(loop.module)
    shape = str(loop.operands[0].shape)
    lines = unrolled_lines(copies, loop, count, "state", shape, "unrolled", "ROOT ")
    text = "\n\n".join([*copies.texts, "\n".join(["ENTRY e {", f"  %state = {shape} parameter(0)", *lines, "}"])])
    return hm.parse(f"HloModule unrolled\n\n{text}\n")


def compare(loop: hm.Instruction, *, seed: int = 0, max_pairs: int = 1 << 17) -> dict[str, int]:
    """Compares the maps of a counted loop with those of its unrolled form, in both directions.

    The numbers of pairs of leaves: ``exact`` where both claim to be, ``contained`` where one does not; fails where a
    set of the loop lacks an element, or claims to be exact with one too many.
    """
    count = hm.loop(loop).trip_count
    assert isinstance(count, int)
    unrolled = unroll(loop, count)
    state, values = _run(loop, unrolled, seed)
    found = {"exact": 0, "contained": 0, "coarse": 0}
    all_leaves = list(leaves(loop.shape))
    forward = {leaf: hm.input_to_output(loop, (0, *leaf)) for leaf, _ in all_leaves}
    own = _values_around(loop, state)
    for out, source in all_leaves:
        backward, reference = hm.output_to_input(loop, out)[0], hm.output_to_input(unrolled.entry, out)[0]
        for leaf, target in all_leaves:
            back = forward[leaf][out[0] if out else 0]
            sets = (backward, reference, back)
            if source.n_elements * target.n_elements > max_pairs or any(s.is_unknown for s in sets):
                continue
            if any(_volume(m) > max_pairs for s in sets for m in s if m.shape_index in (leaf, out)):
                continue
            true = related(reference, leaf, source, target, values)
            for what, claim, claimed in (
                ("output_to_input", backward, related(backward, leaf, source, target, own)),
                ("input_to_output", back, related(back, out, target, source, own).T),
            ):
                where = f"{what} of {loop.name}: output {out}, operand {leaf}"
                if reference.exact:
                    missing = true & ~claimed
                    assert not missing.any(), f"{where} lacks {np.argwhere(missing)[0]}: {list(map(str, claim))}"
                if claim.exact:
                    extra = claimed & ~true
                    assert not extra.any(), f"{where} has {np.argwhere(extra)[0]} too many: {list(map(str, claim))}"
                key = "exact" if claim.exact and reference.exact else "contained" if not claim.exact else "coarse"
                found[key] += 1
    return found


def _volume(m: hm.IndexingMap) -> int:
    return math.prod(v.upper - v.lower + 1 for v in (*m.dims, *m.ranges))


def _run(loop: hm.Instruction, unrolled: hm.Module, seed: int) -> tuple[Any, Mapping[int, Any]]:
    """The state before the loop, and the value of every instruction of the unrolled program."""
    rng = np.random.default_rng(seed)
    state = random_value(loop.operands[0].shape, rng)
    for leaf, number in fixed_leaves(loop).items():
        before = np.asarray(at_leaf(state, leaf))
        state = replaced(state, leaf, np.full(before.shape, number, before.dtype))
    values: dict[int, Any] = {}

    def record(instruction: hm.Instruction, value: Any) -> None:
        values[instruction.number] = value

    hm.execute(unrolled, state, on_value=record)
    values[unrolled.entry.parameters[0].number] = state
    return state, values


def _values_around(loop: hm.Instruction, state: Any) -> dict[int, Any]:
    """The values of the instructions with which leaves of the loop begin, and of those of the body in one iteration:
    the maps may use those that stay the same.
    """
    found: dict[int, Any] = {}
    hm.execute(loop.attributes["body"], state, on_value=lambda at, value: found.setdefault(at.number, value))
    for leaf, _ in leaves(loop.operands[0].shape):
        start = _start(loop.operands[0], leaf)
        if start is not None:
            found[start.number] = at_leaf(state, leaf)
    return found


def _start(at: hm.Instruction, leaf: tuple[int, ...]) -> hm.Instruction | None:
    """The array that a leaf of a value is, where tuples alone lead to it."""
    while True:
        if at.opcode == "tuple" and leaf:
            at, leaf = at.operands[leaf[0]], leaf[1:]
        elif at.opcode == "get-tuple-element":
            at, leaf = at.operands[0], (at.attributes["index"], *leaf)
        elif at.opcode in ("copy", "opt-barrier") and at.shape.is_tuple:
            at = at.operands[0]
        else:
            return None if leaf else at
