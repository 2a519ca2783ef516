"""Maps in the notations of isl, SymPy, MLIR and SMT-LIB, compared with the maps at points.

``tests/cases/interop/bridges.txt`` has the texts; HLOMAP_BLESS=1 rewrites them.
"""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
from typing import Any

import islpy as isl
import numpy as np
import pytest
import z3
from conftest import BLESS, CASES
from hypothesis import given, settings
from support.random_maps import QUASIAFFINE, maps

import hlomap as hm
from hlomap import errors
from hlomap.errors import HlomapError, MapError, UnsupportedError

FILE = CASES / "interop" / "bridges.txt"
"""A line is a map, indented lines below it what is expected, and ``#`` begins a comment."""
LINES = FILE.read_text(encoding="utf-8").splitlines()
MAPS = [hm.IndexingMap.parse(line) for line in LINES if line and not line.startswith(("#", "  "))]
DIM = isl.dim_type
DEFINED = [m for m in MAPS if not m.is_undefined]
INT64 = range(-(1 << 63), 1 << 63)


def texts(text: str) -> list[str]:
    """The entry of the case file for a map."""
    m = hm.IndexingMap.parse(text)
    found = [text]
    for name, write in (("isl", m.to_isl), ("mlir", m.to_mlir), ("domain", lambda: m.to_mlir("domain"))):
        try:
            found.append(f"  {name:7}{write()}")
        except HlomapError as error:
            found.append(f"  {name:7}{type(error).__name__}: {error}")
    return found


def read_isl(text: str) -> Any:
    """The relation of a text, with the names of its tuples dropped."""
    return isl.Map(text).reset_tuple_id(DIM.in_).reset_tuple_id(DIM.out)


def tuples(relation: Any) -> set[tuple[int, ...]]:
    """All tuples of a bounded relation: parameters, inputs, outputs."""
    moved = relation.move_dims(DIM.in_, 0, DIM.param, 0, relation.dim(DIM.param))
    found: set[tuple[int, ...]] = set()
    points = moved.wrap()
    n = points.dim(DIM.set)
    points.foreach_point(lambda p: found.add(tuple(p.get_coordinate_val(DIM.set, i).to_python() for i in range(n))))
    return found


def contains(relation: Any, runtime: list[int], dims: list[int], results: list[int]) -> bool:
    """Whether a tuple is in the relation."""
    for kind, values in ((DIM.param, runtime), (DIM.in_, dims), (DIM.out, results)):
        for i, value in enumerate(values):
            relation = relation.fix_val(kind, i, isl.Val(value))
    return not relation.is_empty()


def test_texts() -> None:
    lines = (line for line in LINES if not line.startswith("  "))
    found = "\n".join(x for line in lines for x in (texts(line) if line[:1] not in ("", "#") else [line])) + "\n"
    if BLESS:
        FILE.write_text(found, encoding="utf-8")
    assert found == FILE.read_text(encoding="utf-8")


# -------------------------------------------------------------------------------------------------------------- points


def variables(m: hm.IndexingMap) -> list[hm.maps.Variable]:
    return [*m.dims, *m.ranges, *m.runtime]


def candidates(variable: hm.maps.Variable) -> list[int]:
    """All values of a small range and one beyond each end; of a large range, some."""
    lower, upper = variable.lower, variable.upper
    middle = (lower + upper) // 2
    values = range(lower - 1, upper + 2)
    if upper - lower > 12:
        values = {lower - 1, lower, lower + 1, lower + 3, middle, middle + 1, 0, 5, upper - 1, upper, upper + 1}  # type: ignore[assignment]
    return sorted(value for value in values if value in INT64)


def points(m: hm.IndexingMap, at_most: int = 150) -> list[tuple[int, ...]]:
    """Points in and around the domain: all candidates, or random ones where there are many."""
    values = [candidates(v) if not m.is_known_empty else [-1, 0, 1] for v in variables(m)]
    if math.prod(map(len, values)) <= at_most:
        return list(itertools.product(*values))
    rng = np.random.default_rng(0)
    return [tuple(int(rng.choice(column)) for column in values) for _ in range(at_most)]


