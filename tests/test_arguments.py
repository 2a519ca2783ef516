"""Arguments of the wrong kind: every public function names itself, the expected kinds and the actual kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlomap as hm

MODULE = hm.parse("HloModule m\nENTRY e { p = f32[4,6]{1,0} parameter(0) ROOT n = f32[4,6]{1,0} negate(p) }")
SHAPE = MODULE["n"].shape
MAP = hm.IndexingMap.identity([4, 6])
BYTES = np.zeros((4, 6), np.float32)
WRONG: list[Any] = [7, "text", None, object(), [object()], 1.5, MODULE]

# For each function valid arguments, and for each of them the values in WRONG that it accepts, too.
CALLS: dict[str, list[tuple[Any, str]]] = {
    "DumpDirectory": [(Path(), "str")],
    "MapSet": [([MAP], "")],
    "analyze": [(MODULE, "Module")],
    "backward_slice": [(MODULE["n"], ""), (0, "int")],
    "forward_slice": [(MODULE.entry.parameters[0], ""), ((), "int")],
    "bounds_many": [([MAP], "")],
    "compose_many": [([(MAP, MAP)], "")],
    "count_many": [([MAP], "")],
    "decompose_bitcast": [(SHAPE, ""), (SHAPE, "")],
    "execute": [(MODULE, "Module")],
    "from_jax": [(np.negative, ""), (BYTES, "int str None object list float Module")],
    "indexing": [(MODULE["n"], ""), (0, "int")],
    "input_to_output": [(MODULE["n"], ""), (0, "int")],
    "is_bitcast": [(MODULE["n"], ""), (0, "int")],
    "is_valid_bitcast": [(SHAPE, ""), (SHAPE, "")],
    "linear_index": [(SHAPE, "")],
    "load": [("no such file", "str")],
    "logical_index": [(SHAPE, "")],
    "output_to_input": [(MODULE["n"], ""), (0, "int")],
    "pack": [(BYTES, "int float"), (None, "None str")],
    "parse": [("", "str")],
    "parse_all": [("", "str")],
    "parse_stablehlo": [("", "str")],
    "ravel_index": [(SHAPE, ""), ((0, 0), "")],
    "register_rule": [("name", "str"), (len, "")],
    "reshape_is_bitcast": [(SHAPE, ""), (SHAPE, "")],
    "simplify_many": [([MAP], "")],
    "thread_map": [(SHAPE, "")],
    "transpose_is_bitcast": [(SHAPE, ""), (SHAPE, ""), ([0, 1], "")],
    "unpack": [(bytes(96), ""), (SHAPE, "str")],
    "unravel_index": [(SHAPE, ""), (0, "int")],
    "unregister_rule": [("name", "str")],
    "verify": [(MODULE, "Module")],
}
CASES = [
    (name, number, wrong)
    for name, arguments in CALLS.items()
    for number, (_, taken) in enumerate(arguments)
    for wrong in WRONG
    if ("None" if wrong is None else type(wrong).__name__) not in taken.split()
]


def test_every_public_function_is_listed() -> None:
    functions = {name for name in hm.__all__ if callable(f := getattr(hm, name)) and not isinstance(f, type)}
    assert functions == {name for name in CALLS if not name[0].isupper()}


@pytest.mark.parametrize(("name", "number", "wrong"), CASES, ids=[f"{n}-{i}-{type(w).__name__}" for n, i, w in CASES])
def test_wrong_argument(name: str, number: int, wrong: Any) -> None:
    """A ``TypeError``, or an error of hlomap, whose message names the function."""
    arguments = [value for value, _ in CALLS[name]]
    arguments[number] = wrong
    with pytest.raises((TypeError, hm.HlomapError), match=rf"\b{name}\b"):
        getattr(hm, name)(*arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hm.analyze("dump"), "analyze() takes an hlomap.Module, got str; read a file with hlomap.load(path)"),  # type: ignore[arg-type]
        (
            lambda: hm.output_to_input(MODULE),  # type: ignore[arg-type]
            "output_to_input() takes an hlomap.Instruction or hlomap.Computation, got hlomap.Module; "
            "find one with module[name]",
        ),
        (lambda: hm.parse(Path("a.hlo")), "parse() takes HLO text (str) or bytes, got pathlib."),  # type: ignore[arg-type]
        (lambda: hm.load(MODULE), "load() takes a path, got hlomap.Module; read text or bytes with hlomap.parse"),  # type: ignore[arg-type]
        (lambda: hm.linear_index("f32[2]"), "linear_index() takes an hlomap.Shape, got str; read text with hlomap."),  # type: ignore[arg-type]
        (lambda: hm.simplify_many([MAP, "x"]), "simplify_many() takes a sequence of hlomap.IndexingMap, got str"),  # type: ignore[list-item]
        (lambda: hm.thread_map(SHAPE, threads="x"), "thread_map() takes an int, or up to three along x, y and z, as"),  # type: ignore[arg-type]
        (lambda: hm.indexing(MODULE["n"], within=MODULE), "indexing() takes instructions as `within`, got hlomap.Mod"),  # type: ignore[arg-type]
    ],
)
def test_message(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


def test_any_number_of_threads_is_taken() -> None:
    maps = [MAP] * 1000
    assert hm.simplify_many(maps, threads=1 << 40) == hm.simplify_many(maps, threads=0) == maps
    assert hm.bounds_many(maps, threads=7) == [tuple(m.bounds(i) for i in range(2)) for m in maps]
    for distinct in (False, True):
        assert hm.count_many(maps, distinct=distinct, threads=3) == [m.count(distinct) for m in maps]
