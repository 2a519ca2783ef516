"""Arguments: who answers for which subject; errors name the function as callers write it, what it expected and got."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from functools import partial
from inspect import isbuiltin, isfunction, signature
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CASES

import hlomap as hm

MODULE = hm.parse("HloModule m\nENTRY e { p = f32[4,6]{1,0} parameter(0) ROOT n = f32[4,6]{1,0} negate(p) }")
SHAPE = MODULE["n"].shape
MAP = hm.IndexingMap.identity([4, 6])
SHARDING = hm.hlo.Sharding.parse("{devices=[2,1]<=[2]}")
BYTES = np.zeros((4, 6), np.float32)
WRONG: list[Any] = [7, "text", None, object(), [object()], 1.5, MODULE]

# For each function valid arguments, and for each of them the values in WRONG that it accepts, too.
CALLS: dict[str, list[tuple[Any, str]]] = {
    "DumpDirectory": [(Path(), "str")],
    "MapSet": [([MAP], "")],
    "analyze": [(MODULE, "Module str")],
    "analyze_corpus": [("no such file", "str"), ("dataset", "str")],
    "backward_slice": [(MODULE["n"], "Module"), (0, "int")],
    "forward_slice": [(MODULE.entry.parameters[0], ""), ((), "int")],
    "check": [(MODULE, "Module")],
    "maps.bounds_many": [([MAP], "")],
    "coalescing": [(MODULE["n"], "Module"), (hm.layouts.thread_map(SHAPE), "None")],
    "collectives": [(MODULE, "Module")],
    "maps.compose_many": [([(MAP, MAP)], "")],
    "cost": [(MODULE["n"], "Module"), (None, "None str")],
    "maps.count_many": [([MAP], "")],
    "layouts.decompose_bitcast": [(SHAPE, ""), (SHAPE, "")],
    "diff": [(MODULE, "Module"), (MODULE, "Module")],
    "edit": [(MODULE, "Module")],
    "extract": [(MODULE["n"], "")],
    "fuse": [(MODULE["n"], ""), (MODULE["p"], "")],
    "draw": [(SHARDING, ""), (SHAPE, "")],
    "execute": [(MODULE, "Module")],
    "explain": [(MODULE["n"], ""), ((0, 0), "None")],
    "explore": [(MODULE, "Module"), (None, "None Module")],
    "fusions": [(MODULE, "Module"), (None, "None str")],
    "gemm": [(MODULE["n"], "")],
    "from_jax": [(np.negative, ""), (BYTES, "int str None object list float Module")],
    "indexing": [(MODULE["n"], "Module"), (0, "int")],
    "input_to_output": [(MODULE["n"], "Module"), (0, "int")],
    "is_bitcast": [(MODULE["n"], "Module"), (0, "int")],
    "kernel": [((2,), "int"), ([], ""), ("f32[4]", "")],
    "layouts.is_valid_bitcast": [(SHAPE, ""), (SHAPE, "")],
    "layouts.linear_index": [(SHAPE, "")],
    "load": [("no such file", "str")],
    "layouts.logical_index": [(SHAPE, "")],
    "loop": [(MODULE["n"], "")],
    "observed_reads": [(MODULE["n"], "Module"), ((0, 0), "")],
    "output_to_input": [(MODULE["n"], "Module"), (0, "int")],
    "layouts.pack": [(BYTES, "int float"), (None, "None str")],
    "parse": [("", "str")],
    "parse_all": [("", "str")],
    "partitioned": [(MODULE["n"], ""), ({}, "None")],
    "profile": [(b"", "str")],
    "layouts.ravel_index": [(SHAPE, ""), ((0, 0), "")],
    "readers": [(MODULE["n"], "")],
    "register_rule": [("name", "str"), (len, "")],
    "layouts.reshape_is_bitcast": [(SHAPE, ""), (SHAPE, "")],
    "reshard": [(SHAPE, ""), (SHARDING, ""), (SHARDING, "")],
    "scan": [("no such file", "str"), ("rows", "str")],
    "schedule": [(MODULE["n"], "Module")],
    "shard": [(MODULE, "Module"), ({}, "")],
    "sharder": [(MODULE, "Module")],
    "sharding_of": [(MODULE["n"], "Module"), (0, "int")],
    "maps.simplify_many": [([MAP], "")],
    "thread_map": [(MODULE["n"], "Module")],
    "layouts.thread_map": [(SHAPE, "")],
    "tile": [(MODULE["n"], "Module"), (0, "int")],
    "layouts.transpose_is_bitcast": [(SHAPE, ""), (SHAPE, ""), ([0, 1], "")],
    "layouts.unpack": [(bytes(96), ""), (SHAPE, "str")],
    "layouts.unravel_index": [(SHAPE, ""), (0, "int")],
    "utilization": [(MODULE["n"], "Module")],
    "verify": [(MODULE, "Module")],
}


def wrong_values(taken: str) -> list[Any]:
    """The values in :data:`WRONG` whose kinds are not among those taken."""
    return [wrong for wrong in WRONG if ("None" if wrong is None else type(wrong).__name__) not in taken.split()]


def test_every_public_function_is_listed() -> None:
    public = [*hm.__all__, *(f"{part}.{name}" for part in ("layouts", "maps") for name in attrgetter(part)(hm).__all__)]
    functions = {name for name in public if isfunction(f := attrgetter(name)(hm)) or isbuiltin(f)}
    assert functions == {name for name in CALLS if not name[0].isupper()}


@pytest.mark.parametrize(("name", "number"), [(name, i) for name, given in CALLS.items() for i in range(len(given))])
def test_wrong_argument(name: str, number: int) -> None:
    """A ``TypeError``, or an error of hlomap, whose message names the function."""
    for wrong in wrong_values(CALLS[name][number][1]):
        arguments = [value for value, _ in CALLS[name]]
        arguments[number] = wrong
        with pytest.raises((TypeError, hm.HlomapError), match=rf"\b{name.split('.')[-1]}\b") as raised:
            attrgetter(name)(hm)(*arguments)
        if raised.type is TypeError:
            assert re.match(rf"hm\.{name}: expected .*, got ", str(raised.value))


ODD: list[Any] = [1 << 70, -1, "x", None, object(), 1.5, [1 << 70], ["x"], b"x", {1: 2}, np.float64(1.5), np.int64(3)]
RAW = (
    "(argument '|cannot be|too (big|large) to|can't|an instance|support|attribute|iterable|callable|hashable|object is)"
)


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"analyze_corpus", "DumpDirectory", "scan"}))
def test_every_argument_has_an_error_of_ours(name: str) -> None:
    """Keywords, too: numbers that do not fit, and values of any other kind."""
    function, given = attrgetter(name)(hm), [value for value, _ in CALLS[name]]
    for number, parameter in enumerate(signature(function).parameters.values()):
        for odd in ODD if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) else ():
            arguments, keywords = list(given), {}
            if number < len(given):
                arguments[number] = odd
            else:
                keywords = {parameter.name: odd}
            try:
                done = function(*arguments, **keywords)
                if isinstance(done, hm.results.RegisteredRule):
                    done.unregister()
            except (hm.HlomapError, FileNotFoundError):
                continue
            except (TypeError, ValueError) as error:
                assert str(error).startswith(f"hm.{name}: ") or parameter.name in ("device", "path"), (odd, error)
                assert not re.search(RAW, str(error))


def test_the_first_argument_is_positional_only() -> None:
    for name in CALLS:
        first = next(iter(signature(attrgetter(name)(hm)).parameters.values()))
        assert first.kind in (first.POSITIONAL_ONLY, first.VAR_POSITIONAL) or isinstance(attrgetter(name)(hm), type), (
            name
        )
    with pytest.raises(TypeError, match="positional-only"):
        hm.tile(subject=MODULE)  # type: ignore[call-arg]


ANY = "Module Computation Instruction"
ANSWERED = {
    "analyze": "Module",
    "backward_slice": ANY,
    "check": ANY,
    "coalescing": ANY,
    "collectives": ANY,
    "cost": ANY,
    "diff": "Module",
    "draw": ANY,
    "edit": "Module",
    "execute": "Module Computation",
    "explain": "Instruction",
    "explore": "Module",
    "extract": "Instruction",
    "forward_slice": "Instruction",
    "fuse": "Instruction",
    "fusions": ANY,
    "gemm": "Instruction",
    "indexing": ANY,
    "input_to_output": ANY,
    "is_bitcast": ANY,
    "loop": "Instruction",
    "observed_reads": ANY,
    "output_to_input": ANY,
    "partitioned": "Instruction",
    "readers": "Instruction",
    "schedule": ANY,
    "shard": "Module",
    "sharder": "Module",
    "sharding_of": ANY,
    "thread_map": ANY,
    "tile": ANY,
    "utilization": ANY,
    "verify": ANY,
}
"""The subjects of each question."""


@pytest.mark.parametrize("question", ANSWERED)
def test_subjects(question: str) -> None:
    """A module stands for its entry; what a subject cannot be asked says which call to write."""
    keywords = {"check": {"max_bytes": 10**9}, "shard": {"mesh": {"x": 2}}, "sharder": {"mesh": {"x": 2}}}
    operands = {"diff": [MODULE], "execute": [BYTES], "fuse": [MODULE["p"]], "observed_reads": [(0, 0)], "shard": [{}]}
    ask, rest = partial(getattr(hm, question), **keywords.get(question, {})), operands.get(question, [])
    answers = {}
    for subject in (MODULE, MODULE.entry, MODULE["p"], "n", None):
        kind = "None" if subject is None else type(subject).__name__
        if kind in ANSWERED[question].split():
            with contextlib.suppress(hm.errors.ShapeError):  # not a while
                answers[kind] = ask(subject, *rest)
        elif (question, kind) != ("analyze", "str"):  # a path
            with pytest.raises(TypeError) as raised:
                ask(subject, *rest)
            assert re.fullmatch(rf"hm\.{question}: expected .*, got {kind} \(.+\)", str(raised.value))
    if "Computation" in answers and question not in ("check", "draw", "execute", "verify"):
        assert str(answers["Module"]) == str(answers["Computation"])


def test_every_question_is_listed() -> None:
    asked = {name for name, ((first, _), *_) in CALLS.items() if isinstance(first, (hm.Module, hm.Instruction))}
    assert asked | {"draw"} == ANSWERED.keys()


class Endless:
    """A sequence that never ends, and says that it is short."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: Any) -> int:
        return 1


