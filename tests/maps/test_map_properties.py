"""Properties of maps through the public API, on random maps over small domains (hypothesis)."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import hlomap as hm

N_DIMS = 2
N_RANGES = 1
BOX = np.array(list(product(range(-5, 13), repeat=N_DIMS + N_RANGES)))


def leaves() -> st.SearchStrategy[hm.Expr]:
    variables = [hm.Expr.dim(i) for i in range(N_DIMS)] + [hm.Expr.range(i) for i in range(N_RANGES)]
    return st.sampled_from(variables) | st.integers(-20, 20).map(hm.Expr.constant)


def larger(inner: st.SearchStrategy[hm.Expr]) -> st.SearchStrategy[hm.Expr]:
    divisors = st.integers(1, 17)
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, k: a * k, inner, st.integers(-9, 9)),
        st.builds(lambda a, n: a // n, inner, divisors),
        st.builds(lambda a, n: a % n, inner, divisors),
        st.builds(lambda a, n: a.ceildiv(n), inner, divisors),
        st.builds(lambda a, b: a // hm.Expr.maximum(b, 1), inner, inner),
        st.builds(hm.Expr.minimum, inner, inner),
    )


EXPRS = st.recursive(leaves(), larger, max_leaves=8)
BOUNDS = st.tuples(st.integers(-4, 5), st.integers(0, 7)).map(lambda x: (x[0], x[0] + x[1]))


@st.composite
def maps(
    draw: st.DrawFn, n_results: int | None = None, bounds: st.SearchStrategy[tuple[int, int]] = BOUNDS
) -> hm.IndexingMap:
    n = draw(st.integers(1, 2)) if n_results is None else n_results
    return hm.IndexingMap(
        draw(st.lists(bounds, min_size=N_DIMS, max_size=N_DIMS)),
        draw(st.lists(EXPRS, min_size=n, max_size=n)),
        ranges=draw(st.lists(BOUNDS, min_size=N_RANGES, max_size=N_RANGES)),
        constraints=[(e, lo, hi) for e, (lo, hi) in draw(st.lists(st.tuples(EXPRS, BOUNDS), max_size=2))],
    )


def inside(m: hm.IndexingMap, points: np.ndarray = BOX) -> np.ndarray:
    return m.in_domain(points[:, :N_DIMS], points[:, N_DIMS:])


def values(m: hm.IndexingMap, points: np.ndarray) -> np.ndarray:
    return m.evaluate(points[:, :N_DIMS], points[:, N_DIMS:])


@given(maps())
def test_simplify_keeps_every_value_and_the_domain(m: hm.IndexingMap) -> None:
    simple = m.simplify()
    kept = inside(m)
    assert (inside(simple) == kept).all()
    if kept.any():
        assert (values(simple, BOX[kept]) == values(m, BOX[kept])).all()


@given(maps())
def test_simplify_twice_is_simplify_once(m: hm.IndexingMap) -> None:
    once = m.simplify()
    assert once.simplify() == once
    assert once.cost().divmod <= m.cost().divmod


@given(maps())
def test_text_and_pickle_round_trip(m: hm.IndexingMap) -> None:
    for text in (str(m), format(m, "xla"), format(m, "multiline")):
        again = hm.IndexingMap.parse(text)
        assert again == m
        assert hash(again) == hash(m)
    assert pickle.loads(pickle.dumps(m)) == m


@given(maps(n_results=N_DIMS), maps(bounds=st.just((-20, 20))))
def test_then_is_composition_of_functions(first: hm.IndexingMap, second: hm.IndexingMap) -> None:
    both = first.then(second)
    # The ranges of the second map come after those of the first.
    for s1 in range(-4, 13):
        points = np.hstack([BOX, np.full((len(BOX), 1), s1)])
        kept = both.in_domain(points[:, :N_DIMS], points[:, N_DIMS:])
        if first.is_known_empty or second.is_known_empty:
            assert not kept.any()
            continue
        if both.is_known_empty:
            kept = np.zeros(len(BOX), bool)
        between = np.hstack([values(first, BOX), points[:, -1:]])
        assert (kept == (inside(first) & inside(second, between))).all()
        if not kept.any():
            continue
        found = both.evaluate(points[kept, :N_DIMS], points[kept, N_DIMS:])
        assert (found == values(second, between[kept])).all()


@given(maps())
def test_bounds_contain_every_value(m: hm.IndexingMap) -> None:
    kept = inside(m)
    if kept.any():
        for i, column in enumerate(values(m, BOX[kept]).T):
            lower, upper = m.bounds(i)
            assert lower <= column.min()
            assert column.max() <= upper