def split(m: hm.IndexingMap, point: tuple[int, ...]) -> tuple[list[int], list[int], list[int]]:
    n, k = len(m.dims), len(m.dims) + len(m.ranges)
    return list(point[:n]), list(point[n:k]), list(point[k:])


def image(m: hm.IndexingMap, point: tuple[int, ...]) -> list[int] | None:
    """The results at a point, None outside the domain."""
    at = split(m, point)
    return m.evaluate(*at).tolist() if m.in_domain(*at) else None


def test_the_points_lie_inside_and_outside() -> None:
    for m in DEFINED:
        inside = [image(m, point) is not None for point in points(m)]
        assert any(inside) is (m.is_empty().value is False), m
        assert not all(inside) or not variables(m) or m.dims[0].lower == INT64[0], m


def each_map(function: Any) -> Any:
    return pytest.mark.parametrize("m", DEFINED, ids=str)(function)


# ----------------------------------------------------------------------------------------------------------------- isl


def relation(m: hm.IndexingMap) -> set[tuple[int, ...]]:
    """The tuples (runtime..., dims..., results...), by enumerating the domain."""
    found = set()
    for point in itertools.product(*(range(v.lower, v.upper + 1) for v in variables(m))):
        results = image(m, point)
        if results is not None:
            dims, _, runtime = split(m, point)
            found.add((*runtime, *dims, *results))
    return found


def is_small(m: hm.IndexingMap) -> bool:
    return math.prod(max(v.upper - v.lower + 1, 0) for v in variables(m)) <= 2000


WITH_ISL = [m for m in DEFINED if "UnsupportedError" not in texts(str(m))[1]]


@pytest.mark.parametrize("m", WITH_ISL, ids=str)
def test_isl_relates_the_same_tuples(m: hm.IndexingMap) -> None:
    found = read_isl(m.to_isl())
    if is_small(m):
        assert tuples(found) == relation(m)
    assert is_small(m) or not m.ranges
    for point in points(m, 40):
        dims, _, runtime = split(m, point)
        results = image(m, point)
        if results is not None:
            assert contains(found, runtime, dims, results)
        elif not m.ranges:
            assert not contains(found, runtime, dims, [])


@settings(max_examples=100, deadline=None)
@given(maps(exprs=QUASIAFFINE))
def test_isl_of_random_maps(m: hm.IndexingMap) -> None:
    if m.is_known_empty:
        assert read_isl(m.to_isl()).is_empty()
        return
    assert tuples(read_isl(m.to_isl())) == relation(m)


# --------------------------------------------------------------------------------------------------------------- sympy


def check_sympy(m: hm.IndexingMap, at: list[tuple[int, ...]]) -> None:
    import sympy

    found = m.to_sympy()
    assert len(found.variables) == len(variables(m))
    for point in at:
        values = dict(zip(found.variables, map(sympy.Integer, point), strict=True))
        results = image(m, point)
        assert all(bool(condition.xreplace(values)) for condition in found.conditions) is (results is not None)
        if results is not None:
            assert [int(result.xreplace(values)) for result in found.results] == results


@each_map
def test_sympy(m: hm.IndexingMap) -> None:
    check_sympy(m, points(m, 40))


@settings(max_examples=60, deadline=None)
@given(maps())
def test_sympy_of_random_maps(m: hm.IndexingMap) -> None:
    check_sympy(m, points(m, 10))


def test_sympy_evaluates_on_request() -> None:
    import sympy

    m = hm.IndexingMap.parse("(i)[s0] -> ((i * 8 + s0) floordiv 8, min(i, s0 + i)), domain: i in [0, 7], s0 in [0, 7]")
    found = m.to_sympy()
    i, s0 = found.variables
    assert (found.dims, found.ranges, found.runtime) == ((sympy.Symbol("i", integer=True),), (s0,), ())
    assert found.results[0] != i + sympy.floor(s0 / 8)
    assert found.results[0].doit() == i + sympy.floor(s0 / 8)
    assert [result.subs({i: 3, s0: 5}) for result in found.results] == [3, 3]


