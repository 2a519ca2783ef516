"""Brings operands of elementwise operations to one shape with explicit broadcasts, as XLA's own builder does.

Scalars and dimensions of size 1 are expanded.  For operands of different rank ``broadcast_dimensions`` maps the
dimensions of the lower-rank operand to those of the other. Source: section "Broadcasting semantics" of XLA's
documentation.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Shape
from ..writing import arguments as check
from ..writing.core import Core
from ..writing.operands import Operand
from ..writing.values import Ints, Value


def broadcast_operands(
    b: Core, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None, kinds: str
) -> list[Value]:
    """Both operands, of one of the ``kinds`` of element types, broadcast to their common sizes."""
    like = next((v.dtype for v in (lhs, rhs) if isinstance(v, Value)), None)
    left = b._array_of("lhs", lhs, kinds, like)
    right = b._array_of("rhs", rhs, kinds, like)
    if left.dtype != right.dtype:
        rule = f"expected element type {left.dtype}, that of lhs, {check.described(left)}"
        raise check.invalid("rhs", check.described(right), rule)
    low, high = (left, right) if len(left.dimensions) < len(right.dimensions) else (right, left)
    rank = len(high.dimensions)
    dims = None
    if broadcast_dimensions is not None:
        dims = check.dimension_numbers("broadcast_dimensions", broadcast_dimensions, rank)
        if len(dims) != len(low.dimensions):
            rule = f"expected {len(low.dimensions)}, one per dimension of {low.shape}"
            raise check.invalid("broadcast_dimensions", list(broadcast_dimensions), rule)
        if dims != sorted(dims):
            raise check.invalid("broadcast_dimensions", list(broadcast_dimensions), "expected ascending order")
        if len(dims) == rank:
            dims = None
    elif low.dimensions and len(low.dimensions) != rank:
        rule = f"operands of ranks {len(left.dimensions)} and {len(right.dimensions)} need broadcast_dimensions"
        raise check.invalid("rhs", check.described(right), rule)
    sizes = list(high.dimensions)
    for d, n in zip(range(rank) if dims is None else dims, low.dimensions, strict=False):
        if n != sizes[d] and 1 not in (n, sizes[d]):
            rule = f"sizes {n} and {sizes[d]} of dimension {d} of {low.shape} and {high.shape} differ"
            raise check.invalid("rhs" if dims is None else "broadcast_dimensions", dims or right.name, rule)
        sizes[d] = n if sizes[d] == 1 else sizes[d]
    if dims is not None and low.dimensions:
        own_sizes = list(sizes)
        for d, n in zip(dims, low.dimensions, strict=True):
            own_sizes[d] = n
        aligned = broadcast(b, low, own_sizes, dims)
        left, right = (aligned if v is low else v for v in (left, right))
    # Operands of equal sizes stay as they are, so a bounded dimension remains bounded.
    if left.dimensions == right.dimensions:
        return [left, right]
    return [expand(b, v, Shape(v.dtype, sizes)) for v in (left, right)]


def expand(b: Core, value: Value, to: Shape) -> Value:
    """The value with the sizes of ``to``: a scalar everywhere, dimensions of size 1 repeated.

    HLO's broadcast cannot expand a dimension, so a reshape removes those of size 1 first and the broadcast restores
    them.
    """
    if value.dimensions == to.dimensions:
        return value
    if not value.dimensions:
        return broadcast(b, value, to.dimensions, [])
    kept = [d for d, (n, m) in enumerate(zip(value.dimensions, to.dimensions, strict=True)) if n == m]
    squeezed = Shape(value.dtype, [value.dimensions[d] for d in kept])
    return broadcast(b, b._emit("reshape", [value], squeezed), to.dimensions, kept)


def broadcast(b: Core, value: Value, sizes: Ints, dimensions: Sequence[int]) -> Value:
    """A broadcast to these sizes; dimension k of the value becomes dimension ``dimensions[k]``."""
    return b._emit("broadcast", [value], check.array_shape(value.dtype, sizes), dimensions=dimensions)
