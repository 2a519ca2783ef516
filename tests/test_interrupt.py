"""Ctrl-C ends every long call of the compiled module with ``KeyboardInterrupt``, and later calls are right.

``PENDING`` makes an interrupt pending and then calls, all inside one call of ``list``: Python itself looks for signals
between bytecodes only, so whether what follows the call runs tells whether the call has looked.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hlomap as hm

SETUP = """
import ctypes, functools, signal, sys
import numpy as np
import hlomap as hm
from hlomap import _core
signal.signal(signal.SIGINT, signal.default_int_handler)

def hard_map(n, seed=0):
    numerator = "((d0 * {} + d1 * 7) mod {}) floordiv 5 + (d1 * {}) floordiv {}"
    nested = (numerator.format(i + 3 + seed, 11 * i + 90, i + 2, i + 7) for i in range(n))
    domain = "d0 in [0, 999], d1 in [0, 999], (d0 * 3 + d1) mod 7 in [0, 4], d0 + d1 in [3, 900]"
    return hm.IndexingMap.parse(f"(d0, d1) -> ({', '.join(nested)}), domain: {domain}")

def summed(n):
    m = hard_map(n)
    return hm.IndexingMap([1000, 1000], [sum(m.results, start=hm.Expr.dim(0))])

def chain(n, *, distinct=False):
    rows = ["HloModule chain", "ENTRY e {", "  n0 = f32[60,70]{1,0} parameter(0)"]
    for i in range(n):
        rows.append(f"  b{i} = f32[{i + 1 if distinct else 3},60,70]{{2,1,0}} broadcast(n{i}), dimensions={{1,2}}")
        rows.append(f"  n{i + 1} = f32[60,70]{{1,0}} add(n{i}, n{i})")
    return "\\n".join([*rows, f"  ROOT r = f32[70,60]{{1,0}} transpose(n{n}), dimensions={{1,0}}", "}"])

def interrupted_by_itself(call):
    calls = [ctypes.pythonapi.PyErr_SetInterrupt, call, functools.partial(print, "to its end")]
    try:
        list(map(functools.partial.__call__, map(functools.partial, calls)))
    except KeyboardInterrupt:
        print("interrupted")
"""

# By name: what is prepared, the long call, and an expression that is true afterwards.
PENDING = {
    "pack": (
        "shape = hm.Shape.parse('u8[6000,8000]{0,1:T(8,128)}')\n"
        "given, packed, fill = (np.zeros(n, np.uint8) for n in (shape.n_elements, shape.buffer_bytes, 1))\n"
        "hm.layouts.pack(np.ones((3, 5), np.uint8), 'u8[3,5]{1,0:T(2,2)}')",
        "_core.pack_into, shape, given, packed, fill, 1",
        "hm.layouts.pack(np.ones((3, 5), np.uint8), 'u8[3,5]{1,0:T(2,2)}').sum() == 15",
    ),
    "parse text": ("text = chain(40_000)", "_core.parse_text, text", "len(hm.parse(text).entry) == 80_002"),
    "parse bytes": ("text = chain(40_000).encode()", "_core.parse_text, text", "len(hm.parse(text).entry) == 80_002"),
    "parse proto": (
        "data = hm.parse(chain(20_000)).to_proto()",
        "_core.parse_text, data",
        "len(hm.parse(data).entry) == 40_002",
    ),
    "parse literal": (
        "text = f'ENTRY e {{ ROOT c = s32[400000] constant({{{\", \".join(map(str, range(400000)))}}}) }}'",
        "_core.parse_text, text",
        "hm.parse(text).entry.root.literal[-1] == 399999",
    ),
    "text": ("m = hm.parse(chain(60_000))", "m.to_string", "hm.parse(str(m)).same_as(m)"),
    "proto": ("m = hm.parse(chain(20_000))", "m.to_proto", "hm.parse(m.to_proto()).same_as(m)"),
    "same": ("m, n = (hm.parse(chain(60_000)) for _ in range(2))", "m.same_as, n", "m.same_as(n)"),
    "simplify": ("m = hard_map(1500)", "m.simplify", "m.simplify() == hard_map(1500).simplify()"),
    "compose": ("m, n = hm.IndexingMap.identity([999, 999]), hard_map(40_000)", "m.then, n", "m.then(hard_map(2))"),
    "parse map": ("text = str(hard_map(8_000))", "_core.IndexingMap.parse, text", "hm.IndexingMap.parse(text)"),
    "equivalent": (
        "m, n = hard_map(800), hard_map(800, 1)",
        "m.equivalent, n",
        "m.equivalent(hard_map(800)).value and m.equivalent(n).value is False",
    ),
    "covers": (
        "maps = [hard_map(40, k) for k in range(40)]",
        "_core._covers, [(maps[:20], maps[20:])]",
        "_core._covers([(maps[:1], maps[:1])])[1] == [[]]",
    ),
    "union": (
        "texts = [f'(d0)[s0] -> (s0 * 3 + {7 * i}), domain: d0 in [0, {i}], s0 in [0, 1]' for i in range(40_000)]\n"
        "maps = list(map(hm.IndexingMap.parse, texts))",
        "_core._coalesce, maps",
        "len(_core._coalesce(maps[:9])) == 9",
    ),
    "bits": (
        "n = 1 << 26; wide, narrow = np.full(n, 3, np.uint8), np.empty(n // 2, np.uint8)\n"
        "_core.squeeze_bits(wide[:0], 1, 4, narrow[:0])  # finds NumPy",
        "_core.squeeze_bits, wide, 1, 4, narrow",
        "_core.squeeze_bits(wide, 1, 4, narrow) is None and (narrow == 0x33).all()",
    ),
}

# The same for calls that take a minute or more to their end.
ENDLESS = {
    "simplify_many": ("maps = [hard_map(40)] * 100_000", "hm.maps.simplify_many(maps)"),
    "simplify_many on threads": ("maps = [hard_map(40)] * 100_000", "hm.maps.simplify_many(maps, threads=2)"),
    "compose_many": (
        "pairs = [(hm.IndexingMap.identity([999, 999]), hard_map(40))] * 100_000",
        "hm.maps.compose_many(pairs, simplify=True, threads=2)",
    ),
    "count_many": (
        "m = hm.IndexingMap.parse('(d0, d1) -> (d0 * d1 mod 65), domain: d0 in [0, 240], d1 in [0, 240]')\n"
        "maps = [m] * 1_000_000",
        "hm.maps.count_many(maps, distinct=True)",
    ),
    "bounds_many": ("maps = [hard_map(400)] * 100_000", "hm.maps.bounds_many(maps)"),
    "evaluate": (
        "m, points = summed(2000), np.zeros((4_000_000, 2), np.int64)",
        "m.evaluate(points)",
    ),
    "evaluate on threads": (
        "m, points = summed(2000), np.zeros((4_000_000, 2), np.int64)",
        "m.evaluate(points, threads=2)",
    ),
}


def child(code: str) -> subprocess.Popen[str]:
    """A new process that runs the code after ``SETUP``."""
    path = os.pathsep.join([str(Path(hm.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-c", f"{SETUP}\n{code}"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize("name", PENDING)
def test_a_pending_interrupt_ends_a_call(name: str) -> None:
    setup, call, check = PENDING[name]
    with child(f"{setup}\ninterrupted_by_itself(functools.partial({call}))\nprint(bool({check}))") as process:
        assert process.communicate()[0].split("\n")[:2] == ["interrupted", "True"]


@pytest.mark.parametrize("name", ENDLESS)
def test_an_interrupt_ends_a_call(name: str) -> None:
    setup, call = ENDLESS[name]
    with child(
        f"{setup}\nprint('ready', flush=True)\ntry:\n    {call}\nexcept KeyboardInterrupt:\n    print('ended')"
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            # Before the call begins, it ends Python's own way.
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30) == ("ended\n", None)
        finally:
            process.kill()


def test_what_an_interrupt_leaves_is_right() -> None:
    """Interrupts of whole questions at many moments: the answers afterwards are those of a fresh module."""
    code = """
