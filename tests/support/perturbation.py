"""Observed dependences: the output elements that change when an operand element changes.

Matrices are bool arrays [output element, operand element] in row-major order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from conftest import at_leaf, differs, leaves, replaced

import hlomap as hm

Leaf = tuple[int, ...]


def observe_changes(
    run: Callable[[list[Any]], Any],
    result: hm.Shape,
    operands: Sequence[Any],
    k: int,
    shape_index: Leaf,
    others: Iterable[np.ndarray],
    expected: Mapping[Leaf, np.ndarray] | None = None,
) -> dict[Leaf, np.ndarray]:
    """For each output array the matrix of observed changes, for the array of operand ``k`` at a shape index.

    ``others`` are flat arrays of values to change the elements to, one at a time, until just ``expected`` was seen;
    ``result`` is the shape of the value that ``run`` computes.
    """
    original = np.asarray(at_leaf(operands[k], shape_index))
    before = run(list(operands))
    observed = {out: np.zeros((shape.n_elements, original.size), np.bool_) for out, shape in leaves(result)}
    for other in others:
        if expected is not None and all(np.array_equal(observed[out], expected.get(out)) for out in observed):
            break
        for i in range(original.size):
            array = original.reshape(-1).copy()
            array[i] = other[i]
            changed = list(operands)
            changed[k] = replaced(operands[k], shape_index, array.reshape(original.shape))
            after = run(changed)
            for out, matrix in observed.items():
                matrix[:, i] |= differs(at_leaf(before, out), at_leaf(after, out))
    return observed


@dataclass(frozen=True)
class Checked:
    """The maps under test: from an array of the root's output to an array of an operand, both by shape index."""

    root: hm.Instruction
    direction: str
    output: tuple[Leaf, hm.Shape]
    operand: tuple[int, Leaf, hm.Shape]
    maps: hm.MapSet

    def check_sound(self, observed: np.ndarray, mentioned: np.ndarray) -> None:
        """Fails with the smallest observed change that the maps do not mention, on one line."""
        self._fail_at_first(observed & ~mentioned, "unsound")

    def check_tight(self, observed: np.ndarray, mentioned: np.ndarray) -> None:
        """Fails with the smallest pair of elements that the maps mention and that was not observed, on one line."""
        self._fail_at_first(mentioned & ~observed, "not observed")

    def _fail_at_first(self, wrong: np.ndarray, problem: str) -> None:
        pairs = np.argwhere(wrong.T)
        if len(pairs):
            pytest.fail(f"{problem}: {self._describe(pairs[0])}", pytrace=False)

    def _describe(self, pair: np.ndarray) -> str:
        """Instruction, direction, operand element, output element and maps of (operand element, output element)."""
        (out, output_shape), (k, shape_index, operand_shape) = self.output, self.operand
        i, o = (
            [int(x) for x in np.unravel_index(n, s.dimensions)]
            for n, s in zip(pair, (operand_shape, output_shape), strict=True)
        )
        text = " | ".join(str(self.maps).splitlines()) or "no map"
        name = f"{self.root.name} ({self.root.opcode}) {self.direction}"
        return f"{name}: operand {k}{_in_braces(shape_index)} element {i}, output{_in_braces(out)} element {o}: {text}"


def _in_braces(shape_index: Leaf) -> str:
    return f"{{{', '.join(map(str, shape_index))}}}" if shape_index else ""