LONG: list[Any] = [range(1 << 40), np.broadcast_to(np.int64(1), 1 << 40), Endless()]
TAKING: list[Any] = [
    lambda n: hm.Shape("f32", n),
    lambda n: SHAPE.at(n),
    lambda n: hm.Layout(n),
    lambda n: hm.Layout([0], tiles=[n]),
    lambda n: hm.Layout([0], tiles=[n] * 1000),
    lambda n: hm.IndexingMap(n, [0]),
    lambda n: hm.IndexingMap([4], n),
    lambda n: hm.IndexingMap([4], [0], ranges=n),
    lambda n: hm.IndexingMap([4], [0], runtime=n),
    lambda n: hm.IndexingMap.identity(n),
    lambda n: hm.Expr.dim(0).substitute(n),
    lambda n: MODULE["n"].signature(n),
]


@pytest.mark.parametrize("take", TAKING, ids=range(len(TAKING)))
@pytest.mark.parametrize("long", LONG, ids=["a range", "a broadcast", "one that lies"])
def test_what_a_sequence_says_of_its_length_is_not_believed(take: Any, long: Any) -> None:
    """No memory is taken for it, and the error says how many items an argument may have."""
    with pytest.raises((ValueError, TypeError), match=r"got more than 1048576 items|expected"):
        take(long)


