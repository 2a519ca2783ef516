"""Every op case against the executor: what the maps say is read, and what is seen to matter.

An element whose change changes an output must be mentioned.  Where values cannot hide a change (all cases but those
marked weak) the maps must mention nothing else.  The two directions must be one relation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conftest import Case, at_leaf, differs, leaves, random_value, related, replaced

import hlomap as hm
from hlomap.interpreter import values as run_values

TRIALS = 3


def _is_unknown(root: hm.Instruction) -> bool:
    return all(found.is_unknown for out, _ in leaves(root.shape) for found in hm.output_to_input(root, out))


def _operand_values(case: Case, module: hm.Module, rng: np.random.Generator) -> dict[hm.Instruction, Any]:
    """The values of a case; what has no map may have no meaning either, nor has one of several devices alone."""
    if _is_unknown(module.entry.root) or module.entry.root.opcode in ("infeed", "recv"):
        return {}
    if any(note.startswith("// devices") for note in case.notes):
        return {}
    arguments = [random_value(p.shape, rng) for p in module.entry.parameters]
    return run_values(module.entry, arguments)


def _matters(root: hm.Instruction, values: dict[hm.Instruction, Any], k: int, leaf: tuple[int, ...]) -> dict[Any, Any]:
    """For each output leaf a bool matrix [output element, operand element] of the changes that were seen."""
    from hlomap.interpreter import evaluate_one

    rng = np.random.default_rng(k)
    operands = [values[operand] for operand in root.operands]
    given = np.asarray(at_leaf(operands[k], leaf))
    before = evaluate_one(root, operands)
    found = {out: np.zeros((shape.n_elements, given.size), np.bool_) for out, shape in leaves(root.shape)}
    shape = next(shape for where, shape in leaves(root.operands[k].shape) if where == leaf)
    for _ in range(TRIALS):
        other = np.asarray(random_value(shape, rng)).reshape(-1)
        for i in range(given.size):
            changed = given.reshape(-1).copy()
            changed[i] = (
                other[i] if other[i] != changed[i] else (~other[i] if given.dtype == bool else other[i] * 3 + 1)
            )
            moved = list(operands)
            moved[k] = replaced(operands[k], leaf, changed.reshape(given.shape))
            after = evaluate_one(root, moved)
            for out, matrix in found.items():
                matrix[:, i] |= differs(at_leaf(before, out), at_leaf(after, out))
    return found


def test_maps_and_executor_agree(case: Case) -> None:
    module = case.module
    root = module.entry.root
    values = _operand_values(case, module, np.random.default_rng(7))
    numbered = {instruction.number: value for instruction, value in values.items()}
    for k, operand in enumerate(root.operands):
        for leaf, inner in leaves(operand.shape):
            if operand.opcode in ("constant", "iota"):  # its content may be part of the map
                continue
            if not values:
                continue
            seen = _matters(root, values, k, leaf)
            for out, shape in leaves(root.shape):
                maps = hm.output_to_input(root, out)[k]
                if maps.is_unknown:
                    continue
                said = related(maps, leaf, shape, inner, numbered)
                where = f"output {out} of {root.name}, operand {k} leaf {leaf}"
                assert not (seen[out] & ~said).any(), f"unsound: {where}"
                if not case.weak and maps.exact:
                    assert (seen[out] == said).all(), f"mentioned but never seen to matter: {where}"


def test_directions_are_one_relation(case: Case) -> None:
    module = case.module
    root = module.entry.root
    values = _operand_values(case, module, np.random.default_rng(7))
    numbered = {instruction.number: value for instruction, value in values.items()}
    for k, operand in enumerate(root.operands):
        for leaf, inner in leaves(operand.shape):
            forward = hm.input_to_output(root, (k, *leaf))
            for out, shape in leaves(root.shape):
                there = hm.output_to_input(root, out)[k]
                back = forward[out[0] if out else 0]
                assert there.is_unknown == back.is_unknown
                if there.is_unknown or not (there.exact and back.exact):
                    continue
                a = related(there, leaf, shape, inner, numbered)
                b = related(back, out, inner, shape, numbered)
                assert (a == b.T).all(), f"output {out} of {root.name}, operand {k} leaf {leaf}"
