"""The variables of expressions whose parts are shared."""

from __future__ import annotations

import hlomap as hm
from hlomap.maps.variables import numbers_of, variables_of


def test_each_variable_once() -> None:
    e = hm.Expr.parse("d2 * 4 + s1 mod 3 + rt0 floordiv 2 + d2 mod 8")
    assert set(variables_of(e)) == {("dim", 2), ("range", 1), ("runtime", 0)}
    assert len(variables_of(e)) == 3
    assert (numbers_of(e, "dim"), numbers_of(e, "range")) == ([2], [1])
    assert variables_of(hm.Expr.constant(5)) == []


def test_shared_parts_are_walked_once() -> None:
    """60 doublings: as a tree 2^60 nodes."""
    e = hm.Expr.dim(0)
    for k in range(60):
        e = (e + 1) // (k + 2) + (e + 2) % (k + 3)
    assert variables_of(e) == [("dim", 0)]