def test_any_number_of_threads_is_taken() -> None:
    maps = [MAP] * 1000
    assert hm.maps.simplify_many(maps, threads=1 << 40) == hm.maps.simplify_many(maps, threads=0) == maps
    assert hm.maps.bounds_many(maps, threads=7) == [tuple(m.bounds(i) for i in range(2)) for m in maps]
    for distinct in (False, True):
        assert hm.maps.count_many(maps, distinct=distinct, threads=3) == [m.count(distinct) for m in maps]


EXPR = hm.Expr.dim(0)
LAYOUT = SHAPE.layout


METHODS = [line.split(" | ") for line in (CASES / "wrong_arguments.txt").read_text().splitlines()[1:]]


@pytest.mark.parametrize(("name", "call", "taken"), METHODS, ids=[call for _, call, _ in METHODS])
def test_wrong_argument_of_a_method(name: str, call: str, taken: str) -> None:
    """A ``TypeError`` that names the method, the kinds it takes and the kind it got."""
    for wrong in wrong_values(taken):
        with pytest.raises(TypeError, match=rf"^hm\.{re.escape(name)}: expected .*, got "):
            eval(call, globals(), {"_": wrong})


def test_every_method_with_arguments_is_listed() -> None:
    """Methods whose arguments are all flags, and those that PyO3 or Python calls, need no entry."""
    others = {"Module.to_string", "Computation.to_string", "Instruction.to_string", "Layout.replace"}
    classes = [
        c for c in vars(hm._core).values() if isinstance(c, type) and c.__name__ in {*hm.__all__, *hm.hlo.__all__}
    ]
    parameters = {
        f"{c.__name__}.{name}": str([*signature(member).parameters][1:])
        if isfunction(member := getattr(c, name))
        else getattr(member, "__text_signature__", None) or ""
        for c in classes
        for name in vars(c)
        if not name.startswith("_")
    }
    listed = {name.removeprefix("hlo.") for name, *_ in METHODS if "." in name.removeprefix("hlo.")}
    methods = {name for name, text in parameters.items() if re.search(r"\w", text.replace("$self", ""))}
    assert methods - others == {name for name in listed if not name.startswith("MapSet.")}


