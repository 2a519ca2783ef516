"""topk: the k largest or smallest elements of each row along the last dimension, and their indices.

Of equal elements the first come first, also without ``is_stable``, which permits any order of them; floats are
compared in total order.  Section TopK of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._indexing.maps import rules_by_dims
from ._numpy.numeric import total_order_key, widened
from ._op import EvalContext, Maps, Semantics, Value, register
from ._operations import compared


def _rows(instruction: Instruction, operand: int, output: int) -> dict[int, int]:
    return {i: i for i in range(instruction.operands[0].shape.rank - 1)}


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """A stable sort by keys with the total order of the elements."""
    data = np.asarray(operands[0])
    key = np.asarray(total_order_key(data))
    key = key.astype(widened(key.dtype))
    if instruction.attributes.get("largest", True):
        key = np.invert(key)
    indices = np.argsort(key, axis=-1, kind="stable")[..., : int(instruction.attributes["k"])]
    return np.take_along_axis(data, indices, -1), indices.astype(np.int32)


register("topk", Maps(*rules_by_dims(_rows)), Semantics(evaluate, operations=compared, builder_methods=("top_k",)))
