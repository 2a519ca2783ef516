"""The trace of a simplification: the result of ``simplify``, and steps that can be read back."""

from __future__ import annotations

import pickle

import pytest

import hlomap as hm

MAPS = [
    "(d0, d1) -> ((d0 * 12 + d1) floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]",
    "(d0) -> (d0 mod 4 + (d0 floordiv 4) * 4), domain: d0 in [0, 63]",
    "(d0, d1) -> (d0), domain: d0 in [0, 9], d1 in [0, 9], d0 * 2 + d1 in [0, 5]",
    "(i)[k] -> (k * 3 mod 3 + i), domain: i in [0, 9], k in [0, 9]",
    "(d0) -> (d0), domain: d0 in [0, 9], d0 mod 4 in [3, 3], d0 mod 6 in [2, 2]",
]


@pytest.mark.parametrize("text", MAPS)
def test_a_trace_has_the_map_that_simplify_gives(text: str) -> None:
    m = hm.IndexingMap.parse(text)
    for options in ({}, {"drop_unused": True}, {"rescale": True, "keep_point_dims": True}):
        trace = hm.explain_simplify(m, **options)
        assert trace.map == m.simplify(**options)
        assert trace.original == m
        assert m.simplify(**options, trace=True) == trace
        assert trace.steps
        assert pickle.loads(pickle.dumps(trace)) == trace
