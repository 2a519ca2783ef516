"""Observed reads: what small programs are known to read, in every element type; ``test_oracle.py`` has the op cases."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hlomap as hm

APPLIED = """
add { a = T[] parameter(0)  b = T[] parameter(1)  ROOT c = T[] add(a, b) }
maximum { a = T[] parameter(0)  b = T[] parameter(1)  ROOT c = T[] maximum(a, b) }
minimum { a = T[] parameter(0)  b = T[] parameter(1)  ROOT c = T[] minimum(a, b) }
xor { a = T[] parameter(0)  b = T[] parameter(1)  ROOT c = T[] xor(a, b) }
"""


def reduction(dtype: str, operation: str, initial: str) -> hm.Module:
    applied = next(line for line in APPLIED.splitlines() if line.startswith(operation)).replace("T[", f"{dtype}[")
    return hm.parse(f"""HloModule m
    {applied}
    ENTRY e {{
      x = {dtype}[13] parameter(0)
      s = {dtype}[5] slice(x), slice={{[2:12:2]}}
      z = {dtype}[] constant({initial})
      ROOT r = {dtype}[] reduce(s, z), dimensions={{0}}, to_apply={operation}
    }}""")


@pytest.mark.parametrize(
    ("dtype", "operation", "initial"),
    [
        *((dtype, "add", "0") for dtype in "f32 f64 f16 bf16 s8 u8 s32 u64 c64 s4 u4".split()),  # noqa: SIM905
        *((dtype, "maximum", "0") for dtype in ("f32", "s32", "u8")),
        *((dtype, "minimum", "1") for dtype in ("f32", "s32")),
        ("pred", "xor", "false"),
        ("u8", "xor", "0"),
    ],
)
def test_every_other_element(dtype: str, operation: str, initial: str) -> None:
    """A maximum, a minimum and a parity of five elements: each of them is seen, and no other."""
    found = hm.observed_reads(reduction(dtype, operation, initial), (), seeds=6)
    assert found.elements("x").ravel().tolist() == [2, 4, 6, 8, 10], found
    assert found.is_complete and found.n_runs < 120


def test_few_runs_where_few_matter() -> None:
    module = hm.parse("ENTRY e { x = f32[300,400] parameter(0)  ROOT s = f32[1,1] slice(x), slice={[7:8],[9:10]} }")
    found = hm.observed_reads(module, (0, 0), seeds=1)
    assert found.elements("x").tolist() == [[7, 9]]
    assert found.n_runs <= 9 + 14
    title = f"Observed, not proved: elements that change e[0, 0], in {found.n_runs} runs"
    assert str(found) == f"{title}\n  x: 1 of 120,000 elements: [7, 9]"


def test_budget() -> None:
    module = reduction("f32", "add", "0")
    found = hm.observed_reads(module, (), seeds=1, max_runs=10)
    assert not found.is_complete and found.n_runs == 10 and "raise max_runs" in str(found).splitlines()[0]
    (mask,) = found.observed.values()
    (rest,) = found.not_observed_within_budget.values()
    assert (mask ^ rest).all() and mask.sum() < 5
    assert json.loads(json.dumps(found.to_dict()))["is_complete"] is False and "not proved" in repr(found)
    with pytest.raises(ValueError):
        mask[0] = True


def test_inputs_and_nan() -> None:
    module = hm.parse("""ENTRY e { x = f32[4] parameter(0)  i = s32[] parameter(1)
      ROOT d = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1} }""")
    found = hm.observed_reads(module, (0,), inputs=[np.full(4, np.nan, np.float32), 2], seeds=4)
    assert [2] in found.elements("x").tolist()
    assert not found.elements("i").size or len(found.elements("x")) > 1  # all NaN: no other place has another value
    product = hm.parse("ENTRY e { x = f32[2] parameter(0)  y = f32[2] parameter(1)  ROOT m = f32[2] multiply(x, y) }")
    assert hm.observed_reads(product, (1,), inputs=[np.zeros(2), np.zeros(2)]).elements("x").tolist() == [[1]]


def test_outputs_and_subjects() -> None:
    module = hm.parse("""ENTRY e { p = (f32[2], s32[3]) parameter(0)
      a = f32[2] get-tuple-element(p), index=0  b = s32[3] get-tuple-element(p), index=1
      n = f32[2] negate(a)  m = s32[3] reverse(b), dimensions={0}  ROOT t = (f32[2], s32[3]) tuple(n, m) }""")
    found = hm.observed_reads(module, (0,), output=1)
    assert found.elements("p", (1,)).tolist() == [[2]] and not found.elements("p", (0,)).size
    assert hm.observed_reads(module.entry, (1,)).elements("p", (0,)).tolist() == [[1]]
    at_instruction = hm.observed_reads(module["m"], (0,))
    assert at_instruction.elements("b").tolist() == [[2]]
    constant = hm.parse(
        "ENTRY e { p = f32[4] parameter(0)  i = s32[] constant(3)  ROOT d = f32[1] dynamic-slice(p, i), "
        "dynamic_slice_sizes={1} }"
    )
    assert hm.observed_reads(constant["d"], (0,)).elements("p").tolist() == [[3]]
