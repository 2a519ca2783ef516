"""gather: output[batch, offset] = operand[start + offset], with starts clamped so that each slice lies in the operand.

The output dimensions in ``offset_dims`` are offsets in a slice, the others number the index vectors.  An operand
dimension is paired with a dimension of the indices (``operand_batching_dims``), starts at a component of the index
vector (``start_index_map``), or starts at 0.  Section Gather of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ..errors import UnsupportedError
from ._attributes import gather_dimensions
from ._indexing.index_vectors import window_to_operand
from ._indexing.maps import inverted, map_keeping
from ._numpy.window import index_vectors, window_indices
from ._op import EvalContext, Maps, RuleContext, RuleResult, ShapeIndex, Value, register_moving


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[start + offset], and the whole index vector."""
    d = gather_dimensions(instruction)
    return [window_to_operand(instruction, d, context), map_keeping(d.output_sizes, d.indices_sizes, d.batch_dims)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The operand index of every output element along each dimension, then one lookup."""
    d, data = gather_dimensions(instruction), np.asarray(operands[0])
    vectors = index_vectors(np.asarray(operands[1]), d.index_vector_dim)
    sizes = list(d.output_sizes)
    for o, n in zip(sorted(d.batch_dims.values()), vectors.shape[:-1], strict=True):
        sizes[o] = n
    for p, o in d.window_dims.items():
        # A slice of a whole dynamic dimension has the size in use.
        sizes[o] = data.shape[p] if d.window_sizes[p] == d.operand_sizes[p] else d.window_sizes[p]
    index, _ = window_indices(d, vectors, sizes, [d.last_start(p) for p in range(data.ndim)])
    if any(at.size and at.max() >= size for at, size in zip(index, data.shape, strict=True)):
        found, bounds = list(data.shape), list(d.operand_sizes)
        raise UnsupportedError(f"elements are read that are not in use: sizes {found} of {bounds}")
    return np.broadcast_to(data[tuple(index)] if index else data, sizes)


register_moving("gather", Maps(output_to_input, inverted(output_to_input)), evaluate, (0,))
