"""The oracle: the maps of every op case against the interpreter, element by element, and what the package says of them.

An operand element that changes an output must be mentioned by the maps.  Where values cannot hide a change (all cases
but those marked weak), the maps must mention nothing else.  Both directions must be the same relation.  Pairs of
elements come from the enumeration in ``conftest.related``, which is independent of the package's.  ``hm.verify`` must
not call maps unsound that are not, and ``hm.observed_reads`` must not see elements that the maps do not mention.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from conftest import Case, at_leaf, leaves, random_value, related, run_values
from support.perturbation import Checked, observe_changes

import hlomap as hm
from hlomap.analysis.loops import fixed_leaves
from hlomap.interpreter import evaluate_one

TRIALS = 3


def _is_unknown(root: hm.Instruction) -> bool:
    return all(maps.is_unknown for out, _ in leaves(root.shape) for maps in hm.output_to_input(root, out))


def _instruction_values(case: Case, module: hm.Module, rng: np.random.Generator) -> dict[hm.Instruction, Any]:
    """The value of each instruction; empty for cases that cannot be run, or not on one device."""
    if _is_unknown(module.entry.root) or module.entry.root.opcode in ("infeed", "recv"):
        return {}
    if any(note.startswith(("// devices", "// not executed")) for note in case.notes):
        return {}
    arguments = [random_value(p.shape, rng) for p in module.entry.parameters]
    return run_values(module.entry, arguments)


def _other_elements(array: np.ndarray, shape: hm.Shape, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Random elements that differ from the array's at every position, several times."""
    own = array.reshape(-1)
    for _ in range(TRIALS):
        other = np.asarray(random_value(shape, rng)).reshape(-1)
        fallback = ~other if array.dtype == bool else other * 3 + 1
        yield np.where(other != own, other, fallback.astype(other.dtype))


def test_maps_and_interpreter_agree(case: Case) -> None:
    """Both directions are one relation, and the package's own checks agree with it."""
    module = case.module
    _check_maps(case, module)
    _check_observed_reads(module)
    assert [str(result) for result in hm.verify(module, max_changes=5) if result.status == "unsound"] == []


def _check_maps(case: Case, module: hm.Module) -> None:
    """Compares them with the changes that each element of an operand makes."""
    root = module.entry.root
    values = _instruction_values(case, module, np.random.default_rng(7))
    by_number = {instruction.number: value for instruction, value in values.items()}
    for k, operand in enumerate(root.operands):
        for shape_index, inner in leaves(operand.shape):
            # The values of constants may be part of the map, and the number of iterations rests on some leaves.
            runs = values and operand.opcode not in ("constant", "iota") and shape_index not in fixed_leaves(root)
            forward = hm.input_to_output(root, (k, *shape_index))
            mentioned: dict[tuple[int, ...], np.ndarray] = {}
            for out, shape in leaves(root.shape):
                there, back = hm.output_to_input(root, out)[k], forward[out[0] if out else 0]
                assert there.is_unknown == back.is_unknown
                are_exact = there.exact and back.exact
                if not there.is_unknown and (runs or are_exact):
                    mentioned[out] = related(there, shape_index, shape, inner, by_number)
                if are_exact:
                    inverse = related(back, out, inner, shape, by_number)
                    assert (mentioned[out] == inverse.T).all(), (
                        f"output {out} of {root.name}, operand {k} leaf {shape_index}"
                    )
            if not runs:
                continue
            operands = [values[o] for o in root.operands]
            others = _other_elements(np.asarray(at_leaf(operands[k], shape_index)), inner, np.random.default_rng(k))
            observed = observe_changes(
                lambda given: evaluate_one(root, given), root.shape, operands, k, shape_index, others, mentioned
            )
            for out, shape in leaves(root.shape):
                if out in mentioned:
                    there = hm.output_to_input(root, out)[k]
                    checked = Checked(root, "output_to_input", (out, shape), (k, shape_index, inner), there)
                    checked.check_sound(observed[out], mentioned[out])
                    if not case.weak and there.exact:
                        checked.check_tight(observed[out], mentioned[out])


def _check_observed_reads(module: hm.Module) -> None:
    """What is seen to change the middle of the first array is mentioned, by maps that need no runtime values."""
    arrays = [(out, shape) for out, shape in leaves(module.entry.root.shape) if shape.n_elements]
    if not arrays:
        return
    out, shape = arrays[0]
    element = tuple(size // 2 for size in shape.dimensions)
    row = int(np.ravel_multi_index(element, shape.dimensions)) if element else 0
    try:
        found = hm.observed_reads(module, element, output=out, seeds=1, max_runs=30)
    except (hm.errors.UnsupportedError, hm.errors.ShapeError):
        return  # cannot be run with random values on one device
    for parameter, maps in zip(module.entry.parameters, hm.output_to_input(module.entry, out), strict=True):
        if maps.is_unknown or maps.devices is not None or any(m.runtime for m in maps):
            continue
        for leaf, inner in leaves(parameter.shape):
            seen = np.asarray(at_leaf(found.observed[parameter], leaf)).ravel()
            outside = seen & ~related(maps, leaf, shape, inner, {})[row]
            assert not outside.any(), (parameter.name, leaf, np.flatnonzero(outside))
