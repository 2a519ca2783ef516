"""Measures how soon long calls end on a signal: ``python benches/interrupt.py [MEGABYTES]``.

Every call runs once to its end, which gives its time, then a few times with a signal at a fraction of that time, whose
handler raises ``KeyboardInterrupt`` as that of Ctrl-C does.  Prints the time of the call and the longest latency, from
the signal to the exception, in milliseconds.  ``MEGABYTES`` is the size of the HLO text (default 20).  Calls of less
than 50 ms show no latency: they end before they look for a signal.
"""

from __future__ import annotations

import signal
import sys
import time
import timeit
from collections.abc import Callable, Iterator

import numpy as np

import hlomap as hm
from hlomap.base.dtypes import numpy_dtype

FRACTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)
SHORT = 0.05

LAYER = """  a{i} = f32[64,128]{{1,0}} add(n{j}, n{j})
  b{i} = f32[128,64]{{1,0}} transpose(a{i}), dimensions={{1,0}}
  c{i} = f32[{n},8192]{{1,0}} broadcast(b{i}f), dimensions={{1}}
  b{i}f = f32[8192]{{0}} reshape(b{i}), metadata={{op_name="layer/{i}/reshape" source_file="model.py" source_line={i}}}
  d{i} = f32[128,64]{{1,0}} reshape(b{i}f)
  n{i} = f32[64,128]{{1,0}} transpose(d{i}), dimensions={{1,0}}
"""


def module_text(n_bytes: int, *, distinct: bool = False) -> str:
    """A chain of layers; ``distinct`` gives every layer a shape of its own, so that no result serves two of them."""
    parts = ["HloModule chain\nENTRY e {\n  n0 = f32[64,128]{1,0} parameter(0)\n"]
    size, i = 0, 0
    while size < n_bytes:
        i += 1
        layer = LAYER.format(i=i, j=i - 1, n=i if distinct else 3)
        lines = layer.splitlines(keepends=True)
        lines[2], lines[3] = lines[3], lines[2]
        parts.extend(lines)
        size += len(layer)
    parts.append(f"  ROOT r = f32[64,128]{{1,0}} negate(n{i})\n}}\n")
    return "".join(parts)


def hard_map(n_results: int, seed: int = 0) -> hm.IndexingMap:
    """A map of nested quotients and remainders that hang together."""
    nested = (
        f"(((d0 * {i + 3 + seed} + d1 * 7 + s0 * {5 * i + 1}) mod {11 * i + 90}) floordiv 5"
        f" + (d1 * {i + 2} + s0) floordiv {i + 7}) mod {i + 1001}"
        for i in range(n_results)
    )
    domain = "d0 in [0, 999], d1 in [0, 999], s0 in [0, 99], (d0 * 3 + d1) mod 7 in [0, 4], d0 + s0 in [3, 900]"
    return hm.IndexingMap.parse(f"(d0, d1)[s0] -> ({', '.join(nested)}), domain: {domain}")


