"""Every public callable with arguments that nobody means well, in a child process: an abort ends only that call.

:func:`run` gives the numbers of callables and calls, and what went wrong. Run as a program, this file is the child.
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import hlomap as hm

# A call takes less of each, or is a finding. The limit of memory is far below what a hostile length asks for.
SECONDS, BYTES = 10, 6 << 30
# Seconds after which a call is ended from outside: compiled code may not see the alarm.
PATIENCE = 60

TEXT = """HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  p = f32[4,6]{1,0} parameter(0)
  z = f32[] constant(0)
  r = f32[4]{0} reduce(p, z), dimensions={1}, to_apply=sum
  f = f32[4,6]{1,0} fusion(p), kind=kLoop, calls={ q = f32[4,6]{1,0} parameter(0) ROOT n = f32[4,6]{1,0} negate(q) }
  w = f32[4,4]{1,0} reduce-window(p, z), window={size=1x3}, to_apply=sum
  g = f32[4,6]{1,0} all-reduce(p), replica_groups={{0,1}}, to_apply=sum, unknown_attribute=1
  i = s32[] constant(0)
  state = (s32[], f32[4,6]{1,0}) tuple(i, f)
  loop = (s32[], f32[4,6]{1,0}) while(state), condition={
    c = (s32[], f32[4,6]{1,0}) parameter(0) k = s32[] get-tuple-element(c), index=0 n4 = s32[] constant(4)
    ROOT l = pred[] compare(k, n4), direction=LT
  }, body={
    b = (s32[], f32[4,6]{1,0}) parameter(0) j = s32[] get-tuple-element(b), index=0 o = s32[] constant(1)
    j1 = s32[] add(j, o) x = f32[4,6]{1,0} get-tuple-element(b), index=1 ROOT s = (s32[], f32[4,6]{1,0}) tuple(j1, x)
  }
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

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __iter__(self) -> Iterator[int]:
        raise RuntimeError("no items")

    def __contains__(self, item: object) -> bool:
        raise RuntimeError("no items")

    def __fspath__(self) -> str:
        raise RuntimeError("no path")

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __index__(self) -> int:
        raise RuntimeError("no number")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no order")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


class WrongIndex:
    """An object whose number is none."""

    def __index__(self) -> int:
        return "x"  # type: ignore[return-value]  # noqa: PLE0305


class OtherInt(int):
    """A number that is another one when it is asked."""

    def __index__(self) -> int:
        return 1 << 100

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no order")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


