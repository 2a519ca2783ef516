"""Every public callable with arguments that nobody means well, in a child process: an abort ends only that call.

:func:`run` gives the numbers of callables and calls, and what went wrong. Run as a program, this file is the child.
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import hlomap as hm

# A call takes less of each, or is a finding. The limit of memory is far below what a hostile length asks for.
SECONDS, BYTES = 10, 6 << 30

TEXT = """HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  p = f32[4,6]{1,0} parameter(0)
  z = f32[] constant(0)
  r = f32[4]{0} reduce(p, z), dimensions={1}, to_apply=sum
  ROOT t = f32[6,4]{1,0} transpose(p), dimensions={1,0}, sharding={devices=[2,1]<=[2]}
}
"""


class Lying:
    """A sequence whose length is not the number of its items, which do not end."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: object) -> int:
        return 1

    def __iter__(self) -> Iterator[int]:
        return itertools.repeat(1)


class Raising:
    """An object that raises whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __iter__(self) -> Iterator[int]:
        raise RuntimeError("no items")

    def __index__(self) -> int:
        raise RuntimeError("no number")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no order")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


HOSTILE: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "object": object,
    "minus one": lambda: -1,
    "the largest": lambda: (1 << 63) - 1,
    "the least": lambda: -(1 << 63),
    "too large": lambda: 1 << 64,
    "far too large": lambda: 1 << 4000,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "text": lambda: "x",
    "zero byte": lambda: "\0",
    "surrogate": lambda: "\ud800",
    "long text": lambda: "x" * 1_000_000,
    "braces": lambda: "(" * 100_000,
    "bytes": lambda: b"\xff" * 100,
    "long range": lambda: range(1 << 40),
    "longest range": lambda: range(1 << 62),
    "lie": lambda: Lying(1 << 62),
    "short lie": lambda: Lying(2),
    "negative lie": lambda: Lying(-1),
    "endless": lambda: itertools.repeat(1),
    "endless pairs": lambda: itertools.repeat((0, 1)),
    "raising": Raising,
    "nested": lambda: _nested(10_000),
    "largest sizes": lambda: [(1 << 63) - 1] * 3,
    "many": lambda: [1] * 100_000,
    "negative": lambda: [-1],
    "mixed": lambda: [1, "x", None],
    "array": lambda: np.zeros((2, 3), np.float32),
    "object array": lambda: np.array([None, 1], dtype=object),
    "empty": lambda: (),
    "dict": lambda: {1: 2},
    "class": lambda: int,
}


def _objects() -> list[Any]:
    """One object of as many public classes as possible."""
    module = hm.parse(TEXT)
    i = module["t"]
    d0 = hm.Expr.dim(0)
    maps = hm.output_to_input(i)
    found: list[Any] = [module, module.entry, i, i.shape, i.shape.layout, maps[0], d0]
    found += [hm.IndexingMap.identity([4, 6]), hm.tile(i), hm.indexing(i), hm.thread_map(i.shape), hm.analyze(module)]
    found += [hm.linear_index(i.shape), module["r"], hm.Builder("m")]
    # What these have as public attributes, two levels deep.
    for _ in range(2):
        for each in list(found):
            for name in dir(type(each)):
                if name.startswith("_"):
                    continue
                try:
                    value = getattr(each, name)
                except Exception:
                    continue
                values = value if isinstance(value, (tuple, list)) else [value]
                found += [v for v in values if _is_ours(type(v)) and type(v) not in set(map(type, found))]
    unique: dict[type, Any] = {}
    for each in found:
        unique.setdefault(type(each), each)
    return list(unique.values())


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "hlomap"


def _callables() -> list[tuple[str, Callable[..., Any]]]:
    found: dict[str, Callable[..., Any]] = {}
    for name in sorted(hm.__all__):
        value = getattr(hm, name)
        if callable(value):
            found[name] = value
        if isinstance(value, type):
            found |= {f"{name}.{n}": getattr(value, n) for n in dir(value) if n[0] != "_" and _is_static(value, n)}
    for each in _objects():
        names = [n for n in dir(each) if not n.startswith("_")]
        names += ["__getitem__", "__contains__", "__eq__", "__lt__", "__add__", "__mul__", "__floordiv__", "__call__"]
        for name in names:
            try:
                value = getattr(each, name, None)
            except Exception:
                continue
            if callable(value) and not isinstance(value, type) and _is_ours(type(each)):
                found[f"{type(each).__name__}().{name}"] = value
    return sorted(found.items())


def _is_static(kind: type, name: str) -> bool:
    static = isinstance(inspect.getattr_static(kind, name), (staticmethod, classmethod))
    return static or inspect.isbuiltin(getattr(kind, name))


def _valid() -> dict[str, Any]:
    """Arguments by the name of a parameter, so that a hostile one beside them is reached."""
    module = hm.parse(TEXT)
    i = module["t"]
    m = hm.IndexingMap.identity([4, 6])
    d0 = hm.Expr.dim(0)
    return {
        "module": module, "instruction": i, "shape": i.shape, "source": TEXT, "text": "f32[2]", "map": m, "maps": [m],
        "dims": [4, 6], "results": [d0], "ranges": [], "expr": d0, "index": (), "layout": i.shape.layout,
        "dtype": "f32", "dimensions": [2, 3], "name": "t", "pairs": [(m, m)], "first": m, "second": m, "other": m,
        "lower": 0, "upper": 3, "n": 2, "array": np.zeros((4, 6), np.float32), "data": bytes(96), "arguments": [],
        "path": "/nonexistent", "minor_to_major": [1, 0], "sizes": [2, 2], "operand": 0, "point": [0, 0],
    }  # fmt: skip


def calls() -> Iterator[tuple[str, Callable[[], object]]]:
    valid = _valid()
    for name, function in _callables():
        if name.split(".")[0] in {"register_rule", "unregister_rule"} or name.endswith("__class__"):
            continue
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            parameters = [inspect.Parameter("value", inspect.Parameter.POSITIONAL_ONLY)]
        for changed in parameters:
            for kind, hostile in HOSTILE.items():
                yield f"{name}({changed.name}: {kind})", _call(function, parameters, changed, hostile, valid)


def _call(
    function: Callable[..., Any],
    parameters: list[inspect.Parameter],
    changed: inspect.Parameter,
    hostile: Callable[[], Any],
    valid: dict[str, Any],
) -> Callable[[], object]:
    def call() -> object:
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for p in parameters:
            if p.kind is p.VAR_KEYWORD or (
                p is not changed and (p.kind is p.VAR_POSITIONAL or p.default is not p.empty)
            ):
                continue
            value = hostile() if p is changed else valid.get(p.name)
            if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
                named[p.name] = value
            else:
                positional.append(value)
        result = function(*positional, **named)
        # What is computed on demand, and the text, are part of the answer.
        if hasattr(result, "__next__"):
            result = list(itertools.islice(result, 10))
        return repr(result)[:10]

    return call


def run(last: float = 1.0) -> tuple[int, int, list[str]]:
    """The numbers of callables and of calls, and the findings; ``last`` is the part of the calls to make."""
    found: list[str] = []
    start = 0
    while True:
        command = [sys.executable, __file__, str(start), str(last)]
        child = subprocess.run(command, capture_output=True, text=True, timeout=3600)
        lines = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("[")]
        found += [f"{call}: {what}" for kind, call, what in lines if kind == "finding"]
        done = [line for line in lines if line[0] == "done"]
        if done:
            return done[0][1], done[0][2], found
        began = [line for line in lines if line[0] == "call"]
        assert began, child.stderr[-2000:]
        found.append(f"{began[-1][1]}: exit code {child.returncode}: {child.stderr[-300:]}")
        start = began[-1][2] + 1


class _OutOfTime(BaseException):
    pass


class _Watch:
    """The handler of the alarm, which may arrive late: it raises only during a call."""

    is_on = False

    def __call__(self, *_: object) -> None:
        if self.is_on:
            self.is_on = False
            raise _OutOfTime


def main() -> None:
    start, part = int(sys.argv[1]), float(sys.argv[2])
    # The real output: hostile calls may print.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watch = _Watch()
    signal.signal(signal.SIGALRM, watch)
    every = max(1, round(1 / part))
    names: set[str] = set()
    n_calls = 0
    for number, (name, call) in enumerate(calls()):
        names.add(name.split("(")[0] if "()" not in name else name.rsplit("(", 1)[0])
        if number % every:
            continue
        n_calls += 1
        if number < start:
            continue
        print(json.dumps(["call", name, number]), file=out)
        # An endless loop in compiled code does not see the alarm: the second one kills.
        watch.is_on = True
        signal.alarm(SECONDS)
        try:
            try:
                call()
            finally:
                watch.is_on = False
        except _OutOfTime:
            print(json.dumps(["finding", name, f"more than {SECONDS} s"]), file=out)
        except MemoryError:
            print(json.dumps(["finding", name, "out of memory"]), file=out)
        except Exception:
            pass
        except BaseException as error:
            print(json.dumps(["finding", name, f"{type(error).__name__}: {error}"[:300]]), file=out)
        finally:
            signal.alarm(0)
    print(json.dumps(["done", len(names), n_calls]), file=out)


if __name__ == "__main__":
    main()
