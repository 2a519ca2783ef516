"""Relations in the notation of isl as maps, compared with isl.

``tests/cases/interop/from_isl.txt`` has texts with their maps or errors; HLOMAP_BLESS=1 rewrites them.
"""

from __future__ import annotations

import re

import islpy as isl
import pytest
from conftest import BLESS, CASES
from hypothesis import given, settings, strategies as st
from support import isl_relations
from support.map_cases import read_map_cases, with_outcomes

import hlomap as hm
from hlomap import errors

TOKEN = re.compile(r"[A-Za-z_0-9']+|->|[<>]?=|\S")
FILE = CASES / "interop" / "from_isl.txt"


def outcome(text: str) -> list[str]:
    """The map or the error of a relation."""
    try:
        return [str(hm.IndexingMap.from_isl(text))]
    except errors.HlomapError as error:
        return f"{type(error).__name__}: {error}".splitlines()


CASE_LIST = read_map_cases(FILE)
READ = [text for text in CASE_LIST if "Error" not in outcome(text)[0]]


def test_maps_and_errors() -> None:
    found = with_outcomes(FILE, outcome)
    if BLESS:
        FILE.write_text(found, encoding="utf-8")
    assert found == FILE.read_text(encoding="utf-8")


def check_relation(text: str) -> None:
    """The map of a text is the relation that isl reads."""
    found = hm.IndexingMap.from_isl(text)
    expected = isl_relations.read(text)
    if found.is_known_empty:
        assert expected.is_empty()
    else:
        assert expected.is_equal(isl_relations.read(found.to_isl()))


@pytest.mark.parametrize("text", READ)
def test_relation_is_that_of_isl(text: str) -> None:
    check_relation(text)


def test_errors_have_a_location() -> None:
    with pytest.raises(errors.MapSyntaxError) as e:
        hm.IndexingMap.from_isl("{ [i] -> [i] :\n  0 <= i <= 9 or\n i = 3 }")
    assert (e.value.line, e.value.column) == (2, 15)
    assert str(e.value).splitlines()[1:] == ["    0 <= i <= 9 or", "                ^"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ [i] -> [" + "(" * 100_000, "at most 80 levels of nesting"),
        ("{ [i] -> [i] : " + "(" * 100_000 + "0 <= i", "at most 80 levels of nesting"),
        ("{ [i] -> [i] : " + "exists (a: " * 90, "a new name"),
        ("{ [" + "a" * 100_000, "a variable that is declared before, found 'a{40}…'"),
        ("{ [" + ", ".join(f"i{n}" for n in range(101)) + "] -> []", "at most 100 variables"),
        ("{ [i] -> [i] : " + " and ".join(f"i mod {n} >= 1" for n in range(2, 600)) + " }", "at most 500 expressions"),
        ("{ [i] -> [i] : " + ", ".join(["i"] * 101) + " >= 0 }", "at most 100 values in a list"),
        ("{ [i] -> [" + " + ".join(["i"] * 20_000) + "] : 0 <= i <= 9 }", None),
        ("{ [i] -> [" + "-" * 100_000 + "i] : 0 <= i <= 9 }", None),
        ("{ [i] -> [i" + "*3" * 1000 + "] : 0 <= i <= 9 }", "does not fit into 64 bits"),
        ("\0" * 1000, r"expected '\{'"),
        ("", "found the end of the text"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_long_texts(text: str, message: str | None) -> None:
    if message is None:
        assert len(hm.IndexingMap.from_isl(text).dims) == 1
    else:
        with pytest.raises(errors.MapSyntaxError, match=message):
            hm.IndexingMap.from_isl(text)


# ----------------------------------------------------------------------------------------------------- mutated texts

PIECES = sorted({piece for text in CASE_LIST for piece in TOKEN.findall(text)})


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The text of a case with a few pieces replaced, removed or added."""
    pieces = TOKEN.findall(draw(st.sampled_from(READ)))
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(pieces)))
        pieces[at : at + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(PIECES), max_size=1))
    return " ".join(pieces)


@settings(max_examples=300, deadline=None)
@given(mutated())
def test_mutated_texts_are_read_as_isl_reads_them(text: str) -> None:
    """Every text is read or refused with an error of hlomap; where isl reads it, too, as the same relation."""
    try:
        hm.IndexingMap.from_isl(text)
        isl.Map(text)
    except (errors.HlomapError, isl.Error):
        return
    check_relation(text)