class OtherText(str):
    """A text that cannot be printed, compared or encoded."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no order")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def encode(self, *_: object) -> bytes:
        raise RuntimeError("no bytes")


class OtherList(list[int]):
    """A list whose length and items are not those of the list."""

    def __len__(self) -> int:
        return 1 << 40

    def __iter__(self) -> Iterator[int]:
        return itertools.repeat(1)

    def __getitem__(self, at: Any) -> Any:
        raise RuntimeError("no item")


def _breaks_off() -> Iterator[int]:
    yield 1
    raise RuntimeError("no more")


def _in_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


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
    "wrong index": WrongIndex,
    "subclass of int": lambda: OtherInt(3),
    "subclass of str": lambda: OtherText("f32[2]"),
    "subclass of list": lambda: OtherList([1, 2]),
    "subclass of float": lambda: type("F", (float,), {"__float__": lambda self: 1 / 0})(1.0),
    "breaks off": _breaks_off,
    "in itself": _in_itself,
    "bytearray": lambda: bytearray(10),
    "view": lambda: memoryview(b"x" * 10)[::2],
    "complex": lambda: 1j,
    "largest float": lambda: 1.7e308,
    "true": lambda: True,
    "int64": lambda: np.int64(-(1 << 63)),
    "uint64": lambda: np.uint64((1 << 64) - 1),
    "float32": lambda: np.float32("nan"),
    "datetime": lambda: np.datetime64("NaT"),
    "0-d array": lambda: np.array(3),
    "0-d object": lambda: np.array(None, dtype=object),
    "empty array": lambda: np.zeros((0, 1 << 40), np.int8),
    "strided array": lambda: np.broadcast_to(np.int64(1), (1 << 20,)),
    "read-only array": lambda: np.frombuffer(b"12345678", np.int64),
    "texts": lambda: ["\ud800", "x" * 100_000],
    "raising items": lambda: [Raising()],
    "raising keys": lambda: {"x": Raising()},
    "other module": lambda: hm.parse(TEXT)["t"],
    "shape": lambda: hm.Shape.parse("(f32[2], token[])"),
    "itself": lambda: hm,
}


def _objects() -> list[Any]:
    """One object of every public class, and of every class of hlomap that is reached from these."""
    module = hm.parse(TEXT)
    i, f = module["t"], module["f"]
    d0 = hm.Expr.dim(0)
    maps = hm.output_to_input(i)
    m = hm.IndexingMap.identity([4, 6])
    builder = hm.Builder("m")
    value = builder.parameter(0, hm.Shape.parse("f32[4,6]"))
    tiling = hm.tile(i)
    found: list[Any] = [module, module.entry, i, i.shape, i.shape.layout, maps[0], d0, m, builder, value]
    found += [
        tiling,
        tiling.evaluate([(2, 2)]),
        tiling.box(0, (2, 2), (0, 0)),
        hm.indexing(i),
        hm.flat_thread_map(i.shape),
        hm.analyze(module),
        hm.linear_index(i.shape),
    ]
    found += [hm.loop(module["loop"]), hm.schedule(f), hm.coalescing(f), hm.utilization(f), hm.explain(f)]
    sharding = hm.sharding_of(i)
    found += [hm.reshard(i.shape, sharding, sharding)] if sharding is not None else []
    found += [hm.forward_slice(module.entry.parameters[0]), hm.diff(module, module), hm.sharding_of(i)]
    found += [i.shape.draw(), hm.verify(i)]
    found += [hm.explain_simplify(m), m.equivalent(m), m.count(), m.cost(), m.image(), m.overlap(m), m.constraints]
    found += [
        hm.layouts.decompose_bitcast(i.shape, i.shape),
        hm.Unknown("x"),
        hm.Device.named("h100"),
        hm.Limits.named("triton"),
    ]
    found += [hm.partitioned(i), hm.Constraint(d0, 0, 1), hm.DumpDirectory(tempfile.mkdtemp()), module.diagnostics]
    found += [each.attributes for each in module.entry] + [module["w"].attributes["window"]]
    # What these have as public attributes, three levels deep.
    unique: dict[type, Any] = {}
    for _ in range(4):
        for each in list(found):
            inner = each.values() if isinstance(each, Mapping) else each if isinstance(each, (tuple, list)) else ()
            for item in (each, *inner):
                if _is_ours(type(item)):
                    unique.setdefault(type(item), item)
        found = []
        for each in list(unique.values()):
            for name in dir(type(each)):
                if name.startswith("_"):
                    continue
                try:
                    found.append(getattr(each, name))
                except Exception:
                    continue
    return list(unique.values())


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "hlomap"


# Operators as methods; a call that an operator refuses is fine, one that does not return is not.
_OPERATORS = [
    *("__getitem__", "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__call__"),
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__floordiv__", "__rfloordiv__"),
    *("__mod__", "__rmod__", "__truediv__", "__and__", "__or__", "__xor__", "__format__"),
]


def _callables() -> list[tuple[str, Callable[..., Any]]]:
    found: dict[str, Callable[..., Any]] = {}
    public = {name: getattr(hm, name) for name in hm.__all__}
    for inner in (hm.hlo, hm.errors, hm.layouts):
        public |= {f"{inner.__name__[7:]}_{name}": getattr(inner, name) for name in inner.__all__}
    for name, value in sorted(public.items()):
        if callable(value):
            found[name] = value
        if isinstance(value, type):
            found |= {f"{name}.{n}": getattr(value, n) for n in dir(value) if n[0] != "_" and _is_static(value, n)}
    for each in _objects():
        names = [n for n in dir(each) if not n.startswith("_")]
        names += _OPERATORS
        for name in names:
            try:
                value = getattr(each, name, None)
            except Exception:
                continue
            if callable(value) and not isinstance(value, type) and not _is_builtin(type(each), name):
                found[f"{type(each).__name__}().{name}"] = value
    return sorted(found.items())


def _is_builtin(kind: type, name: str) -> bool:
    """Whether a method is that of a builtin class, such as ``str.join`` of an enumeration of texts."""
    return not _is_ours(next((base for base in kind.__mro__ if name in vars(base)), kind))


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
        with tempfile.TemporaryFile() as messages:
            command = [sys.executable, __file__, str(start), str(last)]
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages)
            call, ended = "", ""
            for line in _lines(child):
                if line is None:
                    ended = f"more than {PATIENCE} s in compiled code"
                    break
                match json.loads(line):
                    case ["done", n_callables, n_calls]:
                        child.wait()
                        return n_callables, n_calls, found
                    case ["call", name, number]:
                        call, start = name, number + 1
                    case ["finding", name, what]:
                        found.append(f"{name}: {what}")
            child.kill()
            code = child.wait()
            messages.seek(0)
            said = messages.read().decode("utf-8", "replace")[-2000:]
            assert call, said
            found.append(f"{call}: {ended or f'exit code {code}'}: {said[-300:]}")


def _lines(child: subprocess.Popen[bytes]) -> Iterator[bytes | None]:
    """The lines that a child prints; ``None`` where it is silent for too long."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        assert child.stdout is not None
        with child.stdout:
            for line in child.stdout:
                lines.put(line)
        lines.put(b"")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=PATIENCE)
        except queue.Empty:
            yield None
            return
        if not line:
            return
        if line.startswith(b"["):
            yield line


class _OutOfTime(BaseException):
    pass


class _Watch:
    """The handler of the alarm, which may arrive late: it raises only during a call."""

    is_on = False

    def __call__(self, *_: object) -> None:
        if self.is_on:
            self.is_on = False
            raise _OutOfTime


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


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
        watch.is_on = True
        peak = _peak()
        signal.alarm(SECONDS)
        try:
            try:
                call()
            finally:
                watch.is_on = False
        except _OutOfTime:
            print(json.dumps(["finding", name, f"more than {SECONDS} s"]), file=out)
        except MemoryError:
            # An allocation that is refused at once, of an array that claims to be huge, is an honest error.
            if _peak() - peak > BYTES // 4:
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
