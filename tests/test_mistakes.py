"""Mistakes that are easy to make, and what hlomap says: text for numbers, a wrong length, NaN, a number too large."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hlomap as hm

MODULE = hm.parse("ENTRY e { p = f32[4,6] parameter(0)  ROOT t = f32[6,4] transpose(p), dimensions={1,0} }")
GIVEN = {
    "hm": hm,
    "np": np,
    "nan": float("nan"),
    "t": MODULE["t"],
    "identity": hm.IndexingMap.identity([4, 6]),
    "tiling": hm.tile(MODULE),
    "builder": hm.Builder("m"),
}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("hm.Shape('f32', '23')", TypeError, "hm.Shape: expected a sequence of 64-bit int as `dimensions`, got str"),
        ("hm.Shape('f32', [2, None])", TypeError, "as `dimensions`, got None (as an item: None)"),
        ("hm.Shape('f32', [2, nan])", TypeError, "as `dimensions`, got float (as an item: nan)"),
        ("hm.Shape('f32', [2**63])", OverflowError, "as `dimensions`, got 9223372036854775808"),
        ("hm.Shape('f32', [2, -3])", ValueError, "hm.Shape: expected a dimension of size 0 or more, found -3"),
        ("hm.Shape('f32', (n for n in [2, 3]))", TypeError, "as `dimensions`, got generator"),
        ("identity.evaluate([0])", ValueError, "expected 2 dimension values for each point, found 1"),
        ("identity.evaluate([[0, 0], [1]])", TypeError, "expected an array [n, 2] of integers as the values of dim"),
        (
            "identity.evaluate([nan, 0])",
            TypeError,
            "expected an array of integers as the values of dimension variables",
        ),
        ("identity.evaluate([-1, 0])", ValueError, "hm.IndexingMap.evaluate: point 0 lies outside the domain"),
        ("identity.image([1, 2, 3])", ValueError, "hm.IndexingMap.image: the box has rank 3; the map has 2 dims"),
        ("hm.simplify_many(identity)", TypeError, "expected a sequence of IndexingMap, got IndexingMap"),
        ("hm.explain(t, '00')", TypeError, "hm.explain: expected a sequence of int as `element`, got str"),
        ("hm.explain(t, [0])", ValueError, "t is f32[6,4], so expected 2 numbers"),
        ("hm.explain(t, [0, -1])", ValueError, "t is f32[6,4], so expected numbers from 0 below (6, 4)"),
        ("hm.tile(t, -1)", ValueError, "no output -1"),
        ("tiling.evaluate([[2]])", ValueError, "expected candidates [n, 2], one size for each parameter, found shape"),
        ("tiling.evaluate([[2, 0]])", ValueError, "expected sizes of at least 1, found 0"),
        ("tiling.evaluate([[2, nan]])", TypeError, "expected integers as `candidates`, got list (of dtype float64)"),
        ("tiling.evaluate([[2, 2]], columns='legal')", TypeError, "expected names of columns as `columns`, got str"),
        ("tiling.explain(None)", TypeError, "expected integers as `candidates`, got list (of dtype object)"),
        ("tiling.explain('22')", TypeError, "expected integers as `candidates`, got list (of dtype <U2)"),
        ("hm.unravel_index(t.shape, 99)", ValueError, "position 99 lies outside the 24 positions of f32[6,4]"),
        ("hm.pack(np.zeros(3, 'i4'), fill=[0, 1])", ValueError, "fill: expected one element, found 2"),
        ("hm.observed_reads(t, [0, 0], inputs=[])", ValueError, "expected an input for each of 1 parameters, found 0"),
        ("builder.broadcast(1.0, '23')", TypeError, "broadcast: broadcast_sizes='23': expected a sequence of integers"),
        ("builder.broadcast(1.0, [2**70])", ValueError, "a size that does not fit in 63 bits"),
        (
            "builder.constant([[1, 2], [3]])",
            ValueError,
            "constant: value=[[1, 2], [3]]: expected nested lists of equal",
        ),
        ("builder.constant(nan, 's32')", ValueError, "constant: value=nan: does not fit in s32"),
        ("t.module.to_string(layots=True)", TypeError, "hm.Module.to_string: expected keywords from operand_shapes"),
        ("t.to_string(layouts=0)", TypeError, "hm.Instruction.to_string: expected a bool as `layouts`, got int"),
        ("hm.Limits(max_overshoot=nan)", ValueError, "Limits: max_overshoot: expected a number from 0 to"),
    ],
)
def test_mistake(call: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        eval(call, GIVEN)


def test_any_iterable_is_a_sequence_of_maps_or_sizes() -> None:
    identity = hm.IndexingMap.identity([4, 6])
    assert hm.simplify_many(m for m in [identity]) == [identity]
    assert hm.Builder("m").broadcast(1.0, (n for n in (2, 3))).shape == hm.Shape("f32", np.array([2, 3]))


def test_tuples_of_shared_shapes_are_limited() -> None:
    shape = hm.Shape("f32", [2])
    with pytest.raises(hm.errors.ShapeError, match="1048576 shapes in all"):
        for _ in range(40):
            shape = hm.Shape.tuple([shape, shape])


def test_an_error_names_the_function_where_its_caller_catches_it() -> None:
    """hlomap itself reads the message alone, so that a reason does not depend on who asked."""
    with pytest.raises(hm.errors.ShapeError) as caught:
        hm.input_to_output(MODULE, 3)
    assert str(caught.value) == "hm.input_to_output: e has 1 operands, no operand 3"
    assert caught.value.args == ("e has 1 operands, no operand 3",)
    with pytest.raises(hm.errors.ShapeError, match=r"^hm.results.Tiling.evaluate: expected candidates \[n, 2\]"):
        hm.tile(MODULE).evaluate([[1]])
    with pytest.raises(hm.errors.HloSyntaxError, match=r"^<text>:1:2: expected"):
        hm.parse("x")
