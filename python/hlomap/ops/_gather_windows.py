"""Windows of an array at index vectors: what gather reads and scatter hits.

Read :class:`Windows` first.  The law: a place in a window is in the array at that place plus where the window begins.
The windows lie beside each other in another array, gather's output or scatter's updates, some of whose dimensions are
places in a window while the others number the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._core import Expr, Instruction
from ._index_vectors import as_held, clamped, starts_at
from ._indexing.maps import full, reads
from ._rule import NOTHING, ExprLike, Footprint

Constraints = list[tuple[ExprLike, int, int]]


@dataclass(frozen=True)
class Windows:
    """``sizes`` of the array, ``extents`` of a window in it, sizes of the array ``beside`` that holds the windows.

    By dimension of the array: ``window`` is the one beside that has the places, ``starts`` the component of the vector;
    ``paired`` leads to it from a dimension of the indices, ``vector`` from there to the one beside that numbers it.
    ``clamps``: windows are moved to fit, else those that do not are left out.
    """

    sizes: tuple[int, ...]
    extents: tuple[int, ...]
    beside: tuple[int, ...]
    indices: tuple[int, ...]
    window: dict[int, int]
    vector: dict[int, int]
    paired: dict[int, int]
    starts: dict[int, int]
    vector_dim: int
    operand: int
    clamps: bool

    def limit(self, p: int) -> int:
        """The last place where a window can begin."""
        return self.sizes[p] - self.extents[p]


def _starts(
    instruction: Instruction, w: Windows, vector: Sequence[ExprLike], runtime: list[Any]
) -> dict[int, ExprLike]:
    """Where the window of a vector begins; without a clamp all that is beyond the last place is one beyond."""
    beyond = 0 if w.clamps else 1
    reach = {k: (-beyond, w.limit(p) + beyond) for p, k in w.starts.items()}
    bounds = [reach[k] for k in range(len(reach))]
    known_as = clamped if w.clamps else as_held
    found = starts_at(instruction.operands[w.operand], w.operand, w.vector_dim, vector, bounds, runtime, known_as)
    return {p: found[k] for p, k in w.starts.items()}


def from_window(instruction: Instruction, w: Windows) -> Footprint:
    """From a place in a window to that of the array."""
    runtime: list[Any] = []
    starts = _starts(instruction, w, [Expr.dim(u) for _, u in sorted(w.vector.items())], runtime)
    numbers = {p: w.vector[i] for i, p in w.paired.items()}
    results: list[ExprLike] = []
    constraints: Constraints = []
    for p in range(len(w.sizes)):
        place: ExprLike = Expr.dim(w.window[p]) if p in w.window else 0
        start = starts.get(p, 0)
        if isinstance(start, int) and not 0 <= start <= w.limit(p):
            return NOTHING
        if not isinstance(start, int) and not w.clamps:
            constraints.append((start, 0, w.limit(p)))
        results.append(Expr.dim(numbers[p]) if p in numbers else place + start)
    return reads(full(w.beside), results, runtime=runtime, constraints=constraints)


def to_windows(instruction: Instruction, w: Windows) -> Footprint:
    """From a place in the array to that in every window that covers it: a range for each dimension of vectors."""
    if 0 in w.beside:
        return NOTHING
    vector, ranges = of_batch(w.indices, w.paired, sorted(w.vector))
    results: list[ExprLike] = [0] * len(w.beside)
    for i, expr in zip(sorted(w.vector), vector, strict=True):
        results[w.vector[i]] = expr
    runtime: list[Any] = []
    starts = _starts(instruction, w, vector, runtime)
    dims = full(w.sizes)
    constraints: Constraints = []
    for p, extent in enumerate(w.extents):
        if p in w.paired.values():
            continue
        start = starts.get(p, 0)
        if isinstance(start, int):
            if not 0 <= start <= w.limit(p):
                return NOTHING
            dims[p] = (start, start + extent - 1)
        else:
            constraints.append((Expr.dim(p) - start, 0, extent - 1))
            if extent > 1 and not w.clamps:
                constraints.append((start, 0, w.limit(p)))
        if p in w.window:
            results[w.window[p]] = Expr.dim(p) - start
    return reads(dims, results, ranges=ranges, runtime=runtime, constraints=constraints)


def of_batch(
    sizes: Sequence[int], paired: dict[int, int], dims: Sequence[int]
) -> tuple[list[ExprLike], list[tuple[int, int]]]:
    """Indices along these dimensions: of one that is paired with a dimension of the asked array its index, else any."""
    results: list[ExprLike] = []
    ranges: list[tuple[int, int]] = []
    for i in dims:
        if i in paired:
            results.append(Expr.dim(paired[i]))
        else:
            results.append(Expr.range(len(ranges)))
            ranges.append((0, sizes[i] - 1))
    return results, ranges
