"""Maps of Python functions: the same values as the function at every point, or an error that says what to write."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import hlomap as hm

E = hm.Expr


def smaller(a: Any, b: Any) -> Any:
    return E.minimum(a, b) if isinstance(a, E) or isinstance(b, E) else min(a, b)


FUNCTIONS: list[tuple[Callable[..., Any], list[Any], list[Any], str]] = [
    (lambda i, j: (i, 0), [2, 3], [], "(d0, d1) -> (d0, 0), domain: d0 in [0, 1], d1 in [0, 2]"),
    (lambda i: i % 3, [7], [], "(d0) -> (d0 mod 3), domain: d0 in [0, 6]"),
    (lambda: (), [], [], "() -> ()"),
    (lambda i: [i // 2, np.int64(3) - i], [4], [], "(d0) -> (d0 floordiv 2, -d0 + 3), domain: d0 in [0, 3]"),
    (lambda i, s: i * 4 + s, [3], [4], "(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 2], s0 in [0, 3]"),
    (lambda i: smaller(i, 3), [("row", 1, 5)], [], "(row) -> (min(row, 3)), domain: row in [1, 5]"),
    (lambda i: np.maximum(np.minimum(i, 3), 1), [6], [], "(d0) -> (max(min(d0, 3), 1)), domain: d0 in [0, 5]"),
    (lambda i: (np.remainder(i, 4), np.negative(i)), [6], [], "(d0) -> (d0 mod 4, -d0), domain: d0 in [0, 5]"),
]


@pytest.mark.parametrize(("f", "dims", "ranges", "text"), FUNCTIONS, ids=[case[-1] for case in FUNCTIONS])
def test_the_map_has_the_values_of_the_function(
    f: Callable[..., Any], dims: list[Any], ranges: list[Any], text: str
) -> None:
    m = hm.IndexingMap.from_function(f, dims, ranges=ranges)
    assert str(m) == text
    spans = [range(v.lower, v.upper + 1) for v in (*m.dims, *m.ranges)]
    for point in product(*spans):
        expected = np.atleast_1d(np.array(f(*point)))
        assert m.evaluate(point[: len(dims)], point[len(dims) :]).tolist() == expected.tolist()


def test_one_size_is_a_grid_of_one_dim() -> None:
    assert hm.IndexingMap.from_function(lambda i: i, 4) == hm.IndexingMap.identity([4])


def test_arrays_of_expressions() -> None:
    """Functions of NumPy work item by item."""
    assert (np.array([1, 2]) * E.dim(0)).tolist() == [E.dim(0), E.dim(0) * 2]
    assert np.minimum(E.dim(0), np.array([[1, 2]])).tolist() == [[E.minimum(E.dim(0), 1), E.minimum(E.dim(0), 2)]]
    with pytest.raises(TypeError, match="returned NotImplemented"):
        np.sin(E.dim(0))


def branches(i: Any) -> Any:
    return 0 if i < 3 else i


WRONG: list[tuple[Callable[..., Any], str]] = [
    (branches, r"got branches(i), which raised: hm.Expr: .*for a branch, make a map for each case"),
    (lambda i: 0 if i == 0 else i - 1, "got a branch (an Expr has no value"),
    (lambda i: 0 if i != 0 else i - 1, "got a branch (an Expr has no value"),
    (lambda i: i - 1 if i else 0, "got a branch (an Expr has no value"),
    (lambda i: i - 1 if not i % 2 else 0, "got a branch (an Expr has no value"),
    (lambda i: [5, 6, 7][i], "an Expr|cannot be|must be integers"),
    (lambda i: min(i, 3), "write hm.Expr.minimum(a, b) or hm.Expr.maximum(a, b)"),
    (lambda i: max(3, i), "write hm.Expr.minimum(a, b) or hm.Expr.maximum(a, b)"),
    (lambda i: i.minimum(3), "write hm.Expr.minimum(a, b)"),
    (lambda i: i.maximum(3), "write hm.Expr.maximum(a, b)"),
    (lambda i: np.where(i < 3, i, 0), "write hm.Expr.minimum(a, b)"),
    (lambda i: i / 2, "write a // b"),
    (lambda i: 0.5, "expected an int or an Expr as result 0 of <lambda>(i), got float (write a // b"),
    (lambda i: (i, None), "expected an int or an Expr as result 1 of <lambda>(i), got None"),
    (lambda i, j: i, "expected a function of 1 argument as `f`, got <lambda>(i, j)"),
    (lambda i: i & 3, "computes with +, -, *, //, %, hm.Expr.minimum, hm.Expr.maximum"),
    (len, "expected a function of 1 argument as `f`"),
]


@pytest.mark.parametrize(("f", "message"), WRONG)
def test_what_has_no_map_says_what_to_write(f: Callable[..., Any], message: str) -> None:
    pattern = message if re.search(r"\.\*|\|", message) else re.escape(message)
    with pytest.raises(TypeError, match=pattern.replace("branches(i)", r"branches\(i\)")) as raised:
        hm.IndexingMap.from_function(f, [6])
    assert str(raised.value).startswith("hm.IndexingMap.from_function: expected ")


def test_expressions_compare_again_afterwards() -> None:
    """Also if the function raises, and within a function that is called by another one."""

    def outer(i: Any) -> Any:
        assert hm.IndexingMap.from_function(lambda j: j, 3).results
        return i if i == 0 else 1

    for f in (lambda i: 1 // 0, outer):
        with pytest.raises((ZeroDivisionError, TypeError)):
            hm.IndexingMap.from_function(f, 4)
        assert E.dim(0) == E.dim(0) and E.dim(0) != E.dim(1) and E.dim(0)
