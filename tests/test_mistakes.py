"""Mistakes that are easy to make, and what hlomap says: ``tests/cases/mistakes.txt``."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CASES

import hlomap as hm

MODULE = hm.parse("ENTRY e { p = f32[4,6] parameter(0)  ROOT t = f32[6,4] transpose(p), dimensions={1,0} }")
CASE = re.compile(r"(?P<call>[^#].*) => (?P<error>\w+): (?P<message>.+)")


def mistakes() -> Iterator[Any]:
    """Each call with the names that it uses, its error, and a part of the message."""
    names: dict[str, Any] = {"hm": hm, "np": np, "CASES": CASES, "Path": Path}
    for line in (CASES / "mistakes.txt").read_text().splitlines():
        if found := CASE.fullmatch(line):
            yield pytest.param(dict(names), *found.groups(), id=found["call"])
        elif line and line[0] != "#":
            exec(line, names)


@pytest.mark.parametrize(("names", "call", "error", "message"), list(mistakes()))
def test_mistake(names: dict[str, Any], call: str, error: str, message: str) -> None:
    with pytest.raises(Exception, match=re.escape(message)) as raised:
        eval(call, names)
    assert error in {kind.__name__ for kind in raised.type.mro()}


def test_any_iterable_is_a_sequence_of_maps_or_sizes() -> None:
    identity = hm.IndexingMap.identity([4, 6])
    assert hm.maps.simplify_many(m for m in [identity]) == [identity]
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
    assert str(caught.value) == "hm.input_to_output: e has 1 operand, no operand 3"
    assert caught.value.args == ("e has 1 operand, no operand 3",)
    with pytest.raises(hm.errors.ShapeError, match=r"^hm.results.Tiling.evaluate: expected candidates \[n, 2\]"):
        hm.tile(MODULE).evaluate([[1]])
    with pytest.raises(hm.errors.HloSyntaxError, match=r"^<text>:1:2: expected"):
        hm.parse("x")


@pytest.mark.parametrize(
    "call",
    [
        lambda: hm.input_to_output(MODULE, 3),
        lambda: MODULE["q"],
        lambda: hm.tile(MODULE).evaluate([[1]]),
        lambda: hm.parse("x"),
        lambda: hm.Shape("f32", [-1]),
        lambda: hm.analyze_corpus(CASES / "dumps", "out.txt"),
    ],
)
def test_a_pickled_error_has_the_same_text(call: Callable[[], object]) -> None:
    with pytest.raises(hm.HlomapError) as caught:
        call()
    error, again = caught.value, pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(error) and str(again) == str(error) == str(pickle.loads(pickle.dumps(again)))
    assert vars(again) == vars(error)
