"""The Python interface of the compiled core: operators, arrays, variables, traces, errors with locations, threads."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hlomap as hm
from hlomap import errors
from hlomap.maps.variables import numbers_of, variables_of

D0, D1 = hm.Expr.dim(0), hm.Expr.dim(1)


def test_operands_give_back_the_expression() -> None:
    s0, rt0 = hm.Expr.range(0), hm.Expr.runtime(0)
    build = {
        "sum": lambda *terms: sum(terms, hm.Expr.constant(0)),
        "product": lambda a, b: a * b,
        "floordiv": lambda a, b: a // b,
        "mod": lambda a, b: a % b,
        "min": hm.Expr.minimum,
        "max": hm.Expr.maximum,
    }
    smallest = hm.Expr.constant(-(1 << 63))
    cases = [D0 + 1, D0 * 3, -D0, D0 - D1 * 3 - 7, D0 * D1 * 2, D0 * D1 + s0, D0 // 5, D0 % (D1 + 1), smallest + D0]
    for e in [*cases, smallest * D0, hm.Expr.minimum(D0, 4) * -2, hm.Expr.maximum(rt0, s0), (D0 - D1) // 2 + 5]:
        assert build[e.kind](*e.operands) == e
        assert e not in e.operands
    assert [(e.kind, e.operands) for e in (D0, smallest)] == [("dim", ()), ("constant", ())]


def test_negative_constant_divisors_are_those_of_python() -> None:
    assert D0 // -3 == (-D0) // 3 == hm.Expr.parse("d0 floordiv -3")
    assert D0 % -3 == -((-D0) % 3) == hm.Expr.parse("d0 mod -3")
    assert D0.ceildiv(-3) == (-D0).ceildiv(3) == hm.Expr.parse("d0 ceildiv -3")
    m = hm.IndexingMap([(-20, 20)], [D0 // -3, D0 % -3, D0.ceildiv(-3), 20 // (D0 + 21)])
    rows = [[x // -3, x % -3, -(-x // -3), 20 // (x + 21)] for x in range(-20, 21)]
    points = np.arange(-20, 21)[:, None]
    assert m.evaluate(points).tolist() == m.simplify().evaluate(points).tolist() == rows
    text = "(d0) -> (d0 floordiv -3, d0 mod -3, d0 ceildiv -3, 20 floordiv (d0 + 21)), domain: d0 in [-20, 20]"
    assert hm.IndexingMap.parse(text) == m
    with pytest.raises(errors.MapError, match="at least 1"):
        hm.IndexingMap([(-3, -3)], [5 // D0])


def test_deep_expressions_raise() -> None:
    e = D0
    with pytest.raises(errors.MapError, match="deep"):
        for n in range(2, 5000):
            e = e // 2 + D0 * n


def test_expressions_with_shared_subtrees_of_any_size() -> None:
    def chain() -> hm.IndexingMap:
        m = hm.IndexingMap([(0, 1000)], [D0 // 3 * 2 + D0 % 5])
        step = hm.IndexingMap([(-(1 << 40), 1 << 40)], [D0 // 3 * 2 + D0 % 5 + D0 * D0 % 7])
        for _ in range(64):
            m = m.then(step)
        return m

    m = chain()
    assert m.cost().nodes > 1 << 20
    with pytest.raises(errors.MapError, match="too many nodes"):
        str(m)
    assert m.evaluate([[17]]).shape == (1, 1)
    assert m == chain()
    assert m.simplify().evaluate([[17]]).tolist() == m.evaluate([[17]]).tolist()


def test_evaluate_on_threads_gives_the_same_rows() -> None:
    m = hm.IndexingMap.parse(
        "(d0, d1) -> ((d0 * 7 - d1) floordiv 13, d0 mod 9), domain: d0 in [0, 499], d1 in [0, 999]"
    )
    rows = np.indices((500, 1000)).reshape(2, -1).T
    expected = np.stack([(rows[:, 0] * 7 - rows[:, 1]) // 13, rows[:, 0] % 9], 1)
    assert (m.evaluate(rows) == expected).all()
    assert (m.evaluate(np.asfortranarray(rows), threads=2) == expected).all()


def test_many_maps_in_one_call_keep_their_order() -> None:
    maps = [hm.IndexingMap([64], [(D0 * n + D0) // (n + 1)]) for n in range(1, 50)]
    one = hm.maps.simplify_many(maps)
    assert one == hm.maps.simplify_many(maps, threads=3) == [m.simplify() for m in maps]
    pairs = [(m, hm.IndexingMap.identity([64])) for m in one]
    assert hm.maps.compose_many(pairs, simplify=True, threads=2) == one


def test_maps_are_safe_to_share_between_threads() -> None:
    m = hm.IndexingMap([64, 64], [(D0 * 64 + D1) // 8, (D0 * 64 + D1) % 8])
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: m.simplify(), range(200)))) == 1


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
        trace = m.simplify(trace=True, **options)
        assert trace.map == m.simplify(**options)
        assert trace.original == m
        assert m.simplify(**options, trace=True) == trace
        assert trace.steps
        assert pickle.loads(pickle.dumps(trace)) == trace