def test_sympy_is_imported_on_demand() -> None:
    code = """
import sys
sys.modules["sympy"] = None
import hlomap as hm
try:
    hm.IndexingMap([4], [hm.Expr.dim(0)]).to_sympy()
except hm.errors.UnsupportedError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "hm.IndexingMap.to_sympy needs sympy: pip install 'hlomap[sympy]'\n"


# ------------------------------------------------------------------------------------------------------------ SMT-LIB


def check_smtlib(m: hm.IndexingMap, at: list[tuple[int, ...]]) -> None:
    text = m.to_smtlib()
    symbols = re.findall(r"declare-const (\S+) Int", text)
    n = len(variables(m))
    solver = z3.Solver()
    solver.from_string(text)
    for point in at:
        solver.push()
        solver.add(*(z3.Int(symbol) == value for symbol, value in zip(symbols[:n], point, strict=True)))
        results = image(m, point)
        assert solver.check() == (z3.unsat if results is None else z3.sat)
        if results is not None:
            model = solver.model()
            assert [model.eval(z3.Int(symbol)).as_long() for symbol in symbols[n:]] == results
        solver.pop()


@each_map
def test_smtlib(m: hm.IndexingMap) -> None:
    check_smtlib(m, points(m, 60))


@settings(max_examples=60, deadline=None)
@given(maps())
def test_smtlib_of_random_maps(m: hm.IndexingMap) -> None:
    check_smtlib(m, points(m, 10))


def test_smtlib_proves_a_property() -> None:
    m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 1000000]")
    for claim, status in (("(= d0 (+ (* 8 r0) r1))", "unsat"), ("(= d0 r0)", "sat")):
        solver = z3.Solver()
        solver.from_string(f"{m.to_smtlib()}\n(assert (not {claim}))\n(check-sat)")
        assert str(solver.check()) == status


def test_smtlib_names_logics_and_definitions() -> None:
    parse = hm.IndexingMap.parse
    both = parse(
        "(let, abs)[let_] -> (min(let, abs) + max(let_, -3) * -2), domain: let in [0, 3], abs in [0, 2], let_ in [0, 1]"
    )
    assert both.to_smtlib().splitlines() == [
        "(set-logic QF_LIA)",
        "(define-fun min ((a Int) (b Int)) Int (ite (<= a b) a b))",
        "(define-fun max ((a Int) (b Int)) Int (ite (<= a b) b a))",
        "(declare-const let__ Int)",
        "(declare-const abs_ Int)",
        "(declare-const let_ Int)",
        "(declare-const r0 Int)",
        "(assert (<= 0 let__ 3))",
        "(assert (<= 0 abs_ 2))",
        "(assert (<= 0 let_ 1))",
        "(assert (= r0 (+ (min let__ abs_) (* (- 2) (max let_ (- 3))))))",
    ]
    logics = {"d0 * 3": "QF_LIA", "d0 * d0": "QF_NIA", "d0 mod 3": "QF_NIA", "-(d0 floordiv 3)": "QF_NIA"}
    for result, logic in logics.items():
        assert parse(f"(d0) -> ({result}), domain: d0 in [0, 9]").to_smtlib().startswith(f"(set-logic {logic})")


# ---------------------------------------------------------------------------------------------------------------- MLIR


def mlir_value(e: Any, point: list[int], n_dims: int) -> int:
    """The value of an expression of MLIR, with unbounded integers."""
    from jaxlib.mlir import ir

    if isinstance(e, ir.AffineConstantExpr):
        return e.value
    if isinstance(e, ir.AffineDimExpr):
        return point[e.position]
    if isinstance(e, ir.AffineSymbolExpr):
        return point[n_dims + e.position]
    a, b = mlir_value(e.lhs, point, n_dims), mlir_value(e.rhs, point, n_dims)
    if isinstance(e, ir.AffineAddExpr):
        return a + b
    if isinstance(e, ir.AffineMulExpr):
        return a * b
    assert b > 0
    assert isinstance(e, ir.AffineFloorDivExpr | ir.AffineModExpr)
    return a // b if isinstance(e, ir.AffineFloorDivExpr) else a % b


def mlir_results(text: str) -> tuple[list[Any], int]:
    """The results of an affine map, and its number of dims."""
    from jaxlib.mlir import ir

    found = ir.AffineMapAttr(ir.Attribute.parse(text)).value
    return list(found.results), found.n_dims


@pytest.mark.jax
@each_map
def test_mlir(m: hm.IndexingMap) -> None:
    from jaxlib.mlir import ir

    def found(part: str) -> str | None:
        try:
            return m.to_mlir(part)
        except (UnsupportedError, errors.SizeError):
            return None

    with ir.Context():
        if (text := found("map")) is not None:
            results, n_dims = mlir_results(text)
            assert n_dims == len(m.dims)
            for point in points(m):
                expected = image(m, point)
                if expected is not None:
                    assert [mlir_value(e, list(point), n_dims) for e in results] == expected
        if (text := found("domain")) is not None:
            # The bindings have no access to the conditions of a set, but print them.
            shown = re.fullmatch(r"affine_set<(.*) : \((.*)\)>", str(ir.Attribute.parse(text)))
            assert shown is not None
            conditions = [re.fullmatch(r"(.*) (==|>=) 0", part) for part in shown[2].split(", ")]
            exprs, n_dims = mlir_results(f"affine_map<{shown[1]} -> ({', '.join(c[1] for c in conditions if c)})>")
            for point in points(m):
                values = [mlir_value(e, list(point), n_dims) for e in exprs]
                holds = all(v == 0 if c[2] == "==" else v >= 0 for v, c in zip(values, conditions, strict=True) if c)
                assert holds is (image(m, point) is not None)


@each_map
def test_mlir_round_trip(m: hm.IndexingMap) -> None:
    try:
        text = m.to_mlir()
    except UnsupportedError:
        return
    again = hm.IndexingMap.parse(text, dims=m.dims, ranges=m.ranges, runtime=m.runtime)
    constraints = [] if m.is_known_empty else m.constraints
    assert hm.IndexingMap(m.dims, m.results, ranges=m.ranges, runtime=m.runtime) == again or constraints
    assert again.results == m.results


def test_parts_of_mlir() -> None:
    m = hm.IndexingMap([4], [hm.Expr.dim(0)])
    assert m.to_mlir() == m.to_mlir("map") == m.to_mlir(part="map")
    with pytest.raises(ValueError, match="expected part 'map' or 'domain', found 'set'"):
        m.to_mlir("set")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"hm.IndexingMap.to_mlir: expected a str as `part`, got int"):
        m.to_mlir(3)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------ what all share


@pytest.mark.parametrize("name", ["to_isl", "to_mlir", "to_smtlib", "to_sympy"])
def test_maps_without_a_text(name: str) -> None:
    with pytest.raises(MapError, match="undefined"):
        getattr(hm.IndexingMap.undefined([4]), name)()
    e = hm.Expr.dim(0)
    for _ in range(30):
        e = e // 3 + e % 5
    with pytest.raises(MapError, match="too many nodes"):
        getattr(hm.IndexingMap([9], [e]), name)()


def nested(depth: int) -> hm.IndexingMap:
    e = hm.Expr.dim(0)
    for i in range(depth):
        e = (e * 3 + hm.Expr.dim(1)) // 7 + i
    return hm.IndexingMap([9, 9], [e])


def test_deep_expressions() -> None:
    m = nested(190)
    check_sympy(m, [(4, 7), (0, 9)])
    check_smtlib(m, [(4, 7), (0, 9)])
    assert m.to_mlir().count("floordiv") == m.to_isl().count("floor(") == 190
