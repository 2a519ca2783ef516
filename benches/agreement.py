"""Runs optimized modules and compares their results with those that XLA found for the same inputs.

``python benches/agreement.py MODULES RESULTS`` takes a directory of HLO files and one of ``NAME.npz``, which have the
arguments of the entry as ``in0``, ``in1``, ... and its arrays as ``out0``, ``out1``, ... in order, as ``hlomap run``
reads and writes them.  Bounds are relative to the largest element of a result: excess precision, and the order in which
sums are taken, differ.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import hlomap as hm
from hlomap.cli.run_file import arrange_inputs, flatten, load_npz

Array = Any

BOUNDS = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 1e-2, "bfloat16": 3e-2}
"""The largest difference by element type; f8 may differ by one part in four, and all other types must be equal."""


def difference(found: Array, expected: Array) -> float:
    """The largest difference relative to the largest expected element; infinite for other sizes or NaNs."""
    if found.shape != expected.shape:
        return float("inf")
    if found.dtype == expected.dtype and found.tobytes() == expected.tobytes():
        return 0.0
    kind = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = found.astype(kind).reshape(-1), expected.astype(kind).reshape(-1)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    with np.errstate(all="ignore"):
        largest = np.abs(b[np.isfinite(b)]).max(initial=0) or 1.0
        apart = float(np.abs(a - b)[~same].max() / largest)
    return apart if apart == apart else float("inf")


def compare(path: Path, results: Path) -> tuple[str, str]:
    """The verdict, and what it rests on."""
    module = hm.load(path)
    held = load_npz(results)
    expected = [held[f"out{k}"] for k in range(sum(name.startswith("out") for name in held))]
    try:
        found = flatten(hm.execute(module, *arrange_inputs(module.entry, held)))
    except hm.errors.HlomapError as error:
        return "not run", str(error).partition("\n")[0][:150]
    if len(found) != len(expected):
        return "differs", f"{len(found)} arrays for {len(expected)}"
    worst, verdict = "", "equal"
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        apart = difference(one, other)
        bound = 0.25 if "float8" in other.dtype.name else BOUNDS.get(other.dtype.name, 0.0)
        if apart > bound:
            return "differs", f"result {k}, {other.dtype.name}: by {apart:.2g}"
        if apart > 0:
            verdict, worst = "within bounds", f"result {k}, {other.dtype.name}: by {apart:.2g}"
    return verdict, worst


def main() -> None:
    folder, results = map(Path, sys.argv[1:3])
    counts: Counter[tuple[str, bool]] = Counter()
    for path in sorted(folder.iterdir()):
        beside = results / f"{path.name.partition('.')[0]}.npz"
        if not beside.exists():
            continue
        has_calls = b"custom_call_target=" in path.read_bytes()
        verdict, reason = compare(path, beside)
        counts[verdict, has_calls] += 1
        if verdict in ("differs", "not run") or has_calls:
            print(f"{path.name}: {verdict} {reason}")
    for verdict in ("equal", "within bounds", "differs", "not run"):
        alone, calls = counts[verdict, False], counts[verdict, True]
        print(f"{verdict}: {alone + calls}, of them {calls} with library calls")


if __name__ == "__main__":
    main()
