"""gather: slices of the operand, each at an index vector, clamped so that the slice fits.

Output dimensions in ``offset_dims`` are places in a slice, the others number the vectors.  An operand dimension is
paired with one of the indices (batching), or begins at a component of the vector, or at 0.
"""

from __future__ import annotations

from .._core import Expr, Instruction
from ._maps import full, reads
from ._op import Answer, Context, ExprLike, Footprint, Leaf, Op, register
from ._windows_at import Windows, from_window, to_windows
from .meaning.gather import evaluate
from .plans.gather import plan_of


def looked_at(instruction: Instruction) -> tuple[int, ...]:
    """The indices: what is a constant or an iota is folded, with the clamp."""
    return (1,)


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """Offset + start; the whole index vector."""
    w = plan_of(instruction)
    index: list[ExprLike] = [Expr.dim(o) for _, o in sorted(w.vector.items())]
    in_vector = []
    if w.vector_dim < len(w.indices):
        index.insert(w.vector_dim, Expr.range(0))
        in_vector = [(0, len(w.starts) - 1)]
    return [from_window(instruction, w), reads(full(w.beside), index, ranges=in_vector)]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """d - start where that is inside the slice, for every vector; an index moves its whole slice."""
    w = plan_of(instruction)
    return [to_windows(instruction, w) if operand == 0 else _slice_of_a_vector(w)]


def _slice_of_a_vector(w: Windows) -> Footprint:
    results: list[ExprLike] = [0] * len(w.beside)
    for i, o in w.vector.items():
        results[o] = Expr.dim(i)
    places = sorted(w.window.values())
    for n, o in enumerate(places):
        results[o] = Expr.range(n)
    return reads(full(w.indices), results, ranges=full(w.beside[o] for o in places))


register(Op("gather", output_to_input, input_to_output, evaluate, looked_at))
