"""Programs on arrays of which a part is in use, beside XLA's CPU, for every size in use.

The cases are the ends of one entry computation, separated by lines of ``=``: ``p`` is f32[4,6], ``d`` has the first n
of its rows, ``c`` of its columns.  What is beyond does not count.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hlomap as hm

CASES = (Path(__file__).parent.parent / "cases" / "dynamic_sizes.txt").read_text().strip().split("\n====\n")
HEAD = """HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }
lt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
neg { a = f32[] parameter(0) ROOT b = f32[] negate(a) }
add2 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  x = f32[] add(a, c)
  y = f32[] add(b, d)
  ROOT t = (f32[], f32[]) tuple(x, y)
}
ENTRY e {
  p = f32[4,6] parameter(0)
  n = s32[] parameter(1)
  z = f32[] constant(0)
  one = f32[] constant(1)
  d = f32[<=4,6] set-dimension-size(p, n), dimensions={0}
  c = f32[4,<=6] set-dimension-size(p, n), dimensions={1}
"""
DATA = np.arange(1, 25, dtype=np.float32).reshape(4, 6)


@pytest.mark.jax
def test_beside_xla() -> None:
    from support import xla_run

    programs = [(f"{HEAD}{case}\n}}", [DATA, np.int32(n)]) for case in CASES for n in range(1, 5)]
    for (text, arguments), expected in zip(programs, xla_run.results(programs), strict=True):
        assert not isinstance(expected, str), (text, expected)
        np.testing.assert_array_equal(hm.execute(hm.parse(text), *arguments), expected[0], err_msg=text)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        # XLA shows what the buffer holds: the rows that set-dimension-size has cut off.
        ("i = s32[] constant(4)\nROOT r = f32[4,6] set-dimension-size(d, i), dimensions={0}", "2 elements are in use"),
        (
            "i = s32[1,1] constant({{3}})\nROOT r = f32[1,6] gather(d, i), offset_dims={1}, collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
            "elements are read that are not in use",
        ),
        ("i = s32[] constant(2)\nj = s32[] constant(0)\nROOT r = f32[2,6] dynamic-slice(d, i, j), "
         "dynamic_slice_sizes={2,6}", r"computed value has sizes \[0, 6\]"),
        ("ROOT r = f32[<=8,<=3] reshape(d)", "do not determine those of"),
        ("ROOT r = f32[24] reshape(d)", "do not determine those of"),
    ],
)  # fmt: skip
def test_what_is_not_in_use_has_no_value(end: str, reason: str) -> None:
    with pytest.raises(hm.HlomapError, match=reason):
        hm.execute(hm.parse(f"{HEAD}{end}\n}}"), DATA, np.int32(2))


def test_padding_counts_in_windows() -> None:
    """XLA computes sizes as if there were no padding: 3 for 4 rows in use, which is the static size, and -1 for one."""
    window = "reduce-window({}, z), window={{size=3x1 pad=1_1x0_0}}, to_apply=add"
    static = hm.parse(f"{HEAD}ROOT r = f32[4,6] {window.format('p')}\n}}")
    dynamic = hm.parse(f"{HEAD}ROOT r = f32[<=4,6] {window.format('d')}\n}}")
    for n in range(1, 5):
        rows = np.where(np.arange(4)[:, None] < n, DATA, 0)
        expected = hm.execute(static, rows, np.int32(n))[:n]
        np.testing.assert_array_equal(hm.execute(dynamic, DATA, np.int32(n)), expected)


def test_nothing_in_use() -> None:
    for case in ("r0 = f32[<=24] reshape(c)", "r0 = f32[<=4,2,3] reshape(d)", "r0 = f32[<=8,6] concatenate(d, d)"):
        case += ", dimensions={0}" * ("concatenate" in case)
        module = hm.parse(f"{HEAD}{case}\nROOT s = s32[] get-dimension-size(r0), dimensions={{0}}\n}}")
        assert hm.execute(module, DATA, np.int32(0)) == 0


STACK = """HloModule m
body {
  s = (s32[<=4,2], s32[]) parameter(0)
  b = s32[<=4,2] get-tuple-element(s), index=0
  k = s32[] get-tuple-element(s), index=1
  n = s32[] get-dimension-size(b), dimensions={0}
  m = s32[] add(n, k)
  g = s32[<=4,2] set-dimension-size(b, m), dimensions={0}
  v = s32[1,2] broadcast(m), dimensions={}
  z = s32[] constant(0)
  u = s32[<=4,2] dynamic-update-slice(g, v, n, z)
  y = s32[<=4,2] negate(u)
  x = s32[<=4,2] negate(y)
  ROOT t = (s32[<=4,2], s32[]) tuple(x, k)
}
cond {
  s = (s32[<=4,2], s32[]) parameter(0)
  b = s32[<=4,2] get-tuple-element(s), index=0
  n = s32[] get-dimension-size(b), dimensions={0}
  f = s32[] constant(4)
  ROOT c = pred[] compare(n, f), direction=LT
}
ENTRY e {
  p = s32[4,2] parameter(0)
  z = s32[] constant(START)
  k = s32[] constant(STEP)
  d = s32[<=4,2] set-dimension-size(p, z), dimensions={0}
  t = (s32[<=4,2], s32[]) tuple(d, k)
  w = (s32[<=4,2], s32[]) while(t), condition=cond, body=body
  ROOT o = s32[<=4,2] get-tuple-element(w), index=0
}"""


@pytest.mark.parametrize(("start", "step", "count"), [(0, 1, 4), (1, 1, 3), (0, 2, 2), (4, 1, 0), (2, 2, 1)])
def test_a_dimension_that_grows(start: int, step: int, count: int) -> None:
    """Until its bound; the size in use counts the iterations."""
    module = hm.parse(STACK.replace("START", str(start)).replace("STEP", str(step)))
    data = np.arange(1, 9, dtype=np.int32).reshape(4, 2)
    rows = [list(row) for row in data[:start].tolist()]
    while len(rows) < 4:
        size = len(rows) + step
        rows += [[size, size], *([[0, 0]] * (step - 1))]
    assert hm.execute(module, data).tolist() == rows
    assert hm.loop(module["w"]).trip_count == count


def test_a_size_that_depends_on_data_is_not_counted() -> None:
    text = STACK.replace("z = s32[] constant(START)", "z = s32[] parameter(1)").replace("STEP", "1")
    module = hm.parse(text)
    assert isinstance(hm.loop(module["w"]).trip_count, hm.Unknown)
    assert hm.execute(module, np.zeros((4, 2), np.int32), np.int32(3)).tolist() == [[0, 0]] * 3 + [[4, 4]]


def test_a_dimension_does_not_grow_beyond_its_bound() -> None:
    module = hm.parse(STACK.replace("START", "3").replace("STEP", "2"))
    with pytest.raises(hm.HlomapError, match="size 5 is not within the bound 4"):
        hm.execute(module, np.zeros((4, 2), np.int32))