@pytest.mark.parametrize("kind", [hm.Device, hm.Limits])
def test_devices_and_limits_take_numbers_that_make_sense(kind: type) -> None:
    """Accepted values can be used; all else is an error that names the field."""
    root = hm.parse("""fused { p = f32[64,64]{1,0} parameter(0)  t = f32[64,64]{1,0} transpose(p), dimensions={1,0}
  ROOT n = f32[64,64]{1,0} negate(t) }
ENTRY e { p = f32[64,64]{1,0} parameter(0)  ROOT f = f32[64,64]{1,0} fusion(p), kind=kLoop, calls=fused }""").entry.root
    tiling, h100 = hm.tile(root), hm.Device.named("h100")
    values = [
        -1, 0, 1, 3, 2**62, 2**63 - 1, 2**63, 10**30, np.int64(5), 1.5, float("nan"), float("inf"), -0.5, "any", None,
    ]  # fmt: skip
    for field in dataclasses.fields(kind):
        for value in [*values, (1, -1), (2**63,), ("x",), True]:
            try:
                record = dataclasses.replace(h100 if kind is hm.Device else hm.Limits(), **{field.name: value})
            except (TypeError, ValueError) as error:
                assert field.name in str(error)
                continue
            assert not isinstance(value, (int, float)) or 0 <= value < 2**63
            device, limits = (record, None) if kind is hm.Device else (h100, record)
            tiling.evaluate([[16, 16], [64, 64]], device=device, limits=limits)
            tiling.explain([16, 16], limits=limits)
            for use in (hm.schedule, hm.coalescing):
                use(root, device=device)
    for wrong in ("any", 1, None):
        with pytest.raises((TypeError, ValueError), match="buffers"):
            hm.Limits(buffers=wrong)  # type: ignore[arg-type]


def test_names_of_devices_and_limits_ignore_case() -> None:
    tiling = hm.tile(MODULE)
    assert tiling.evaluate([[3, 3]], device="H100", limits="Triton") == tiling.evaluate(
        [[3, 3]], device="h100", limits="triton"
    )
    assert hm.schedule(MODULE["n"], "A6000") == hm.schedule(MODULE["n"], "a6000")
    with pytest.raises(ValueError, match="'TITAN'"):
        hm.Device.named("TITAN")