def answers(m):
    rows = hm.analyze(m)
    sliced = {p.name: str(s) for p, s in hm.backward_slice(m.entry.root).items()}
    columns = [rows[name] for name in ("maps", "reads_lower", "distinct_bytes")]
    return columns, sliced, [str(s) for s in hm.output_to_input(m.entry)]

text = open(sys.argv[1]).read() if len(sys.argv) > 1 else chain(700, distinct=True)
nested = ["HloModule nested", "f0 { p = f32[5,7] parameter(0)  ROOT n = f32[7,5] transpose(p), dimensions={1,0} }"]
for i in range(1, 41):
    a, b = ("7,5", "5,7") if i % 2 == 0 else ("5,7", "7,5")
    nested.append(f"f{i} {{ p = f32[5,7] parameter(0)  c = f32[{'7,5' if i % 2 else '5,7'}] call(p), to_apply=f{i-1}  "
                  f"ROOT n = f32[{'5,7' if i % 2 else '7,5'}] transpose(c), dimensions={{1,0}} }}")
nested.append("ENTRY e { p = f32[5,7] parameter(0)  a = f32[7,5] call(p), to_apply=f40  "
              "b = f32[7,5] call(p), to_apply=f40  ROOT r = f32[7,5] add(a, b) }")
texts = [text, "\\n".join(nested)]
expected = [answers(hm.parse(t)) for t in texts]
signal.signal(signal.SIGALRM, signal.default_int_handler)
for k, t in enumerate(texts):
    m = hm.parse(t)
    delay, n_interrupts = 0.002, 0
    while True:
        _core.Propagation(m)
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            found = answers(m)
            signal.setitimer(signal.ITIMER_REAL, 0)
            break
        except KeyboardInterrupt:
            delay, n_interrupts = delay * 1.3, n_interrupts + 1
    assert found == expected[k], k
    assert answers(hm.parse(t)) == expected[k], k
print("right")
"""
    with child(code) as process:
        assert process.communicate()[0] == "right\n"


def test_a_handler_may_use_the_package() -> None:
    code = """
m, looks = hard_map(3000), []
def handler(*_):
    looks.append(str(hm.IndexingMap.parse("(d0) -> (d0 mod 3), domain: d0 in [0, 2]").simplify()))
    m.simplify()
    if len(looks) == 2:
        raise KeyError("enough")
    signal.setitimer(signal.ITIMER_REAL, 0.2)
signal.signal(signal.SIGALRM, handler)
maps = [hard_map(40)] * 100_000
for threads in (1, 2):
    looks.clear()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        hm.maps.simplify_many([m, *maps], threads=threads)
    except KeyError:
        print(looks[0], len(looks))
"""
    with child(code) as process:
        assert process.communicate()[0] == "(d0) -> (d0), domain: d0 in [0, 2] 2\n" * 2


def test_calls_of_other_threads_go_on() -> None:
    """Python handles signals on its main thread: one that waits for a call ends, and the call runs on."""
    code = """
import threading, os
done = []
worker = threading.Thread(target=lambda: done.append(len(hm.maps.simplify_many([hard_map(40)] * 1000))))
worker.start()
try:
    os.kill(os.getpid(), signal.SIGINT)
    worker.join()
except KeyboardInterrupt:
    worker.join()
    print(done)
"""
    with child(code) as process:
        assert process.communicate()[0] == "[1000]\n"
