"""The interpreter against XLA on CPU: random programs of one operation, with the special values of every type.

docs/execute.md has a table of opcodes and types, computed from all programs of :mod:`support.elements` and
:mod:`support.structures` by ``HLOMAP_BLESS=1 pytest tests/interpreter/test_execute_xla.py`` (15 minutes).  The tests
run a fixed part of them and compare with the table.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BLESS
from support import elements, structures
from support.elements import TYPES, Program, disagreement

import hlomap as hm
from hlomap.base.dtypes import is_float, numpy_dtype

pytestmark = pytest.mark.jax
TABLE = Path(__file__).parent.parent.parent / "docs" / "execute.md"
N_CHOSEN = 3
"""Programs of each operation in :mod:`support.structures`; 1 of each elementwise one."""

EQUAL, DIFFERS, ABSENT = "=", "x", "."
SUMS = {
    *("reduce", "reduce (variadic)", "reduce-window", "dot", "convolution", "scatter", "select-and-scatter", "fft"),
    *("cholesky", "triangular-solve", "batch-norm-inference", "batch-norm-training", "batch-norm-grad"),
}

Cell = tuple[str, str]
"""Opcode and type; of a convert the type that it comes from."""


def all_programs() -> list[Program]:
    return [*elements.programs(), *structures.programs(seed=2, n=3), *structures.programs(seed=11, n=7)]


def cell_of(program: Program) -> Cell:
    return program.opcode, program.dtype.partition("->")[0]


def distance(program: Program, found: Any, expected: Sequence[Any]) -> float | str:
    """The largest disagreement; of sums in units of the largest result, since small results may be cancellation."""
    worst: float = 0
    for a, b in zip(found if isinstance(found, list) else [found], expected, strict=True):
        if program.opcode in SUMS and is_float(np.asarray(a).dtype):
            # The sign of a sum that cancels to zero depends on the order of the sum.
            a, b = (np.asarray(x) + np.zeros((), x.dtype) for x in (a, b))
        d = disagreement(a, b)
        if isinstance(d, str):
            return d
        if d and program.opcode in SUMS:
            d = min(d, _of_largest(np.asarray(a), np.asarray(b)))
        worst = max(worst, d)
    return worst


def _of_largest(a: np.ndarray, b: np.ndarray) -> float:
    import ml_dtypes

    part = {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}.get(a.dtype.name, a.dtype)
    work = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(work), b.astype(work)
    known = np.isfinite(x) & np.isfinite(y)
    largest = float(np.abs(y[known]).max()) if known.any() else 1.0
    return float(np.abs(x - y)[known].max()) / (largest * float(ml_dtypes.finfo(part).eps))


def outcomes(programs: Sequence[Program]) -> list[float | str | None]:
    """The disagreement of each program's results with XLA's; None where XLA has no result."""
    from support import xla_run

    expected = xla_run.results([(p.text, list(p.arguments)) for p in programs])
    found: list[float | str | None] = []
    for program, results in zip(programs, expected, strict=True):
        if isinstance(results, str) or _other_types(program):
            found.append(None)
            continue
        with np.errstate(all="ignore"):
            found.append(distance(program, hm.execute(hm.parse(program.text), *program.arguments), results))
    return found


def _other_types(program: Program) -> bool:
    """Whether XLA's Python interface returns another type, as it returns pred for one-bit types."""
    return bool(re.search(r"->[su]1$", program.dtype)) or program.dtype in ("s1", "u1")


# -------------------------------------------------------------------------------------------------------------- table


def table_of(programs: Iterable[Program], found: Iterable[float | str | None]) -> dict[Cell, str]:
    cells: dict[Cell, list[float | str]] = defaultdict(list)
    for program, outcome in zip(programs, found, strict=True):
        if outcome is not None:
            cells[cell_of(program)].append(outcome)
    return {cell: _mark(values) for cell, values in cells.items()}


def _mark(values: Sequence[float | str]) -> str:
    if any(isinstance(value, str) for value in values):
        return DIFFERS
    worst = max(float(value) for value in values)
    return EQUAL if worst == 0 else str(int(np.ceil(worst))) if worst < 10_000 else DIFFERS


def written(table: dict[Cell, str]) -> str:
    opcodes = sorted({opcode for opcode, _ in table})
    lines = ["| opcode | " + " | ".join(TYPES) + " |", "|---" * (len(TYPES) + 1) + "|"]
    lines += [f"| {o} | " + " | ".join(table.get((o, name), ABSENT) for name in TYPES) + " |" for o in opcodes]
    return "\n".join(lines) + "\n"


def read_table() -> dict[Cell, str]:
    text = TABLE.read_text()
    rows = [
        line.strip("| \n").split("|") for line in text[text.index("| opcode") :].splitlines() if line.startswith("| ")
    ]
    head, *rest = [[cell.strip() for cell in row] for row in rows]
    return {(row[0], name): mark for row in rest for name, mark in zip(head[1:], row[1:], strict=True)}


def chosen_of(programs: Sequence[Program]) -> list[Program]:
    by_opcode: dict[str, list[Program]] = defaultdict(list)
    for program in random.Random(7).sample(programs, len(programs)):
        by_opcode[program.opcode].append(program)
    return [p for opcode, own in by_opcode.items() for p in own[: N_CHOSEN if opcode in structures.GENERATORS else 1]]


