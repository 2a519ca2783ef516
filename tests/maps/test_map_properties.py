"""Properties of maps through the public API, on random maps over small domains (hypothesis)."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given, strategies as st
from support.random_maps import BOX, N_DIMS, maps

import hlomap as hm


def inside(m: hm.IndexingMap, points: np.ndarray = BOX) -> np.ndarray:
    return m.in_domain(points[:, :N_DIMS], points[:, N_DIMS:])


def values(m: hm.IndexingMap, points: np.ndarray) -> np.ndarray:
    return m.evaluate(points[:, :N_DIMS], points[:, N_DIMS:], check=False)


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
