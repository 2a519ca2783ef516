"""Row-major linear indices of one shape as indices into another shape with as many elements.

Read :func:`delinearize` first.  Dimensions are grouped where the products of the sizes agree, so that no division spans
more dimensions than necessary.  Within a group an index is a digit of a mixed-radix number, and a digit that divides
evenly needs no sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from ..._core import Expr
from .._rule import ExprLike
from .._shapes import n_elements, require_int64


def delinearize(variables: Sequence[Expr], source: Sequence[int], target: Sequence[int]) -> list[ExprLike]:
    """The index into ``target`` with the linear index that ``variables`` have in ``source``; no size may be 0."""
    require_int64(n_elements(source))
    results: list[ExprLike] = [0] * len(target)
    for from_dims, to_dims in _groups(source, target):
        sizes = [source[i] for i in from_dims]
        digits = _digits([variables[i] for i in from_dims], sizes, [target[i] for i in to_dims])
        for i, digit in zip(to_dims, digits, strict=True):
            results[i] = digit
    return results


def _groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Minimal groups of consecutive dimensions with equal products; dimensions of size 1 belong to none."""
    left = [i for i, size in enumerate(source) if size != 1]
    right = [i for i, size in enumerate(target) if size != 1]
    groups = []
    i = j = 0
    while i < len(left) and j < len(right):
        start_i, start_j = i, j
        a, b = source[left[i]], target[right[j]]
        while a != b:
            if a < b:
                i += 1
                a *= source[left[i]]
            else:
                j += 1
                b *= target[right[j]]
        i, j = i + 1, j + 1
        groups.append((left[start_i:i], right[start_j:j]))
    return groups


def _strides(sizes: Sequence[int]) -> list[int]:
    strides = [1] * len(sizes)
    for i in reversed(range(len(sizes) - 1)):
        strides[i] = strides[i + 1] * sizes[i + 1]
    return strides


def _digits(variables: Sequence[Expr], source: Sequence[int], target: Sequence[int]) -> list[ExprLike]:
    """The digits in the radices ``target`` of the number whose digits in the radices ``source`` are the variables."""
    terms = list(zip(variables, source, _strides(source), strict=True))
    return [_digit(terms, size, stride) for size, stride in zip(target, _strides(target), strict=True)]


def _digit(terms: Sequence[tuple[Expr, int, int]], size: int, stride: int) -> ExprLike:
    """``(number floordiv stride) mod size``, the number being the sum of ``variable * weight`` over the terms.

    A term is (variable, size, weight).
    """
    above = size * stride
    # A term that is a multiple of `above` does not change the digit.
    terms = [term for term in terms if term[2] % above]
    pieces: list[ExprLike] = []
    for variable, length, weight in terms:
        piece: ExprLike
        if weight * length <= above and above % (weight * length) == 0:
            piece = variable
        elif above % weight == 0 and (weight * length) % above == 0:
            piece = variable % (above // weight)
        else:
            return _digit_of_sum(terms, size, stride)
        if weight % stride == 0:
            pieces.append(piece * (weight // stride))
        elif stride % weight == 0 and (weight * length) % stride == 0:
            pieces.append(piece // (stride // weight))
        elif stride % (weight * length) != 0:
            return _digit_of_sum(terms, size, stride)
    return sum(pieces[1:], pieces[0]) if pieces else 0


def _digit_of_sum(terms: Sequence[tuple[Expr, int, int]], size: int, stride: int) -> ExprLike:
    """The digit where source and target digits straddle each other, by division of the sum itself."""
    above = size * stride
    common = stride
    for _, _, weight in terms:
        common = gcd(common, weight)
    number: ExprLike = 0
    for variable, _, weight in terms:
        number = variable * (weight // common) + number
    if sum((length - 1) * weight for _, length, weight in terms) >= above:
        number = number % (above // common)
    return number // (stride // common)