def test_agreement_table_is_up_to_date() -> None:
    programs = all_programs()
    if BLESS:
        table = written(table_of(programs, outcomes(programs)))
        text = TABLE.read_text()
        TABLE.write_text(text[: text.index("| opcode")] + table)
        return
    chosen = chosen_of(programs)
    table_read = read_table()
    for program, outcome in zip(chosen, outcomes(chosen), strict=True):
        mark = table_read.get(cell_of(program), ABSENT)
        if outcome is None or mark == DIFFERS:
            continue
        assert mark != ABSENT, f"{program} has a result that the table does not know"
        assert not isinstance(outcome, str), f"{program}: {outcome}\n{program.text}"
        assert outcome <= (0 if mark == EQUAL else float(mark)), f"{program}: {outcome} units, {mark} in the table"


N_NORMAL = 20_000
NORMAL_TYPES = ("f16", "bf16", "f32", "f64")


def normal_programs() -> list[Program]:
    """Every elementwise function of floats, on ordinary numbers."""
    rng = np.random.default_rng(5)
    found = []
    for opcodes, n_operands in ((elements.UNARY, 1), (elements.BINARY, 2)):
        for opcode, types in opcodes.items():
            for name in NORMAL_TYPES:
                if name in types and opcode != "complex":
                    arguments = [rng.normal(size=N_NORMAL).astype(numpy_dtype(name)) for _ in range(n_operands)]
                    found.append(elements.elementwise(opcode, name, *arguments))
    return found


def read_normal_table() -> dict[Cell, int]:
    text = TABLE.read_text()
    lines = text[text.index("| function") : text.index("| opcode")].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines if line.startswith("| ")]
    return {
        (opcode, name): int(n) for opcode, *row in rows for name, n in zip(NORMAL_TYPES, row, strict=True) if n != EQUAL
    }


def test_ordinary_numbers() -> None:
    programs = normal_programs()
    found = {cell_of(p): outcome for p, outcome in zip(programs, outcomes(programs), strict=True) if outcome}
    assert not [cell for cell, outcome in found.items() if isinstance(outcome, str)]
    units = {cell: int(np.ceil(float(outcome))) for cell, outcome in found.items()}
    if BLESS:
        opcodes = sorted({opcode for opcode, _ in units})
        lines = ["| function | " + " | ".join(NORMAL_TYPES) + " |", "|---" * (len(NORMAL_TYPES) + 1) + "|"]
        lines += [f"| {o} | " + " | ".join(str(units.get((o, t), EQUAL)) for t in NORMAL_TYPES) + " |" for o in opcodes]
        text = TABLE.read_text()
        start = text.index("| function")
        end = text.index("\n\n", start) + 1
        TABLE.write_text(text[:start] + "\n".join(lines) + "\n" + text[end:])
        return
    # NumPy takes other routines there, whose error is below 4 ULP.
    features = np._core._multiarray_umath.__cpu_features__ if hasattr(np, "_core") else {"AVX512_SKX": True}
    least = 4 if features.get("AVX512_SKX") or features.get("X86_V4") else 0
    known = read_normal_table()
    assert not {cell: n for cell, n in units.items() if n > max(known.get(cell, 0), least)}


def test_integers_comparisons_and_data_movement_are_equal() -> None:
    """Operations that do not sum floats have no rounding differences in the table."""
    moves = {"copy", "select", "transpose", "reverse", "broadcast", "concatenate", "slice", "pad", "iota", "compare"}
    for (opcode, name), mark in read_table().items():
        if name in elements.INTEGERS or name == "pred" or opcode in moves:
            if (opcode, name) == ("convert", name) or mark in (EQUAL, ABSENT):
                continue
            raise AssertionError(f"{opcode} of {name}: {mark}")


@pytest.mark.parametrize(
    "opcode",
    ["reduce (variadic)", "convolution", "dot", "pad", "dynamic-update-slice", "reduce-window"],
)
def test_types_that_xla_does_not_run(opcode: str) -> None:
    """Programs on one-bit types give results of their type."""
    make, _ = structures.GENERATORS[opcode]
    rng = np.random.default_rng(3)
    for name in ("s1", "u1"):
        program = structures.program(opcode, name, make, rng)
        results = hm.execute(hm.parse(program.text), *program.arguments)
        first = results[0] if isinstance(results, list) else results
        assert first.dtype.name == {"s1": "int1", "u1": "uint1"}[name]


COLLECTIVES = [
    "f32[4,2] all-reduce(p), replica_groups={{0,2},{1,3}}, to_apply=f",
    "f32[16,2] all-gather(p), replica_groups={{0,1,2,3}}, dimensions={0}",
    "f32[4,4] all-gather(p), replica_groups={{2,0},{1,3}}, dimensions={1}",
    "f32[1,2] reduce-scatter(p), replica_groups={{3,1,0,2}}, dimensions={0}, to_apply=f",
    "f32[4,2] all-to-all(p), replica_groups={{0,1,2,3}}, dimensions={0}",
    "f32[4,2] collective-permute(p), source_target_pairs={{0,1},{1,0},{2,3}}",
]


@pytest.mark.parametrize("opcode", ["add", "maximum"])
def test_collectives_of_four_replicas(opcode: str) -> None:
    from support import xla_run

    header = f"f {{\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT r = f32[] {opcode}(x, y)\n}}\n"
    texts = [
        f"HloModule m, replica_count=4\n{header}ENTRY e {{\n  p = f32[4,2] parameter(0)\n  ROOT r = {line}\n}}\n"
        for line in COLLECTIVES
    ]
    rng = np.random.default_rng(1)
    # Integers, so that the order of a sum does not matter.
    given = [rng.integers(-50, 50, (4, 2)).astype(np.float32) for _ in range(4)]
    for text, expected in zip(texts, xla_run.results([(text, given) for text in texts], replicas=4), strict=True):
        assert not isinstance(expected, str), f"{expected}\n{text}"
        found = hm.execute(hm.parse(text), given, n_replicas=4)
        for own, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(own, theirs, err_msg=text)
