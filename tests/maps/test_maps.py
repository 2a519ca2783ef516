"""The Python interface of the compiled core: operators, arrays, errors with their locations, threads."""

from __future__ import annotations

import operator
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hlomap as hm
from hlomap import errors

D0, D1 = hm.Expr.dim(0), hm.Expr.dim(1)


def test_expressions_are_values_in_normal_form() -> None:
    assert D0 + D0 == 2 * D0 == D0 * 2
    assert hash(D1 + D0) == hash(D0 + D1)
    assert str((D1 + D0 * 8) // 4 - 3) == "(d0 * 8 + d1) floordiv 4 - 3"
    assert D0.ceildiv(4) == (D0 + 3) // 4
    assert (7 - D0).kind == "sum"
    assert hm.Expr.constant(5).value == 5
    assert D0.substitute([D1 * 3]) == D1 * 3
    assert pickle.loads(pickle.dumps(D0 % (D1 + 1))) == D0 % (D1 + 1)


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


def test_operators_accept_only_integers() -> None:
    with pytest.raises(TypeError):
        D0 + 1.5  # type: ignore[operator]
    with pytest.raises(errors.MapError, match="at least 1"):
        D0 // 0
    with pytest.raises(errors.MapError, match="at least 1"):
        D0 % 0
    with pytest.raises(errors.SizeError):
        D0 // -(1 << 63)
    with pytest.raises(errors.SizeError):
        D0 * (1 << 63)
    with pytest.raises(errors.SizeError):
        D0 * (1 << 62) * 4


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


def test_evaluate_takes_points_and_tables() -> None:
    m = hm.IndexingMap.parse(
        "(d0, d1)[s0] -> (d0 * 4 + s0, d1 mod 3), domain: d0 in [0, 5], d1 in [0, 9], s0 in [0, 3]"
    )
    assert m.evaluate([2, 7], [1]).tolist() == [9, 1]
    rows = np.array([[2, 7], [0, 5]], dtype=np.int16)
    table = m.evaluate(rows, [[1], [2]])
    assert table.dtype == np.int64
    assert table.tolist() == [[9, 1], [2, 2]]
    assert m.evaluate(np.zeros((0, 2), int), np.zeros((0, 1), int)).shape == (0, 2)
    assert m.in_domain(rows, [[1], [4]]).tolist() == [True, False]
    assert bool(m.in_domain([2, 7], [1])) is True


def test_evaluate_checks_the_domain() -> None:
    m = hm.IndexingMap.parse("(d0) -> (d0 * 4611686018427387904), domain: d0 in [0, 5]")
    assert m.evaluate([[7]], check=False).shape == (1, 1)
    with pytest.raises(errors.DomainError, match="point 1"):
        m.evaluate([[0], [7]])
    with pytest.raises(errors.SizeError):
        m.evaluate([[0], [5]])
    many = hm.IndexingMap.parse("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 5], s0 in [0, 2]")
    with pytest.raises(errors.MapError, match=r"1 range variable; give its value, or see image\(\) for"):
        many.evaluate([0])
    with pytest.raises(errors.MapError, match="expected 1 dimension values"):
        m.evaluate([[0, 1]])
    with pytest.raises(TypeError, match="integers"):
        m.evaluate([[0.5]])


def test_no_value_wraps() -> None:
    bits = hm.linear_index(hm.Shape.parse(f"f32[{1 << 58},2]"), unit="bit")
    last = (1 << 58) - 1
    for check in (False, True):
        with pytest.raises(errors.SizeError, match=rf"result 0, .* 64 bits at point 1: d0 = {last}, d1 = 1"):
            bits.evaluate([[0, 1], [last, 1]], check=check)
    assert bits.evaluate([[1 << 56, 1]]).tolist() == [[(1 << 62) + 32]]
    with pytest.raises(errors.SizeError):
        bits.bounds(0)
    for table in ([1 << 63, 1 << 63], np.array([[0, 0], [1 << 63, 0]], np.uint64)):
        for ask in (bits.evaluate, bits.in_domain):
            with pytest.raises(errors.SizeError, match="dimension variables"):
                ask(table)
    assert bits.evaluate(np.array([[1, 1]], np.uint64)).tolist() == [[96]]
    huge = hm.IndexingMap([(1 << 63) - 1] * 3, [D0]).count()
    assert huge.lower == huge.upper == (1 << 128) - 1
    assert not huge.exact


def test_a_value_that_leaves_64_bits_on_the_way_is_right() -> None:
    squares = hm.IndexingMap.parse(
        f"(d0) -> ((d0 * d0) floordiv {1 << 62}), domain: d0 in [{1 << 32}, {1 << 34}], d0 * d0 - {(1 << 63) - 1} in "
        f"[0, {(1 << 63) - 1}]"
    )
    first, last = 4294967296, 17179869184
    points = np.array([[first], [first + 1], [last]])
    assert squares.evaluate(points, check=False).tolist() == [[4], [4], [64]]
    assert squares.in_domain(points).tolist() == [False, False, False]
    assert squares.bounds(0) == (4, 64)
    inside = hm.IndexingMap.parse(
        f"(d0) -> ((d0 * d0) floordiv {1 << 60}), domain: d0 in [0, {1 << 34}], (d0 * d0) floordiv {1 << 60} in [8, 15]"
    )
    at = np.array([[3037000499], [3037000500], [first - 1], [first]])
    assert inside.in_domain(at).tolist() == [False, True, True, False]
    assert inside.simplify().in_domain(at).tolist() == [False, True, True, False]
    assert inside.is_empty() is not True
    assert inside.count(distinct=True).upper >= 8
    first_map = hm.IndexingMap.parse(f"(d0) -> (d0 * d0), domain: d0 in [0, {1 << 34}]")
    second = hm.IndexingMap.parse(f"(d0) -> (d0), domain: d0 in [0, {(1 << 63) - 1}]")
    for both in (first_map.then(second), first_map.then(second).simplify()):
        assert both.in_domain([[3037000499], [3037000500]]).tolist() == [True, False]
    with pytest.raises(errors.SizeError, match=r"constraint on .* 128 bits"):
        cube = f"(d0) -> (d0), domain: d0 in [0, {(1 << 63) - 1}], (d0 * d0 * d0) mod 7 in [1, 1]"
        hm.IndexingMap.parse(cube).in_domain([(1 << 63) - 1])


def test_maps_without_ranges_take_them_from_the_call() -> None:
    text = "(d0, d1)[s0] -> (d0 floordiv 8 + s0, d1 mod 4)"
    m = hm.IndexingMap([64, (2, 9)], [D0 // 8 + hm.Expr.range(0), D1 % 4], ranges=[3])
    assert hm.IndexingMap.parse(f"affine_map<{text}>", dims=[64, (2, 9)], ranges=[3]) == m
    assert hm.IndexingMap.parse(text, dims=m.dims, ranges=m.ranges) == m
    assert hm.IndexingMap.parse(f"{text}, domain: s0 in [0, 2]", dims=[64, (2, 9)]) == m
    assert hm.IndexingMap.parse(f"{text}, domain: d0 + s0 in [0, 9]", dims=[64, (2, 9)], ranges=[3]).constraints
    named = hm.IndexingMap.parse("(x){i} -> (x + i)", dims=[("y", 0, 7)], runtime=[(0, 3)])
    assert str(named) == "(x){i} -> (x + i), domain: x in [0, 7], i in [0, 3]"
    assert hm.IndexingMap.parse("affine_map<() -> ()>").results == ()
    offset = "affine_map<(d0)[s0, s1] -> (d0 + s1, s0)>"
    both = hm.IndexingMap.parse(offset, dims=[4], ranges=[3], runtime=[hm.Variable(None, 0, 6, source=1)])
    shown = "domain: d0 in [0, 3], s0 in [0, 2], s1 in [0, 6], runtime: s1 = #1()"
    assert str(both) == f"(d0)[s0]{{s1}} -> (d0 + s1, s0), {shown}"
    assert hm.IndexingMap.parse(offset, dims=[4], runtime=[3, 7]).ranges == ()
    assert len(hm.IndexingMap.parse(offset, dims=[4], ranges=[3, 7], runtime=[]).ranges) == 2
    with pytest.raises(errors.MapError, match="expected 2 runtime variables, one for each of the text, found 3"):
        hm.IndexingMap.parse(offset, dims=[4], runtime=[3, 7, 2])
    with pytest.raises(errors.MapError, match="expected 0 runtime variables"):
        hm.IndexingMap.parse(offset[11:-1], dims=[4], ranges=[3, 7], runtime=[2])
    with pytest.raises(errors.MapSyntaxError, match=r"expected a range for s0, as in .* or `ranges` beside the text"):
        hm.IndexingMap.parse(f"affine_map<{text}>", dims=[64, 8])
    with pytest.raises(errors.MapSyntaxError, match="one range for each variable"):
        hm.IndexingMap.parse(f"{text}, domain: d0 in [0, 9], s0 in [0, 2]", dims=[64, 8])
    with pytest.raises(errors.MapError, match="expected 2 dimensions, one for each of the text, found 1"):
        hm.IndexingMap.parse(f"affine_map<{text}>", dims=[64], ranges=[3])
    with pytest.raises(errors.MapSyntaxError, match="expected '>'"):
        hm.IndexingMap.parse("affine_map<(d0) -> (d0)", dims=[4])


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("(d0 -> (d0)", 1, 5, "expected ',' or ')', found '->'"),
        ("(d0) -> (d0)", 1, 13, "expected a range for d0, as in ', domain: d0 in [0, 7]', or `dims` beside the text"),
        ("(d0) -> (d0 % 3), domain: d0 in [0, 1]", 1, 13, "expected an operator (+, -, *, floordiv, ceildiv, mod)"),
        ("(d0) ->\n (d1), domain: d0 in [0, 1]", 2, 3, "expected a variable of the map, found 'd1'"),
        ("(d0) -> (d0), domain: d0 in [0, 1], d0 in [0, 2]", 1, 37, "one range for each variable"),
        ("(d0) -> (d0), domain: d0 in [0, 1] d1", 1, 36, "expected ',' or the end of the domain"),
        ("(d0, d0) -> (d0)", 1, 6, "a name that is not taken yet"),
        ("(d0) -> (d0 floordiv 0), domain: d0 in [0, 1]", 1, 13, "at least 1"),
        ("(d0) -> (d0 * 99999999999999999999), domain: d0 in [0, 1]", 1, 15, "an integer of 64 bits"),
        ("(" * 100_000, 1, 2, "expected a name"),
        ("(d0) -> (" + "(" * 100_000, 1, 410, "nesting"),
        ("(d0) -> (d0), domain: \N{SNOWMAN}", 1, 23, "found"),
        ("", 1, 1, "the end of the text"),
    ],
)
def test_syntax_errors_have_a_location(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(errors.MapSyntaxError) as e:
        hm.IndexingMap.parse(text)
    assert message in str(e.value)
    assert (e.value.line, e.value.column) == (line, column)


@pytest.mark.parametrize("item", [(hm.Expr.dim(0), (0, 5)), (hm.Expr.dim(0), 0, 5, 7), ()])
def test_constraints_of_another_length(item: object) -> None:
    with pytest.raises(TypeError, match=r"expected .* or triples \(expr, lower, upper\) as `constraints`"):
        hm.IndexingMap([4], [hm.Expr.dim(0)], constraints=[item])  # type: ignore[list-item]


def test_evaluate_on_threads_gives_the_same_rows() -> None:
    m = hm.IndexingMap.parse(
        "(d0, d1) -> ((d0 * 7 - d1) floordiv 13, d0 mod 9), domain: d0 in [0, 499], d1 in [0, 999]"
    )
    rows = np.indices((500, 1000)).reshape(2, -1).T
    expected = np.stack([(rows[:, 0] * 7 - rows[:, 1]) // 13, rows[:, 0] % 9], 1)
    assert (m.evaluate(rows) == expected).all()
    assert (m.evaluate(np.asfortranarray(rows), threads=2) == expected).all()


def test_bounds_may_be_lists() -> None:
    assert hm.IndexingMap([[2, 5]], [D0], ranges=[[0, 3]]) == hm.IndexingMap([(2, 5)], [D0], ranges=[4])


def test_construction_errors() -> None:
    with pytest.raises(
        TypeError, match=r"hm.IndexingMap: expected a sequence of sizes, .* got list \(as an item: \[1, 2, 3, 4\]\)"
    ):
        hm.IndexingMap([[1, 2, 3, 4]], [D0])
    with pytest.raises(errors.MapError, match="no variable d1"):
        hm.IndexingMap([4], [D1])
    with pytest.raises(errors.MapError, match="at least 1"):
        hm.IndexingMap([4], [5 // D0])
    with pytest.raises(errors.MapError, match="two variables are called x"):
        hm.IndexingMap([("x", 0, 1), ("x", 0, 1)], [D0])
    with pytest.raises(errors.MapError, match="cannot be the name"):
        hm.IndexingMap([("mod", 0, 1)], [D0])
    with pytest.raises(errors.MapError, match="before it is defined"):
        later = hm.Variable(None, 0, 3, source=1, element=[hm.Expr.runtime(0)])
        hm.IndexingMap([4], [D0], runtime=[later])
    with pytest.raises(errors.MapError, match="results of the first map"):
        hm.IndexingMap.identity([4]).then(hm.IndexingMap.identity([4, 4]))


def test_known_empty_and_undefined() -> None:
    empty = hm.IndexingMap.parse("(d0, d1)[s0] -> KNOWN EMPTY")
    assert empty.is_known_empty
    assert len(empty.dims) == 2
    assert str(empty) == "(d0, d1)[s0] -> KNOWN EMPTY"
    assert hm.IndexingMap([(0, -1)], [D0]).is_known_empty
    assert hm.IndexingMap.parse("KNOWN EMPTY").is_known_empty
    assert empty.count().upper == 0
    undefined = hm.IndexingMap.undefined([4])
    assert undefined.is_undefined
    assert hm.IndexingMap.parse(str(undefined)) == undefined
    with pytest.raises(errors.MapError, match="undefined"):
        undefined.evaluate([[0]])


def test_runtime_variables_keep_source_and_index_through_composition() -> None:
    gather = hm.IndexingMap.parse("(d0){rt0} -> (rt0), domain: d0 in [0, 9], rt0 in [0, 99], runtime: rt0 = #1(d0)")
    row = hm.IndexingMap.parse("(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 99], rt0 in [0, 7], runtime: rt0 = #2(d0)")
    both = gather.then(row)
    assert [(v.source, [str(e) for e in v.element]) for v in both.runtime] == [(1, ["d0"]), (2, ["rt0"])]
    assert [str(e) for e in both.results] == ["rt0 + rt1"]
    assert [v.source for v in both.remap_sources({2: 7}).runtime] == [1, 7]


def test_names_print_and_are_ignored_by_equality() -> None:
    named = hm.IndexingMap([("th_x", 0, 127)], [D0 // 4], ranges=[("chunk", 0, 3)])
    assert str(named) == "(th_x)[chunk] -> (th_x floordiv 4), domain: th_x in [0, 127], chunk in [0, 3]"
    assert named == hm.IndexingMap([128], [D0 // 4], ranges=[4])
    assert [v.name for v in named.ranges] == ["chunk"]
    with pytest.raises(ValueError, match="'xla' or 'multiline'"):
        format(named, "latex")


def test_many_maps_in_one_call_keep_their_order() -> None:
    maps = [hm.IndexingMap([64], [(D0 * n + D0) // (n + 1)]) for n in range(1, 50)]
    one = hm.simplify_many(maps)
    assert one == hm.simplify_many(maps, threads=3) == [m.simplify() for m in maps]
    pairs = [(m, hm.IndexingMap.identity([64])) for m in one]
    assert hm.compose_many(pairs, simplify=True, threads=2) == one


def test_maps_are_safe_to_share_between_threads() -> None:
    m = hm.IndexingMap([64, 64], [(D0 * 64 + D1) // 8, (D0 * 64 + D1) % 8])
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: m.simplify(), range(200)))) == 1


def test_an_answer_is_true_false_or_undecided() -> None:
    parse = hm.IndexingMap.parse
    a = parse("(d0) -> (d0 floordiv 2 + (d0 + 1) floordiv 2), domain: d0 in [0, 999999999]")
    assert a.equivalent(parse("(d0) -> (d0), domain: d0 in [0, 999999999]"))
    different = a.equivalent(parse("(d0) -> (d0 * 2), domain: d0 in [0, 999999999]"))
    assert not different
    assert different.value is False
    assert different.witness is not None
    assert different.witness[0] != 0
    unknown = a.equivalent(hm.IndexingMap.undefined([4]))
    assert unknown.value is None
    assert unknown.reason is not None
    with pytest.raises(hm.errors.UndecidedError, match=r"undecided: .*; test `\.value`"):
        bool(unknown)
    assert a.is_empty().value is False


def test_an_answer_is_a_value() -> None:
    """It compares, hashes and pickles by its fields, and never equals a truth value."""
    answers = [
        hm.Answer(True),
        hm.Answer(False, witness=(1, 2)),
        hm.Answer(False, reason="buffers of different sizes"),
        hm.Answer(None, reason="too many points"),
    ]
    assert len(set(answers)) == 4 and pickle.loads(pickle.dumps(answers)) == answers
    assert [answer.value for answer in answers] == [True, False, False, None]
    assert repr(answers[3]) == "Answer(None, reason='too many points')"
    assert answers[0] != answers[1] and answers[0] != "True"
    for compare in (operator.eq, operator.ne):
        for truth in (True, False, np.True_):
            for pair in ((answers[1], truth), (truth, answers[1])):
                with pytest.raises(TypeError, match=r"test `\.value`"):
                    compare(*pair)


def test_unknown_has_no_truth_value() -> None:
    unknown = hm.Unknown("no rule for sort")
    assert unknown == hm.Unknown("no rule for sort") and unknown.reason == "no rule for sort"
    for error in (hm.errors.UndecidedError, hm.HlomapError, ValueError):
        with pytest.raises(error, match="no rule for sort"):
            bool(unknown)


def test_inverse_keeps_dims_without_preimage() -> None:
    m = hm.IndexingMap.parse("(d0, d1) -> (d1 * 7 + 3, d0 + 5), domain: d0 in [0, 4], d1 in [0, 2]")
    back = m.inverse()
    assert isinstance(back, hm.IndexingMap)
    assert str(back) == (
        "(d0, d1) -> (d1 - 5, (d0 - 3) floordiv 7), domain: d0 in [3, 17], d1 in [5, 9], d0 mod 7 in [3, 3]"
    )
    assert m.then(back).simplify() == hm.IndexingMap.identity([5, 3])
    found = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 9]").inverse()
    assert isinstance(found, hm.Unknown) and "several points" in found.reason
