"""Random maps over small domains, as hypothesis strategies."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

import hlomap as hm

N_DIMS = 2
N_RANGES = 1
BOX = np.array(list(product(range(-5, 13), repeat=N_DIMS + N_RANGES)))


def leaves() -> st.SearchStrategy[hm.Expr]:
    variables = [hm.Expr.dim(i) for i in range(N_DIMS)] + [hm.Expr.range(i) for i in range(N_RANGES)]
    return st.sampled_from(variables) | st.integers(-20, 20).map(hm.Expr.constant)


def affine(inner: st.SearchStrategy[hm.Expr]) -> st.SearchStrategy[hm.Expr]:
    divisors = st.integers(1, 17)
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, k: a * k, inner, st.integers(-9, 9)),
        st.builds(lambda a, n: a // n, inner, divisors),
        st.builds(lambda a, n: a % n, inner, divisors),
        st.builds(lambda a, n: a.ceildiv(n), inner, divisors),
    )


def larger(inner: st.SearchStrategy[hm.Expr]) -> st.SearchStrategy[hm.Expr]:
    return st.one_of(
        affine(inner),
        st.builds(lambda a, b: a // hm.Expr.maximum(b, 1), inner, inner),
        st.builds(hm.Expr.minimum, inner, inner),
    )


EXPRS = st.recursive(leaves(), larger, max_leaves=8)
QUASIAFFINE = st.recursive(leaves(), affine, max_leaves=6)
BOUNDS = st.tuples(st.integers(-4, 5), st.integers(0, 7)).map(lambda x: (x[0], x[0] + x[1]))


@st.composite
def maps(
    draw: st.DrawFn,
    n_results: int | None = None,
    bounds: st.SearchStrategy[tuple[int, int]] = BOUNDS,
    exprs: st.SearchStrategy[hm.Expr] = EXPRS,
) -> hm.IndexingMap:
    n = draw(st.integers(1, 2)) if n_results is None else n_results
    return hm.IndexingMap(
        draw(st.lists(bounds, min_size=N_DIMS, max_size=N_DIMS)),
        draw(st.lists(exprs, min_size=n, max_size=n)),
        ranges=draw(st.lists(BOUNDS, min_size=N_RANGES, max_size=N_RANGES)),
        constraints=[(e, lo, hi) for e, (lo, hi) in draw(st.lists(st.tuples(exprs, BOUNDS), max_size=2))],
    )