def calls(megabytes: float) -> Iterator[tuple[str, Callable[[], object]]]:
    """The long calls by name."""
    text = module_text(int(megabytes * 1e6))
    yield "parse text", lambda: hm.parse(text)
    data = text.encode()
    yield "parse bytes", lambda: hm.parse(data)
    module = hm.parse(text)
    yield "str(module)", lambda: str(module)
    yield "to_proto", lambda: module.to_proto()
    proto = module.to_proto()
    yield "parse proto", lambda: hm.parse(proto)
    twin = hm.parse(text)
    yield "same_as", lambda: module.same_as(twin)
    literal = ", ".join(map(str, range(int(megabytes * 1e5))))
    constant = f"ENTRY e {{ ROOT c = s32[{int(megabytes * 1e5)}] constant({{{literal}}}) }}"
    yield "parse literal", lambda: hm.parse(constant)
    held = hm.parse(constant)
    yield "literal", lambda: held.entry.root.literal

    def fresh() -> hm.Module:
        return hm.parse(distinct)

    distinct = module_text(int(megabytes * 5e5), distinct=True)
    yield "analyze", lambda: hm.analyze(fresh())
    yield "output_to_input", lambda: hm.output_to_input(fresh().entry)
    yield "backward_slice", lambda: hm.backward_slice(fresh().entry.root)
    yield "input_to_output", lambda: hm.input_to_output(fresh().entry)

    huge = hard_map(3000)
    yield "simplify", lambda: huge.simplify()
    yield "simplify(trace=True)", lambda: hard_map(300).simplify(trace=True)
    last = wide(3000)
    yield "then", lambda: huge.then(last)
    yield "str(map)", lambda: str(huge)
    map_text = str(huge)
    yield "parse map", lambda: hm.IndexingMap.parse(map_text)
    many = [hard_map(10, seed) for seed in range(2000)]
    yield "simplify_many", lambda: hm.maps.simplify_many(many)
    yield "simplify_many, 2 threads", lambda: hm.maps.simplify_many(many, threads=2)
    shift = hm.IndexingMap.parse("(d0, d1) -> (d0 * 3 + 1, d1 + 2), domain: d0 in [0, 99], d1 in [0, 99]")
    pairs = [(shift, m) for m in many]
    yield "compose_many", lambda: hm.maps.compose_many(pairs, simplify=True)
    yield "count_many", lambda: hm.maps.count_many(many, distinct=True)
    yield "bounds_many", lambda: hm.maps.bounds_many(many)
    grid = "d0 in [0, 40], d1 in [0, 40], d2 in [0, 38], (d0 * d1 + d2 * 5) mod 17 in [2, 9]"
    grids = [
        hm.IndexingMap.parse(f"(d0, d1, d2) -> (d0 * d1 mod {n}, d2 floordiv 3), domain: {grid}") for n in range(5, 65)
    ]
    yield "count_many, enumerated", lambda: hm.maps.count_many(grids, distinct=True)
    other = hm.IndexingMap.parse(str(huge).replace("mod 90)", "mod 91)"))
    yield "equivalent", lambda: huge.equivalent(other)
    yield "equivalent to itself", lambda: huge.equivalent(hard_map(3000))
    yield "is_empty", lambda: huge.is_empty()
    yield "inverse", lambda: huge.inverse()
    yield "count", lambda: huge.count(distinct=True)

    n = int(megabytes * 5e5)
    dims, ranges = (np.random.default_rng(0).integers(0, 900, size=(n, k)) for k in (2, 1))
    few = hard_map(8)
    yield "evaluate", lambda: few.evaluate(dims, ranges)
    yield "evaluate, 2 threads", lambda: few.evaluate(dims, ranges, threads=2)
    yield "in_domain", lambda: few.in_domain(dims, ranges)

    side = int((megabytes * 1e7) ** 0.5)
    tiled = hm.Shape.parse(f"f32[{side},{side}]{{0,1:T(8,128)}}")
    array = np.zeros((side, side), np.float32)
    yield "pack", lambda: hm.layouts.pack(array, tiled)
    yield "pack, 2 threads", lambda: hm.layouts.pack(array, tiled, threads=2)
    buffer = hm.layouts.pack(array, tiled)
    yield "unpack", lambda: hm.layouts.unpack(buffer, tiled)
    nibbles = hm.Shape.parse(f"s4[{side},{side}]{{1,0:E(4)}}")
    small = np.zeros((side, side), numpy_dtype("s4"))
    yield "pack bits", lambda: hm.layouts.pack(small, nibbles)
    sizes = ",".join(str(n) for n in (2, 3, 5, 7, 11, 13, 17, 19))
    here = hm.Shape.parse(f"f32[{sizes}]{{7,6,5,4,3,2,1,0:T(8,128)}}")
    there = hm.Shape.parse(f"f32[{sizes}]{{0,2,4,6,1,3,5,7:T(4,32)(2,1)}}")
    yield "is_valid_bitcast", lambda: hm.layouts.is_valid_bitcast(here, there)


def wide(n: int) -> hm.IndexingMap:
    """A map on the results of a map with ``n`` results."""
    dims = ", ".join(f"d{i}" for i in range(n))
    domain = ", ".join(f"d{i} in [0, 2000]" for i in range(n))
    return hm.IndexingMap.parse(f"({dims}) -> ({' + '.join(f'd{i}' for i in range(n))}), domain: {domain}")


def latency(call: Callable[[], object], delay: float) -> float | None:
    """The seconds from a signal after ``delay`` seconds to the exception; ``None`` if the call ends before."""
    began = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        call()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return time.perf_counter() - began - delay
    return None


def main(megabytes: float = 20, only: str = "") -> None:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    print(f"{'call':26}{'time, ms':>10}{'latency, ms':>13}")
    for name, call in calls(megabytes):
        if only not in name:
            continue
        # The first call also imports.
        seconds = min(timeit.repeat(call, number=1, repeat=2))
        found = [latency(call, seconds * fraction) for fraction in FRACTIONS if seconds >= SHORT]
        known = [each for each in found if each is not None]
        longest = f"{max(known) * 1e3:.0f}" if known else "-"
        print(f"{name:26}{seconds * 1e3:10.0f}{longest:>13}", flush=True)


if __name__ == "__main__":
    main(*(float(a) if i == 0 else a for i, a in enumerate(sys.argv[1:])))
